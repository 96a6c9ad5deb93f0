#!/usr/bin/env bash
# The generated program: its options, its exit statuses, what it does with bad arrays. program.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1/mlpc")
runtime=$(absolute "$1/runtime")
root=$PWD
cd "$scratch" || exit 1
cp "$root/specs/digits_x.npy" x.npy

# array TYPE SHAPE FILE: a .npy file whose data come from standard input
array() {
    local header="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
    { printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"; cat; } >"$3"
}
zeros() { head -c "$1" /dev/zero; }

check "build" "$mlpc" --exe --target=cpu -o digits "$root/specs/digits.mlp"

# ---- Ways to call it ----
check "--help" ./digits --help
says "--help" '--verify'
cp "$scratch/said" help
check "-h is --help" cmp <(./digits -h) help
check "--info" ./digits --info
says "--info names the input" 'x'
says "--info names a step" 'h1'
check "by position" ./digits x.npy by_position.npy
check "by name" ./digits y=by_name.npy x=x.npy
check "both are the same" cmp by_position.npy by_name.npy
check "again" ./digits x.npy again.npy
check "the same bits again" cmp by_position.npy again.npy
cp x.npy both.npy
check "an output in the place of its input" ./digits both.npy both.npy
check "the same bits there" cmp by_position.npy both.npy
check "--verify" ./digits --verify x=x.npy
check "--bench" ./digits --bench --batch 1
check "--bench --json" ./digits --bench --batch 360 --json
says "--bench --json" '^ *{'
check "--profile" ./digits --profile
says "--profile names a step" 'h1'

# ---- Threads ----
check "build for three threads" "$mlpc" --exe --target=cpu --threads=3 -o three "$root/specs/digits.mlp"
for threads in 1 2 3; do
    check "$threads of three threads" ./three --threads $threads x.npy threads.npy
    check "$threads of three threads: the same bits" cmp threads.npy by_name.npy
done
status "four of three threads" 2 ./three --threads 4 x.npy threads.npy
says "four of three threads" '--threads 4: this network was built for 3'
status "no threads" 2 ./three --threads 0 x.npy threads.npy
status "two threads of a program for one" 2 ./digits --threads 2 x.npy threads.npy
says "two threads of a program for one" 'this network was built for 1'
check "--info" ./three --info
says "--info has the threads" '^threads  3$'
if [ -z "${SANITIZE:-}" ]; then
    status "a system without threads" 3 bash -c 'ulimit -v 12000; exec ./three x.npy none_y.npy'
    says "a system without threads" 'no threads: the system starts no more of them: 3 were asked for'
fi

# ---- A wrong step is found: the sources, with one bias left out, built by hand ----
cc=${CC:-gcc}
check "emit" "$mlpc" --target=cpu -o sources "$root/specs/digits.mlp"
build_sources() {
    # shellcheck disable=SC2086
    check "$1: build the sources" $cc -std=c11 -O1 -I sources -I "$runtime" -o sources/program \
        sources/*.c sources/*.S "$runtime/libmlprt.a" -lm
}
build_sources "as they are"
check "--verify of the sources as they are" sources/program --verify x=x.npy
sed -i '/product_128_to_64/s/p_fc2_bias/NULL/' sources/digits_steps.h
build_sources "without a bias"
status "--verify finds a wrong step" 1 sources/program --verify x=x.npy
says "--verify names the first wrong step" 'step 2 .*h2 = relu.* diverges'

# ---- Numbers of rows ----
array '<f4' '(0, 64)' none.npy </dev/null
check "no rows" ./digits none.npy none_y.npy
check "no rows come out" test "$(stat -c %s none_y.npy)" = 128
tail -c +129 x.npy | head -c 256 | array '<f4' '(64,)' row.npy
check "one row without brackets" ./digits row.npy row_y.npy
check "one row comes out" test "$(stat -c %s row_y.npy)" = $((128 + 4 * 10))
{ tail -c +129 x.npy; tail -c +129 x.npy; tail -c +129 x.npy | head -c 256; } | array '<f4' '(721, 64)' more.npy
check "721 rows over batches of 360" ./digits more.npy more_y.npy
check "each batch as if alone" cmp <(tail -c +129 more_y.npy | head -c 28800) \
    <(tail -c +129 again.npy; tail -c +129 again.npy)

# ---- The command line is wrong ----
status "no arguments" 2 ./digits
says "no arguments" 'no file for the input x: digits IN.npy OUT.npy'
status "one file" 2 ./digits x.npy
says "one file" 'no file for the output y: digits IN.npy OUT.npy'
status "unknown option" 2 ./digits --no-such-option
status "unknown name" 2 ./digits z=x.npy y=out.npy
says "unknown name" "there is no input or output 'z'; there are x, y"
status "--verify with an output" 2 ./digits --verify x.npy out.npy
says "--verify with an output" '--verify takes inputs only'
status "input twice" 2 ./digits x=x.npy x=x.npy y=out.npy
status "option twice" 2 ./digits --bench --batch 4 --batch 5
says "option twice" '--batch is given twice'
mkfifo pipe.npy
status "a pipe as an array" 3 timeout 10 ./digits pipe.npy out.npy
says "a pipe as an array" 'pipe.npy'
status "a pipe as weights" 3 timeout 10 ./digits --weights pipe.npy x.npy out.npy
status "no output" 2 ./digits x=x.npy

# ---- Arrays are wrong: status 1, the file is named, no output, an old one stays as it is ----
cp by_name.npy old.npy
wrong() {   # NAME FILE
    status "$1" 1 ./digits "$2" fresh.npy
    says "$1 names the file" "$(basename "$2")"
    check "$1: no output" test ! -e fresh.npy
    status "$1, again" 1 ./digits "$2" old.npy
    check "$1: the old output is whole" cmp old.npy by_name.npy
}
zeros $((4 * 63)) | array '<f4' '(1, 63)' narrow.npy
wrong "another width" narrow.npy
zeros $((4 * 64)) | array '<i4' '(1, 64)' whole.npy
wrong "whole numbers" whole.npy
zeros $((4 * 64)) | array '<f4' '(1, 8, 8)' cube.npy
wrong "three dimensions" cube.npy
head -c 9000 x.npy >cut.npy
wrong "cut data" cut.npy
head -c 50 x.npy >headless.npy
wrong "a cut header" headless.npy
echo "1 2 3" >text.npy
wrong "no array" text.npy
: >empty.npy
wrong "an empty file" empty.npy
{ cat x.npy; echo; } >longer.npy
wrong "data left over" longer.npy
zeros 0 | array '<f4' '(9223372036854775807, 64)' huge.npy
wrong "more rows than memory can hold" huge.npy

# ---- The environment fails ----
status "no such input" 3 ./digits none/x.npy y.npy
status "an output in no folder" 3 ./digits x.npy none/y.npy
status "a disk that is full" 3 full_disk 8 ./digits x.npy full.npy
status "a limit on files" 3 bash -c 'ulimit -f 1; exec ./digits x.npy limited.npy'
check "nothing of it is left" test -z "$(ls -A | grep 'limited\|part-')"
check "a disk that is full: no output" test ! -e full.npy

# ---- Weights from a file ----
check "build with external weights" "$mlpc" --exe --target=cpu --weights=external -o external "$root/specs/digits.mlp"
cp sources/digits.weights good.weights
for arguments in "x.npy out.npy" --bench "--bench --json" --verify --profile; do
    # shellcheck disable=SC2086
    status "$arguments without weights" 3 ./external $arguments
    says "$arguments without weights" \
        'external: no weights: give --weights FILE (a packed file; mlpc --weights=external makes one)'
done
status "weights that are not packed" 1 ./external --weights "$root/specs/digits.safetensors" x.npy out.npy
says "weights that are not packed" 'not a packed weights file; mlpc --weights=external makes one'
check "external weights" ./external --weights good.weights x.npy external.npy
check "external weights give the same bits" cmp external.npy by_name.npy
status "a missing weights file" 3 ./external --weights none.weights x.npy out.npy
head -c 1000 good.weights >cut.weights
status "cut weights" 1 ./external --weights cut.weights x.npy out.npy
{ head -c 500 good.weights; printf '\x55'; tail -c +502 good.weights; } >damaged.weights
status "a damaged byte" 1 ./external --weights damaged.weights x.npy out.npy
check "pack another network" "$mlpc" --target=cpu -o other "$root/tests/cases/pytorch/deep40/model.mlp"
status "weights of another network" 1 ./external --weights other/deep40.weights x.npy out.npy
check "no output after any of these" test ! -e out.npy
size=$(($(stat -c %s good.weights) - 256))
{ cat good.weights; zeros 8; } >longer.weights
status "weights too long" 1 ./external --weights longer.weights x.npy out.npy
says "weights too long" "holds $((size + 8)) bytes of weights, this network has $size"
check "--info of external weights" ./external --info
says "--info has the same size" "$size bytes of weights (from a file: --weights)"

echo 'model bare { batch 1; input x: f32[4]; output y = relu(x); }' >bare.mlp
check "build without parameters" "$mlpc" --exe --target=cpu --weights=external -o bare bare.mlp
check "--info without parameters" ./bare --info
says "--info without parameters" 'bytes between steps (1 row at a time), no weights$'
check "--bench without parameters" ./bare --bench --batch 1

finish program
