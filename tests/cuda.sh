#!/usr/bin/env bash
# The CUDA output: emitted for every case that must build, and, where nvcc is found, compiled and linked for sm_90.
# Nothing of it is run: that needs a GPU. What tests for the traps of a GPU is run on a simulated one. cuda.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1/mlpc")

for model in tests/cases/pytorch/*/model.mlp tests/cases/public/c*/model.mlp tests/cases/public/ok_*/model.mlp; do
    [[ $model == */ok_signs_1001/* ]] && continue       # may be refused
    name=$(basename "$(dirname "$model")")
    mkdir "$scratch/$name"
    check "emit $name" "$mlpc" --target=cuda -o "$scratch/$name" "$model"
done
for spec in specs/examples/*.mlp; do
    check "emit $spec" "$mlpc" --target=cuda -o "$scratch/example" "$spec"
done

trap_lines() { grep -c "^$1 trap" "$scratch/traps"; }
if [ ! -r "${CUDA:-/usr/local/cuda}/include/cuda_runtime.h" ]; then
    skip "the traps on a simulated GPU: there are no CUDA headers"
elif [ -n "${SANITIZE:-}" ]; then
    skip "the traps on a simulated GPU: it is not built with sanitizers"
else
    tests/gpu/simulated/traps.sh "$1" >"$scratch/traps" 2>&1
    passed=$((passed + $(trap_lines ok))) failed=$((failed + $(trap_lines "not ok")))
    grep -A 1 "^not ok" "$scratch/traps"
    check "the traps on a simulated GPU come to their end" grep "^end of traps" "$scratch/traps"
    grep -q "^end of traps" "$scratch/traps" || tail -n 5 "$scratch/traps"
fi

# One network for each type, and between them each kind of step.
sed 's/^ *batch .*/&\n    dtype tf32;/' tests/cases/pytorch/swiglu_block/model.mlp >"$scratch/tf32.mlp"
cp tests/cases/pytorch/swiglu_block/weights.safetensors "$scratch"
networks="specs/digits.mlp specs/gated_ffn.mlp $scratch/tf32.mlp tests/cases/public/ok_f16_largest_weight/model.mlp
    tests/cases/public/ok_mixed_io_types/model.mlp specs/examples/gpt2_ffn.mlp
    $scratch/nerf64.mlp"
{ sed 's/batch.*/batch 16384;/' specs/ladder/nerf64.mlp; } >"$scratch/nerf64.mlp"
if ! command -v nvcc >/dev/null; then
    for model in $networks; do
        skip "compile and link ${model#"$scratch/"} for sm_90: there is no nvcc"
    done
    finish cuda
fi
mkdir "$scratch/kept"
compile() {
    kept=$scratch/kept nvcc=${NVCC:-nvcc} NVCC=tests/nvcc_once.sh \
        "$mlpc" --exe --target=cuda -o "$scratch/program_$1" "$2" >"$scratch/said_$1" 2>&1
}
number=0
for model in $networks; do
    number=$((number + 1))
    compile $number "$model" &
    [ $((number % 2)) = 1 ] && wait         # the first one compiles the runtime, for all
done
wait
number=0
for model in $networks; do
    number=$((number + 1))
    check "compile and link ${model#"$scratch/"} for sm_90" test -x "$scratch/program_$number"
    cat "$scratch/said_$number"
done
check "a network in kernels of its own needs no cuBLASLt" bash -c '! ldd "$1" | grep -i cublas' - \
    "$scratch/program_$number"
finish cuda
