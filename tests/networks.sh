#!/usr/bin/env bash
# Networks in which something went wrong once, or easily could: each is built with random weights in every type, and
# --verify holds each of its steps, and their chain, to float64: networks.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1

# For three threads, and as if there were work enough for all of them in every step of any number of rows. --verify
# compares the bits on one, two and three.
threads() {
    local folder=$scratch/threads
    rm -rf "$folder"
    "$build/mlpc" --target=cpu --cpu=native --threads=3 --random-weights=3 -o "$folder" "$1" &&
        sed -i 's/\.row_work = .*/.row_work = 1e12,/' "$folder"/*.c && grep -q '= 1e12' "$folder"/*.c &&
        ${CC:-gcc} -std=c11 -O1 -I "$build/runtime" -I "$folder" -o "$folder/program" "$folder"/*.c "$folder"/*.S \
            "$build/runtime/libmlprt.a" -lm && "$folder/program" --verify
}

for spec in tests/networks/*.mlp; do
    check "$(basename "$spec" .mlp) on threads" threads "$spec"
done
# As users build it, but for the processor at hand alone; then in the other types, compiled in less time. (tf32 is f32
# to this target.)
for spec in tests/networks/*.mlp; do
    name=$(basename "$spec" .mlp)
    own=$(sed -n 's/^ *dtype *\([a-z0-9]*\).*/\1/p' "$spec")
    for type in own f32 f16 bf16; do
        cc="${CC:-gcc} -O1"
        if [ $type = own ]; then
            cc=${CC:-gcc}
            cp "$spec" "$scratch/$name.mlp"
        elif [ $type = "${own:-f32}" ]; then
            continue
        elif [ -n "$own" ]; then
            sed "s/^ *dtype .*/    dtype $type;/" "$spec" >"$scratch/$name.mlp"
        else
            sed "0,/^model .*{/s//&\n    dtype $type;/" "$spec" >"$scratch/$name.mlp"
        fi
        check "$name in $type" env CC="$cc" bash -c \
            '"$1" --exe --target=cpu --cpu=native --random-weights=3 -o "$2" "$2.mlp" && "$2" --verify' - \
            "$build/mlpc" "$scratch/$name"
    done
done
finish networks
