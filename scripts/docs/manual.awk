# manual.awk: one page of the command's help as a manual page.
# variables: name (rmsnorm-run), version, summary, see (other pages)
function plain(text) { # as it is: roff reads backslashes, and dots and quotes at the start of a line
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}
function fault(text) { print "manual.awk: " name ": " text > "/dev/stderr"; failed = 1; exit 1 }
BEGIN {
    printf ".TH \"%s\" 1 \"\" \"rmsnorm %s\" \"rmsnorm\"\n.SH NAME\n%s \\- %s\n", toupper(name), version, plain(name), plain(summary)
    part = "start"
}
part == "start" {
    if ($0 !~ /^Usage: rmsnorm/) fault("no usage line: " $0)
    print ".SH SYNOPSIS\n.nf\n" plain(substr($0, 8))
    part = "usage"
    next
}
part == "usage" && /^       rmsnorm/ { print plain(substr($0, 8)); next }
/^$/ && (part == "text" || part == "options") { gap = 1; next } # a paragraph, if text follows
part == "usage" && /^$/ { print ".fi\n.SH DESCRIPTION"; part = "text"; gap = 0; next }
/^Options:$/ { print ".SH OPTIONS"; part = "options"; next }
/^Subcommands:$/ { print ".SH SUBCOMMANDS"; part = "subcommands"; next }
part == "subcommands" && /^  [a-z]/ {
    print ".TP\n.B " plain($1)
    sub(/^  [a-z-]+ +/, "")
    print plain($0)
    next
}
part == "subcommands" && /^$/ { print ".SH NOTES"; part = "text"; gap = 0; next }
part == "options" && /^  (-[a-z], )?--[a-z-]+ / {
    line = $0
    match(line, /^  (-[a-z], )?--[a-z-]+/)
    option = substr(line, 3, RLENGTH - 2)
    line = substr(line, RLENGTH + 1)
    value = ""
    if (line ~ /^ [^ ]/) { # what it takes follows after one space, the help after more
        sub(/^ /, "", line)
        value = line
        sub(/ .*/, "", value)
        line = substr(line, length(value) + 1)
    }
    sub(/^ +/, "", line)
    if (line == "") fault("no help: " $0)
    print ".TP\n" (value == "" ? ".B " plain(option) : ".BI \"" plain(option) " \" " plain(value))
    print plain(line)
    next
}
part == "text" && /^Exit codes: / { text = substr($0, 13); print ".SH EXIT STATUS\n" plain(text); gap = 0; next }
part == "text" { print (gap ? ".PP\n" : "") plain($0); gap = 0; next }
{ fault("not understood: " $0) }
END {
    if (failed) exit 1
    if (part != "options" && part != "text") fault("the help ends early")
    if (see != "") {
        count = split(see, pages, " ")
        print ".SH SEE ALSO"
        for (i = 1; i <= count; i++) print ".BR " plain(pages[i]) " (1)" (i < count ? "," : "")
    }
}
