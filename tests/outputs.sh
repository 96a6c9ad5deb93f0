#!/usr/bin/env bash
# All that mlpc writes about the networks of this project, into an empty folder: outputs.sh MLPC OUT [few | RANDOM]
# MLPC may be several words. RANDOM has random networks; `few` takes a few networks and messages, in a second. Reads
# specs/ and tests/ below the current folder, so that a copy of them elsewhere does as well. tests/reproducible.sh
# compares what different mlpcs, on different systems, make of the same.
set -u
read -ra mlpc <<<"$1"
out=$2
few= random=
if [ "${3:-}" = few ]; then few=yes; else random=${3:-}; fi
mkdir -p "$out" || exit 1

# keep NAME ARGUMENT...: what mlpc prints, and its exit status
keep() {
    "${mlpc[@]}" "${@:2}" >"$out/$1.out" 2>"$out/$1.err" </dev/null
    echo "exit status $?" >>"$out/$1.err"
}

cpu=() cuda=()          # options for one target alone

# sources NAME SPEC OPTION...: for both targets, with all forms for CUDA, and the rule for make
sources() {
    keep "$1.cpu" --target=cpu -o "$out/$1.cpu" -MD -MT "$1" "${cpu[@]}" "${@:3}" "$2"
    keep "$1.cuda" --target=cuda --whole=all -o "$out/$1.cuda" "${cuda[@]}" "${@:3}" "$2"
    sed -i "s|$out|OUT|g" "$out/$1".cpu*/*.d "$out/$1".*.err 2>/dev/null
}

# texts NAME SPEC OPTION...
texts() {
    local what target
    for what in ast graph fused plan memory; do
        keep "$1.dump-$what" --dump=$what --target=cuda "${@:3}" "$2"
    done
    keep "$1.explain" --explain "${cuda[@]}" "${@:3}" "$2"
    for target in cpu cuda; do
        keep "$1.$target.explain" --explain --target=$target "${@:3}" "$2"
        keep "$1.$target.memory" --memory --target=$target "${@:3}" "$2"
    done
    keep "$1.svg" --memory=svg --whole=never "${@:3}" "$2"
    keep "$1.dot" --dot --whole=never "${@:3}" "$2"
    keep "$1.format" --format "$2"
    keep "$1.depends" -M "${@:3}" "$2"
}

# message NAME SPEC OPTION...: for people and for tools
message() {
    keep "$1.text" --check --target=cpu "${@:3}" "$2"
    keep "$1.sarif" --check --target=cpu --diagnostics-format=sarif "${@:3}" "$2"
}

# import NAME MODEL [OPTION...]
import() {
    keep "import.$1" import -o "$out/import.$1" "${@:3}" "$2"
}

of() { basename "$1" .mlp; }

for spec in specs/digits.mlp specs/gated_ffn.mlp specs/examples/*.mlp tests/networks/*.mlp tests/texts/*.mlp; do
    [[ -z $few || $spec = */tabular* || $spec = */batchnorms* || $spec = */hostile* ]] || continue
    options=()
    grep -q '^ *weights ' "$spec" || options=(--random-weights=7)
    sources "$(of "$spec")" "$spec" "${options[@]}"
    cpu=(--threads=3 --cpu=v3)
    [ -n "$few" ] || sources "$(of "$spec").external" "$spec" --weights=external "${options[@]}"
    cpu=()
    texts "$(of "$spec")" "$spec" "${options[@]}"
done
# Large networks without their weights, and tuned plans.
for spec in specs/ladder/*.mlp; do
    name=$(of "$spec")
    [[ -z $few || $name = mnist ]] || continue
    cuda=(--plan="${spec%.mlp}.plan")
    sources "ladder.$name" "$spec"
    texts "ladder.$name" "$spec"
    cuda=()
done
[ -n "$few" ] || sources ladder.policy.weights specs/ladder/policy.mlp --random-weights=3

for spec in tests/messages/*.mlp; do
    name=$(of "$spec")
    [[ -z $few || $name = wa* ]] || continue
    read -ra options <<<"$(sed -n '1s/^# options: //p' "$spec")"
    message "message.$name" "$spec" "${options[@]}"
done

while IFS=$'\t' read -r name rows reason; do
    [[ $name != '#'* && ( -z $few || $name = gelu* ) ]] || continue
    bind=()
    for file in tests/cases/onnx/"$name"/in_*.npy; do
        port=${file##*/in_} port=${port%.npy}
        [[ ,$rows, = *,$port,* ]] || bind+=("--bind=$port=$file")
    done
    import "$name" "tests/cases/onnx/$name/model.onnx" "${bind[@]}"
done <tests/cases/onnx/EXPECTED.tsv
for model in tests/cases/import/*/model.onnx; do
    [ -n "$few" ] || import "own.$(basename "${model%/*}")" "$model"
done
for file in tests/cases/safetensors/*.safetensors; do
    [[ -n $few && $file != *overlap* ]] || keep "weights.$(basename "$file")" --check --weights="$file" specs/digits.mlp
done
[ -z "$few" ] || exit 0

for model in tests/cases/import/refused/*.onnx; do
    import "refused.$(basename "$model" .onnx)" "$model"
done
for folder in tests/cases/pytorch/* tests/cases/public/*; do
    [ ! -e "$folder/model.mlp" ] || sources "case.$(basename "$folder")" "$folder/model.mlp"
done
for spec in ${random:+"$random"/*/*.mlp}; do
    sources "random.$(of "$spec")" "$spec"
    texts "random.$(of "$spec")" "$spec"
done
