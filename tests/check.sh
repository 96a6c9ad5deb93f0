#!/usr/bin/env bash
# Runs every test and adds up: check.sh BUILD UNIT...
# A suite ends with a line "NAME: N passed, N failed[, N skipped]"; a unit test says "ok" or "not ok" for each of its
# tests (TAP). One that says neither counts as a single test.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
log=$logs/unit
trap 'rm -rf "$logs"' EXIT
cores=$(nproc)

export CMOCKA_MESSAGE_OUTPUT=tap
if [ -n "${SANITIZE:-}" ]; then
    # Generated programs too. A report is status 99, which no test expects.
    export CC="gcc -fsanitize=address,undefined" CXX="g++ -fsanitize=address,undefined"
    export NVCC="nvcc -Xcompiler=-fsanitize=address -Xcompiler=-fsanitize=undefined"
    export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99:halt_on_error=1:print_stacktrace=1
else
    export CC="gcc -O1"         # compiles in less time; what counts on more is run as users do
fi
as_users_do() {
    if [ -n "${SANITIZE:-}" ]; then "$@"; else env -u CC "$@"; fi
}

add() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

# Suites run side by side, one on each core, and are shown in their order.
declare -A started
# start NAME COMMAND...
start() {
    local name=$1
    shift
    while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do
        wait -n
    done
    ("$@" </dev/null >"$logs/$name" 2>&1; echo $? >"$logs/$name.status") &
    started[$name]=$!
}

# show NAME: what it said, added up
show() {
    local name=$1 status line
    wait "${started[$name]}" 2>/dev/null    # unless it has ended and been waited for
    status=$(cat "$logs/$name.status")
    cat "$logs/$name"
    line=$(grep -E '[0-9]+ passed, [0-9]+ failed' "$logs/$name" | tail -n 1)
    if [[ $line =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
        add "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[4]:-0}"
        [ "$status" = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ] || { echo "FAILED $name: status $status"; add 0 1 0; }
    else
        [ "$status" = 0 ] && add 1 0 0 || { echo "FAILED $name: status $status"; add 0 1 0; }
    fi
}

# suite NAME COMMAND...: one that uses all cores itself
suite() {
    wait
    start "$@"
    show "$1"
}

unit() {
    local name status good bad apart
    name=$(basename "$1")
    "$1" </dev/null >"$log" 2>&1
    status=$?
    good=$(grep -c '^ok ' "$log")
    bad=$(grep -c '^not ok ' "$log")
    apart=$(grep -c '^ok .*# SKIP' "$log")
    good=$((good - apart))
    [ "$status" != 0 ] && [ "$bad" = 0 ] && bad=1
    [ "$status" = 0 ] && [ "$good$apart" = 00 ] && good=1
    [ "$bad" = 0 ] || cat "$log"
    [ "$apart" = 0 ] || sed -n 's/^ok .*# SKIP /skipped: '"$name"': /p' "$log"
    echo "$name: $good passed, $bad failed, $apart skipped"
    add "$good" "$bad" "$apart"
}

# PyTorch's cases once more, made for CUDA and run on the CPU by a stand-in for the device, which needs CUDA's headers.
simulated() {
    local why=
    [ -r "${CUDA:-/usr/local/cuda}/include/cuda_runtime.h" ] || why="there are no CUDA headers"
    [ -z "${SANITIZE:-}" ] || why="the stand-in is not built with sanitizers"
    if [ -n "$why" ]; then
        echo "skipped: the cases on a simulated GPU: $why"
        echo "simulated: 0 passed, 0 failed, 1 skipped"
    else
        echo "on a simulated GPU:"
        mkdir -p "$build/cases_simulated"
        set -o pipefail
        {
            bad=0
            MLPC=$PWD/$build/mlpc run_cases tests/gpu/simulated/mlpc.sh "$build/cases_simulated" 300 || bad=1
            MLPC=$PWD/$build/mlpc run_examples tests/gpu/simulated/mlpc.sh "$build/cases_simulated" -n ranking || bad=1
            tests/gpu/simulated/whole.sh "$build" || bad=1
            MLP_SIMULATED_WHOLE=auto random_networks 2 -x tests/gpu/simulated/mlpc.sh || bad=1
            exit $bad
        } | sum_of_suites simulated
    fi
}

# Passes on what suites say, and ends with the sum of their last lines.
sum_of_suites() {
    awk -v name="$1" '{ print; fflush() }
        /^[a-z]+: [0-9]+ passed, [0-9]+ failed/ { passed += $2; failed += $4 }
        END { printf "%s: %d passed, %d failed\n", name, passed, failed }'
}

# run_cases MLPC SCRATCH SECONDS [FOLDER...]: PyTorch's, and those of other folders
run_cases() {
    "$build/tests/run_cases" -t "$3" "$1" "$build/runtime" "$2" tests/cases/pytorch "${@:4}"
}

# run_examples MLPC SCRATCH [OPTION...]: what specs/examples compute, compiled in less time
run_examples() {
    CC="${CC:-gcc} -O1" "$build/tests/run_cases" -q -t 300 "${@:3}" "$1" "$build/runtime" "$2" tests/cases/examples
}

# random_networks COUNT [OPTION...]: always the same ones; `make check-random` runs others.
random_networks() {
    mkdir -p "$build/random"
    MLPC=$PWD/$build/mlpc "$build/tests/random_networks" -n "$1" "${@:2}" "$build/mlpc" "$build/runtime" "$build/random"
}

for program; do
    unit "$program"
done
mkdir -p "$build/cases"
start tune tests/tune.sh "$build"
start random random_networks 200
start networks as_users_do tests/networks.sh "$build"
start messages tests/messages.sh "$build/mlpc"
start page tests/messages_page.sh "$build/mlpc"
start golden tests/golden.sh "$build"
start format tests/format.sh "$build"
start style tests/style.sh
start texts tests/texts.sh "$build"
start levels tests/levels.sh "$build"
start cuda tests/cuda.sh "$build"
start compiler tests/compiler.sh "$build"
start options tests/options.sh "$build"
start install tests/install.sh "$build"
start tour as_users_do tests/tour.sh "$build"
start depfile tests/depfile.sh "$build"
start program tests/program.sh "$build"
start hostile tests/hostile.sh "$build"
start faults tests/faults/faults.sh "$build"
start cudafaults tests/faults/cuda.sh "$build"
start onnx tests/onnx.sh "$build"
start fuzz tests/fuzz.sh "$build"
start library tests/library/library.sh "$build"
start reproducible tests/reproducible.sh "$build"
start instructions as_users_do tests/instructions.sh "$build"
for name in messages page golden format style texts networks levels compiler options depfile install tour \
    program hostile faults cudafaults onnx fuzz library reproducible instructions cuda random tune; do
    show "$name"
done
[ -n "${SANITIZE:-}" ] && seconds=300 || seconds=60
MLPC=$PWD/$build/mlpc suite cases run_cases tests/one_level.sh "$build/cases" $seconds tests/cases/public
MLPC=$PWD/$build/mlpc suite examples run_examples tests/one_level.sh "$build/cases"
suite simulated simulated
[ -n "${SANITIZE:-}" ] || suite analyze env KNOWN=yes tests/analyze.sh "$build" gcc cppcheck

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
