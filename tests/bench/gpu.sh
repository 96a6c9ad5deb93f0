#!/usr/bin/env bash
# Measures the networks of specs/ladder on this machine's GPU, beside PyTorch and nvmath-python.
#     gpu.sh [OPTION...]        options of bench.py: --only=NAME,... --results=DIR --quick --no-compile --no-nvmath ...
# It needs nvcc, gcc, and a python3 ($PYTHON) with PyTorch; nvmath-python and matplotlib where they are there. It works
# in a checkout after `make`, and in a folder that holds mlpc or build/mlpc-static, runtime/, specs/ladder/ and
# tests/bench/. What it builds goes to build/bench ($BENCH_WORK), the weights too: 2 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_WORK:-$root/build/bench}
python=${PYTHON:-python3}

complain() { echo "gpu.sh: $*" >&2; exit 1; }

nvidia-smi >/dev/null 2>&1 || complain "there is no GPU here (nvidia-smi fails)"
command -v nvcc >/dev/null || complain "nvcc is not on the PATH"
cuda=$(dirname "$(command -v nvcc)")/..
[ -r "$cuda/include/cuda_runtime_api.h" ] || cuda=$(dirname "$(readlink -f "$(command -v nvcc)")")/..
"$python" -c 'import torch' || complain "$python has no PyTorch"

# The first that runs here.
find_mlpc() {
    local place
    for place in "${MLPC:-}" "$root/build/mlpc" "$root/build/mlpc-static" "$root/mlpc"; do
        if [ -x "$place" ] && "$place" --version >/dev/null 2>&1; then
            echo "$place"
            return
        fi
    done
    return 1
}

# A runtime beside a mlpc, both of this tree; the archive holds all that is not CUDA's.
build_runtime() {
    mkdir -p "$work/objects"
    rm -rf "$work/runtime" "${work:?}/objects"/*
    cp -r "$root/runtime" "$work/runtime"
    rm -f "$work/mlpc" && cp "$1" "$work/mlpc"
    printf '%s\n' "$work"/runtime/*.c | grep -v '/cuda[^/]*$' | xargs -P "$(nproc)" -I{} sh -c \
        'gcc -std=c11 -D_GNU_SOURCE -O2 -I"$1" -c -o "$2/$(basename "$3" .c).o" "$3"' - "$work/runtime" \
        "$work/objects" {}
    rm -f "$work/runtime/libmlprt.a" && ar rcsD "$work/runtime/libmlprt.a" "$work"/objects/*.o
    gcc -std=gnu11 -O2 -Wall -fPIC -I"$cuda/include" -c -o "$work/launches.o" "$here/launches.c"
    nvcc -arch=sm_90 -shared -o "$work/launches.so" "$work/launches.o"
}

mlpc=$(find_mlpc) || complain "no mlpc that runs here: make, or give one in \$MLPC"
build_runtime "$mlpc" || complain "the runtime does not build"

# Rows go to mlpc by way of memory where there is room: 4 GB at the largest point.
exchange=$(df --output=avail -B1 /dev/shm 2>/dev/null | tail -n 1) || exchange=0
if [ "${exchange:-0}" -gt 8000000000 ]; then
    exchange=$(mktemp -d /dev/shm/mlpc-bench.XXXXXX)
else
    exchange=$(mktemp -d "$work/exchange.XXXXXX")
fi
trap 'rm -rf "$exchange"' EXIT
ladder=$root/specs/ladder
[ -d "$ladder" ] || ladder=$root/ladder

export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$work/inductor}"
"$python" -u "$here/bench.py" --work="$work" --exchange="$exchange" --mlpc="$work/mlpc" --ladder="$ladder" \
    --cuda="$cuda" "$@"
