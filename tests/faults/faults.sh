#!/usr/bin/env bash
# What becomes of mlpc and of a program where calls of the system fail: faults.sh BUILD
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
if [ -n "${SANITIZE:-}" ]; then
    skip "faults of the system: sanitizers have a malloc of their own"
    finish faults
fi
build=$1
cc=${CC:-gcc}

# A small network of two outputs, its weights and an input; and a script that stands for the C compiler and its tools.
mkdir -p "$scratch"/{given,program,bin}
cat >"$scratch/given/net.mlp" <<'SPEC'
model net {
    weights "net.safetensors";
    input x: f32[4];
    h = relu(linear(x, 3, "fc"));
    output y = softmax(h);
    output z: f16 = sum(h);
}
SPEC
printf 'model m{input x:f32[1];output y=x*2;}\n' >"$scratch/given/wild.mlp"
header='{"fc.weight":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]},'
header+='"fc.bias":{"dtype":"F32","shape":[3],"data_offsets":[48,60]}}'
{
    printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
    for _ in $(seq 15); do printf '\0\0\200\077'; done
} >"$scratch/given/net.safetensors"
{
    printf '\x93NUMPY\1\0\x76\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }"
    for _ in $(seq 8); do printf '\0\0\0\077'; done
} >"$scratch/given/x.npy"
cp tests/cases/import/activations/model.onnx "$scratch/given/"
cat >"$scratch/bin/tool" <<'TOOL'
#!/bin/sh
for word; do
    [ "$last" != -o ] && [ "$last" != rcsD ] || echo made >"$word"
    last=$word
done
TOOL
chmod +x "$scratch/bin/tool"

check "the program" "$build/mlpc" --exe --no-static --target=cpu --cpu=x86-64 -o "$scratch/program/net" \
    "$scratch/given/net.mlp"
check "its weights" "$build/mlpc" --target=cpu --weights=external -o "$scratch/program" "$scratch/given/net.mlp"
cp "$scratch/program/net.weights" "$scratch/given/"
# ---- A library in a program that goes on ----
cat >"$scratch/net.mlp" <<'SPEC'
model net {
    batch 1, 3;
    input x: f32[8];
    output y = softmax(linear(x, 5, "a"));
}
SPEC
for seed in 1 2; do
    check "weights $seed" "$build/mlpc" --target=cpu --threads=2 --random-weights=$seed --weights=external \
        -o "$scratch/weights$seed" "$scratch/net.mlp"
done
check "a library" "$build/mlpc" --lib --target=cpu --cpu=x86-64 --threads=2 --random-weights=1 -o "$scratch/library" \
    "$scratch/net.mlp"
# shellcheck disable=SC2086
check "library.c" $cc -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -I"$scratch/library" -I"$build/runtime" \
    -o "$scratch/library/test" tests/faults/library.c tests/faults/interpose.c "$scratch/library/libnet.a" -lm
check "a library under faults" "$scratch/library/test" "$scratch"/weights[12]/net.weights
says "a library under faults" "[1-9][0-9] faults, "

check "interpose.c" $cc -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared -fno-builtin -o "$scratch/interpose.so" \
    tests/faults/interpose.c -ldl

# ---- A disk that is full, and one that is only read ----
# holds NAME FOLDER COMMAND...: fails with status 3, and the files of FOLDER are as they were.
holds() {
    local name=$1 folder=$2 before
    shift 2
    before=$(ls -la "$folder" | tail -n +3; cat "$folder"/* 2>/dev/null | cksum)
    status "$name" 3 "$@"
    says "$name" "cannot\|y: "
    if [ "$before" = "$(ls -la "$folder" | tail -n +3; cat "$folder"/* 2>/dev/null | cksum)" ]; then
        pass
    else
        fail "$name: $folder is not as it was"
    fi
}
mkdir "$scratch/disk"
for size in 1 2 4; do
    echo old | tee "$scratch/disk/net.c" >"$scratch/disk/y.npy"
    holds "files of at most $size kB" "$scratch/disk" full_disk $size "$build/mlpc" --target=cpu \
        -o "$scratch/disk" "$scratch/given/net.mlp"
done
if mount -t tmpfs -o size=16k tmpfs "$scratch/disk" 2>/dev/null; then
    echo old >"$scratch/disk/net.c"
    holds "mlpc on a full disk" "$scratch/disk" "$build/mlpc" --target=cpu -o "$scratch/disk" "$scratch/given/net.mlp"
    echo old >"$scratch/disk/y.npy"
    head -c 16384 /dev/zero >"$scratch/disk/full" 2>/dev/null
    holds "a program on a full disk" "$scratch/disk" "$scratch/program/net" "x=$scratch/given/x.npy" \
        "y=$scratch/disk/y.npy" "z=$scratch/disk/z.npy"
    mount -o remount,ro "$scratch/disk"
    holds "mlpc on a disk that is only read" "$scratch/disk" "$build/mlpc" --target=cpu -o "$scratch/disk" \
        "$scratch/given/net.mlp"
    holds "a program on a disk that is only read" "$scratch/disk" "$scratch/program/net" "x=$scratch/given/x.npy" \
        "y=$scratch/disk/y.npy" "z=$scratch/disk/z.npy"
    umount "$scratch/disk"
else
    skip "full disks: no file system can be mounted here"
fi
status "/dev/full" 3 "$scratch/program/net" "x=$scratch/given/x.npy" y=/dev/full "z=$scratch/disk/z.npy"

# ---- A file system that cannot exchange names: each earlier output is there still, or the new one ----
mkdir "$scratch/plain"
cat "$scratch/given/x.npy" >"$scratch/plain/x.npy"
# without_exchange NAME PROGRAM FILE... -- COMMAND...: the second file fails to get to its place
without_exchange() {
    local name=$1 program=$2 files=() file
    shift 2
    for (( ; $# > 0; )); do
        [ "$1" != -- ] || { shift; break; }
        files+=("$1")
        shift
    done
    for file in "${files[@]}"; do echo old >"$file"; done
    status "$name" 3 env LD_PRELOAD="$scratch/interpose.so" FAULT_PROGRAM="$program" FAULT_KIND=rename FAULT_AT=2 \
        FAULT_NO_EXCHANGE=1 "$@"
    for file in "${files[@]}"; do
        check "$name: ${file##*/} is there" test -s "$file"
    done
}
without_exchange "a program without exchange" net "$scratch"/plain/{y,z}.npy -- "$scratch/program/net" \
    "x=$scratch/plain/x.npy" "y=$scratch/plain/y.npy" "z=$scratch/plain/z.npy"
without_exchange "mlpc without exchange" mlpc "$scratch"/plain/net{.c,.h,_main.c} -- "$build/mlpc" --target=cpu \
    -o "$scratch/plain" "$scratch/given/net.mlp"

# ---- Files that become shorter while they are read as memory ----
if [ -n "${SANITIZE:-}" ]; then
    skip "files that become shorter: sanitizers count on the map of files"
else
    check "cut_short.c" $cc -std=gnu11 -D_GNU_SOURCE -fPIC -shared -o "$scratch/cut_short.so" tests/faults/cut_short.c
    mkdir "$scratch/shorter"
    cp "$scratch"/given/net.* "$scratch/given/model.onnx" "$scratch/shorter"
    for input in net.mlp model.onnx; do
        mode=(--target=cpu)
        [ $input = net.mlp ] || mode=(import)
        status "$input cut short" 3 env LD_PRELOAD="$scratch/cut_short.so" "$build/mlpc" "${mode[@]}" \
            -o "$scratch/shorter/out" "$scratch/shorter/$input"
        says "$input cut short" "^mlpc: error: a file became shorter while it was read$"
        check "$input cut short: no output" test ! -e "$scratch/shorter/out"
    done
fi

# ---- Every call, failing in turn ----
export CC=$scratch/bin/tool LD=$scratch/bin/tool AR=$scratch/bin/tool OBJCOPY=$scratch/bin/tool
"$build/tests/fail_calls" "$build" "$scratch/interpose.so" "$scratch" >"$scratch/report"
grep -v '^faults: ' "$scratch/report"
line=$(tail -n 1 "$scratch/report")
passed=$((passed + $(awk '{ print $2 }' <<<"$line"))) failed=$((failed + $(awk '{ print $4 }' <<<"$line")))
finish faults
