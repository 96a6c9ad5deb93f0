#!/usr/bin/env bash
# Holds what a run of a CPU network costs, in instructions as callgrind counts them, to tests/instructions.txt, or
# writes that anew: instructions.sh BUILD [refresh]
# Instructions are the same on a busy machine, so that slower code shows where times would not. They depend on the
# compiler: only the one that the table names is held to it.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
table=tests/instructions.txt
margin=3                                                        # percent
points="digits 1, digits 32, policy 1, policy 32, minilm_ffn 1"

compiler="gcc $(gcc -dumpversion | cut -d. -f1) $(uname -m)"

# Why nothing is counted here.
obstacle() {
    if [ -n "${SANITIZE:-}" ]; then
        echo "sanitizers add instructions"
    elif ! command -v valgrind >/dev/null; then
        echo "there is no valgrind"
    elif ! grep -qw avx2 /proc/cpuinfo || ! grep -qw fma /proc/cpuinfo; then
        echo "this processor has no AVX2 and FMA"
    elif [ "${1:-}" != refresh ] && ! grep -qx "# $compiler" $table; then
        echo "$table is for another compiler than $compiler"
    fi
}

build_network() {
    local spec=specs/$1.mlp random=
    [ -e "$spec" ] || { spec=specs/ladder/$1.mlp; random=--random-weights=1; }
    CC=gcc "$build/mlpc" --lib --target=cpu $random -o "$scratch" "$spec" &&
        gcc -std=c11 -O1 -I "$build/runtime" -I "$scratch" -DHEADER="\"$1.h\"" -DMODEL="$1_model" -o "$scratch/$1" \
            tests/instructions.c "$scratch/lib$1.a" -lm
}

# count NETWORK ROWS: the number, or nothing
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=counted "$scratch/$1" "$2" 2>&1 |
        sed -n 's/^==[0-9]*== Collected : \([1-9][0-9]*\)$/\1/p'
}

# judge NETWORK ROWS COUNTED
judge() {
    local limit
    limit=$(awk -v network="$1" -v rows="$2" '$1 == network && $2 == rows { print $3 }' $table)
    if [ -z "$3" ] || [ -z "$limit" ]; then
        fail "$1, $2 rows: ${3:-no} instructions counted, ${limit:-no} in $table"
    elif [ $((100 * $3)) -gt $(((100 + margin) * limit)) ]; then
        fail "$1, $2 rows: $3 instructions, more than $margin % over the $limit of $table"
    else
        pass
        [ $((100 * $3)) -ge $(((100 - margin) * limit)) ] ||
            echo "$1, $2 rows: $3 instructions, fewer than the $limit of $table: tests/instructions.sh $build refresh"
    fi
}

why=$(obstacle "${2:-}")
if [ -n "$why" ]; then
    skip "instruction counts: $why"
    finish instructions
fi
[ "${2:-}" != refresh ] || sed -i "/^[^#]/d; s/^# gcc .*/# $compiler/" $table
while read -r network rows; do
    [ -x "$scratch/$network" ] || check "build $network" build_network "$network"
    counted=$(count "$network" "$rows")
    if [ "${2:-}" = refresh ]; then
        echo "$network $rows $counted" >>$table
    else
        judge "$network" "$rows" "$counted"
    fi
done < <(tr , '\n' <<<"$points")
finish instructions
