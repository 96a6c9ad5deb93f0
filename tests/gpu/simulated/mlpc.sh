#!/usr/bin/env bash
# Stands for mlpc in run_cases: what is asked for the CPU is made for a GPU, and `--exe` links it with the simulated
# device in this folder, so that the CUDA target's emitters, kernels and host code are run where there is no GPU.
#     MLPC=build/mlpc CUDA=/usr/local/cuda mlpc.sh --exe --target=cpu -o PROGRAM FILE.mlp
# MLP_SIMULATED_WHOLE: never, or few or rows, in whose form some batch size must be, or auto: as --whole.
# MLP_SIMULATED_WGMMA=0: rows as on a device without wgmma.
# Needs CUDA's headers. Beside MLPC: runtime/, and simulated/, into which the device is compiled when missing or older.
set -eu
build=$(cd "$(dirname "$MLPC")" && pwd)
whole=${MLP_SIMULATED_WHOLE:-never}
program=0 output=. arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --target=cpu) arguments+=(--target=cuda "--whole=$whole") ;;
    --exe) program=1 ;;
    -o) output=$2 && shift ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
[ $program = 1 ] || exec "$MLPC" "${arguments[@]}" -o "$output"

. "$(dirname "$0")/build.sh"
mkdir -p "$build/simulated"
place=$build/simulated/work.$$
trap 'rm -rf "$place"' EXIT
mkdir -p "$place"
"$MLPC" "${arguments[@]}" -o "$place"
if [[ $whole = few || $whole = rows ]] && ! grep -q "form = MLP_FORM_${whole^^}" "$place"/*.c; then
    echo "mlpc.sh: no batch size is one kernel of the form $whole" >&2
    exit 1
fi
device
compile "$place"
link "$output" "$place"/*.o
