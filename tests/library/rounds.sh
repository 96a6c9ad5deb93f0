#!/usr/bin/env bash
# Networks opened, run and closed again and again: for the CPU with one thread and with two, and for CUDA on a simulated
# device, which counts what was made and not given back. rounds.sh BUILD [COUNT]
# On a GPU, tests/gpu/run.sh does the same.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
build=$(absolute "$1")
count=${2:-10000}
[ "$count" -ge 1000 ] || { echo "rounds.sh: at least 1000 rounds: the first hundreds fill caches" >&2; exit 2; }
gcc="gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O1"
other=README.md                     # is no weights file

# holds NAME PROGRAM COUNT [WEIGHTS]
holds() {
    local name=$1
    shift
    check "$name" "$1" "$2" 3600 "$other" "${@:3}"
    sed 's/^/    /' "$scratch/said"
    if grep -q "not given back" "$scratch/said"; then fail "$name: $(tail -n 1 "$scratch/said")"; fi
}

for threads in 1 2; do
    place=$scratch/cpu$threads
    check "a library" "$build/mlpc" --lib --target=cpu --threads=$threads -o "$place" specs/digits.mlp
    check "its weights" "$build/mlpc" --target=cpu --threads=$threads --weights=external -o "$place" specs/digits.mlp
    # shellcheck disable=SC2086
    check "rounds.c" $gcc -DMODEL=digits_model -Iruntime -o "$place/rounds" tests/library/rounds.c \
        "$place/libdigits.a" -lm
    holds "on $threads threads" "$place/rounds" "$count" "$place/digits.weights"
done

# ---- The simulated device ----
if [ ! -r "${CUDA:-/usr/local/cuda}/include/cuda_runtime.h" ]; then
    skip "rounds on a simulated GPU: there are no CUDA headers"
    finish rounds
fi
. tests/gpu/simulated/build.sh
set +e
device
cat >"$scratch/net.mlp" <<'SPEC'
model net {
    batch 1, 20;
    input x: f32[8];
    h = relu(linear(x, 16, "a"));
    output y = softmax(linear(h, 4, "b"));
}
SPEC
# on_device NAME EDIT: with the arena that sed's EDIT of the host's source gives it
on_device() {
    local place=$scratch/$1
    check "$1" "$build/mlpc" --target=cuda --random-weights=1 --whole=never -o "$place" "$scratch/net.mlp"
    rm "$place/net_main.c"
    sed -i "$2" "$place/net.c"
    check "$1 is compiled" compile "$place"
    # shellcheck disable=SC2086
    check "rounds.c" $gcc -DMODEL=net_model $include -c -o "$place/rounds.o" tests/library/rounds.c
    check "$1 is linked" link "$place/rounds" "$place"/*.o
    holds "$1 on a simulated device" "$place/rounds" $((count / 10)) "$place/net.weights"
}
on_device static_arena ''
on_device allocated_arena 's/\.find_arena = .*,/.find_arena = NULL,/'
finish rounds
