#!/usr/bin/env bash
# Static analysis of the compiler, the runtime and generated code: analyze.sh BUILD [PART...]
#     gcc        gcc -fanalyzer, and the warnings that a build does not ask for
#     cppcheck   cppcheck, where it is installed
#     tidy       clang-tidy with the checks of .clang-tidy, where it is installed
#     generated  sources of a few networks, and the headers that they include: gcc -fanalyzer in C99, clang in C99 and
#                C++, clang-tidy
# Unless told, all. What flex, bison and protoc-c wrote is not looked at. tests/analyze.txt lists the findings that have
# been looked at and are none, with the reason; others fail, and so does an entry that finds nothing any more. With
# KNOWN=yes, parts whose tool has another version than the one that tests/analyze.txt names are left out.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
shift
parts=${*:-gcc cppcheck tidy generated}
cuda=${CUDA:-/usr/local/cuda}/include
export includes="-Icompiler -I$build/compiler -I$build/compiler/onnx -Iruntime -isystem $cuda"
found=$build/analyze
mkdir -p "$found"

sources() {
    ls compiler/*.c compiler/onnx/*.c
    if [ -r "$cuda/cuda_runtime.h" ]; then ls runtime/*.c; else ls runtime/*.c | grep -v /cuda; fi
}

# each COMMAND: for every file of standard input, on each core; what it says, and where the tool fails
each() {
    local said
    said=$(mktemp -d "$scratch/each.XXXXXX")
    xargs -P "$(nproc)" -I{} bash -c \
        '{ "$2" "$1" || echo "$1:1: error: it fails [status]"; } >"$0/$(tr / _ <<<"$1")" 2>&1' "$said" {} "$1"
    cat "$said"/*
}

# ---- The tools, which print "FILE:LINE:COLUMN: warning: TEXT [CHECK]" ----

export warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Warith-conversion -Wcast-qual
    -Wcast-align=strict -Wformat=2 -Wundef -Wvla -Walloca -Wwrite-strings -Wduplicated-cond -Wduplicated-branches
    -Wlogical-op -Wshadow -Wnull-dereference -Wpointer-arith -Wredundant-decls -Wstrict-prototypes
    -Wmissing-prototypes -Wunused-macros"
gcc_one() { gcc -std=c11 -D_GNU_SOURCE -O1 -fanalyzer $warnings $includes -S -o /dev/null "$1"; }
tidy_one() { clang-tidy --quiet "$1" -- -std=c11 -D_GNU_SOURCE $includes; }
export -f gcc_one tidy_one

run_gcc() { sources | each gcc_one; }
run_tidy() { sources | each tidy_one; }
run_cppcheck() {
    sources | cppcheck -j "$(nproc)" --quiet --std=c11 --enable=warning,performance,portability,style --inline-suppr \
        --suppressions-list=tests/analyze_cppcheck.txt \
        --template='{file}:{line}:{column}: {severity}: {message} [{id}]' \
        -D_GNU_SOURCE -D__x86_64__ -DPROTOBUF_C_VERSION_NUMBER=1004001 -DPROTOBUF_C_MIN_COMPILER_VERSION=1000000 \
        -Icompiler -I"$build/compiler" -I"$build/compiler/onnx" -Iruntime --file-list=- 2>&1
}

# generate NAME SPEC OPTION...: sources in $scratch/NAME
generate() {
    check "sources of $1" "$build/mlpc" -o "$scratch/$1" "${@:3}" "$2"
    ls "$scratch/$1"/*.c
}
generated_gcc() {
    gcc -std=c99 -O1 -fanalyzer ${warnings/-Wunused-macros/} -I"$(dirname "$1")" $includes -S -o /dev/null "$1"
}
# Left out of -Weverything: layout, C++98, what a C header must do, comparisons of floats that are meant, memory mapped
# to pointers, and the tail of a switch that lists all.
generated_clang() {
    local tail="-Weverything -Wno-padded -Wno-unknown-warning-option -Wno-float-equal -Wno-covered-switch-default
        -Wno-declaration-after-statement -Wno-c++98-compat-pedantic -Wno-old-style-cast -Wno-disabled-macro-expansion
        -Wno-zero-as-null-pointer-constant -Wno-unsafe-buffer-usage -Wno-reserved-identifier -Wno-unused-macros
        -Wno-switch-enum -Wno-packed -Wno-global-constructors -Wno-unused-template -Wno-weak-vtables"
    clang -std=c99 $tail -fsyntax-only -I"$(dirname "$1")" $includes "$1" &&
        clang -x c++ -std=c++11 $tail -fsyntax-only -I"$(dirname "$1")" $includes "${1%/*}"/*[a-z].h
}
generated_tidy() {
    clang-tidy --quiet --config-file=.clang-tidy --header-filter=.* "$1" -- -std=c99 -I"$(dirname "$1")" $includes
}
export -f generated_gcc generated_clang generated_tidy

run_generated() {
    local tool
    {
        generate cpu specs/digits.mlp --target=cpu --cpu=x86-64,v3
        generate threads specs/gated_ffn.mlp --target=cpu --cpu=x86-64 --threads=2 --weights=external
        generate cuda specs/gated_ffn.mlp --target=cuda
    } >"$scratch/list"
    for tool in gcc clang tidy; do
        [ $tool != tidy ] || command -v clang-tidy >/dev/null || continue
        each generated_$tool <"$scratch/list"
    done | sed "s|$scratch/||"
}

# ---- Findings, and those that are known ----

# "FILE CHECK", once for each place
findings() {
    local kinds="warning|error|style|performance|portability|information"
    sed "s|^$PWD/||" "$1" | grep -E "^[a-z][^ :]*:[0-9]+:([0-9]+:)? ($kinds): .*\]\$" |
        grep -v "^$build/compiler/" | sort -u | sed -E 's/^([^:]+):.*\[([^][]*)\]$/\1 \2/'
}

# judge PART: what it found against what is known of it
judge() {
    local part=$1 file check count
    check "$part looked at something" test -e "$found/$part"
    findings "$found/$part" | sort | uniq -c | awk '{ print $2, $3, $1 }' >"$scratch/got"
    awk -v part="$part" '$1 == part { print $2, $3, $4 }' tests/analyze.txt | sort >"$scratch/known"
    check "$part: nothing but what tests/analyze.txt knows" diff "$scratch/known" "$scratch/got"
    diff "$scratch/known" "$scratch/got" | sed -n 's/^> //p' | while read -r file check count; do
        sed "s|^$PWD/||" "$found/$part" | grep -F "$file:" | grep -F "[$check]" | sort -u
    done
}

# Whether the findings that are known are those of this version of a tool.
is_known() {
    local version
    version=$("$1" --version | sed -n '1s/.* \([0-9]*\.[0-9]*\).*/\1/p')
    [ -z "${KNOWN:-}" ] || grep -q "^# Versions:.* $1 $version\>" tests/analyze.txt
}

for part in $parts; do
    case $part in
    tidy) tool=clang-tidy ;;
    generated) tool=clang ;;
    *) tool=$part ;;
    esac
    if ! command -v $tool >/dev/null; then
        skip "$part: there is no $tool"
        continue
    elif ! is_known $tool; then
        skip "$part: tests/analyze.txt is for another $tool"
        continue
    fi
    run_$part >"$found/$part"
    judge $part
done
finish analyze
