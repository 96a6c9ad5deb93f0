#!/usr/bin/env bash
# Imports ONNX models: onnx.sh BUILD [refresh]. The cases of tests/cases/onnx must give their outputs on the CPU or be
# refused for the reason that EXPECTED.tsv says; tests/ONNX.md has the table.
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
finish onnx
