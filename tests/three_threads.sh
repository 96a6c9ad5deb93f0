#!/usr/bin/env bash
# mlpc for three threads, all of which have work in every step: MLPC=... three_threads.sh
here=$(cd "$(dirname "$0")" && pwd)
CC="$here/shared_work_cc.sh ${CC:-gcc} -O1" exec "$here/one_level.sh" --threads=3 "$@"
