#!/usr/bin/env bash
# Every option of the compiler, with its values, is in mlpc --help, in the manual page and in both completion files, and
# nothing else is. Completes command lines in bash. options.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$1/mlpc
manual=compiler/mlpc.1
bash_completion=compiler/completion/mlpc.bash
zsh_completion=compiler/completion/_mlpc
option='--?[A-Za-z][A-Za-z-]*'

# help_of COMMAND...: the options at the beginning of its lines, without what is said about them.
help_of() {
    "$@" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/   *.*//' >"$scratch/table"
    grep -oE -- "(^|[ ,])$option" "$scratch/table" | tr -d ' ,' | sed 's/^-W.*/-W/' | sort -u >"$scratch/help"
}

# same PLACE: the options read here are those of the last help_of
same() {
    local missing extra
    sed 's/^-W.*/-W/' | sort -u >"$scratch/here"
    missing=$(comm -23 "$scratch/help" "$scratch/here" | tr '\n' ' ')
    extra=$(comm -13 "$scratch/help" "$scratch/here" | tr '\n' ' ')
    if [ -z "$missing$extra" ]; then
        pass
        return
    fi
    [ -z "$missing" ] || fail "$1 lacks ${missing}(compare --help)"
    [ -z "$extra" ] || fail "$1 has ${extra}which --help has not"
}

# manual_options FROM TO, zsh_options FROM TO: the options between lines that match
manual_options() {
    sed -n "/$1/,/$2/p" $manual | sed -n 's/^\.It \(Fl\)/\1/p' | grep -oE 'Fl [A-Za-z-]+' | sed 's/Fl /-/'
}
zsh_options() { sed -n "/$1/,/$2/p" $zsh_completion | grep -oE -- "[])}*\",'{]$option" | grep -oE -- "$option"; }

. $bash_completion
# complete_line LINE: what is offered at the end of a line, sorted, a word each line. As bash splits it: at blanks, and
# at an equals sign, which is a word.
complete_line() {
    local line=${1//=/ = }
    read -ra COMP_WORDS <<<"$line"
    [[ $1 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _mlpc mlpc 2>/dev/null
    printf '%s\n' "${COMPREPLY[@]}" | sort
}

# ---- The same options everywhere ----
help_of "$mlpc" import
check "help of import has options" test "$(wc -l <"$scratch/help")" -gt 5
echo --help >>"$scratch/help"
sort -o "$scratch/help" "$scratch/help"
same "$manual, IMPORT" < <(manual_options '^\.Sh IMPORT' '^\.Sh LANGUAGE')
same "$zsh_completion, import" < <(zsh_options '^_mlpc_import' '^}')
same "$bash_completion, import" < <(complete_line "mlpc import -" | sed 's/=$//')

help_of "$mlpc"
check "help has options" test "$(wc -l <"$scratch/help")" -gt 20
same compiler/options.c < <(echo --help; grep -oE "\"$option\"" compiler/options.c | tr -d '"')
same $manual < <(manual_options '^\.Sh DESCRIPTION' '^\.Sh IMPORT')
same $zsh_completion < <(zsh_options '^local making' 'the end')
same $bash_completion < <(complete_line "mlpc -" | sed 's/=$//')

# ---- Completion in bash ----
# completes LINE WORD...
completes() {
    local line=$1 got expected
    shift
    got=$(complete_line "$line")
    expected=$(printf '%s\n' "$@" | sort)
    if [ "$got" = "$expected" ]; then pass; else fail "'$line' is completed to:" $got; fi
}

# Each warning by its name.
for name in all $(sed -n 's/^WARN(.*"\(.*\)".*/\1/p' compiler/diag.def); do
    completes "mlpc -W$name" "-W$name"
    completes "mlpc -Wno-$name" "-Wno-$name"
    check "$manual has -W$name" grep -qE "^\.It (Cm |Fl W)$name( ,.*)?\$" $manual
    check "$zsh_completion has -W$name" grep -qwE -- "$name" $zsh_completion
done

# Values that help lists: --name=a|b|c
while IFS='=' read -r name values; do
    IFS='|' read -ra words <<<"$values"
    completes "mlpc $name=" "${words[@]}"
    completes "mlpc $name " "${words[@]}"
    check "$manual: $name=$values" grep -qx "\.It Fl ${name#-} Ns = Ns Cm ${values//|/ | }" $manual
    check "$zsh_completion: $name=$values" grep -q -- "$name=\[.*:(${words[*]})" $zsh_completion
done < <(grep -oE -- '--[a-z-]+=[a-z]+\|[a-z|]+' "$scratch/table")

mkdir "$scratch/place"
cd "$scratch/place" || exit 1
mkdir nets
touch digits.mlp net.safetensors h200.plan notes.txt nets/deep.mlp net.onnx
completes "mlpc " digits.mlp nets import
completes "mlpc --check " digits.mlp nets
completes "mlpc import " net.onnx nets
completes "mlpc import --keep" --keep-layout
completes "mlpc nets/" nets/deep.mlp
completes "mlpc --exe -" $(complete_line "mlpc -")
completes "mlpc --th" --threads=
for name in all unused-tensor no-unused-tensor error=unused-tensor no-error=unused-tensor; do
    check "mlpc -W completes to -W$name" grep -qx -- "-W$name" <(complete_line "mlpc -W")
done
completes "mlpc --target=cp" cpu
completes "mlpc digits.mlp --target c" cpu cuda
completes "mlpc --cpu=v3,v" v3,v2 v3,v3 v3,v4
completes "mlpc --weights=" embed external net.safetensors nets
completes "mlpc --weights=e" embed external
completes "mlpc --format=" check write
completes "mlpc --format=w" write
completes "mlpc --format " digits.mlp nets
completes "mlpc --plan=" h200.plan nets
completes "mlpc -o n" net.onnx net.safetensors nets notes.txt
completes "mlpc --threads=" ""
cd "$OLDPWD" || exit 1

# ---- Completion in zsh ----
if command -v zsh >/dev/null; then
    check "$zsh_completion is zsh" zsh -n $zsh_completion
else
    skip "$zsh_completion is zsh: there is no zsh"
fi

# ---- The manual page ----
if command -v mandoc >/dev/null; then
    check "mandoc finds nothing in $manual" mandoc -Tlint -W warning $manual
else
    skip "mandoc finds nothing in $manual: there is no mandoc"
fi
if command -v groff >/dev/null; then
    check "groff finds nothing in $manual" bash -c '[ -z "$(groff -mandoc -ww -Tutf8 "$1" 2>&1 >/dev/null)" ]' - $manual
else
    skip "groff finds nothing in $manual: there is no groff"
fi
sed -n '/^\.Sh LANGUAGE/,/^\.Ed/p' $manual | sed -n '/^\.Bd/,/^\.Ed/{/^\./!p}' >"$scratch/spec.mlp"
check "the spec of $manual" "$mlpc" --check -Werror --random-weights=1 "$scratch/spec.mlp"
functions=$(sed -nE 's/^    SIMPLE\("([a-z0-9_]+)".*/\1/p; s/^    \{"([a-z0-9_]+)", "\1\(.*/\1/p' compiler/functions.c)
for function in $functions; do
    check "$manual has the function $function" grep -qE "^\.Li (.* )?$function\>" $manual
done
finish options
