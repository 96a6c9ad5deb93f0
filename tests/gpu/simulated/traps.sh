#!/usr/bin/env bash
# The traps on the simulated device: traps.sh BUILD. Ends with the lines of the test.
build=$(cd "$1" && pwd)
. "$(dirname "$0")/build.sh"
place=$build/simulated/traps
rm -rf "$place"
"$simulated/../traps/emit.sh" "$build/mlpc" "$place"
device
export -f compile compile_kernels
export include front
cd "$place"
printf '%s\n' */ | xargs -P 2 -I{} bash -c 'set -eu; compile {}'
includes="$(printf -- '-I%s ' */) -I$simulated/../../../runtime $include"
for source in *.c; do
    gcc -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra $includes -c -o "$source.o" "$source"
done
link traps ./*.o */*.o
./traps small
