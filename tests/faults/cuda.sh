#!/usr/bin/env bash
# Networks for CUDA on the simulated device, where calls of CUDA, of cuBLASLt and of the system fail in turn:
#     cuda.sh BUILD [all]
# Without `all`, of one network alone, and every eighth call.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
if [ ! -r "${CUDA:-/usr/local/cuda}/include/cuda_runtime.h" ]; then
    skip "faults of CUDA: there are no CUDA headers"
    finish cudafaults
elif [ -n "${SANITIZE:-}" ]; then
    skip "faults of CUDA: the simulated device is not built with sanitizers"
    finish cudafaults
fi
root=$PWD
build=$(absolute "$1")
all=${2:-}
. tests/gpu/simulated/build.sh
set +e
unset "${!MLP_SIMULATED_@}"
device >"$scratch/device" 2>&1 || { fail "the simulated device"; cat "$scratch/device"; finish cudafaults; }
cd "$scratch" || exit 1

# Two products, two batch sizes. In f16, where rows in one kernel are.
cat >net.mlp <<'SPEC'
model net {
    batch 1, 3;
    input x: f32[8];
    h = relu(linear(x, 8, "a"));
    output y = softmax(linear(h, 5, "b"));
}
SPEC
sed 's/batch 1, 3;/batch 1, 16;\n    dtype f16;/; s/f32\[8\]/f32[64]/; s/output y/output y: f32/' net.mlp >half.mlp

# small FOLDER: with less workspace there is less to set at each start
small() {
    local workspace=33554432 bytes
    bytes=$(sed -n 's/.*\.arena_bytes = \([0-9]*\),.*/\1/p' "$1/net.c")
    grep -q "workspace_bytes = $workspace" "$1/net.c" || return 0
    sed -i "s/\b$workspace\b/65536/; s/\b$bytes\b/$((bytes - workspace + 65536))/" "$1/net.c" "$1/net.cu"
}

# emit FOLDER SPEC OPTION...
emit() {
    local folder=$1 spec=$2 seed
    shift 2
    for seed in 1 2; do
        "$build/mlpc" --target=cuda --weights=external --random-weights=$seed "$@" -o "$folder.$seed" "$spec" || return
    done
    "$build/mlpc" --target=cuda --random-weights=1 "$@" -o "$folder" "$spec" && small "$folder"
}

# made FOLDER: the program (of `all`) and the test, from the sources there
made() {
    (
        compile "$1"
        [ -z "$all" ] || link "$1/net" "$1"/*.o
        gcc -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -DNET_CUDA -I"$1" $include -c -o "$1/library.o" \
            "$root/tests/faults/library.c"
        rm "$1"/part_net_main.c.o
        link "$1/library" "$1"/*.o interpose.o
    )
}

# library FOLDER [STEP]
library() {
    check "$1 under faults" "$1/library" "$1.1/net.weights" "$1.2/net.weights" "${@:2}"
    sed "s/^/    $1: /" said
}

check "interpose.c" gcc -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -fno-builtin -c -o interpose.o \
    "$root/tests/faults/interpose.c"
check "sources" emit steps net.mlp --whole=never
check "programs" made steps
library steps $([ -n "$all" ] || echo 8)
[ -n "$all" ] || finish cudafaults

# ---- The program ----
mkdir -p given program
cp steps/net program/
cp steps.1/net.weights given/
{
    printf '\x93NUMPY\1\0\x76\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }"
    head -c 128 "$root/specs/digits_x.npy"
} >given/x.npy
check "interpose.c to be loaded" gcc -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared -fno-builtin -o interpose.so \
    "$root/tests/faults/interpose.c" -ldl
"$build/tests/fail_calls" "$build" interpose.so . cuda >report
grep -v '^faults: ' report
passed=$((passed + $(awk '/^faults: / { print $2 }' report)))
failed=$((failed + $(awk '/^faults: / { print $4 }' report)))

# ---- Networks of other kinds ----
check "one kernel for few rows: sources" emit few net.mlp --whole=few
check "one kernel for few rows: programs" made few
library few 12
check "one kernel for rows: sources" emit rows half.mlp --whole=rows
check "one kernel for rows" grep -q "form = MLP_FORM_ROWS" rows/net.c
check "one kernel for rows: programs" made rows
library rows 12
check "an arena that is allocated: sources" emit allocated net.mlp --whole=never
sed -i 's/\.find_arena = .*,/.find_arena = NULL,/' allocated/net.c
check "an arena that is allocated: programs" made allocated
library allocated
check "plans" steps/net --tune net.plan --seconds 1
check "plans: sources" emit planned net.mlp --whole=never --plan=net.plan
check "plans: programs" made planned
library planned
finish cudafaults
