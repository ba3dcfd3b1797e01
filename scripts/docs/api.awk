# api.awk: a public header as Markdown: its sections, its comments as text, its declarations as code.
# variables: file (include/rmsnorm/rmsnorm.h)
function flush_code() {
    if (code != "") {
        sub(/\n+$/, "\n", code)
        printf "```c\n%s```\n\n", code
        code = ""
    }
}
function say(text) { # a comment, put together from its lines
    sub(/^\/\* ?/, "", text)
    sub(/ *\*\/$/, "", text)
    gsub(/\n *\* ?/, "\n", text)
    gsub(/</, "\\&lt;", text)
    flush_code()
    printf "%s\n\n", text
}
BEGIN { level = 0; title = file; sub(/.*\//, "", title) }
# Guards, includes, C++ and the formatter's marks are nobody's interface.
/^#ifndef RMSNORM_[A-Z0-9_]+_H$/ || /^#define RMSNORM_[A-Z0-9_]+_H$/ || /^#include / || /clang-format o/ { next }
/^#if/ { skipping = 1 }
skipping { if ($0 ~ /^#endif/) skipping = 0; next }
/^#endif/ { next }
!started && /^\/\* / { comment = $0; started = 1; top = 1; if ($0 !~ /\*\/$/) { in_comment = 1; next } }
in_comment {
    comment = comment "\n" $0
    if ($0 !~ /\*\/$/) next
    in_comment = 0
    if (top) {
        sub(/^\/\* [a-z]+\.h: /, "/* ", comment)
        printf "## %s\n\n", title
        top = 0
    }
    say(comment)
    next
}
/^\/\* ---- .* -+ \*\/$/ {
    text = $0
    sub(/^\/\* ---- /, "", text)
    sub(/ -+ \*\/$/, "", text)
    flush_code()
    printf "### %s\n\n", text
    next
}
depth == 0 && /^\/\*/ {
    flush_code()
    comment = $0
    if ($0 ~ /\*\/$/) say(comment); else in_comment = 1
    next
}
depth == 0 && /^$/ { if (code != "") code = code "\n"; next }
{
    line = $0
    if (line ~ /^RMSNORM_API /) sub(/^RMSNORM_API /, "", line)
    else if (wide) sub(/^            /, "", line) # what stood under the arguments stays there
    wide = ($0 ~ /^RMSNORM_API / || wide) && $0 !~ /;/
    code = code line "\n"
    depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
}
END { flush_code() }
