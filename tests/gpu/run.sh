#!/usr/bin/env bash
# On a machine with a GPU: builds every network of a bundle (bundle.sh), runs it on its case's inputs, holds the outputs
# to the references and every step to float64, then tests the library's functions.
#     run.sh [-j JOBS] [-s] [FOLDER]
# -s: also runs the networks of kind "own" under compute-sanitizer. Ends with "N passed, N failed"; exits with 1 if any
# failed. FOLDER/results.tsv has a line for each network: name, verdict, the largest difference over the largest
# reference.
set -u
jobs=$(nproc) sanitize=0
while getopts j:s option; do
    case $option in
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

# ---- The runtime, once for all ----

build_runtime() {
    mkdir -p objects && rm -f objects/*
    for source in runtime/*.c; do
        gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Iruntime -I"$include" -c -o "objects/$(basename "$source" .c).o" \
            "$source" || return
    done
    gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -o compare_npy compare_npy.c compare.c -lm
}

# ---- Networks ----

# build PLACE OUTPUT OBJECT...: the emitted sources of PLACE, linked with the objects
build() {
    local place=$1 output=$2 file
    shift 2
    cd "$place" || return
    nvcc -arch=sm_90 -O2 -I"$folder/runtime" -c -o kernels.o ./*.cu || return
    for file in *.c *.S; do
        [ -e "$file" ] || continue
        gcc -std=gnu11 -O2 -I. -I"$folder/runtime" -I"$include" -c -o "part_$file.o" "$file" || return
    done
    nvcc -arch=sm_90 -o "$output" kernels.o part_*.o "$@" "$folder"/objects/*.o -lcublasLt -lm
}
build_network() {
    build "$folder/networks/$1" program >"$folder/networks/$1/build.log" 2>&1
}
export -f build build_network

run_network() {
    local name=$1 arguments=() worst=0 off
    cd "$folder/networks/$name" || return
    for file in in_*.npy; do
        [ -e "$file" ] && arguments+=("$(basename "${file#in_}" .npy)=$file")
    done
    for file in out_*.npy; do
        arguments+=("$(basename "${file#out_}" .npy)=got_${file#out_}")
    done
    ./program "${arguments[@]}" || return
    for file in out_*.npy; do
        off=$("$folder/compare_npy" "$(cat tolerance)" "got_${file#out_}" "$file") || { echo "$file: $off"; return 1; }
        worst=$(printf '%s\n%s\n' "$worst" "$off" | sort -g | tail -n 1)
    done
    ./program --verify >verify.log 2>&1 || { tail -n 12 verify.log; return 1; }
    if [ $sanitize = 1 ] && [[ $name == *_own ]]; then
        compute-sanitizer --tool memcheck --error-exitcode 9 ./program "${arguments[@]}" >sanitizer.log 2>&1 ||
            { tail -n 12 sanitizer.log; return 1; }
    fi
    echo "worst $worst"
}

# The verdict and what was said, beside the program: networks run a few at a time.
test_network() {
    local place=$folder/networks/$1 said
    if [ ! -x "$place/program" ]; then
        echo "not built" >"$place/verdict"
        tail -n 5 "$place/build.log" >"$place/said"
    elif run_network "$1" >"$place/said" 2>&1; then
        echo ok >"$place/verdict"
    else
        echo failed >"$place/verdict"
    fi
}
export -f run_network test_network
export sanitize

report() {
    local verdict worst
    verdict=$(cat "networks/$1/verdict")
    worst=$(sed -n 's/^worst //p' "networks/$1/said")
    printf '%s\t%s\t%s\n' "$1" "$verdict" "$worst" >>results.tsv
    if [ "$verdict" = ok ]; then
        pass
    else
        fail "$1: $verdict"
        tail -n 15 "networks/$1/said"
    fi
}

# ---- The library's functions ----

test_interface() {
    rm -f interface/digits_main.c
    gcc -std=gnu11 -O2 -Wall -Iinterface -Iruntime -I"$include" -c -o interface/interface.o interface.c &&
        (build "$folder/interface" test interface.o -lpthread) >interface/build.log 2>&1 ||
        { fail "interface: does not build"; tail -n 5 interface/build.log; return; }
    cp interface.c interface/
    (cd interface && ./test) >interface/said || true
    passed=$((passed + $(grep -c '^ok ' interface/said)))
    failed=$((failed + $(grep -c '^not ok ' interface/said)))
    grep -A 1 '^not ok ' interface/said
    tail -n 1 interface/said | grep -q '^ok and no more' || fail "interface: did not come to its end"
}

build_runtime || { echo "the runtime does not build"; echo "0 passed, 1 failed"; exit 1; }
(cd networks && ls) | xargs -P "$jobs" -I{} bash -c 'build_network {}'
(cd networks && ls) | xargs -P 4 -I{} bash -c 'test_network {}'
: >results.tsv
for place in networks/*; do
    report "$(basename "$place")"
done
test_interface
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
nvcc --version | tail -n 1
echo "$passed passed, $failed failed"
[ $failed = 0 ]
