#!/usr/bin/env bash
# Other builds of mlpc write the same bytes: builds.sh BUILD [NAME...]. Each is built below BUILD/builds, by the
# compilers that are there, for other processors too (32 bits, big endian; qemu runs those), and makes its outputs
# (outputs.sh) of everything that the project has and of random networks; they are held to those of BUILD/mlpc. So are,
# one by one, those of other surroundings, and programs and libraries made twice. With names, only those builds,
# `surroundings` or `programs`. `make check-builds`
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/variations.sh
build=$(absolute "$1")
shift
wanted=" $* "
wants() { [[ $wanted = "  " || $wanted = *" $1 "* ]]; }
random=$build/builds/random
here=$build/builds/outputs
NETWORKS=${NETWORKS:-50}
unset MAKEFLAGS MAKELEVEL

# ---- what all are held to ----

ready=
make_reference() {
    local seed
    ready=yes
    rm -rf "$random" "$here"
    for seed in $(seq "$NETWORKS"); do
        mkdir -p "$random/$seed"
        "$build/tests/random_networks" -w "$random/$seed" -s "$seed" || fail "a random network"
    done
    tests/outputs.sh "$build/mlpc" "$here" "$random"
    check "outputs of all kinds" test "$(find "$here" -type f | wc -l)" -gt 1500
}

# ---- builds ----

# build_of NAME CC FLAGS [TARGET [RUNNER]]
build_of() {
    local name=$1 cc=$2 flags=$3 target=${4:-mlpc} runner=${5:-}
    wants "$name" || return
    [ ! Makefile -nt "$build/builds/$name/$target" ] || rm -rf "$build/builds/$name"       # other flags, perhaps
    if ! $cc -dumpmachine >/dev/null 2>&1; then
        skip "$name: there is no ${cc%% *}"
    elif [ -n "$runner" ] && ! command -v "$runner" >/dev/null; then
        skip "$name: there is no $runner"
    else
        check "$name is built" make -s -j"$(nproc)" B="$build/builds/$name" CC="$cc" CFLAGS="$flags" \
            SANITIZE="${sanitize:-}" "$build/builds/$name/$target"
        [ -n "$ready" ] || make_reference
        rm -rf "$scratch/$name"
        tests/outputs.sh "${runner:+$runner }$build/builds/$name/$target" "$scratch/$name" "$random"
        same "$name" "$here" "$scratch/$name"
        rm -rf "$scratch/$name"
    fi
}

# foreign NAME COMPILER ARCHITECTURE RUNNER: static, with the libraries of Debian's packages for that architecture
foreign() {
    local libraries=$build/builds/libraries/$3
    wants "$1" || return
    if ! command -v "$2" >/dev/null; then
        skip "$1: there is no $2 (gcc-${2%-gcc})"
    elif ! tests/foreign_libraries.sh "$3" "$libraries" >"$scratch/said" 2>&1; then
        skip "$1: no libraries for $3: $(tail -n 1 "$scratch/said")"
    else
        build_of "$1" "$2" "-O1 -I$libraries/usr/include -L$(echo "$libraries"/usr/lib/*-linux-gnu*)" mlpc-static "$4"
    fi
}

build_of gcc-O0 gcc -O0
build_of gcc-O3-native gcc "-O3 -march=native"
build_of gcc-unsigned-char gcc "-O1 -funsigned-char -ftrivial-auto-var-init=pattern"
build_of clang-O0 clang -O0
build_of clang-O3-native clang "-O3 -march=native"
sanitize="-fsanitize=address,undefined -DMLPC_ARENA_PER_OBJECT -Wno-format-truncation"
build_of gcc-sanitizers gcc -O1
sanitize=
foreign i386 i686-linux-gnu-gcc i386 ""
foreign armhf arm-linux-gnueabihf-gcc armhf qemu-arm
foreign arm64 aarch64-linux-gnu-gcc arm64 qemu-aarch64
foreign s390x s390x-linux-gnu-gcc s390x qemu-s390x

elsewhere=$(copied "$scratch/another folder, ü")

# ---- surroundings ----

few() { "$@" tests/outputs.sh "$build/mlpc" "$scratch/there" few; }
# surroundings NAME COMMAND...
surroundings() {
    rm -rf "$scratch/there"
    few "${@:2}"
    same "$1" "$scratch/here" "$scratch/there"
}
all_surroundings() {
    local name nobody
    tests/outputs.sh "$build/mlpc" "$scratch/here" few
    for name in "de_DE ISO-8859-1" "de_DE UTF-8" "tr_TR UTF-8"; do
        # shellcheck disable=SC2086
        if made_language $name; then
            surroundings "the language $name" another_language
        else
            skip "the language $name: localedef cannot make it"
        fi
    done
    surroundings "another folder" elsewhere
    surroundings "another user" another_user
    surroundings "another time zone" another_time
    surroundings "another environment" another_environment
    surroundings "memory full of rubbish and little stack" rubbish
    check "a sort that turns equals around" made_unstable_sort
    surroundings "a sort that turns equals around" unstable_sort
    if setarch -R true 2>/dev/null; then
        surroundings "fixed addresses" fixed_addresses
    else
        skip "fixed addresses: the system refuses them"
    fi
    chmod 711 "$scratch"
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    if [ "$(id -u)" = 0 ] && $nobody test -x "$build/mlpc" -a -r specs/digits.mlp; then
        mkdir "$scratch/nobody's" && chmod 777 "$scratch/nobody's"
        $nobody tests/outputs.sh "$build/mlpc" "$scratch/nobody's/there" few
        same "a user without rights" "$scratch/here" "$scratch/nobody's/there"
    else
        skip "a user without rights: needs root, and folders that all may read"
    fi
}
! wants surroundings || all_surroundings

# ---- programs and libraries ----

# made_twice NAME COMPILER OPTION...: here and in another folder, at another time, by another user with another TMPDIR
made_twice() {
    local name=$1 cc=$2
    mkdir -p "$scratch/made/one" "$scratch/made/two/deeper" "$scratch/made/temporary"
    check "$name, here" env CC="$cc" "$build/mlpc" --target=cpu --cpu=v3 "${@:3}" -o "$scratch/made/one/out" \
        specs/digits.mlp
    (
        cd "$scratch/made/two" || exit 1
        CC=$cc TMPDIR=$scratch/made/temporary another_user another_time "$build/mlpc" --target=cpu --cpu=v3 "${@:3}" \
            -o deeper/out "$elsewhere/specs/digits.mlp"
    ) >"$scratch/said" 2>&1
    check "$name: the same bytes elsewhere" diff -r "$scratch/made/one" "$scratch/made/two/deeper"
    check "$name: no path of this machine" bash -c '! grep -rqF -e "$1" -e "$2" "$3"' - "$scratch" "$PWD" \
        "$scratch/made/one"
    rm -rf "$scratch/made"
}
all_programs() {
    local cc
    for cc in gcc clang; do
        if ! command -v $cc >/dev/null; then
            skip "programs and libraries by $cc: there is none"
            continue
        fi
        made_twice "a program by $cc" $cc --exe
        made_twice "a dynamic program by $cc" $cc --exe --no-static
        made_twice "a program with its weights beside it by $cc" $cc --exe --weights=external
        made_twice "a library by $cc" $cc --lib
        made_twice "a library for threads by $cc" $cc --lib --threads=2
    done
    if command -v s390x-linux-gnu-gcc >/dev/null; then
        "$build/mlpc" --target=cpu --cpu=native -o "$scratch/big" specs/digits.mlp
        status "big-endian programs" 1 \
            s390x-linux-gnu-gcc -fsyntax-only -Iruntime -I"$scratch/big" "$scratch/big/digits.c"
        says "big-endian programs" 'little-endian processors alone'
    else
        skip "big-endian programs: there is no s390x-linux-gnu-gcc"
    fi
}
! wants programs || all_programs
finish builds
