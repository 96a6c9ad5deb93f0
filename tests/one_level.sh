#!/usr/bin/env bash
# mlpc for the one instruction set that a program would take here, compiled in a third of the time, and for three
# threads, all of which have work in every step: MLPC=... one_level.sh
level=native
if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && grep -qw movbe /proc/cpuinfo; then level=v3; fi
here=$(cd "$(dirname "$0")" && pwd)
CC="$here/shared_work_cc.sh ${CC:-gcc} -O1" exec "$MLPC" --cpu=$level --threads=3 "$@"
