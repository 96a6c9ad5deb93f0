#!/usr/bin/env bash
# The networks of the traps, and what tests them, in one folder: emit.sh MLPC FOLDER
# A spec stands for one network a type: f16 in it becomes that type, and the network is called NAME_TYPE.
set -eu
mlpc=$(cd "$(dirname "$1")" && echo "$PWD/$(basename "$1")")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -o "$work/make_weights" make_weights.c
"$work/make_weights" "$work/traps.safetensors"

# emit NAME TYPE...
emit() {
    local name=$1 type
    shift
    for type; do
        sed -e "s/^model $name /model ${name}_$type /" -e "s/\bf16\b/$type/g" "$name.mlp" >"$work/${name}_$type.mlp"
        "$mlpc" --target=cuda --whole=never -o "$folder/${name}_$type" "$work/${name}_$type.mlp"
        rm "$folder/${name}_$type/${name}_${type}_main.c"
    done
}
emit bias_axis f32 tf32 f16 bf16
emit gelu f32 tf32
emit residual f32 tf32 f16 bf16
emit bias_type f16 bf16
emit widths f32 tf32 f16 bf16
emit own_type f16 bf16
emit sizes f32 f16
emit kinds f32 f16
emit large f16

cp too_large.mlp "$work"
(cd "$work" && status=0 && { "$mlpc" --target=cuda --whole=never -o refused too_large.mlp || status=$?; } &&
    echo "exit $status") >"$folder/too_large.said" 2>&1
cp ./*.c ./*.h "$folder"
rm "$folder/make_weights.c"
