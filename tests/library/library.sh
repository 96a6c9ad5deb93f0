#!/usr/bin/env bash
# The library form: the examples build as C99, C11 and C++, give the right answer, and see only the network's names.
# Sources and headers are clean for gcc and clang in all three.
# library.sh BUILD
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
build=$1
cc=${CC:-gcc}
cxx=${CXX:-g++}
warn="-Wall -Wextra -Wpedantic -Werror"
libraries="-lm"
here="-I $scratch/lib -I $build/runtime"

check "--lib for digits" "$build/mlpc" --lib --target=cpu -o "$scratch/lib" specs/digits.mlp
check "--lib for two_tower" "$build/mlpc" --lib --target=cpu -o "$scratch/lib" tests/cases/pytorch/two_tower/model.mlp

for std in c99 c11; do
    # shellcheck disable=SC2086
    check "classify.c as $std" $cc -std=$std $warn $here -o "$scratch/classify" tests/library/classify.c \
        "$scratch/lib/libdigits.a" $libraries
    check "classify.c as $std runs" "$scratch/classify"
    says "classify.c as $std finds a three" '^3 ('
done
# shellcheck disable=SC2086
check "classify.c as C++" $cxx -std=c++20 -x c++ $warn $here -o "$scratch/classify" tests/library/classify.c \
    -x none "$scratch/lib/libdigits.a" $libraries
check "classify.c as C++ runs" "$scratch/classify"
says "classify.c as C++ finds a three" '^3 ('
# shellcheck disable=SC2086
check "score.cpp" $cxx -std=c++20 $warn $here -o "$scratch/score" tests/library/score.cpp "$scratch/lib/libdigits.a" \
    "$scratch/lib/libtwo_tower.a" $libraries
check "score.cpp runs" "$scratch/score"

# ---- What a status promises ----
check "--lib with external weights" \
    "$build/mlpc" --lib --target=cpu --threads=2 --weights=external -o "$scratch/external" specs/digits.mlp
# shellcheck disable=SC2086
check "contract.c" $cc -std=c99 $warn -I "$scratch/external" -I "$build/runtime" -o "$scratch/contract" \
    tests/library/contract.c "$scratch/external/libdigits.a" $libraries
check "contract.c holds" "$scratch/contract" "$scratch/external/digits.weights"

# ---- Threads, and many rounds: `make tsan` and `make check-rounds` have more of both ----
check "other weights" "$build/mlpc" --target=cpu --threads=2 --weights=external --random-weights=1 \
    -o "$scratch/other" specs/digits.mlp
# shellcheck disable=SC2086
check "threads.c" $cc -std=gnu11 $warn -I "$scratch/external" $here -o "$scratch/threads" tests/library/threads.c \
    "$scratch/external/libdigits.a" "$scratch/lib/libtwo_tower.a" $libraries
check "threads.c holds" timeout 300 "$scratch/threads" "$scratch/external/digits.weights" \
    "$scratch/other/digits.weights" 200
# shellcheck disable=SC2086
check "rounds.c" $cc -std=gnu11 -D_GNU_SOURCE $warn -DMODEL=digits_model $here -o "$scratch/rounds" \
    tests/library/rounds.c "$scratch/external/libdigits.a" $libraries
# Sanitizers keep what is freed for a while.
[ -n "${SANITIZE:-}" ] || check "rounds.c holds" "$scratch/rounds" 1000 300 README.md "$scratch/external/digits.weights"

# ---- Sources and headers under strict compilers ----
# clean LANGUAGE STANDARD HOW FILE...: compiled once; the other standards differ in what they accept
clean() {
    local language=$1 standard=$2 how=$3 compiler compilers="gcc clang" file
    [ "$language" = c ] || compilers="g++ clang++"
    shift 3
    for compiler in $compilers; do
        command -v "$compiler" >/dev/null || continue
        for file; do
            # shellcheck disable=SC2086
            check "$compiler -std=$standard $(basename "$file")" "$compiler" -std="$standard" $warn -Wshadow $how \
                $here -c -o /dev/null -x "$language" "$file"
        done
    done
}
for spec in specs/digits.mlp tests/cases/pytorch/two_tower/model.mlp; do
    check "sources of $spec" "$build/mlpc" --target=cpu -o "$scratch/sources" "$spec"
done
printf '#include "%s"\n' digits.h mlp_cpu.h mlp_network.h >"$scratch/headers.c"
echo "MLP_ALIGN(256) float aligned[64];" >>"$scratch/headers.c"
clean c c99 -fsyntax-only "$scratch"/sources/*.c "$scratch/headers.c"
clean c c11 -O1 "$scratch"/sources/*.c "$scratch/headers.c"
clean c++ c++20 -fsyntax-only "$scratch"/sources/*.c "$scratch/headers.c"
clean c++ c++11 -fsyntax-only "$scratch/headers.c"

nm -g --defined-only "$scratch/lib/libdigits.a" "$scratch/external/libdigits.a" | awk 'NF == 3 { print $3 }' |
    grep -vxE 'digits_.*|mlp_status_text' >"$scratch/foreign"
if [ -s "$scratch/foreign" ]; then
    fail "libdigits.a defines names that are not the network's: $(head -n 5 "$scratch/foreign" | tr '\n' ' ')"
else
    pass
fi
finish library
