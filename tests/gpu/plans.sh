#!/usr/bin/env bash
# Tunes the networks of specs/ladder on this machine's GPU, and compares tuned plans with cuBLASLt's first choice.
#     plans.sh FOLDER build [NAME...]           only the programs for tuning
#     plans.sh FOLDER tune SECONDS [NAME...]    builds in every form, tunes about SECONDS a product, and measures the
#                                               forms: FOLDER/plans/NAME.plan; 0 seconds: only the forms
#     plans.sh FOLDER compare [NAME...]         builds with those plans, measures: FOLDER/PLANS.md
# FOLDER holds mlpc (mlpc-static will do), runtime/, ladder/ (the specs) and tests/, as bundle.sh lays them out. Plans
# that are there already are candidates when a network is tuned again.
set -uo pipefail
cd "$1" || exit 2
folder=$PWD mode=$2
shift 2
seconds=4 least_seconds=${LEAST_SECONDS:-15}
[ "$mode" != tune ] || { seconds=$1; shift; }
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(cd ladder && printf '%s\n' *.mlp | sed 's/\.mlp$//')
include=$(dirname "$(command -v nvcc)")/../include
mkdir -p plans work
export folder include

build_runtime() {
    mkdir -p objects && rm -f objects/* runtime/libmlprt.a
    printf '%s\n' runtime/*.c | xargs -P 8 -I{} sh -c 'gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Iruntime -I"$include" \
        -c -o "objects/$(basename {} .c).o" {}' || return
    (cd objects && ar rcsD ../runtime/libmlprt.a $(printf '%s\n' *.o | grep -v '^cuda'))
}

# Both builds take their weights from the same seed.
options=(--target=cuda --random-weights=1 --weights=external)

# One that is there already is kept.
build_program() {
    mkdir -p "$folder/work/$1" && cd "$folder/work/$1" && [ ! -x program ] || return 0
        "$folder/mlpc" "${options[@]}" --whole=all --exe -o program "$folder/ladder/$1.mlp"
}

tune() (
    log=$folder/work/$1/tune.log
    cd "$folder/work/$1" || return
    products=$(./program --info | awk '/^plans/ { print $4 }')
    total=$((seconds * products > least_seconds ? seconds * products : least_seconds))
    how="--seconds $total"
    [ "$seconds" != 0 ] || how=--forms
    ./program --weights "$1.weights" --tune "$folder/plans/$1.plan" $how >"$log" 2>&1
    echo "== $1: exit $?"
    cat "$log"
)

build_comparison() {
    mkdir -p "$folder/work/$1" && cd "$folder/work/$1" || return
    sed "s/^model $1 /model $1_first /" "$folder/ladder/$1.mlp" >first.mlp
    "$folder/mlpc" "${options[@]}" --whole=never --lib -o . first.mlp &&
        "$folder/mlpc" "${options[@]}" --whole=never --lib --locked --plan="$folder/plans/$1.plan" -o . \
            "$folder/ladder/$1.mlp" &&
        gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -I"$folder/runtime" -I"$include" -DFIRST="$1_first_model" \
            -DTUNED="$1_model" -DFIRST_WEIGHTS="\"$1_first.weights\"" -DTUNED_WEIGHTS="\"$1.weights\"" -c -o plans.o \
            "$folder/tests/plans.c" &&
        nvcc -arch=sm_90 -o compare plans.o "lib$1.a" "lib$1_first.a" "$folder/runtime/libmlprt.a" -lcublasLt -lm
}

# Medians over processes, first and tuned in turn; of networks whose start is more than reading their weights.
startup() (
    cd "$folder/work/$1" || return
    [ "$(stat -c %s "$1.weights")" -lt 3000000 ] || return 0
    for i in 1 2 3 4 5; do
        for which in first tuned; do
            echo "$which $(./compare $which)"
        done
    done | sort -k1,1 -k3,3n | awk -v name="$1" '
        { t[$1, ++n[$1]] = $3 }
        END { a = t["first", 3]; b = t["tuned", 3]; printf "| %s | %.2f | %.2f | %.2f |\n", name, a, b, a / b }'
)
export -f build_program build_comparison
export options_text="${options[*]}"

# each FUNCTION: for all networks at once; what is said of one is shown where it fails
each() {
    printf '%s\n' "${names[@]}" | xargs -P 12 -I{} bash -c \
        'options=($options_text); ('"$1"' {}) >"$folder/work/{}.log" 2>&1 ||
            { echo "FAILED '"$1"' {}"; tail -n 5 "$folder/work/{}.log"; }'
}

report() {
    local name
    printf '# Tuned plans against the first choice of cuBLASLt\n\n'
    printf -- '- date: %s\n' "$(date -u +%F)"
    printf -- '- device: %s, driver %s\n' "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)" \
        "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
    printf -- '- compiler: %s\n' "$(nvcc --version | sed -n 's/^.*release/CUDA release/p')"
    printf -- '- method: both builds in one process, in turn, medians of 9; runs without pause in CUDA graphs of about '
    printf '0.3 ms; random data\n\n'
    printf '| network | rows | step | first choice, us | tuned, us | ratio | plan |\n|---|---|---|---|---|---|---|\n'
    cat work/*/compare.table
    cat work/*/compare.table | awk -F' *[|] *' '
        $4 == "**all steps**" {
            points++; whole += log($7)
            if ($7 < least || !least) { least = $7; where = $2 " " $3 }
        }
        $8 == "tuned" { better++; layers += log($7) }
        $8 == "first choice" { kept++ }
        END {
            printf "\n- products with a better plan: %d of %d; geometric mean of their ratios %.3f\n", better,
                better + kept, better ? exp(layers / better) : 1
            printf "- whole networks: geometric mean over %d points %.3f; least %.3f (%s rows)\n", points,
                points ? exp(whole / points) : 1, least, where
        }'
    printf '\n## From a CUDA context to the first result, milliseconds, medians of 5 processes\n\n'
    printf '| network | asking the heuristic | locked plans | ratio |\n|---|---|---|---|\n'
    cat work/*/startup.table
}

build_runtime || { echo "the runtime does not build"; exit 1; }
case $mode in
build)
    each build_program
    ;;
tune)
    each build_program
    for name in "${names[@]}"; do
        tune "$name"
    done
    ;;
compare)
    each build_comparison
    for name in "${names[@]}"; do
        (cd "work/$name" && ./compare >compare.table) || echo "FAILED compare $name"
        startup "$name" >"work/$name/startup.table"
    done
    report >PLANS.md
    cat PLANS.md
    ;;
esac
