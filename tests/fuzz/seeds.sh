#!/usr/bin/env bash
# Names the files and folders that a fuzz target begins with: its own, and some of the tests': seeds.sh TARGET
cd "$(dirname "$0")/../.." || exit 1
case $1 in
language) shopt -s nullglob; files=(specs/*.mlp specs/examples/*.mlp tests/networks/*.mlp) ;;
format) files=(specs/*.mlp specs/examples/*.mlp tests/networks/*.mlp) ;;
safetensors) files=(); for file in tests/cases/safetensors/*.safetensors; do
    [ "$(stat -c %s "$file")" -gt 4096 ] || files+=("$file"); done ;;
npy) files=(tests/cases/onnx/{elu,gelu_tanh_1,matmul_2d}/*.npy) ;;
onnx) files=(tests/cases/onnx/*/*.onnx) ;;
*) files=() ;;
esac
[ ! -d "tests/fuzz/$1" ] || files+=("tests/fuzz/$1")
printf '%s\n' "${files[@]}"
