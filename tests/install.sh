#!/usr/bin/env bash
# make install and make uninstall, and the projects of tests/projects, built with what is installed: with CMake, make
# and pkg-config. Each must give the right answer, be made anew when the weights change, and then be left alone.
# install.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/installed.sh
build=$1
installed "$build"

# ---- What is where ----
for file in bin/mlpc include/mlpc/mlp_runtime.h lib/mlpc/libmlprt.a lib/pkgconfig/mlpc.pc \
    lib/cmake/mlpc/mlpcConfig.cmake lib/cmake/mlpc/mlpcConfigVersion.cmake share/mlpc/mlpc.mk \
    share/mlpc/editors/vim/syntax/mlp.vim share/man/man1/mlpc.1 share/bash-completion/completions/mlpc \
    share/zsh/site-functions/_mlpc; do
    check "$file is there" test -s "$prefix/$file"
done
check "mlpc may be run, the rest be read" bash -c 'cd "$1" && [ "$(find . -type f -perm 755)" = ./bin/mlpc ] &&
    [ -z "$(find . -type f ! -perm 755 ! -perm 644)" ]' - "$prefix"
check "headers for users have names of their own" bash -c '! ls "$1/include/mlpc" | grep -v "^mlp_"' - "$prefix"
check "no text knows where it was" bash -c '! grep -rIl -e "some place" -e "$PWD" "$1"' - "$prefix"
check "the version is mlpc's" test "$("$prefix/bin/mlpc" --version)" = "mlpc $(pkg-config --modversion mlpc)"
check "uninstall" bash -c 'make -s B="$2" PREFIX="$1/p q" install && touch "$1/p q/lib/other" &&
    make -s B="$2" PREFIX="$1/p q" uninstall && [ "$(find "$1/p q" -type f)" = "$1/p q/lib/other" ] &&
    [ -z "$(find "$1/p q" -name "mlpc*")" ]' - "$scratch" "$build"

# ---- The projects ----
work="$scratch/work here"
mkdir -p "$work/tests" "$work/specs"
cp -r tests/projects "$work/tests"
cp specs/digits* "$work/specs"
weights=$work/specs/digits.safetensors
digits=$work/specs/digits_x.npy
labels=$work/specs/digits_labels.npy

# stamps FILE...: when each was made, in nanoseconds
stamps() { stat -c '%n %y' "$@"; }

# project NAME COMMAND FILE...: the command makes the files, of which the first says what the network tells right. 355
# is the number in float64, too; no digit is near to being told otherwise.
project() {
    local name=$1 command=$2 before file
    shift 2
    check "$name" bash -c "$command"
    status "$name: the program" 0 "$1" "$digits" "$labels"
    says "$name: the answers" '^355 of 360 right$'
    before=$(stamps "$@")
    check "$name, again" bash -c "$command"
    check "$name, again: nothing is made" test "$before" = "$(stamps "$@")"
    touch "$weights"
    check "$name, other weights" bash -c "$command"
    for file; do
        check "$name, other weights: $(basename "$file") is made anew" test "$file" -nt "$weights"
    done
    before=$(stamps "$@")
    check "$name, the same weights" bash -c "$command"
    check "$name, the same weights: nothing is made" test "$before" = "$(stamps "$@")"
}

# compatible VERSION: what find_package asks the installed version
compatible() {
    local parts
    IFS=. read -ra parts <<<"$1"
    cat >"$scratch/ask.cmake" <<END
set(PACKAGE_FIND_VERSION $1)
set(PACKAGE_FIND_VERSION_COUNT ${#parts[@]})
set(PACKAGE_FIND_VERSION_MAJOR ${parts[0]})
set(PACKAGE_FIND_VERSION_MINOR ${parts[1]:-0})
include("$prefix/lib/cmake/mlpc/mlpcConfigVersion.cmake")
if(NOT PACKAGE_VERSION_COMPATIBLE)
    message(FATAL_ERROR "not compatible")
endif()
END
    cmake -P "$scratch/ask.cmake"
}

cd "$work/tests/projects/cmake" || exit 1
if command -v cmake >/dev/null; then
    check "cmake" cmake -G "Unix Makefiles" -B "build here" -DCMAKE_PREFIX_PATH="$prefix"
    project "cmake" 'cmake --build "build here"' "build here/classify" "build here/mlpc/digits/libdigits.a" \
        "build here/mlpc/digits/digits.h" "build here/digits_program"
    check "cmake: the network as a program" "build here/digits_program" "$digits" "build here/y.npy"
    for version in 0 0.1 0.1.0; do
        check "cmake: find_package(mlpc $version)" compatible $version
    done
    for version in 1 99.1 0.0 0.99 0.1.99; do
        status "cmake: find_package(mlpc $version)" 1 compatible $version
    done
    # ARGUMENTS MESSAGE: what the function says of a mistake in its arguments
    mkdir "$scratch/mistaken"
    while IFS='|' read -r arguments message; do
        printf 'cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\nfind_package(mlpc REQUIRED)\n%s\n' \
            "mlpc_add_model(net net.mlp $arguments)" >"$scratch/mistaken/CMakeLists.txt"
        status "cmake: $arguments" 1 \
            cmake -B "$scratch/mistaken/build" -DCMAKE_PREFIX_PATH="$prefix" "$scratch/mistaken"
        said=$(tr -s ' \n' ' ' <"$scratch/said")         # CMake fills lines
        [[ $said == *"mlpc_add_model(net): $message"* ]] && pass || fail "cmake: $arguments: $said"
    done <<'END'
TARGET cpu|'TARGET' is no keyword of it, nor a value of the one before; there are TARGET_DEVICE, THREADS,
TARGET_DEVICE cpu cuda|'cuda' is no keyword of it, nor a value of the one before
EXE THREADS|THREADS needs a value behind it
TARGET_DEVICE gpu|TARGET_DEVICE is cuda or cpu, not 'gpu'
END
else
    skip "the project of CMake: there is no cmake"
fi
if command -v cmake >/dev/null && command -v ninja >/dev/null; then
    check "cmake for ninja" cmake -G Ninja -B "ninja here" -DCMAKE_PREFIX_PATH="$prefix"
    project "ninja" 'ninja -C "ninja here"' "ninja here/classify" "ninja here/mlpc/digits/libdigits.a" \
        "ninja here/digits_program"
else
    skip "the project of CMake with ninja: there is no cmake or no ninja"
fi

cd ../make || exit 1
project "make" 'make' ./classify mlpc/libdigits.a mlpc/digits.h mlpc/digits
check "make: the network as a program" mlpc/digits "$digits" y.npy

cd ../pkgconfig || exit 1
project "pkg-config" 'make CFLAGS="-O1 -ffp-contract=fast"' ./classify digits/digits.c

# ---- CUDA ----
# All that CUDA networks include is installed: a stand-in for nvcc reads the C sources, and leaves empty objects.
cat >"$scratch/nvcc" <<'END'
#!/usr/bin/env bash
options=()
for argument; do
    [[ $argument == -gencode* || $argument == -Xcompiler* ]] || options+=("$argument")
done
[[ $argument != *.c ]] || gcc "${options[@]}" -fsyntax-only -I"${CUDA:-/usr/local/cuda}/include" || exit
gcc -c -x c -o "${@: -2:1}" /dev/null
END
chmod +x "$scratch/nvcc"
# ninja_says PATTERN: the commands that make classify for a GPU
ninja_says() { ninja -C cuda -t commands classify | grep -qE -- "$1"; }
if [ -r "${CUDA:-/usr/local/cuda}/include/cublasLt.h" ]; then
    if command -v cmake >/dev/null && command -v ninja >/dev/null; then
        cd ../cmake || exit 1
        check "cmake for CUDA" cmake -G Ninja -B cuda -DCMAKE_PREFIX_PATH="$prefix" -DDEVICE=cuda
        check "cmake for CUDA: the target" ninja_says 'NVCC=.*/nvcc .*mlpc" --target=cuda --lib'
        check "cmake for CUDA: the libraries" \
            ninja_says ' -L[^ ]*cuda.* mlpc/digits/libdigits.a +-lcublasLt +-lcudart +-lstdc'
    else
        skip "the project of CMake for CUDA: there is no cmake or no ninja"
    fi
    check "a library for CUDA" env NVCC="$scratch/nvcc" mlpc --lib -o cuda "$work/specs/digits.mlp"
else
    skip "a library for CUDA: there are no CUDA headers"
fi
finish install
