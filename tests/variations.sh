# Sourced after lib.sh: other surroundings for outputs.sh, each a function in front of a command; fixed_addresses comes
# last of several.

# same NAME HERE THERE: two folders of outputs hold the same
same() {
    if [ -n "$(ls -A "$3" 2>/dev/null)" ] && diff -rq "$2" "$3" >"$scratch/said" 2>&1; then
        pass
    else
        fail "$1: other outputs"
        head -n 10 "$scratch/said"
    fi
}

# copied FOLDER: what outputs.sh reads, in another folder, whose name it prints
copied() {
    mkdir -p "$1/tests/cases"
    cp -R specs "$1"
    cp -R tests/outputs.sh tests/messages tests/networks tests/texts "$1/tests"
    cp -R tests/cases/onnx tests/cases/import tests/cases/safetensors "$1/tests/cases"
    echo "$1"
}

# made_language NAME CHARACTERS: one that writes 0.5 as "0,5", for another_language; false where there is none
made_language() {
    export LOCPATH=$scratch/locales
    language=$1.$2
    mkdir -p "$LOCPATH"
    localedef --no-archive -i "$1" -f "$2" "$LOCPATH/$language" >/dev/null 2>&1
    [ "$(LC_ALL=$language locale -k LC_NUMERIC 2>/dev/null | sed -n 's/^decimal_point=//p')" = '","' ]
}
another_language() {
    LC_ALL=$language LANG=$language LANGUAGE=$language "$@"
}

elsewhere() {
    (cd "$elsewhere" && "$@")
}

another_user() {
    (umask 077 && HOME=/nowhere USER=somebody LOGNAME=somebody SHELL=/bin/false "$@")
}

another_time() {
    TZ=Pacific/Kiritimati SOURCE_DATE_EPOCH=1 "$@"
}

# Variables that programs look at, much that none does, and nothing of what was set.
another_environment() {
    (
        for name in $(compgen -e); do
            [[ $name = PATH || $name = LD_PRELOAD || $name = LOCPATH || $name = [A-Z]*SAN_OPTIONS ]] || unset "$name"
        done
        export TMPDIR=$scratch COLUMNS=20 TERM=dumb NO_COLOR=1 POSIXLY_CORRECT=1 CC=false CFLAGS=-O0
        RUBBISH=$(printf %20000d 7) "$@"
    )
}

# Memory that was not set is rubbish, small pieces come from other places, and the stack ends early.
rubbish() {
    (ulimit -s 512 && MALLOC_PERTURB_=165 MALLOC_TOP_PAD_=12345 MALLOC_MMAP_THRESHOLD_=3000 "$@")
}

# Addresses that are always the same, where the system lets one ask for that.
fixed_addresses() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# qsort may put equals in any order: here, in the opposite one of most C libraries.
made_unstable_sort() {
    [ -e "$scratch/unstable_sort.so" ] ||
        ${CC:-gcc} -shared -fPIC -O1 -o "$scratch/unstable_sort.so" tests/unstable_sort.c
}
unstable_sort() {
    LD_PRELOAD=$scratch/unstable_sort.so "$@"
}
