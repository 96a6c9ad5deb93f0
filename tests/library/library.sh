#!/usr/bin/env bash
# The library form: the examples build as C99, C11 and C++, give the right answer, and see only the network's names.
# library.sh BUILD
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
build=$1
cc=${CC:-gcc}
cxx=${CXX:-g++}
warn="-Wall -Wextra -Wpedantic -Werror"
libraries="-lopenblas -lpthread -lm"
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

nm -g --defined-only "$scratch/lib/libdigits.a" | awk 'NF == 3 { print $3 }' | grep -vxE 'digits_.*|mlp_status_text' >"$scratch/foreign"
if [ -s "$scratch/foreign" ]; then
    fail "libdigits.a defines names that are not the network's: $(head -n 5 "$scratch/foreign" | tr '\n' ' ')"
else
    pass
fi
finish library
