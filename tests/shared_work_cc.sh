#!/usr/bin/env bash
# A C compiler for sources that mlpc is about to compile, which lets the threads of a network share its work however
# little there is: shared_work_cc.sh COMPILER ARGUMENT...
for argument; do
    [[ $argument != *.c ]] || sed -i 's/\.row_work = .*/.row_work = 1e12,/' "$argument"
done
exec "$@"
