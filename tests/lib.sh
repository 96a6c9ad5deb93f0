# Sourced by the shell tests. Each check calls pass, fail or skip once; `finish NAME` prints the count that check.sh
# adds up and ends the script. $scratch is an empty folder that goes away at the end.
set -u
passed=0 failed=0 skipped=0
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }

# check NAME COMMAND...: passes where the command does; else shows the end of what it said.
check() {
    local name=$1
    shift
    if "$@" >"$scratch/said" 2>&1 </dev/null; then
        pass
    else
        fail "$name (status $?)"
        tail -n 30 "$scratch/said"
    fi
}

# status NAME EXPECTED COMMAND...: passes where the command exits with EXPECTED; what it said is in $scratch/said.
status() {
    local name=$1 expected=$2 got
    shift 2
    "$@" >"$scratch/said" 2>&1 </dev/null
    got=$?
    if [ "$got" = "$expected" ]; then
        pass
    else
        fail "$name: exits with $got, expected $expected"
        tail -n 30 "$scratch/said"
    fi
}

# says NAME PATTERN: the last command's output holds the basic regular expression.
says() {
    if grep -q -- "$2" "$scratch/said"; then
        pass
    else
        fail "$1: no '$2' in:"
        tail -n 30 "$scratch/said"
    fi
}

# full_disk KB COMMAND...: where no file gets longer. `make coverage` does without its counts, which would be cut.
full_disk() {
    (
        trap '' XFSZ
        ulimit -f "$1"
        shift
        GCOV_PREFIX=/dev/null GCOV_ERROR_FILE=/dev/null exec "$@"
    )
}

# absolute path of a file or folder that exists
absolute() { (cd "$(dirname "$1")" && echo "$PWD/$(basename "$1")"); }

finish() {
    echo "$1: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
