#!/usr/bin/env bash
# Stands for mlpc in run_cases: what is asked for the CPU is made for a GPU, and `--exe` links it with the simulated
# device in this folder, so that the CUDA target's emitters, kernels and host code are run where there is no GPU.
#     MLPC=build/mlpc CUDA=/usr/local/cuda mlpc.sh --exe --target=cpu -o PROGRAM FILE.mlp
# Needs CUDA's headers. Beside MLPC: runtime/, and simulated/, into which the device is compiled when missing or older.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$(dirname "$MLPC")" && pwd)
program=0 output=. arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --target=cpu) arguments+=(--target=cuda) ;;
    --exe) program=1 ;;
    -o) output=$2 && shift ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
[ $program = 1 ] || exec "$MLPC" "${arguments[@]}" -o "$output"

include="-I$build/runtime -isystem ${CUDA:-/usr/local/cuda}/include"
compile_device() {
    mkdir -p "$build/simulated"
    for source in "$here"/*.cpp "$build"/runtime/cuda_*.c; do
        object=$build/simulated/$(basename "$source").o
        [ "$object" -nt "$source" ] && [ "$object" -nt "$build/runtime/mlp_cuda.h" ] && continue
        case $source in
        *.cpp) g++ -std=c++20 -O2 -Wall -Wextra $include -c -o "$object" "$source" ;;
        *) gcc -std=c11 -D_GNU_SOURCE -O2 $include -c -o "$object" "$source" ;;
        esac
    done
}
place=$build/simulated/work.$$
trap 'rm -rf "$place"' EXIT
mkdir -p "$place"
"$MLPC" "${arguments[@]}" -o "$place"
exec 9>"$build/simulated/lock" && flock 9 && compile_device >&2 && flock -u 9
cd "$place"
g++ -std=c++20 -O1 -w -include "$here/device.h" $include -x c++ -c -o kernels.o ./*.cu
for source in *.c *.S; do
    [ -e "$source" ] && gcc -std=gnu11 -O1 -I. $include -c -o "part_$source.o" "$source"
done
cd - >/dev/null
g++ -o "$output" "$place"/*.o "$build"/simulated/*.o "$build/runtime/libmlprt.a" -lm
