#!/usr/bin/env bash
# What sources look like: lines of at most 120 characters, tabs in Makefiles alone, no blanks at the ends of lines.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
export LC_ALL=C.UTF-8
mapfile -t files < <(find Makefile compiler runtime tests -path tests/cases -prune -o -type f -regextype egrep \
    -regex '.*[.]([chylS]|cu|cuh|cpp|def|sh|bash|py|vim|cmake|mk)|(.*/)?(Makefile|CMakeLists.txt|_mlpc)' -print)
check "there are sources" test ${#files[@]} -gt 300

# none NAME PATTERN FILE...: no line has it
none() {
    local name=$1 found
    found=$(grep -nP -- "$2" "${@:3}" /dev/null)
    if [ -z "$found" ]; then pass; else fail "$name:"; head -n 20 <<<"$found"; fi
}
none "lines of more than 120 characters" '^.{121}' "${files[@]}"
none "blanks at the end of a line" '[ \t]$' "${files[@]}"
mapfile -t others < <(printf '%s\n' "${files[@]}" | grep -v '\.mk$\|Makefile$')
none "tabs" '\t' "${others[@]}"
finish style
