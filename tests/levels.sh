#!/usr/bin/env bash
# Networks for the CPU on each instruction set that they can be compiled for, held to float64 by --verify, which also
# holds the bits of a row to what it has alone: levels.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
mlpc=$(absolute "$build/mlpc")
spec=tests/networks/odd_sizes.mlp

# make NAME SPEC LIST...: the program $scratch/NAME
make_program() {
    local name=$1 spec=$2
    shift 2
    check "$name" "$mlpc" --exe --target=cpu --random-weights=3 "$@" -o "$scratch/$name" "$spec"
}

# ---- The processor at hand ----
has() { "$scratch/asks" --info | grep -q "^cpu *x86-64$1\$"; }

for level in x86-64 v2 native; do
    make_program $level $spec --cpu=$level
    check "on $level" "$scratch/$level" --verify
done
make_program asks specs/digits.mlp --cpu=x86-64,v2,v3,v4
status "--info" 0 "$scratch/asks" --info
if [ "$(uname -m)" = x86_64 ]; then
    says "--info names the instruction set" '^cpu  *x86-64'
    make_program baseline specs/digits.mlp --cpu=x86-64
    status "--info of a program for any processor" 0 "$scratch/baseline" --info
    says "--info of a program for any processor" '^cpu  *x86-64$'
fi
if has -v4; then
    check "AVX-512" "$scratch/asks" --verify
else
    make_program v4 specs/digits.mlp --cpu=v4
    status "a processor without AVX-512" 3 "$scratch/v4" --verify
    says "a processor without AVX-512" \
        'wrong processor: there is no code for this one: it has x86-64.*, this network needs x86-64-v4'
    status "--info without AVX-512" 0 "$scratch/v4" --info
    says "--info without AVX-512" '^cpu  *wrong processor'
fi

# Where the compiler counts on a level anyway, those below are not compiled.
levels_of() { CC="${CC:-gcc} $1" "$mlpc" --lib --target=cpu --cpu=x86-64,v3 -o "$scratch/library" specs/digits.mlp &&
    nm "$scratch/library/libdigits.a" | grep -o 'digits_x86_64[_v3]*$' | sort | tr '\n' ' '; }
if [ "$(uname -m)" = x86_64 ]; then
    check "both levels" test "$(levels_of -O1)" = "digits_x86_64 digits_x86_64_v3 "
    check "one level, since -march asks for it" test "$(levels_of -march=x86-64-v3)" = "digits_x86_64_v3 "
fi

# ---- Another compiler ----
if [ -n "${SANITIZE:-}" ]; then
    skip "clang: the runtime is built with gcc's sanitizers"
elif command -v clang >/dev/null; then
    check "clang" env CC=clang "$mlpc" --exe --target=cpu --random-weights=3 -o "$scratch/clang" $spec
    check "clang's program" "$scratch/clang" --verify
    check "clang, AVX-512" env CC=clang "$mlpc" --exe --target=cpu --cpu=v4 -o "$scratch/clang" specs/digits.mlp
else
    skip "clang: it is not here"
fi

# ---- Another processor, emulated ----
cross=aarch64-linux-gnu-gcc
if ! command -v $cross >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    skip "aarch64: there is no $cross or no qemu-aarch64"
else
    mkdir "$scratch/runtime"
    for source in runtime/*.c; do
        case $source in runtime/cuda*) continue ;; esac
        echo "$source"
    done | xargs -P 2 -I{} sh -c \
        "$cross"' -std=c11 -D_GNU_SOURCE -O1 -Iruntime -c -o "$1/runtime/$(basename "$2").o" "$2"' - "$scratch" {}
    check "sources" "$mlpc" --target=cpu --random-weights=3 -o "$scratch/sources" $spec
    check "for aarch64" $cross -std=c11 -O3 -ffp-contract=fast -static -Iruntime -I"$scratch/sources" \
        -o "$scratch/aarch64" "$scratch"/sources/*.c "$scratch"/sources/*.S "$scratch"/runtime/*.o -lm
    check "on aarch64" qemu-aarch64 "$scratch/aarch64" --verify
    status "--info on aarch64" 0 qemu-aarch64 "$scratch/aarch64" --info
    says "--info on aarch64" '^cpu  *as compiled$'
fi

# The program takes what it finds.
if command -v qemu-x86_64 >/dev/null && [ -z "${SANITIZE:-}" ]; then
    make_program found $spec
    status "an old processor" 0 qemu-x86_64 -cpu Nehalem "$scratch/found" --info
    says "an old processor" '^cpu  *x86-64$'
    check "on an old processor" qemu-x86_64 -cpu Nehalem "$scratch/found" --verify
else
    skip "an old processor: there is no qemu-x86_64"
fi
finish levels
