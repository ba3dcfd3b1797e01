# The commands of this project. Each works alone on a fresh Debian 12 machine: what is missing is fetched first.
PREFIX ?= /usr/local
PRESETS ?= dev clang asan ubsan tsan fuzz aarch64

.PHONY: help run test fuzz soak bench bench-plugin bench-gpu install docs dist deb amalgam format clean distclean
help:
	@echo 'make run      build, then normalize a real ONNX node test and a Llama-shaped skip node'
	@echo 'make test     every check; PRESETS="dev asan" for some of: $(PRESETS)'
	@echo 'make fuzz     fuzz what parses; FUZZ_SECONDS=$(FUZZ_SECONDS) for each reader'
	@echo 'make soak     random requests from 16 threads, on the CPU and a WebGPU device; SOAK_SECONDS=$(SOAK_SECONDS)'
	@echo 'make bench    time the table of docs/performance.md, beside ONNX Runtime and plain copies'
	@echo 'make bench-plugin  time models in ONNX Runtime with and without the plug-in: the tables of docs/onnxruntime.md'
	@echo 'make bench-gpu  check, tune and time on the GPU; GPU_SECONDS=$(GPU_SECONDS) for all of it'
	@echo 'make install  command, manual pages, completions, libraries (static and shared), headers into $$(DESTDIR)$$(PREFIX), now $(DESTDIR)$(PREFIX)'
	@echo 'make docs     write docs/operators, docs/api.md, manual pages and completions, and what the documents show'
	@echo 'make dist     the source as build/rmsnorm-VERSION.tar.gz, the same bytes whenever the tree is the same'
	@echo 'make deb      a Debian package of what make install installs, in build'
	@echo 'make amalgam  the operators on the CPU as one header and one C file, in build/amalgam'
	@echo 'make format   let clang-format write every C file'
	@echo 'make clean    remove what was built; distclean: and what was fetched'

run:
	@scripts/bootstrap run
	@scripts/logged release.configure cmake --preset release
	@scripts/logged release.build cmake --build --preset release
	@scripts/run-demo build/release/rmsnorm

test:
	@scripts/bootstrap test
	@scripts/run-tests $(PRESETS)

# FUZZ_SECONDS each; what they found before is kept in build/fuzz.
FUZZ_SECONDS ?= 600
fuzz:
	@scripts/bootstrap test
	@scripts/logged fuzz.configure cmake --preset fuzz -DRMSNORM_FUZZ_SECONDS=$(FUZZ_SECONDS)
	@scripts/logged fuzz.build cmake --build --preset fuzz
	@ctest --preset fuzz -j "$$(nproc)" --timeout $$(($(FUZZ_SECONDS) + 120))

SOAK_SECONDS ?= 1800
soak:
	@scripts/bootstrap test
	@scripts/logged dev.configure cmake --preset dev -DRMSNORM_SOAK_SECONDS=$(SOAK_SECONDS)
	@scripts/logged dev.build cmake --build --preset dev
	@ctest --preset dev -L soak -V --timeout $$(($(SOAK_SECONDS) + 600))

bench:
	@scripts/bootstrap bench
	@scripts/logged release.configure cmake --preset release
	@scripts/logged release.build cmake --build --preset release
	@RMSNORM_ORT_LIBRARY="$${RMSNORM_ORT_LIBRARY-build/deps/onnxruntime/libonnxruntime.so.1}" \
	    build/release/rmsnorm bench --table --svg build/bench.svg
	@echo 'the same as a chart: build/bench.svg'

bench-plugin:
	@scripts/plugin-bench

GPU_SECONDS ?= 480
bench-gpu:
	@scripts/bootstrap bench
	@scripts/gpu-bench --seconds $(GPU_SECONDS)

# The shared libraries first, so that the command that stays is the one linked statically.
install:
	@scripts/bootstrap run
	@for kind in shared release; do \
	    scripts/logged $$kind.configure cmake --preset $$kind -DCMAKE_INSTALL_PREFIX='$(PREFIX)' && \
	    scripts/logged $$kind.build cmake --build --preset $$kind && \
	    scripts/logged $$kind.install cmake --install build/$$kind || exit 1; \
	done
	@test -n '$(DESTDIR)' || test "$$(id -u)" != 0 || ldconfig

docs:
	@scripts/bootstrap test
	@scripts/logged dev.configure cmake --preset dev
	@scripts/logged dev.build cmake --build --preset dev --target rmsnorm_command support_table
	@scripts/make-docs build/dev/rmsnorm
	@scripts/logged dev.documents cmake --build --preset dev --target update_documents

dist:
	@scripts/make-dist build

deb:
	@scripts/bootstrap deb
	@for kind in shared release; do \
	    scripts/logged $$kind.configure cmake --preset $$kind && scripts/logged $$kind.build cmake --build --preset $$kind || exit 1; \
	done
	@scripts/make-deb build build/shared build/release

amalgam:
	@scripts/amalgamate build/amalgam

format:
	@scripts/check-style --fix

clean:
	@test ! -d build || find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +

distclean:
	@rm -rf build
