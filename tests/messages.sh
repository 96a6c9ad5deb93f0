#!/usr/bin/env bash
# Exact messages: messages.sh MLPC [refresh]. messages/NAME.mlp must give messages/NAME.err on standard error, to the
# letter, and end with status 1, or with 0 where there are only warnings. Its first line may give options. `refresh`
# writes the .err files anew, to be read before they are committed. Each slug of the front end must occur.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1")
diag_def=$PWD/compiler/diag.def
cd tests/messages || exit 1

for spec in *.mlp; do
    name=${spec%.mlp}
    options=$(sed -n '1s/^# options: //p' "$spec")
    "$mlpc" --check --target=cpu $options "$spec" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    [ "${2:-}" = refresh ] && cp "$scratch/err" "$name.err"
    grep -q '^[^ ].*: error: ' "$name.err" && expected=1 || expected=0
    if [ $status != $expected ]; then
        fail "$name: exits with $status, expected $expected"
        head -n 20 "$scratch/err"
    elif [ -s "$scratch/out" ]; then
        fail "$name: writes to standard output"
    elif diff -u "$name.err" "$scratch/err" >"$scratch/diff"; then
        pass
    else
        fail "$name: another message"
        cat "$scratch/diff"
    fi
done

# Messages about weights and sizes belong to later passes.
for slug in $(sed '/the weights file/,/^$/d; /the plan file/,/^$/d' "$diag_def" |
    sed -n 's/^\(DIAG\|WARN\)([A-Z_]*, *"\([^"]*\)".*/\2/p'); do
    grep -qE "\[(-W)?$slug\]\$" ./*.err && pass || fail "no message has the slug $slug"
done
finish messages
