#!/usr/bin/env bash
# Everything that a machine with a GPU needs to test the CUDA target, in one folder:
#     bundle.sh [-r COUNT] [-s SEED] MLPC FOLDER [whole|random]
# whole: only what is one kernel for a whole network. random: only the random networks. -r: also so many random networks
# (tests/random), those of the seeds SEED, SEED + 1, ..., each in one type after the other, step by step and in every
# form that it can have; they need tests/random_networks beside MLPC.
# That machine needs nvcc, gcc and bash; it needs neither mlpc nor what mlpc is built with. There: FOLDER/run.sh
#
# FOLDER/networks/CASE_DTYPE holds the emitted sources of a case, its arrays, `type`, and `tolerance`, by which its
# outputs are held to the references. Cases that name no type are also emitted in tf32, f16 and bf16, with outputs of
# f32; the rounding of stored values adds up over products, and so does their tolerance.
set -eu
random=0 first=1
while getopts r:s: option; do
    case $option in
    r) random=$OPTARG ;;
    s) first=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mlpc=$(cd "$(dirname "$1")" && echo "$PWD/$(basename "$1")")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.."

rm -rf "$folder"/*
mkdir "$folder/networks"
cp -r runtime "$folder/runtime"
cp tests/compare.c tests/compare.h tests/gpu/*.c tests/gpu/run.sh "$folder"
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT

# Networks whose format cannot hold the tolerance, whatever the arithmetic: they are judged by --verify alone, which
# holds every step to a bound of its own.
beyond_its_format() {
    case $1 in
    softmax_extreme_f16)
        echo "inputs beyond 65504, the largest number of f16" ;;
    act_tanh_f16 | act_tanh_tf32 | breast_cancer_bn_tf32)
        echo "sums of up to 8 in front of a saturating function: rounding the operands alone moves it by more" ;;
    esac
}

# The number (or "exact") of case.json, or the default.
tolerance() {
    local found
    found=$(sed -n 's/^ *"tolerance": *"\{0,1\}\([^",]*\).*/\1/p' "$1/case.json")
    echo "${found:-2e-5}"
}

# What one product may add in each type, times the root of the number of products.
rounding() {
    local products
    products=$("$mlpc" --dump=plan "$2" | grep -c ' product ' || true)
    awk -v type="$1" -v n="$products" \
        'BEGIN { t["tf32"] = 1e-3; t["f16"] = 2e-3; t["bf16"] = 1.6e-2; print t[type] * sqrt(n > 1 ? n : 1) }'
}

# The type that a spec names, or f32.
type_of() {
    local found
    found=$(sed -n 's/^ *dtype *\([a-z0-9]*\).*/\1/p' "$1")
    echo "${found:-f32}"
}

# in_form FORM PLACE: whether the sources there have a batch size in one kernel of this form
in_form() {
    [ "$1" = never ] || grep -q "form = MLP_FORM_${1^^}" "$2"/*.c
}

# emit CASE TYPE [FORM]: TYPE is "own" for the case as it stands; FORM: in one kernel, where that is possible
emit() {
    local name to spec=$sources/case/model.mlp reason form=${3:-never}
    name=$(basename "$1")_$2${3:+_$3}
    to=$folder/networks/$name
    mkdir "$to" "$sources/case"
    cp "$1"/* "$sources/case"
    if [ "$2" != own ]; then
        sed -i -e "0,/^ *model .*{/s//&\n    dtype $2;/" \
            -e 's/^\( *\)output \([A-Za-z_0-9]*\) *\([=;]\)/\1output \2: f32 \3/' "$spec"
    fi
    if "$mlpc" --target=cuda --whole=$form -o "$to" "$spec" 2>"$to/said" && in_form "$form" "$to"; then
        cp "$1"/*.npy "$to"
        type_of "$spec" >"$to/type"
        if [ "$2" = own ]; then tolerance "$1"; else rounding "$2" "$spec"; fi >"$to/tolerance"
        reason=$(beyond_its_format "$(basename "$1")_$2")
        [ -z "$reason" ] || echo "$reason" >"$to/beyond"
    else
        [ "$form" != never ] || echo "not emitted: $name: $(head -n 1 "$to/said")"
        rm -r "$to"
    fi
    rm -r "$sources/case"
}

# emit_kinds TYPE: every kind of generated kernel, without references: for --verify, and for the sanitizers.
emit_kinds() {
    local to=$folder/networks/kinds_$1
    mkdir "$to"
    sed "s/\bf16\b/$1/g" tests/gpu/traps/kinds.mlp >"$sources/kinds.mlp"
    "$mlpc" --target=cuda --whole=never -o "$to" "$sources/kinds.mlp"
    echo "$1" >"$to/type"
}

# emit_awkward SPEC TYPE [FORM]: a network without references: for --verify
emit_awkward() {
    local to form=${3:-never}
    to=$folder/networks/$(basename "$1" .mlp)_$2${3:+_$3}
    mkdir "$to"
    if grep -q '^ *dtype' "$1"; then
        sed "s/^ *dtype .*/    dtype $2;/" "$1" >"$sources/awkward.mlp"
    else
        sed "0,/^ *model .*{/s//&\n    dtype $2;/" "$1" >"$sources/awkward.mlp"
    fi
    "$mlpc" --target=cuda --whole=$form --random-weights=3 -o "$to" "$sources/awkward.mlp"
    echo "$2" >"$to/type"
    in_form "$form" "$to" || rm -r "$to"
}

# emit_random SEED TYPE FORM: a random network, with what must come out of it and how near
emit_random() {
    local to=$folder/networks/random$1_$2_$3
    mkdir "$to"
    "$(dirname "$mlpc")/tests/random_networks" -w "$to" -s "$1" -t "$2"
    "$mlpc" --target=cuda --whole="$3" -Wno-unused-value -Wno-unused-input -Wno-dead-layer \
        -o "$to" "$to"/*.mlp
    if in_form "$3" "$to"; then
        rm "$to"/*.safetensors
        echo "$2" >"$to/type"
        echo each >"$to/tolerance"
    else
        rm -r "$to"
    fi
}

types=(f32 tf32 f16 bf16)
for ((seed = first; seed < first + random; seed++)); do
    for form in never few rows; do
        emit_random $seed ${types[seed % 4]} $form
    done
done
[ "${3:-}" != random ] || { echo "$(ls "$folder/networks" | wc -l) networks in $folder"; exit; }

# One kernel for the whole network: cases by their references, and awkward networks and small ones of the ladder.
for case in tests/cases/pytorch/*; do
    ls "$case"/out_*.npy >/dev/null 2>&1 || continue
    emit "$case" own few
    emit "$case" own rows
    if ! grep -q dtype "$case/model.mlp" && ! grep -q '"exact"' "$case/case.json"; then
        emit "$case" f16 few
        emit "$case" f16 rows
        emit "$case" bf16 rows
    fi
done
for spec in tests/networks/*.mlp; do
    for type in f32 f16 bf16; do
        emit_awkward "$spec" $type few
        emit_awkward "$spec" $type rows
    done
done
for spec in specs/ladder/{policy,mnist,nerf64,dlrm_bot,dlrm_top,minilm_ffn,gpt2_ffn}.mlp; do
    emit_awkward "$spec" "$(type_of "$spec")" few
    emit_awkward "$spec" "$(type_of "$spec")" rows
done
[ "${3:-}" != whole ] || { echo "$(ls "$folder/networks" | wc -l) networks in $folder"; exit; }

for case in tests/cases/pytorch/* tests/cases/public/*; do
    ls "$case"/out_*.npy >/dev/null 2>&1 || continue
    emit "$case" own
    if ! grep -q dtype "$case/model.mlp" && ! grep -q '"exact"' "$case/case.json"; then
        for type in tf32 f16 bf16; do
            emit "$case" $type
        done
    fi
done
for type in f32 f16 bf16; do
    emit_kinds $type
done
for spec in tests/networks/*.mlp; do
    for type in f32 tf32 f16 bf16; do
        emit_awkward "$spec" $type
    done
done

# The ladder, for plans.sh: it is compiled there, since its weights are larger than all of this.
mkdir "$folder/tests"
cp "$(dirname "$mlpc")/mlpc-static" "$folder/mlpc"
cp -r specs/ladder "$folder/ladder"
cp tests/gpu/plans.sh tests/gpu/plans.c "$folder/tests"

mkdir "$folder/interface"
"$mlpc" --target=cuda -o "$folder/interface" specs/digits.mlp
"$mlpc" --target=cuda --weights=external -o "$folder/interface/external" specs/digits.mlp
cp specs/digits_x.npy "$folder/interface"
tests/gpu/traps/emit.sh "$mlpc" "$folder/traps"

# For rounds.c: one whose memory is an array of the program, and one that is given its memory, since that is 1 GiB.
cp tests/library/rounds.c "$folder"
mkdir "$folder/rounds"
"$mlpc" --target=cuda -o "$folder/rounds/digits" specs/digits.mlp
cat >"$sources/large.mlp" <<'SPEC'
model large {
    batch 1, 65536;
    input x: f32[8];
    h = relu(linear(x, 4096, "a"));
    output y = softmax(linear(h, 8, "b"));
}
SPEC
"$mlpc" --target=cuda --whole=never --random-weights=1 -o "$folder/rounds/large" "$sources/large.mlp"
rm "$folder"/rounds/*/*_main.c
echo "$(ls "$folder/networks" | wc -l) networks in $folder"
