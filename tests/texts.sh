#!/usr/bin/env bash
# What mlpc prints about networks, to the letter: texts.sh BUILD [refresh]. tests/texts/NAME.TARGET.KIND is what
# --KIND prints of the spec of that name; `refresh` writes those files anew, to be read before they are committed.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
refresh=${2:-}

# text NAME TARGET KIND OPTION...
text() {
    local file=tests/texts/$1.$2.$3 spec
    for spec in specs/$1.mlp tests/networks/$1.mlp tests/texts/$1.mlp; do
        [ ! -e "$spec" ] || break
    done
    "$build/mlpc" --target="$2" "${@:4}" "$spec" >"$scratch/text" 2>"$scratch/said" </dev/null
    if [ $? != 0 ] || [ -s "$scratch/said" ]; then
        fail "$file: ${*:4} complains"
        cat "$scratch/said"
    elif [ "$refresh" = refresh ]; then
        cp "$scratch/text" "$file"
    elif diff -u "$file" "$scratch/text" >"$scratch/said"; then
        pass
    else
        fail "$file: another text (make golden)"
        cat "$scratch/said"
    fi
}

# well_formed FILE: an XML parser takes it
well_formed() {
    if ! command -v xmllint >/dev/null; then
        skip "$1 is XML: there is no xmllint"
    else
        check "$1 is XML" xmllint --noout "$1"
    fi
}

for name in digits batchnorms residuals outputs gates; do
    for target in cpu cuda; do
        text $name $target explain --explain
    done
done
for name in digits gates hostile; do
    text $name cpu memory --memory
    text $name cuda memory --memory --whole=never
    text $name cuda svg --memory=svg --whole=never
    well_formed tests/texts/$name.cuda.svg
done
# drawn FILE: Graphviz takes it
drawn() {
    if ! command -v dot >/dev/null; then
        skip "$1 is a graph: there is no Graphviz"
    else
        status "$1 is a graph" 0 dot -Tsvg -o "$scratch/drawn" "$1"
        [ -s "$scratch/said" ] && fail "$1 is a graph: Graphviz complains: $(cat "$scratch/said")" || pass
    fi
}

for name in digits residuals outputs hostile; do
    text $name cuda dot --dot --whole=never
    drawn tests/texts/$name.cuda.dot
done
text digits cpu dot --dot
text outputs cuda memory --memory
text hostile cpu explain --explain
check "no control characters" bash -c '! grep -lP "[\x00-\x09\x0b-\x1f\x7f]" tests/texts/*.*.*'
finish texts
