#!/usr/bin/env bash
# Imports ONNX models: onnx.sh BUILD [refresh]. The cases of tests/cases/onnx must give their outputs on the CPU or be
# refused for the reason that EXPECTED.tsv says; tests/ONNX.md has the table. Those of tests/cases/import are of
# exporters' forms; their specs must have the texts of ACCEPTED.tsv, and messages those of REFUSED.tsv.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
cases=tests/cases/onnx
export CC="${CC:-gcc} -O1"

# import_case CASE ROWS: its inputs but ROWS become constants, and its outputs are compared
import_case() {
    local folder=$cases/$1 rows=,$2, options=() file name
    for file in "$folder"/in_*.npy; do
        name=${file##*/in_} name=${name%.npy}
        if [[ $rows = *,$name,* ]]; then
            options+=("--check-with=$name=$file")
        else
            options+=("--bind=$name=$file")
        fi
    done
    for file in "$folder"/out_*.npy; do
        name=${file##*/out_} name=${name%.npy}
        [ ! -e "$file" ] || options+=("--check-with=$name=$file")
    done
    rm -rf "$scratch/imported"
    "$build/mlpc" import -o "$scratch/imported" --name="$1" "${options[@]}" "$folder/model.onnx" >"$scratch/said" 2>&1
}

good=0 refused=0 wrong=0
table=$scratch/table
while IFS=$'\t' read -r name rows reason; do
    [[ $name != '#'* ]] || continue
    import_case "$name" "$rows"
    got=$?
    if [ $got = 0 ] && [ "$reason" = - ] && [ -s "$scratch/imported/$name.mlp" ]; then
        pass
        good=$((good + 1))
        echo "| $name | agrees |" >>"$table"
    elif [ $got = 1 ] && [ "$reason" != - ] && grep -qF -- ": error: " "$scratch/said" &&
        grep -qF -- "$reason" "$scratch/said" && [ ! -e "$scratch/imported" ]; then
        pass
        refused=$((refused + 1))
        echo "| $name | refused: $reason |" >>"$table"
    else
        fail "import $name: exit status $got"
        tail -n 5 "$scratch/said"
        wrong=$((wrong + 1))
        echo "| $name | WRONG |" >>"$table"
    fi
done <$cases/EXPECTED.tsv
{
    sed '/^| case/,$d' tests/ONNX.md
    echo "| case | result |"
    echo "|---|---|"
    cat "$table"
    echo "| all | $good agree, $refused refused, $wrong wrong |"
} >"$scratch/report"
if [ "${2:-}" = refresh ]; then
    cp "$scratch/report" tests/ONNX.md
else
    check "tests/ONNX.md is what was found (tests/onnx.sh build refresh)" diff tests/ONNX.md "$scratch/report"
fi
# ---- models in the forms of exporters ----

own=tests/cases/import

# holds NAME FILE TEXTS: the file has each of the texts, which have | between them
holds() {
    local text texts
    cp "$2" "$scratch/held"
    IFS='|' read -ra texts <<<"$3"
    for text in "${texts[@]}"; do
        [ "$text" = - ] || check "$1 has '$text'" grep -qF -- "$text" "$scratch/held"
    done
}

while IFS=$'\t' read -r name options words; do
    [[ $name != '#'* ]] || continue
    arguments=()
    [ "$options" = - ] || arguments+=("$options")
    for file in $own/"$name"/{in,out}_*.npy; do
        port=${file##*/} port=${port#in_} port=${port#out_}
        arguments+=("--check-with=${port%.npy}=$file")
    done
    status "import $name" 0 \
        "$build/mlpc" import -o "$scratch/own" --name="$name" "${arguments[@]}" $own/"$name"/model.onnx
    holds "$name" "$scratch/own/$name.mlp" "$words"
    check "the layout of $name" test -z "$("$build/mlpc" --format=check "$scratch/own/$name.mlp")"
done <$own/ACCEPTED.tsv

while IFS=$'\t' read -r name words; do
    [[ $name != '#'* ]] || continue
    status "refuse $name" 1 "$build/mlpc" import -o "$scratch/refused" $own/refused/"$name".onnx
    holds "$name" "$scratch/said" "$words"
done <$own/REFUSED.tsv
check "nothing is written for what is refused" test ! -e "$scratch/refused"

# ---- what the command does ----

import() { "$build/mlpc" import -o "$scratch/here" "$@"; }

x=$own/vector/in_x.npy y=$own/vector/out_y.npy
status "a difference" 1 import --check-with=$x=$own/tied/out_y.npy $own/vector/model.onnx
status "other numbers" 1 import --check-with=$own/layers/in_input.npy=$own/layers/out_output.npy --tolerance=1e-12 \
    $own/layers/model.onnx
says "how far numbers are off" "output 'output': largest difference .*, more than"
check "a difference writes nothing" test ! -e "$scratch/here"
status "an array for no port" 1 import --check-with=a=$x --check-with=x=$x --check-with=first=$y $own/columns/model.onnx
for option in --name=repeat --name=in --batch=0 --batch=1, --batch=2147483648 --tolerance=inf --check-with==$y; do
    status "$option" 2 import $option $own/vector/model.onnx
done
status "nothing to compare" 1 import --check-with=x=$x $own/vector/model.onnx
status "kept layout" 0 import --keep-layout --name=kept --batch=1,32 --check-with=x=$own/tied/in_x.npy \
    --check-with=y=$own/tied/out_y.npy $own/tied/model.onnx
check "transposed=true" grep -q 'linear(x, 4, weight="w", bias=false, transposed=true)' "$scratch/here/kept.mlp"
check "batch sizes" grep -q 'batch   1,32;\|batch   1, 32;' "$scratch/here/kept.mlp"
status "one output" 0 import --name=one --output=third $own/columns/model.onnx
check "no other output" test "$(grep -c output "$scratch/here/one.mlp")" = 1
status "no such output" 1 import --output=nowhere $own/columns/model.onnx
says "no such output" "it has no output 'nowhere'"
status "no such input" 1 import --bind=nowhere=$x $own/columns/model.onnx
# A file that is not there is said once, and is nothing that the model or an array has wrong.
for option in --bind=x=no.npy --check-with=no.npy=$y --check-with=$x=no.npy; do
    status "$option" 3 import $option $own/vector/model.onnx
    check "$option is said once" test "$(grep -v '^compil' "$scratch/said")" = \
        "mlpc: error: cannot read 'no.npy': No such file or directory"
done
status "no array" 1 import --bind=x=$own/REFUSED.tsv $own/vector/model.onnx
says "no array" "is no array: it is not an npy file"
status "no model" 2 import
for option in --name --name= --bind=x --bind==$x --check-with=x= -o; do
    status "$option" 2 import $own/vector/model.onnx $option
done
status "help" 0 import --name --help
says "help" "^usage: mlpc import"
status "a value apart" 0 import --name apart --tolerance 1e-5 --check-with=$x=$y $own/vector/model.onnx
check "a value apart is the name" test -e "$scratch/here/apart.mlp"
status "two models" 2 import $own/tied/model.onnx $own/layers/model.onnx
status "an unknown option" 2 import --nonsense $own/tied/model.onnx
status "a bad name" 2 import --name=9 $own/tied/model.onnx
status "no such file" 3 import nowhere.onnx
status "a folder" 3 import $own
: >"$scratch/empty.onnx"
status "an empty file" 1 import "$scratch/empty.onnx"
status "what is no model" 1 import $own/REFUSED.tsv
mkdir "$scratch/linked"
cp $own/refused/external_link.onnx "$scratch/linked/m.onnx"
head -c 96 /dev/zero >"$scratch/secret.bin"
ln -s ../secret.bin "$scratch/linked/link.bin"
status "a link out of the folder" 1 import "$scratch/linked/m.onnx"
says "a link out of the folder" "not a file in the model's folder"
rm "$scratch/linked/link.bin"
cp "$scratch/secret.bin" "$scratch/linked/link.bin"
status "the same data in the folder" 0 import --name=link "$scratch/linked/m.onnx"

cp "$scratch/linked/m.onnx" "$scratch/linked/link.safetensors"
status "an input as output" 2 "$build/mlpc" import -o "$scratch/linked" "$scratch/linked/link.safetensors"

# Flatten 300,000 times, of a constant that the operator behind them reads: no stack is that deep. Protobuf joins two
# graphs; the first has ONNX's operators Neg and Add behind the chain, its input, output and constant.
{
    printf '\010\010:e\012\020\012\006300000\022\001q\042\003Neg\012\016\012\001x\012\001q\022\001y\042\003Add\022\001g'
    printf '*\024\010\001\010\001\020\001B\006000000J\004\000\000\200?Z\023\012\001x\022\016\012\014\010\001\022\010'
    printf '\012\002\010\001\012\002\010\001b\023\012\001y\022\016\012\014\010\001\022\010\012\002\010\001\012\002'
    printf '\010\001B\004\012\000\020\021:\240\261\356\003'
    awk 'BEGIN { for (i = 0; i < 300000; i++) printf "\n\031\n\006%06d\022\006%06d\"\007Flatten", i, i + 1 }'
} >"$scratch/chain.onnx"
status "a long chain of views" 0 import --name=chain "$scratch/chain.onnx"
check "what it computes" grep -q 'output y = x - 1;' "$scratch/here/chain.mlp"

# ---- files that are damaged ----

mkdir "$scratch/damage"
if (
    [ -n "${SANITIZE:-}" ] || ulimit -v 400000
    "$build/tests/damage" "$PWD/$build/mlpc" "$scratch/damage" 100 $own/*/model.onnx $own/refused/*.onnx
) >"$scratch/said" 2>&1; then
    pass
else
    fail "damaged models"
    tail -n 30 "$scratch/said"
fi
finish onnx
