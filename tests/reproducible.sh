#!/usr/bin/env bash
# The same bytes whoever runs mlpc, and where: reproducible.sh BUILD. What mlpc makes of some networks (outputs.sh) here
# is held to what it makes in another folder, language, time zone and environment, as another user, with little stack,
# memory filled with rubbish, and a sort that turns equals around. `make check-builds` tries these one by one, and other
# builds of mlpc: builds.sh.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/variations.sh
build=$(absolute "$1")
mlpc=$build/mlpc

speaks=another_language
if ! made_language de_DE ISO-8859-1; then
    skip "another language: there is no localedef, or it has no de_DE"
    speaks=
fi
sort=unstable_sort
if [ -n "${SANITIZE:-}" ]; then
    skip "a sort that turns equals around: nothing is loaded before a sanitizer"
    sort=
else
    check "a sort that turns equals around" made_unstable_sort
fi
elsewhere=$(copied "$scratch/another folder, ü")

# Three at a time, as `make -j` runs them.
tests/outputs.sh "$mlpc" "$scratch/here" few &
another_user another_time elsewhere $speaks tests/outputs.sh "$mlpc" "$scratch/there" few &
$sort another_environment rubbish fixed_addresses tests/outputs.sh "$mlpc" "$scratch/shaken" few &
wait
check "outputs of all kinds" test "$(find "$scratch/here" -type f | wc -l)" -gt 150
same "another folder, language, time zone and user" "$scratch/here" "$scratch/there"
same "another environment, layout of memory and order of equals" "$scratch/here" "$scratch/shaken"

status "no big-endian processor" 1 ${CC:-gcc} -fsyntax-only -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ \
    -include runtime/mlp_network.h -x c /dev/null
says "no big-endian processor" 'error: .*little-endian'
finish reproducible
