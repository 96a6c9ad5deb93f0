# Sourced: how programs for the simulated device are made. $build is the folder that holds mlpc and runtime/; the device
# is compiled into $build/simulated, where it is missing or older than its sources.
set -eu
simulated=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
include="-I$build/runtime -isystem ${CUDA:-/usr/local/cuda}/include"

compile_device() {
    mkdir -p "$build/simulated"
    for source in "$simulated"/*.cpp "$build"/runtime/cuda_*.c; do
        object=$build/simulated/$(basename "$source").o
        newer=missing
        [ ! -e "$object" ] || newer=$(find "$simulated" "$build/runtime" -name '*.h' -newer "$object")
        [ -n "$newer" ] || [ "$source" -nt "$object" ] || continue
        case $source in
        *.cpp) g++ -std=c++20 -O2 -Wall -Wextra $include -c -o "$object" "$source" ;;
        *) gcc -std=c11 -D_GNU_SOURCE -O2 ${SIMULATED_CFLAGS:-} $include -c -o "$object" "$source" ;;
        esac
    done
    compile_front
}
# What stands in front of all kernels, most of whose time it takes, as a precompiled header. (Where a kernel is compiled
# with other macros, g++ reads the text.)
front=$build/simulated/front.h
compile_front() {
    newer=missing
    [ ! -e "$front.gch" ] ||
        newer=$(find "$simulated" "$build/runtime" -name '*.*h' -newer "$front.gch")
    [ -n "$newer" ] || return 0
    # Files that stand for PTX come first and keep the runtime's own out.
    printf '#include "%s"\n' "$simulated/device.h" "$simulated"/*_ptx.cuh >"$front"
    compile_kernels -x c++-header -o "$front.gch.new" "$front"
    mv "$front.gch.new" "$front.gch"
}
compile_kernels() { g++ -std=c++20 -O1 -w -DSIMULATED_WGMMA="${wgmma:-1}" $include "$@"; }
# One process at a time.
device() {
    mkdir -p "$build/simulated"
    exec 9>"$build/simulated/lock" && flock 9 && compile_device >&2 && flock -u 9
}

# compile FOLDER: the emitted sources there
compile() {
    (
        cd "$1"
        # Shared memory whose size the launch says is the block's.
        sed -i 's/^ *extern __shared__ .* shared\[\];/    unsigned char *const shared = simulated_shared();/' ./*.cu
        wgmma=${MLP_SIMULATED_WGMMA:-1} compile_kernels -include "$front" -x c++ -c -o kernels.o ./*.cu
        for source in *.c *.S; do
            [ -e "$source" ] && ${CC:-gcc} -std=c11 -O1 -I. $include -c -o "part_$source.o" "$source"
        done
        true
    )
}

# link PROGRAM OBJECT...
link() {
    local program=$1
    shift
    g++ -o "$program" "$@" "$build"/simulated/*.o "$build/runtime/libmlprt.a" -lm
}
