#!/usr/bin/env bash
# specs/MESSAGES.md has a section for each kind of message, in the order of diag.def, and what it shows is what mlpc
# says: messages_page.sh MLPC [refresh]. A section "### NAME" may have a spec, indented, which becomes NAME.mlp, and
# then commands behind "$", which are run, each followed by what it prints. `refresh` writes that anew.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1")
page=$PWD/specs/MESSAGES.md
export PATH=${mlpc%/*}:$PATH

# safetensors NAME TYPE BYTES: NAME.safetensors with the tensor NAME of four numbers; bytes as printf has them
safetensors() {
    local size header
    size=$(printf "$3" | wc -c)
    header="{\"$1\":{\"dtype\":\"$2\",\"shape\":[4],\"data_offsets\":[0,$size]}}"
    { printf "\\x$(printf %02x ${#header})\0\0\0\0\0\0\0"; printf %s "$header"; printf "$3"; } >"$1.safetensors"
}

mkdir "$scratch/place"
cp specs/digits.mlp specs/digits.safetensors "$scratch/place"
cd "$scratch/place" || exit 1
zeros='\0\0\0\0\0\0\0\0'
safetensors steps I64 "$zeros$zeros$zeros$zeros"
safetensors gain F32 "$zeros\0\0\0\0\0\044\164\111"     # the last is 1,000,000

name= printing=
touch "$scratch/other"
while IFS= read -r line; do
    case $line in
    "### "*)
        name=${line#"### "}
        echo "$name" >>"$scratch/names"
        ;;
    "    $ "*)
        printf '%s\n' "$line"
        bash -c "${line#"    $ "}" >"$scratch/said" 2>&1 </dev/null
        sed 's/^/    /' "$scratch/said"
        grep -qE "\[(-W)?$name\]\$" "$scratch/said" || echo "$name" >>"$scratch/other"
        printing=yes
        continue
        ;;
    "    "*)
        [ -n "$printing" ] && continue
        printf '%s\n' "${line#"    "}" >>"$name.mlp"
        ;;
    esac
    printing=
    printf '%s\n' "$line"
done <"$page" >"$scratch/fresh"

if [ "${2:-}" = refresh ]; then
    cp "$scratch/fresh" "$page"
fi
check "specs/MESSAGES.md is what mlpc says (see the difference; make golden)" diff -u "$page" "$scratch/fresh"
cd "$OLDPWD" || exit 1
sed -nE 's/^(DIAG|WARN)\(.*"(.*)".*/\2/p' compiler/diag.def >"$scratch/slugs"
check "specs/MESSAGES.md has each kind of message once, in order" diff "$scratch/slugs" "$scratch/names"
check "each example has its message: not $(tr '\n' ' ' <"$scratch/other")" test ! -s "$scratch/other"
finish page
