#!/usr/bin/env bash
# Fuzzes for a time, and says what came of it: run.sh SECONDS PROCESSES_PER_TARGET [TARGET...]
#
# It stands in a folder with fuzz_TARGET, seeds/TARGET/ and TARGET.dict, as `make fuzz` and bundle.sh lay it out, and
# leaves there corpus/TARGET/, which the next run begins with, and logs/. Inputs that show a mistake go to $OUT (found/
# unless told), as TARGET-crash-..., TARGET-leak-..., TARGET-timeout-..., TARGET-oom-...: the same program takes them as
# its argument. A process that has found something is started again, up to 20 times. The exit status is 1 where anything
# was found, or a target did not run. Hangs are inputs that take more than 5 seconds.
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
[ $# -ge 2 ] || { echo "usage: run.sh SECONDS PROCESSES_PER_TARGET [TARGET...]" >&2; exit 2; }
seconds=$1 processes=$2
shift 2
here=$PWD out=${OUT:-$PWD/found}
mkdir -p "$out" logs tmp
out=$(readlink -f "$out")
[ $# -gt 0 ] || for program in fuzz_*; do set -- "$@" "${program#fuzz_}"; done
for target; do
    [ -x "fuzz_$target" ] || { echo "run.sh: there is no target $target" >&2; exit 2; }
done
export TMPDIR=$here/tmp
[ ! -w /dev/shm ] || TMPDIR=$(mktemp -d /dev/shm/fuzz.XXXXXX)
trap 'rm -rf "$TMPDIR"' EXIT
export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_release_to_os_interval_ms=500
export UBSAN_OPTIONS=print_stacktrace=1
# Sanitizers of some age do not get along with addresses as random as newer systems make them.
fixed=
! setarch -R true 2>/dev/null || fixed="setarch -R"

# One process of a target, again after each finding, until the time is over.
fuzz() {
    local target=$1 log=$2 end=$((SECONDS + seconds)) again left
    local dictionary=()
    [ ! -r "$target.dict" ] || dictionary=("-dict=$here/$target.dict")
    for ((again = 0; again < 20; again++)); do
        left=$((end - SECONDS))
        [ "$left" -gt 0 ] || break
        # shellcheck disable=SC2086
        $fixed "./fuzz_$target" "${dictionary[@]}" -max_total_time="$left" -timeout=5 -rss_limit_mb=2048 \
            -malloc_limit_mb=1024 -max_len=8192 -reload=5 -print_final_stats=1 -artifact_prefix="$out/$target-" \
            "$here/corpus/$target" "$here/seeds/$target" </dev/null >>"$log" 2>&1 && break
    done
}

for target; do
    mkdir -p "corpus/$target" "seeds/$target"
    for ((i = 1; i <= processes; i++)); do
        log=logs/$target.$i
        : >"$log"
        (TIMEFORMAT='cpu %U %S'; { time fuzz "$target" "$log"; } 2>"$log.cpu") &
    done
done
wait

# summary TARGET: one line; fails where it has not run or has found something.
summary() {
    local target=$1 executions cpu before after found
    executions=$(cat logs/"$target".[0-9]* |
        awk '/^stat::number_of_executed_units/ { sum += $2 } END { print sum + 0 }')
    cpu=$(cat logs/"$target".*.cpu | awk '/^cpu/ { sum += $2 + $3 } END { printf "%.0f", sum }')
    before=$(awk '$2 == "INITED" && !n++ { print $4 }' "logs/$target.1")
    after=$(cat logs/"$target".[0-9]* | awk '/^#[0-9]/ { for (i = 2; i < NF; i++) if ($i == "cov:" && $(i + 1) > most)
        most = $(i + 1) } END { print most + 0 }')
    found=$(find "$out" -maxdepth 1 -name "$target-*" | wc -l)
    printf '%s: %d executions, %d CPU seconds, coverage %d from %d, %d found\n' "$target" "$executions" "$cpu" \
        "$after" "${before:-0}" "$found"
}

status=0
for target; do
    summary "$target" || status=1
done
exit $status
