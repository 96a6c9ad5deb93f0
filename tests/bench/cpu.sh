#!/usr/bin/env bash
# Measures mlpc's CPU target beside ONNX Runtime, PyTorch and OpenBLAS; results go to tests/bench/results.
#
#     cpu.sh [OPTION...]        options of cpu.py: --quick --only=NAME,... --results=DIR ...
#
# It needs what the build needs, and a python3 ($PYTHON) with venv and pip: the others are installed below build/, which
# takes some minutes and 6 GB the first time. Nothing else should run on the machine meanwhile.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_WORK:-$root/build/bench-cpu}
venv=$work/venv

# PyTorch by an index of its own where there is one, because PyPI's has the CUDA libraries with it.
install_peers() {
    [ ! -e "$work/installed" ] || return 0
    echo "installing the peers into $venv"
    mkdir -p "$work"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install -q ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
    "$venv/bin/pip" install -q numpy matplotlib onnx onnxruntime scipy-openblas32
    touch "$work/installed"
}

install_peers
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export PYTHONDONTWRITEBYTECODE=1 TORCHINDUCTOR_CACHE_DIR="$work/inductor"
exec "$venv/bin/python" -u "$here/cpu.py" --work="$work" --build="$root/build" --specs="$root/specs" "$@"
