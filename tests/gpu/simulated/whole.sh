#!/usr/bin/env bash
# Whole networks in one kernel on the simulated device: whole.sh BUILD. A selection of the cases, some of them in f16
# with outputs of f32, in each form; and networks of their own, held to float64 by their programs.
set -u
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
place=$build/whole_simulated
rm -rf "$place"
mkdir -p "$place"
failed=0

# A case as it stands, or in f16, where each product may add what storing its result in f16 does.
copy() {
    local case=$1 to=$2 products
    cp -r "$case" "$to"
    [ "${3:-}" = f16 ] || return 0
    sed -i -e '0,/^ *model .*{/s//&\n    dtype f16;/' \
        -e 's/^\( *\)output \([A-Za-z_0-9]*\) *\([=;]\)/\1output \2: f32 \3/' "$to/model.mlp"
    products=$("$build/mlpc" --dump=plan "$to/model.mlp" | grep -c ' product ')
    sed -i "0,/{/s//{ \"tolerance\": $(awk -v n="$products" 'BEGIN { print 2e-3 * sqrt(n > 1 ? n : 1) }'),/" \
        "$to/case.json"
}

# run NAME FORM CASE[:f16]...
run() {
    local name=$1 form=$2 case type
    shift 2
    mkdir -p "$place/$name/cases" "$place/$name/scratch"
    for case; do
        type=${case#*:}
        case=${case%:*}
        copy "$(echo cases/p*/"$case")" "$place/$name/cases/${case}_${type}" "$type"
    done
    echo "$name on a simulated GPU:"
    MLP_SIMULATED_WHOLE=$form MLPC=$build/mlpc "$build/tests/run_cases" -t 300 gpu/simulated/mlpc.sh \
        "$build/runtime" "$place/$name/scratch" "$place/$name/cases" || failed=1
}

run few few actor_critic two_tower ok_slice_unaligned \
    digits:f16 residual_order:f16
run rows rows actor_critic:f16 odd_3x7x13:f16 \
    residual_order:f16 two_tower:f16
MLP_SIMULATED_WGMMA=0 run rows_mma rows digits:f16

# verify NAME FORM: the network on standard input, which holds itself to float64
verify() {
    local to=$place/$1
    mkdir -p "$to"
    cat >"$to/$1.mlp"
    if MLP_SIMULATED_WHOLE=$2 MLPC=$build/mlpc gpu/simulated/mlpc.sh --exe --target=cpu --random-weights=1 \
            -o "$to/program" "$to/$1.mlp" && "$to/program" --verify >"$to/said" 2>&1; then
        echo "$1: 1 passed, 0 failed"
    else
        cat "$to/said"
        echo "$1: 0 passed, 1 failed"
        failed=1
    fi
}

# Values between blocks go through memory.
verify grid few <<'END'
model grid {
    dtype f16;
    batch 3;
    input x: f16[4200];
    h1 = relu(linear(x, 88, "a"));
    h2 = relu(linear(h1, 88, "b"));
    output y = softmax(linear(h2, 88, "c"));
}
END
"$build/mlpc" --target=cuda --whole=few --random-weights=1 -o "$place/grid/source" "$place/grid/grid.mlp" &&
    grep -q 'mlp_few_plan<.*, false>' "$place"/grid/source/*.cu ||
    { echo "grid: its values do not go through memory"; failed=1; }

# A parameter that is a single number is staged in front of others.
verify number rows < <(sed 's/batch/dtype f16; batch/' networks/number_and_bias.mlp)

# Rows of more columns than are kept in one piece unless something needs them so; what is stretched over others.
verify reductions rows <<'END'
model reductions {
    dtype f16;
    input x: f16[294];
    m = mean(x);
    s = sum(relu(x[3:200]));
    g = layernorm(linear(x[0:150], 16, "b"), "n");
    r = rmsnorm(g, "r", offset=1) * m + s / 3;
    output y = linear(concat(m, s), 16, "a") * r;
    output z: f32 = linear(x[0:64], 200, "z") + 0.5;
}
END

# Weights that no block can hold go through its shared memory.
verify stream few <<'END'
model stream {
    dtype f16;
    input x: f16[33000];
    h = relu(linear(x, 16, "a"));
    output y = softmax(linear(h, 16, "b"));
}
END

exit $failed
