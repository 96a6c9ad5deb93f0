#!/usr/bin/env bash
# On a machine with a GPU: builds every network of a bundle (bundle.sh), runs it on its case's inputs, holds the outputs
# to the references and every step to float64, then tests the library's functions, the traps, that runs and builds
# repeat to the bit, and that networks opened and closed ten thousand times (as many as a minute has) hold no more than
# at first.
#     run.sh [-j JOBS] [-s] [-r] [FOLDER]
# -r: the last of these alone, without RESULTS.md.
# -s: also under compute-sanitizer: memcheck on the networks in the type of their spec, racecheck and initcheck on one
# that has every kind of generated kernel. Ends with "N passed, N failed"; exits with 1 if any failed. All of it is in
# FOLDER/RESULTS.md.
set -uo pipefail
jobs=$(nproc) sanitize=0 rounds_alone=0
while getopts j:sr option; do
    case $option in
    r) rounds_alone=1 ;;
    j) jobs=$OPTARG ;;
    s) sanitize=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
cd "${1:-$(dirname "$0")}" || exit 2
folder=$PWD
include=$(dirname "$(command -v nvcc)")/../include
export folder include
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED $*"; }

# ---- Building ----

build_runtime() {
    mkdir -p objects && rm -f objects/*
    for source in runtime/*.c; do
        gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Iruntime -I"$include" -c -o "objects/$(basename "$source" .c).o" \
            "$source" || return
    done
    gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -o compare_npy compare_npy.c compare.c -lm
}

# compile PLACE: the emitted sources there
compile() (
    cd "$1" || return
    nvcc -gencode=arch=compute_90a,code=sm_90a -O3 -I"$folder/runtime" -c -o kernels.o ./*.cu || return
    for file in *.c *.S; do
        [ -e "$file" ] || continue
        gcc -std=gnu11 -O2 -I. -I"$folder/runtime" -I"$include" -c -o "part_$file.o" "$file" || return
    done
)

# link PROGRAM OBJECT...
link() {
    nvcc -arch=sm_90 -o "$@" "$folder"/objects/*.o -lcublasLt -lpthread -lm
}

# compile_test SOURCE OBJECT OPTION...: a test in C
compile_test() {
    local source=$1 object=$2
    shift 2
    gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall "$@" -Iruntime -I"$include" -c -o "$object" "$source"
}
export -f compile link compile_test

# ---- Networks ----

arguments_of() {
    local file
    for file in in_*.npy; do
        [ -e "$file" ] && echo "$(basename "${file#in_}" .npy)=$file"
    done
    for file in out_*.npy; do
        echo "$(basename "${file#out_}" .npy)=got_${file#out_}"
    done
}

# allowed FILE: what an output may be off by: of the case, or of each element of a random network
allowed() {
    if [ -e "tolerance_${1#out_}" ]; then echo "tolerance_${1#out_}"; else cat tolerance; fi
}

# The largest difference goes to `worst`; where the format cannot hold the tolerance, it is noted and no more.
hold_to_references() {
    local arguments file off status=0 worst=0
    mapfile -t arguments < <(arguments_of)
    timeout 100 ./program "${arguments[@]}" || return
    for file in out_*.npy; do
        off=$("$folder/compare_npy" "$(allowed "$file")" "got_${file#out_}" "$file") ||
            [ -e beyond ] || { echo "$file: $off"; status=1; }
        worst=$(printf '%s\n%s\n' "$worst" "$(head -n 1 <<<"$off")" | sort -g | tail -n 1)
    done
    echo "$worst" >worst
    return $status
}

run_network() {
    cd "$folder/networks/$1" || return
    if [ -e tolerance ]; then
        hold_to_references || return
    fi
    timeout 100 ./program --verify >verify.log 2>&1 || { tail -n 12 verify.log; return 1; }
    timeout 100 ./program --profile >profile.log 2>&1 || { tail -n 5 profile.log; return 1; }
    grep -q '^a run: ' profile.log
}

# The verdict and what was said, beside the program: networks are built and run many at a time.
test_network() {
    local place=$folder/networks/$1
    if ! (compile "$place" && link "$place/program" "$place"/kernels.o "$place"/part_*.o) >"$place/said" 2>&1; then
        echo "not built" >"$place/verdict"
    elif run_network "$1" >"$place/said" 2>&1; then
        echo ok >"$place/verdict"
    else
        echo failed >"$place/verdict"
    fi
}
export -f arguments_of allowed hold_to_references run_network test_network

report() {
    local verdict
    verdict=$(cat "networks/$1/verdict")
    if [ "$verdict" = ok ]; then
        pass
    else
        fail "$1: $verdict"
        tail -n 15 "networks/$1/said"
    fi
}

# ---- The same bytes again ----

repeated=
for name in digits_own digits_tf32 digits_f16 digits_bf16 deep40_own deep40_bf16 swiglu_block_own layernorm_offset_f16 \
    digits_own_few digits_f16_rows swiglu_block_f16_few; do
    [ ! -d "networks/$name" ] || repeated="$repeated $name"
done

# build_repeat NAME PLACE: the network once more, from its sources alone
build_repeat() {
    local model
    model=$(basename "$folder/networks/$1"/*.h .h)
    rm -rf "$2" && mkdir -p "$2" && cp "$folder/networks/$1"/*.{c,h,cu,weights,S} "$2" 2>/dev/null
    rm "$2/${model}_main.c"
    compile "$2" && compile_test "$folder/repeat.c" "$2/repeat.o" -DMODEL="${model}_model" -I"$folder/runtime" &&
        link "$2/repeat" "$2"/*.o
}

test_repeat() {
    local place=$folder/repeated/$1
    mkdir -p "$place"
    {
        build_repeat "$1" "$place/first" && build_repeat "$1" "$place/second" &&
            timeout 100 "$place/first/repeat" "$place/first.bytes" &&
            timeout 100 "$place/second/repeat" "$place/second.bytes" &&
            cmp "$place/first.bytes" "$place/second.bytes" && test -s "$place/first.bytes" && echo ok >"$place/verdict"
    } >"$place/said" 2>&1
}
export -f build_repeat test_repeat

report_repeated() {
    if [ -e "repeated/$1/verdict" ]; then
        pass
    else
        fail "$1: 100 runs and two builds do not give the same bytes"
        tail -n 5 "repeated/$1/said"
    fi
}

# ---- The library's functions, and the traps ----

# add_lines NAME FILE END: counts what a test says, of which END must be the last line
add_lines() {
    passed=$((passed + $(grep -c '^ok ' "$2" || true)))
    failed=$((failed + $(grep -c '^not ok ' "$2" || true)))
    grep -A 1 '^not ok ' "$2"
    tail -n 1 "$2" | grep -q "^$3" || { fail "$1: did not come to its end"; tail -n 5 "$2"; }
}

build_interface() {
    rm -f interface/digits_main.c interface/interface.c interface/*.o
    compile "$folder/interface" && compile_test interface.c interface/interface.o -Iinterface &&
        link interface/test interface/*.o && cp interface.c interface/
}

test_interface() {
    build_interface >interface/said 2>&1 && (cd interface && timeout 100 ./test) >interface/said 2>&1
}

build_traps() {
    local source includes=()
    for source in traps/*/; do
        includes+=("-I$source")
    done
    printf '%s\n' "${includes[@]#-I}" | xargs -P "$jobs" -I{} bash -c 'compile {} || exit 1' || return
    for source in traps/*.c; do
        compile_test "$source" "$source.o" "${includes[@]}" || return
    done
    link traps/traps traps/*.o traps/*/*.o
}

test_traps() {
    build_traps >traps/said 2>&1 && (cd traps && timeout 200 ./traps) >traps/said 2>&1
}

# ---- Rounds: nobody else is on the device ----

build_rounds() {
    local place=rounds/$1
    rm -f "$place"/*.o
    compile "$folder/$place" && compile_test rounds.c "$place/rounds.o" -DCUDA "-DMODEL=$1_model" &&
        link "$place/rounds" "$place"/*.o
}

test_rounds() {
    local name
    for name in digits large; do
        if build_rounds $name >rounds/$name/said 2>&1 &&
            timeout 200 rounds/$name/rounds 10000 60 rounds.c rounds/$name/$name.weights >rounds/$name/said 2>&1; then
            pass
        else
            fail "$name does not hold what it did after fewer rounds"
        fi
        tail -n 8 rounds/$name/said
    done
}

# ---- Sanitizers ----

# sanitized TOOL NAME: on the case's inputs, or on random rows where there is no case
sanitized() {
    local arguments=(--verify)
    cd "$folder/networks/$2" || return
    [ ! -e tolerance ] || mapfile -t arguments < <(arguments_of)
    timeout 200 compute-sanitizer --tool "$1" --error-exitcode 9 ./program "${arguments[@]}" >"$1.log" 2>&1 &&
        touch "$1.clean"
}
export -f sanitized

# run_sanitizer TOOL NAME...: some at a time, for each takes many times what the program does
run_sanitizer() {
    local tool=$1 name clean=0
    shift
    printf '%s\n' "$@" | xargs -P 8 -I{} bash -c "sanitized $tool {}"
    for name; do
        if [ -e "networks/$name/$tool.clean" ]; then
            pass
            clean=$((clean + 1))
        else
            fail "$name: $tool"
            tail -n 8 "networks/$name/$tool.log"
        fi
    done
    echo "- $tool: $clean of $# networks clean" >>sanitizers
}

# ---- RESULTS.md ----

# of_profile PATTERN NAME: the number that \(...\) matches
of_profile() {
    local found
    found=$(sed -n "s/$1.*/\1/p" "networks/$2/profile.log" 2>/dev/null)
    echo "${found:--}"
}

table_line() {
    local place=networks/$1 worst=- tolerance="by step"
    [ ! -e "$place/worst" ] || worst=$(cat "$place/worst")
    [ -e "$place/beyond" ] || [ ! -e "$place/tolerance" ] || tolerance=$(cat "$place/tolerance")
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "${1%_*}" "$(cat "$place/type")" "$worst" "$tolerance" \
        "$(of_profile '^a run: \([0-9]*\) kernel' "$1")" "$(of_profile '^a run: .* in \([0-9]*\) step' "$1")" \
        "$(of_profile '.*the graph for \([0-9]*\) row' "$1")" "$(cat "$place/verdict")"
}

explain_networks() {
    cat <<'END'

## Networks

Worst error: the largest difference from the reference, over the largest reference (at least 1). Every step was held to
a bound of its own as well; "by step": to that alone. "each": a random network, whose elements have tolerances of their
own; the worst error is a part of them. Kernels and steps: of the CUDA graph for so many rows.

| case | type | worst error | tolerance | kernels | steps | rows | verdict |
|---|---|---|---|---|---|---|---|
END
}

results() {
    local place
    printf '# The CUDA target on a GPU\n\n'
    printf -- '- date: %s\n' "$(date -u +%F)"
    printf -- '- device: %s, driver %s\n' "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)" \
        "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
    ./networks/"$(ls networks | head -n 1)"/program --info |
        sed -n 's/^device */- found by the program: /p'
    printf -- '- compiler: %s\n' "$(nvcc --version | sed -n 's/^.*release/CUDA release/p')"
    explain_networks
    for place in networks/*/; do
        table_line "$(basename "$place")"
    done
    printf '\nFormats that cannot hold the tolerance, whatever the arithmetic:\n\n'
    for place in networks/*/beyond; do
        [ -e "$place" ] && echo "- $(basename "$(dirname "$place")"): $(cat "$place")"
    done
    if [ -d traps ]; then
        printf '\n## Traps\n\n'
        grep -E '^(ok|not ok|trap) ' traps/said | sort -t' ' -k1,1 -s | sed 's/^/- /'
    fi
    if [ -d interface ]; then
        printf '\n## Functions of the library\n\n'
        grep -E '^(ok|not ok) ' interface/said | sed 's/^/- /'
    fi
    printf '\n## The same bytes in 100 runs and from two builds\n\n'
    for place in repeated/*/; do
        echo "- $(basename "$place"): $(cat "$place/verdict" 2>/dev/null || echo "no")"
    done
    if [ -d rounds ]; then
        printf '\n## What a process holds, in rounds of init, run and close\n\n'
        sed 's/^/- /' rounds/*/said
    fi
    if [ -s sanitizers ]; then
        printf '\n## compute-sanitizer\n\n'
        cat sanitizers
    fi
    printf '\n%s passed, %s failed\n' "$passed" "$failed"
}

# ---- All of it ----

build_runtime || { echo "the runtime does not build"; echo "0 passed, 1 failed"; exit 1; }
if [ $rounds_alone = 1 ]; then
    test_rounds
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
    exit
fi
rm -rf sanitizers repeated networks/*/*.clean networks/*/worst networks/*/profile.log interface/said traps/said
[ ! -d interface ] || test_interface &
[ ! -d traps ] || test_traps &
{
    printf 'test_repeat %s\n' $repeated
    (cd networks && printf 'test_network %s\n' *)
} | xargs -P "$jobs" -I{} bash -c '{}'
wait
for place in networks/*/; do
    report "$(basename "$place")"
done
for name in $repeated; do
    report_repeated "$name"
done
[ ! -d interface ] || add_lines interface interface/said "ok and no more"
[ ! -d traps ] || add_lines traps traps/said "end of traps"
[ ! -d rounds ] || test_rounds
if [ $sanitize = 1 ]; then
    run_sanitizer memcheck $(cd networks && echo *_own kinds_*)
    run_sanitizer racecheck kinds_f32 kinds_f16
    run_sanitizer initcheck kinds_f32 kinds_f16
fi
results >RESULTS.md
sed -n '1,/^## /p' RESULTS.md | grep '^- '
echo "$passed passed, $failed failed"
[ $failed = 0 ]
