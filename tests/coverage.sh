#!/usr/bin/env bash
# Which lines of the compiler and of the runtime neither `make check` nor `make faults` reaches:
#     coverage.sh BUILD UNIT...
#     coverage.sh BUILD report        of the runs so far, without another one
# BUILD holds what gcc has made with --coverage. Its archive gets gcc's library for that, so that generated programs
# link as ever; the simulated GPU is compiled the same way. Each process adds to the counts when it ends, but for one
# that is killed, or leaves by _exit; what looks at the files that are written, or at the number of instructions, fails.
# BUILD/unreached.txt lists the lines. What flex, bison and protoc-c wrote is not counted, the actions in lex.l and
# parse.y are; of headers only what unit tests and the runtime compile. Sources must stay as they are meanwhile, since
# tests of what is installed run make.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift

run() {
    local gcov=$build/gcov library
    library=$(gcc -print-file-name=libgcov.a)
    find "$build" -name '*.gcda' -delete
    rm -rf "$gcov" "$build/simulated"
    mkdir -p "$gcov"
    (cd "$gcov" && ar x "$library") && ar rcs "$build/runtime/libmlprt.a" "$gcov"/*.o || exit 1
    export SIMULATED_CFLAGS="-O0 --coverage -fprofile-update=atomic"
    tests/check.sh "$build" "$@" >"$build/check.log" 2>&1
    tests/faults/cuda.sh "$build" all >"$build/faults.log" 2>&1
    grep -h '^FAILED\|^not ok' "$build/check.log" "$build/faults.log" | cut -c 1-120
    tail -q -n 1 "$build/check.log" "$build/faults.log"
}

# Lines "SOURCE LINE COUNT TEXT" of every object.
lines() {
    find "$build" -name '*.gcno' | while read -r notes; do
        gcov -t "$notes" 2>/dev/null
    done | awk -v here="$PWD/" -v build="$build/" '
        function plain(path) {
            if (index(path, here) == 1) path = substr(path, length(here) + 1)
            return index(path, build "runtime/") == 1 ? substr(path, length(build) + 1) : path
        }
        /^ *-: *0:Source:/ { source = plain(substr($0, index($0, "Source:") + 7)); next }
        source ~ /^(compiler|runtime)\// && !/^ *-:/ {
            colon = index($0, ":")
            count = substr($0, 1, colon - 1)
            rest = substr($0, colon + 1)
            colon = index(rest, ":")
            print source, substr(rest, 1, colon - 1) + 0, count !~ /[#=]/, substr(rest, colon + 1)
        }'
}

report() {
    lines | sort -k1,1 -k2,2n -k3,3nr | awk -v list="$build/unreached.txt" '
        { key = $1 ":" $2 }
        key == last { next }
        {
            last = key
            all[$1]++
            sum++
            if (!$3) {
                file = $1
                missed[file]++
                total++
                text = $0
                sub(/^[^ ]+ [0-9]+ 0 /, "", text)
                print key ":" text >list
            }
        }
        END {
            sort = "sort -rn"
            for (file in missed)
                printf "%6d of %5d  %5.1f %%  %s\n", missed[file], all[file], 100 * missed[file] / all[file],
                    file | sort
            close(sort)
            printf "%6d of %5d  %5.1f %%  lines that no test reaches\n", total, sum, 100 * total / sum
        }'
}

[ "${1:-}" = report ] || run "$@"
report
