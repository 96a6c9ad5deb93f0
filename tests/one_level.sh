#!/usr/bin/env bash
# mlpc for the one instruction set that a program would take here, compiled in a third of the time:
# MLPC=... one_level.sh
level=native
if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && grep -qw movbe /proc/cpuinfo; then level=v3; fi
exec "$MLPC" --cpu=$level "$@"
