#!/usr/bin/env bash
# Tuned plans from end to end, on a simulated GPU: a program's --tune, what a faulty library does to it, the plan file,
# mlpc --plan and --locked, and what a program makes of its plans when it starts.
# tune.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
if [ ! -r "${CUDA:-/usr/local/cuda}/include/cuda_runtime.h" ]; then
    skip "tuning on a simulated GPU: there are no CUDA headers"
    finish tune
elif [ -n "${SANITIZE:-}" ]; then
    skip "tuning on a simulated GPU: it is not built with sanitizers"
    finish tune
fi
root=$PWD
build=$(absolute "$1")
mlpc=$build/mlpc
. tests/gpu/simulated/build.sh
set +e
unset "${!MLP_SIMULATED_@}"

# ---- Tools ----

# emit FOLDER SPEC OPTION...: step by step, since a kernel for the whole network has no products
emit() {
    local folder=$1 spec=$2
    shift 2
    "$mlpc" --target=cuda --whole=never --random-weights=1 "$@" -o "$folder" "$spec"
}

# made FOLDER: FOLDER/program from the sources there
made() { (compile "$1" && link "$1/program" "$1"/*.o); }

# remade FOLDER LIKE: the same, where nothing but the C file of the network differs from LIKE's sources
remade() {
    local name
    name=$(basename "$1"/*.cu .cu)
    cmp "$1/$name.cu" "$2/$name.cu" && cp "$2"/*.o "$1" &&
        gcc -std=gnu11 -O1 -I"$1" $include -c -o "$1/part_$name.c.o" "$1/$name.c" && link "$1/program" "$1"/*.o
}

# both COMMAND -- COMMAND: at once; fails where one of them does
both() {
    local first=() one
    while [ "$1" != -- ]; do
        first+=("$1")
        shift
    done
    shift
    "${first[@]}" &
    one=$!
    "$@"
    local two=$?
    wait $one && [ $two = 0 ]
}

# is NAME GOT EXPECTED: two texts. The last command's output stays in $scratch/said.
is() {
    if [ "$2" = "$3" ]; then
        pass
    else
        fail "$1: '$2', expected '$3'"
    fi
}
# silent NAME: the last command said nothing.
silent() { is "$1: nothing said" "$(cat "$scratch/said")" ""; }
# counted NAME COUNT PATTERN: so many lines of the last command's output hold the basic regular expression.
counted() { is "$1" "$(grep -c -- "$3" "$scratch/said")" "$2"; }

# What takes long is done on another core: aside NAME COMMAND..., and later, for `status`, what it said: came NAME
declare -A jobs
aside() {
    local name=$1
    shift
    "$@" >"$name.said" 2>&1 </dev/null &
    jobs[$name]=$!
}
came() {
    wait "${jobs[$1]}"
    local got=$?
    cat "$1.said"
    return $got
}

# tune NAME SECONDS PROGRAM FILE: exits with 0, and what it prints has neither escapes nor carriage returns
tune() {
    status "$1" 0 "$3" --tune "$4" --seconds "$2"
    counted "$1: control characters in a pipe" 0 '[[:cntrl:]]'
}

entries() { grep -c '^product ' "$1"; }

# The part of a plan file about one device.
part() { awk -v line="device \"$2\"" '/^device / { on = index($0, line) == 1 } on && NF' "$1"; }

# The last command's table: a column of the row of a step and a number of rows
told() { awk -v step="$1" -v rows="$2" -v column="$3" '$1 == step && $2 == rows { print $column }' "$scratch/said"; }

# near TOLERANCE GOT REFERENCE
near() { "$scratch/compare_npy" "$@"; }

check "the tool that compares arrays" gcc -std=c11 -D_GNU_SOURCE -O1 -Itests -o "$scratch/compare_npy" \
    tests/gpu/compare_npy.c tests/compare.c -lm
cd "$scratch" || exit 1
# array ROWS WIDTH: a .npy file of numbers between 0 and 1
array() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1, $2), }"
    tail -c +129 "$root/specs/digits_x.npy" | head -c $(($1 * $2 * 4))
}
array 40 8 >x.npy
array 5 64 >wide.npy
array 5 8 >few.npy

# Of 8 products 4 are different: h, g and z have the same one.
cat >layers.mlp <<'END_OF_SPEC'
model layers {
    batch 1, 3;
    input x: f32[8];
    h = relu(linear(x, 8, "a"));
    g = relu(linear(h, 8, "b"));
    output z = relu(linear(g, 8, "c"));
    output y = gelu_tanh(linear(z, 8, "d"));
}
END_OF_SPEC
cat >half.mlp <<'END_OF_SPEC'
model half {
    batch 2;
    dtype f16;
    input x: f16[64];
    output y = relu(linear(x, 8, "a"));
}
END_OF_SPEC
cat >plain.mlp <<'END_OF_SPEC'
model plain {
    batch 1;
    input x: f32[64];
    output y = linear(x, 8, "a", bias=false);
}
END_OF_SPEC
# Sums long enough to be split, onto which something is added.
cat >long.mlp <<'END_OF_SPEC'
model long {
    batch 1, 2;
    dtype f16;
    input x: f16[64];
    input r: f16[8];
    output y = r + linear(concat(x, x), 8, "a");
}
END_OF_SPEC
cat >narrow.mlp <<'END_OF_SPEC'
model narrow {
    batch 1;
    dtype f16;
    input x: f16[64];
    output z = relu(linear(x, 8, "b"));
    output y = sigmoid(linear(x, 1, "a"));
}
END_OF_SPEC
echo 'model bare { input x: f32[8]; output y = relu(x); }' >bare.mlp

check "the simulated device" eval '(device)'
for name in layers half plain long narrow bare; do
    status "emit $name" 0 emit $name $name.mlp
    silent "emit $name without --plan"
done
check "build layers and half" both made layers -- made half
aside layers layers/program --tune layers.plan --seconds 1

# ---- A library with faults: what comes of it is right, and the same each time ----
# steady PROGRAM NAME: its rows in NAME.1.npy, and the same bytes in further runs
steady() {
    "$1" wide.npy "$2.1.npy" && "$1" wide.npy "$2.2.npy" && "$1" wide.npy "$2.3.npy" &&
        cmp "$2.1.npy" "$2.2.npy" && cmp "$2.1.npy" "$2.3.npy"
}

# met KIND STEP ROWS: whether the last tuning came to algorithms that are wrong, and, where the KIND is "better", chose
# a faster one than the heuristic lists. Neither is timed first, so that a slow machine needs more time for it.
met() {
    local refused listed best
    refused=$(told "$2" "$3" 9) listed=$(told "$2" "$3" 4) best=$(told "$2" "$3" 5)
    case $1 in
    harmless) true ;;
    wrong) [ "${refused:-0}" -gt 0 ] ;;
    better) [ "${refused:-0}" -gt 0 ] && awk "BEGIN { exit !($best < $listed) }" ;;
    esac
}

# faulty FAULTS KIND NETWORK STEP ROWS TOLERANCE
faulty() {
    local name="$3 with the faults $1" place=$3.$1 seconds
    export MLP_SIMULATED_FAULTS=$1
    for seconds in 1 4 16 64; do
        tune "tune $name, $seconds s" $seconds "$3/program" "$place.plan"
        ! met "$2" "$4" "$5" || break
    done
    met "$2" "$4" "$5"
    is "$name: some are refused, others found" $? 0
    [ "$2" = harmless ] || says "$name: why" 'the last that was refused [a-z]'
    [ "$2" != harmless ] || is "$name: none is refused" "$(told "$4" "$5" 9)" 0
    check "$name: compile in" emit "$place" "$3.mlp" --plan="$place.plan" --locked
    check "$name: build" remade "$place" "$3"
    check "$name: --verify" "$place/program" --verify
    check "$name: the same bytes each time" steady "$place/program" "$place"
    check "$name: the rows without faults" near "$6" "$place.1.npy" "$3.npy"
    unset MLP_SIMULATED_FAULTS
}
check "rows of half" half/program wide.npy half.npy
faulty tail wrong half y 2 1e-3
faulty unsteady better half y 2 1e-3
faulty wrong better half y 2 1e-3
aside hangs env MLP_SIMULATED_FAULTS=hangs half/program --tune hangs.plan --seconds 5
faulty refused harmless half y 2 1e-3
faulty tail,unsteady,wrong,refused,rounded wrong half y 2 1e-3
is "behind all that are refused, something better than the first choice is found" \
    "$(grep -c '# the first choice stays' half.tail,unsteady,wrong,refused,rounded.plan)" 0
check "build plain" made plain
check "rows of plain" plain/program wide.npy plain.npy
faulty rounded harmless plain y 1 1e-6
check "products of f32 keep f32" bash -c "! grep ' id=71 ' plain.rounded.plan"

# ---- Tuning, and a program with what was found ----
status "tune layers" 0 came layers
counted "tune layers: control characters in a pipe" 0 '[[:cntrl:]]'
is "an entry for each different product" "$(entries layers.plan)" 4
for step in h y; do
    for rows in 1 3; do
        counted "a line for $step, $rows rows" 1 "^$step  *$rows "
    done
done
counted "no line but one for each different product" 4 '^[a-z]  *[13] '
status "a plan for every product" 0 emit locked layers.mlp --plan=layers.plan --locked
silent "a plan for every product"
status "the same without --locked" 0 emit free layers.mlp --plan=layers.plan
check "build with plans" both remade locked layers -- remade free layers
check "--info" locked/program --info
says "--info counts" '^plans  *8 locked; 0 by cuBLASLt'
counted "--info says what each plan gained" 8 \
    'locked .*; when tuned [0-9.]* us, .*, for [0-9.]* and [0-9.]* of the first choice ([0-9.]* and [-0-9.]* % less)$'
check "--verify" locked/program --verify
check "rows, first choices" layers/program x=x.npy y=y.npy z=z.npy
check "rows, tuned" locked/program x=x.npy y=tuned_y.npy z=tuned_z.npy
# Whatever the algorithm, these sums are rounded once; a gelu apart is not computed by the library.
check "the same rows of relus" near exact tuned_z.npy z.npy
check "the same rows of a gelu" near 1e-6 tuned_y.npy y.npy
status "no note of plans that are used" 0 free/program x=x.npy y=free_y.npy z=free_z.npy
silent "no note of plans that are used"
status "no note where there are no plans" 0 layers/program x=x.npy y=free_y.npy z=free_z.npy
silent "no note where there are no plans"

# ---- Plans that win alone, and lose in the network ----
export MLP_SIMULATED_FAULTS=heavy
tune "tune layers, whose plans burden what follows" 1 layers/program heavy.plan
counted "they are given up" 4 '^[hy]  *[13]  back to the first choice: the whole network is faster with it$'
says "they do not count" '^4 products, 0 of them faster'
is "the first choices stay" "$(grep -c '# the first choice stays' heavy.plan)" 4
status "they are compiled in" 0 emit heavy layers.mlp --plan=heavy.plan --locked
unset MLP_SIMULATED_FAULTS
is "without such a burden, none is given up" "$(grep -c 'back to' layers.said)" 0

# ---- A weight of one row, which products see with rows of zeros ----
check "build narrow" made narrow
tune "tune narrow" 1 narrow/program narrow.plan
counted "narrow: there is a plan" 1 '^a  *1 .*'
counted "narrow: there is one that passes its proofs" 0 'no plan'

# ---- Several devices in one file ----
here="a simulated device" there="another device"
check "build long and bare" both made long -- made bare
tune "tune long here" 1 long/program long.plan
says "tune long here: both gain" '^2 products, 2 of them faster'
check "the residual is part of the products" test "$(grep -c '^product .* c=f16/8 ' long.plan)" = 2
cp long.plan here.plan
export MLP_SIMULATED_DEVICE="$there/7"
tune "tune long there" 1 long/program long.plan
is "there: two products more" "$(entries long.plan)" 4
is "there: its own part" "$(part long.plan "$there" | grep -c "^product ")" 2
check "here: every byte stays" cmp here.plan <(head -c "$(stat -c %s here.plan)" long.plan)
part long.plan "$there" >there.part
unset MLP_SIMULATED_DEVICE
tune "tune long here again" 1 long/program long.plan
is "again: no more products" "$(entries long.plan)" 4
check "again: the other part stays" cmp <(part long.plan "$there") there.part
MLP_SIMULATED_DEVICE='an "odd" device/7' tune "a name that no plan file holds" 1 long/program odd.plan
check "the name, with what a plan file holds" grep -q "^device \"an 'odd' device\" " odd.plan
status "both parts" 0 emit two long.mlp --plan=long.plan --locked
# Times of their own for the second device, so that --info tells whose plan it is.
for time in 'warm = 3' 'cold = 30' 'first_warm = 4' 'first_cold = 50'; do
    sed -i "/plan_devices\[1\]/,/^    },/s/\.${time% *} [0-9.]*/.$time/" two/long.c
done
check "both parts: build" remade two long
check "here" two/program --info
says "here: locked" '^plans  *2 locked; 0 by'
counted "here: its own plans" 0 '; when tuned 3.00 us'
check "there" env MLP_SIMULATED_DEVICE="$there/7" two/program --info
says "there: locked" '^plans  *2 locked; 0 by'
counted "there: its own plans" 2 \
    '; when tuned 3.00 us, cold 30.00, for 4.00 and 50.00 of the first choice (25.0 and 40.0 % less)'
check "there: --verify" env MLP_SIMULATED_DEVICE="$there/7" two/program --verify
status "as many multiprocessors make another device" 4 env MLP_SIMULATED_DEVICE="$there/8" \
    two/program x=wide.npy r=few.npy y=none.npy
# Two tuners that write to one file at the same time: neither loses what the other found.
for name in one other; do
    MLP_SIMULATED_DEVICE="$name device/7" aside both_$name long/program --tune both.plan --seconds 2
done
status "two tuners, one file: the first" 0 came both_one
status "two tuners, one file: the second" 0 came both_other
is "two tuners, one file: all is there" "$(entries both.plan)" 4
export MLP_SIMULATED_DEVICE="a third device/8" MLP_SIMULATED_CUBLASLT=130200
tune "a program that insists on its plans is tuned where it has none" 1 two/program long.plan
is "a third device: two products more" "$(entries long.plan)" 6
check "a third device: its own part" grep -qx 'device "a third device" multiprocessors=8 cublaslt=13.2.0' long.plan
unset MLP_SIMULATED_DEVICE MLP_SIMULATED_CUBLASLT

cp long.plan kept.plan
status "--tune --forms where there is one form" 0 long/program --tune long.plan --forms
check "--tune --forms where there is one form: nothing is found" cmp long.plan kept.plan

# An algorithm that hangs ends its process, and is left out by the next one.
status "tune half where an algorithm hangs" 0 came hangs
says "it is named" \
    '^program: note: an algorithm hangs, and is left out: m=8 .*: id 66, tile 26, stages 17, .* swizzle 0, custom 2'
says "all products are tuned" '^1 products, 1 of them faster'
check "no plan hangs: compile in" emit hangs half.mlp --plan=hangs.plan --locked
check "no plan hangs: build" remade hangs half
check "no plan hangs" timeout 60 env MLP_SIMULATED_FAULTS=hangs hangs/program --verify

# No plan has partial sums in the type of the result (reductions 1 and 4 of cublasLt.h).
check "partial sums in f32" bash -c 'for plan in *.plan; do
    [ "$(grep -c " algorithm .* reduction=[02] " "$plan")" = "$(grep -c "^product " "$plan")" ] || exit 1; done'

# ---- Where plans cannot be written ----
status "a device is no plan file" 3 timeout 20 layers/program --tune /dev/zero --seconds 1
says "a device is no plan file" "cannot read '/dev/zero': it is not a regular file"
status "no such folder, before the search" 3 timeout 20 layers/program --tune nowhere/layers.plan --seconds 60
says "no such folder" "cannot write 'nowhere/layers.plan': No such file or directory"

# ---- Plans that cannot be used ----
# Is ended by Ctrl-C when it has found its first plan.
interrupted() {
    layers/program --tune part.plan --seconds 6 &
    local program=$! tries=0
    while ! grep -q checksum part.plan 2>/dev/null && [ $((tries++)) -lt 1200 ]; do
        sleep 0.05
    done
    kill -INT "$program"
    wait "$program"
}
aside part interrupted

# quiet COMMAND...: what it prints goes to $scratch/printed, what it complains of stays
quiet() { "$@" >"$scratch/printed"; }
run() { env "${@:2}" "$1" x=x.npy y=out_y.npy z=out_z.npy; }

# used NAME STATE COUNT PROGRAM VARIABLE=VALUE...: so many of 8 plans are in that state. The program works all the same.
used() {
    local name=$1 state=$2 count=$3 program=$4
    shift 4
    rm -f out_?.npy
    status "$name" 0 quiet run "$program" "$@"
    says "$name: a note" ": note: $count of 8 plans not used, cuBLASLt's first choice instead: $state"
    counted "$name: one note" 1 ''
    is "$name: nothing printed" "$(cat printed)" ""
    check "$name: the same rows of relus" near exact out_z.npy z.npy
    check "$name: the same rows of a gelu" near 1e-6 out_y.npy y.npy
    check "$name: --verify" env "$@" "$program" --verify
    check "$name: --info" env "$@" "$program" --info
    says "$name: --info counts" "^plans  *$((8 - count)) locked; $count by cuBLASLt.*; $count $state"
    counted "$name: --info of each step" "$count" "heuristic .*; the plan is $state: .* (a simulated device, 1 multip"
}

echo old >old.npy
# insisted NAME STATE PROGRAM [--locked] VARIABLE=VALUE...
insisted() {
    local name=$1 state=$2 program=$3 option=()
    shift 3
    [ "${1:-}" != --locked ] || { option=(--locked); shift; }
    rm -f out_?.npy
    cp old.npy out_y.npy
    status "$name" 4 quiet env "$@" "$program" "${option[@]}" x=x.npy y=out_y.npy z=out_z.npy
    says "$name: the state" "rows: the plan is $state"
    is "$name: nothing printed" "$(cat printed)" ""
    check "$name: no rows" eval 'cmp out_y.npy old.npy && [ ! -e out_z.npy ]'
    status "$name: --verify" 4 env "$@" "$program" "${option[@]}" --verify
    status "$name: --bench" 4 env "$@" "$program" "${option[@]}" --bench
}

# state STATE VARIABLE=VALUE...: all plans are in it.
state() {
    local state=$1
    shift
    used "$state" "$state" 8 free/program "$@"
    insisted "$state, mlpc --locked" "$state" locked/program "$@"
    insisted "$state, --locked" "$state" free/program --locked "$@"
}
state stale MLP_SIMULATED_CUBLASLT=130200
state foreign MLP_SIMULATED_DEVICE="$there/1"
state foreign MLP_SIMULATED_DEVICE="$here/2"
state refused MLP_SIMULATED_REFUSE=1
insisted "missing, --locked" missing layers/program --locked
check "--info without plans" layers/program --info
says "--info without plans" '^plans  *0 locked; 8 by cuBLASLt'

# damage NAME SCRIPT: of the plan that h, g and z share for one row
damage() {
    mkdir "$1"
    cp free/*.c free/*.h free/*.cu "$1"
    sed -i "/m=8 n=1 k=8 .*relu_bias/,/^    },/s/$2/" "$1/layers.c"
    status "damaged $1: one change" 1 cmp -s "$1/layers.c" free/layers.c
    check "damaged $1: build" remade "$1" layers
    used "damaged $1" damaged 3 "$1/program"
    insisted "damaged $1, --locked" damaged "$1/program" --locked
}
damage attribute '\.swizzle = [01]/.swizzle = 2'
damage byte '\(\.bytes = {UINT64_C(0x\)0/\11'
damage workspace '\.workspace = 0/.workspace = 256'

# ---- mlpc: plans that are missing ----
checksums() { find "$1" -type f -exec cksum {} + | sort; }
before=$(checksums locked)
untouched() {
    check "$1: nothing is written" test ! -e fresh
    check "$1: old output is whole" test "$before" = "$(checksums locked)"
}
# missing NAME STEP ROWS: has its line
missing() {
    counted "$1: $2, $3 rows" 1 \
        "^layers.mlp:[0-9]*:[0-9]*: error: no plan for the product of '$2', $3 rows: m=8 n=$3 k="
}
# every NAME OPTION...: exits with 4, and lists all eight
every() {
    local name=$1 step rows
    shift
    for place in locked fresh; do
        status "$name" 4 emit $place layers.mlp --locked "$@"
        for step in h g z y; do
            for rows in 1 3; do
                missing "$name" $step $rows
            done
        done
        counted "$name: nothing else" 8 ': error: '
        untouched "$name"
    done
}
every "--locked without --plan"
every "--locked with another network's plans" --plan=long.plan

# The entry that h, g and z share for 3 rows is taken out.
awk '/^product / { skip = /n=3 k=8 .*relu_bias/ } !skip' layers.plan >fewer.plan
is "one entry fewer" "$(entries fewer.plan)" 3
status "one entry fewer, --locked" 4 emit fresh layers.mlp --plan=fewer.plan --locked
for step in h g z; do
    missing "one entry fewer, --locked" $step 3
done
counted "one entry fewer, --locked: nothing else" 3 ': error: '
status "one entry fewer, --locked --check" 4 emit fresh layers.mlp --plan=fewer.plan --locked --check
untouched "one entry fewer, --locked"
status "one entry fewer" 0 emit some layers.mlp --plan=fewer.plan
says "one entry fewer: a note" "^mlpc: note: 'fewer.plan' has no plan for 3 of 8 products: cuBLASLt's heuristic will"
counted "one entry fewer: one note" 1 ''
check "one entry fewer: build" remade some layers
check "one entry fewer: --info" some/program --info
says "one entry fewer: --info counts" '^plans  *5 locked; 3 by'

# As if 3 rows were one kernel: no run takes their products, which are there for tools.
status "one entry fewer, a kernel" 0 emit kernel layers.mlp --plan=fewer.plan
sed -i -e '/rows = 3, .form = MLP_FORM_STEPS, .forms = {forward_b3, NULL, NULL}/{s/FORM_STEPS/FORM_FEW/' \
    -e 's/forward_b3, NULL, NULL/forward_b3, NULL, forward_b3/;}' kernel/layers.c
check "one entry fewer, a kernel: build" remade kernel layers
check "one entry fewer, a kernel: --locked" kernel/program --locked x=x.npy y=kernel_y.npy z=kernel_z.npy
check "one entry fewer, a kernel: --info" kernel/program --info
says "one entry fewer, a kernel: --info counts" '^plans  *4 locked; 0 by'
counted "one entry fewer, a kernel: --info lists the plans of one row" 4 '^  *1  *[1-4]  locked '

# ---- Forms ----
# The same program has two forms for 3 rows.
cp fewer.plan forms.plan
status "two forms: --tune --forms" 0 kernel/program --tune forms.plan --forms
says "two forms: the steps' time" '^the whole network  *3 rows: steps [0-9.]* us'
says "two forms: the kernel's time" '^the whole network  *3 rows: few [0-9.]* us'
counted "two forms: one is the fastest" 1 ', the fastest$'
fastest=$(sed -n 's/^the whole .* rows: \([a-z]*\) .*, the fastest$/\1/p' "$scratch/said")
is "two forms: one entry, with the fastest" \
    "$(grep -A 3 '^network layers .* rows=3$' forms.plan | grep -c "^ *form $fastest$")" 1
is "two forms: the products' entries stay" "$(entries forms.plan)" "$(entries fewer.plan)"
check "two forms: mlpc takes the fastest" \
    "$mlpc" --target=cuda --random-weights=1 --plan=forms.plan -o formed layers.mlp
is "two forms: of 3 rows" "$(grep -c "rows = 3, .form = MLP_FORM_${fastest^^}," formed/layers.c)" 1

# ---- mlpc: plan files that cannot be read ----
# spoilt NAME LINE: bad.plan is wrong in that line
spoilt() {
    local place
    for place in locked fresh; do
        status "$1" 1 emit $place layers.mlp --plan=bad.plan
        says "$1: the line" "^bad.plan:$2: error: .* \[plan-file\]$"
        counted "$1: nothing else" 1 ''
        untouched "$1"
    done
}
checksum_line=$(grep -n -m 1 '^ *checksum' layers.plan | cut -d : -f 1)
sed '0,/ warm=[0-9]/s/ warm=[0-9]/&0/' layers.plan >bad.plan
spoilt "another digit in a time" "$checksum_line"
sed '0,/ tile=[0-9]/s/ tile=[0-9]/&0/' layers.plan >bad.plan
spoilt "another digit in an attribute" "$checksum_line"
sed '0,/multiprocessors=1/s//multiprocessors=2/' layers.plan >bad.plan
spoilt "another digit in the device" "$checksum_line"
head -n -1 layers.plan >bad.plan
spoilt "cut after a line" "$(wc -l <bad.plan)"
head -c -6 layers.plan >bad.plan
spoilt "cut in a line" "$(wc -l <layers.plan)"
sed 's/^mlpc plans 1$/mlpc plans 2/' layers.plan >bad.plan
spoilt "another version" "$(grep -n '^mlpc plans' layers.plan | cut -d : -f 1)"
cp layers.mlp bad.plan
spoilt "no plan file" 1
: >bad.plan
spoilt "an empty file" 1
for plan in none.plan locked; do
    status "--plan=$plan" 3 emit fresh layers.mlp --plan=$plan
    says "--plan=$plan is named" "^mlpc: error: cannot read '$plan'"
    untouched "--plan=$plan"
done

# ---- mlpc: the command line, what depends on the plans, what may not be overwritten ----
status "--plan for a CPU" 2 "$mlpc" --target=cpu --plan=layers.plan --check layers.mlp
says "--plan for a CPU" '--plan is for --target=cuda'
status "--plan without a file" 2 "$mlpc" --plan= --check layers.mlp
check "-MD" emit depend layers.mlp --plan=layers.plan -MD -MF depend.d
check "-MD names the plans" grep -qx 'depend/layers.c: layers.mlp layers.plan' depend.d
cp layers.plan kept.plan
status "the output is the plan file" 2 emit depend layers.mlp --plan=layers.plan -MD -MF layers.plan
says "the output is the plan file" "the output 'layers.plan' would take the place of the plan file"
check "the output is the plan file: it is as it was" cmp layers.plan kept.plan
mkdir inside
cp layers.plan inside/layers.c
status "an output is the plan file" 2 emit inside layers.mlp --plan=inside/layers.c
check "an output is the plan file: it is as it was" cmp inside/layers.c kept.plan
is "an output is the plan file: nothing else" "$(ls inside)" layers.c

# ---- --tune that cannot be done ----
status "--seconds without --tune" 2 long/program --seconds 1
says "--seconds without --tune" '--seconds goes with --tune'
status "--forms without --tune" 2 long/program --forms
says "--forms without --tune" '--forms goes with --tune'
status "--seconds 0" 2 long/program --tune new.plan --seconds 0
status "--tune without a file" 2 long/program --tune
status "--tune without products" 2 bare/program --tune new.plan
says "--tune without products" 'there is nothing to tune in this program, it has no products'
check "build for the CPU" "$mlpc" --exe --target=cpu --random-weights=1 -o long_cpu long.mlp
status "--tune on the CPU" 2 ./long_cpu --tune new.plan
says "--tune on the CPU" 'there is nothing to tune in this program, it runs on the CPU'
check "no plans of these" test ! -e new.plan
status "--tune into no folder" 3 long/program --tune none/new.plan --seconds 1
says "--tune into no folder" "cannot write 'none/new.plan'"
check "--tune into no folder: no file" test ! -e none
status "a folder as plan file" 3 long/program --tune two --seconds 1
says "a folder as plan file" "cannot read 'two'"
cp long.plan kept.plan
status "a disk that is full" 3 full_disk 1 long/program --tune long.plan --seconds 1
says "a disk that is full" "cannot write 'long.plan'"
check "a disk that is full: the old plans stay" cmp long.plan kept.plan
check "a disk that is full: nothing is left aside" bash -c '[ -z "$(ls -A | grep part-)" ]'
sed 's/ warm=[0-9]/&0/' long.plan >bad.plan
cp bad.plan kept.plan
status "plans that are damaged" 1 long/program --tune bad.plan --seconds 1
says "plans that are damaged: the line" "bad.plan:$(grep -n -m 1 '^ *checksum' bad.plan | cut -d : -f 1): "
check "plans that are damaged stay" cmp bad.plan kept.plan

# ---- --tune that is interrupted: what was found is kept ----
status "interrupted" 130 came part
says "interrupted" 'interrupted: later products keep the plans they had'
found=$(entries part.plan)
counted "interrupted: a line for each" "$found" '^[a-z]  *[13] '
check "interrupted: some of 4 products ($found)" test "$found" -ge 1 -a "$found" -lt 4
check "interrupted: mlpc takes the plans" emit part layers.mlp --plan=part.plan
says "interrupted: mlpc counts the others" "^mlpc: note: 'part.plan' has no plan for [1-7] of 8 products"
finish tune
