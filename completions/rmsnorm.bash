# rmsnorm.bash: completion for bash. Made by scripts/make-docs.
_rmsnorm() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]:-} options= values=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'run test selftest infer check fuse convert plan describe bench ort-bench tune get-kernel package info --help --version' -- "$word")
        return
    fi
    if [[ $command == package ]]; then
        if ((COMP_CWORD == 2)); then
            mapfile -t COMPREPLY < <(compgen -W 'verify build new render --help' -- "$word")
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    # In --x=V the = is a word of its own.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $command in
    run)
        options='--op --kernel --version --revision --attr --input -o --output --output-dir --device --adapter --batch-invariant --isa --threads --json -h --help'
        case $before in
        --op) values='SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RMSNormalization' ;;
        --kernel) values='files' ;;
        --version) values='' ;;
        --revision) values='' ;;
        --attr) values='' ;;
        --input) values='files' ;;
        -o) values='files' ;;
        --output) values='files' ;;
        --output-dir) values='files' ;;
        --device) values='cpu webgpu' ;;
        --adapter) values='' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    test)
        options='--device --adapter --without --limit --version --revision --rtol --atol --isa --threads --json -h --help'
        case $before in
        --device) values='cpu webgpu' ;;
        --adapter) values='' ;;
        --without) values='shader-f16 subgroups' ;;
        --limit) values='' ;;
        --version) values='' ;;
        --revision) values='' ;;
        --rtol) values='' ;;
        --atol) values='' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    selftest)
        options='--device --adapter --without --limit --json -h --help --version'
        case $before in
        --device) values='cpu webgpu' ;;
        --adapter) values='' ;;
        --without) values='shader-f16 subgroups' ;;
        --limit) values='' ;;
        *) values=none ;;
        esac
        ;;
    infer)
        options='--op --attr -o --output --json -h --help --version'
        case $before in
        --op) values='SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RMSNormalization' ;;
        --attr) values='' ;;
        -o) values='' ;;
        --output) values='' ;;
        *) values=none ;;
        esac
        ;;
    check)
        options='--json -h --help --version'
        values=none
        ;;
    fuse)
        options='-o --output --target --relaxed --residuals --data-files --dry-run --verify -q --quiet --isa --threads --json -h --help --version'
        case $before in
        -o) values='files' ;;
        --output) values='files' ;;
        --target) values='rmsnorm onnx ort-cpu ort-webgpu' ;;
        --residuals) values='fuse keep' ;;
        --data-files) values='copy link leave' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    convert)
        options='-o --output --to --data-files --dry-run --verify -q --quiet --isa --threads --json -h --help --version'
        case $before in
        -o) values='files' ;;
        --output) values='files' ;;
        --to) values='rmsnormalization simplified decomposed' ;;
        --data-files) values='copy link leave' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    plan)
        options='--op --package --version --revision --device-profile --limit --feature --attr -o --output --in-place --tunable --variant --batch-invariant --wgsl --json -h --help'
        case $before in
        --op) values='SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RMSNormalization' ;;
        --package) values='files' ;;
        --version) values='' ;;
        --revision) values='' ;;
        --device-profile) values='files' ;;
        --limit) values='' ;;
        --feature) values='shader-f16 subgroups' ;;
        --attr) values='' ;;
        -o) values='' ;;
        --output) values='' ;;
        --in-place) values='' ;;
        --tunable) values='' ;;
        --variant) values='' ;;
        *) values=none ;;
        esac
        ;;
    describe)
        options='--format --no-prose --json -h --help --version'
        case $before in
        --format) values='text markdown json' ;;
        *) values=none ;;
        esac
        ;;
    bench)
        options='--op --shape --dtype --gamma-dtype --bias --sum --seconds --table --markdown --svg --plan --device --adapter --bandwidth --time --isa --threads --json -h --help --version'
        case $before in
        --op) values='SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RMSNormalization' ;;
        --shape) values='' ;;
        --dtype) values='float float16 bfloat16 double' ;;
        --gamma-dtype) values='float float16 bfloat16 double' ;;
        --seconds) values='' ;;
        --svg) values='files' ;;
        --device) values='cpu webgpu' ;;
        --adapter) values='' ;;
        --time) values='' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    ort-bench)
        options='--plugin --custom-ops --dim --option --seconds --isa --threads --json -h --help --version'
        case $before in
        --plugin) values='' ;;
        --dim) values='' ;;
        --option) values='' ;;
        --seconds) values='' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    tune)
        options='--device --adapter -o --output --shape --time --again --isa --threads --json -h --help --version'
        case $before in
        --device) values='webgpu' ;;
        --adapter) values='' ;;
        -o) values='files' ;;
        --output) values='files' ;;
        --shape) values='' ;;
        --time) values='' ;;
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    get-kernel)
        options='--version --revision --endpoint --cache --offline --json -h --help'
        case $before in
        --version) values='' ;;
        --revision) values='' ;;
        --endpoint) values='' ;;
        --cache) values='files' ;;
        *) values=none ;;
        esac
        ;;
    package\ verify)
        options='--json -h --help --version'
        values=none
        ;;
    package\ build)
        options='--check --json -h --help --version'
        values=none
        ;;
    package\ new)
        options='--into --json -h --help --version'
        case $before in
        --into) values='files' ;;
        *) values=none ;;
        esac
        ;;
    package\ render)
        options='--context --json -h --help --version'
        case $before in
        --context) values='files' ;;
        *) values=none ;;
        esac
        ;;
    info)
        options='--isa --threads --json -h --help --version'
        case $before in
        --isa) values='scalar neon avx2 avx512' ;;
        --threads) values='' ;;
        *) values=none ;;
        esac
        ;;
    esac
    if [[ $values == none && $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ $values == none && $command == describe ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RMSNormalization' -- "$word")
    elif [[ $values == none || $values == files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    fi
}
complete -F _rmsnorm rmsnorm
