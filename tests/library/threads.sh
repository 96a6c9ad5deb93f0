#!/usr/bin/env bash
# Libraries under threads, network and runtime built with ThreadSanitizer; and that this finds what it is there for: it
# must fail where a network is not locked, where its lock orders nothing, and where a pool's threads order nothing.
# threads.sh BUILD [CALLS]
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
build=$(absolute "$1")
calls=${2:-2000}
sanitize="-O1 -g -fsanitize=thread"
export TSAN_OPTIONS="halt_on_error=1 exitcode=66"

for weights in old:1 new:2; do
    check "${weights%:*} weights" "$build/mlpc" --target=cpu --threads=2 --weights=external \
        "--random-weights=${weights#*:}" -o "$scratch/${weights%:*}" specs/digits.mlp
done
check "two_tower" "$build/mlpc" --target=cpu -o "$scratch/two_tower" tests/cases/pytorch/two_tower/model.mlp
rm -f "$scratch"/*/*_main.c

# compile OBJECTS OPTION... -- SOURCE...: as many at once as there are cores
compile() {
    local objects=$1 options=() source
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    mkdir -p "$objects"
    # shellcheck disable=SC2086
    for source; do printf '%s\0%s\0' "$objects/$(basename "$source").o" "$source"; done |
        xargs -0 -n 2 -P "$(nproc)" gcc -std=gnu11 $sanitize "${options[@]}" -Iruntime -c -o
}
check "the networks" compile "$scratch/networks" -ffp-contract=fast "-I$scratch/two_tower" "-I$scratch/old" -- \
    "$scratch"/old/*.c "$scratch"/two_tower/*.[cS] tests/library/threads.c
check "the runtime" compile "$scratch/runtime" -D_GNU_SOURCE -- \
    runtime/{network,weights,status,open_file,cpu_network,cpu_level,cpu_threads,pool}.c

# link PROGRAM OBJECT...: the test, with these parts of the runtime
link() { gcc -fsanitize=thread -o "$@" "$scratch"/networks/*.o -lm; }
run() { timeout 3000 "$1" "$scratch/old/digits.weights" "$scratch/new/digits.weights" "$2"; }
check "threads.c" link "$scratch/threads" "$scratch"/runtime/*.o
check "threads.c holds" run "$scratch/threads" "$calls"
sed 's/^/    /' "$scratch/said"

# finds NAME FILE SED: the test fails with a file of the runtime edited
finds() {
    local name=$1 file=$2 place=$scratch/broken
    rm -rf "$place"
    mkdir "$place"
    sed "$3" "runtime/$file" >"$place/$file"
    if cmp -s "runtime/$file" "$place/$file"; then
        fail "$name: $file has nothing to edit"
        return
    fi
    cp "$scratch"/runtime/*.o "$place"
    check "$name" compile "$place" -D_GNU_SOURCE -- "$place/$file"
    check "$name" link "$place/threads" "$place"/*.o
    if run "$place/threads" 500 >"$scratch/said" 2>&1; then fail "not found: $name"; else pass; fi
    echo "    found: $name: $(grep -m 1 -E 'does not hold|SUMMARY' "$scratch/said")"
}
finds "no lock" network.c 's/return MLP_BUSY;/return MLP_OK;/'
finds "a lock that orders nothing" network.c 's/__ATOMIC_\(ACQUIRE\|RELEASE\)/__ATOMIC_RELAXED/'
finds "a pool that orders nothing" pool.c 's/memory_order_\(acquire\|release\|acq_rel\)/memory_order_relaxed/
    s/atomic_load(\([^()]*\))/atomic_load_explicit(\1, memory_order_relaxed)/'
finish threads
