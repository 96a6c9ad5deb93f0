#!/usr/bin/env bash
# Every fuzz target over its seeds, once: what was found is kept among them. fuzz.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
for source in tests/fuzz/*.c; do
    target=$(basename "$source" .c)
    mapfile -t seeds < <(tests/fuzz/seeds.sh "$target")
    FUZZ_VERBOSE=1 check "the seeds of $target" "$build/tests/fuzz_$target" "${seeds[@]}"
done
finish fuzz
