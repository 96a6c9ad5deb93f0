#!/usr/bin/env bash
# Inputs that mean harm, or look like it: names of files stay what they say, names of a spec reach C as names of C,
# files that claim too much get no memory, and nothing is written but what was asked for. hostile.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1/mlpc")
runtime=$(absolute runtime)
cp specs/digits.safetensors "$scratch/w"
mkdir -p "$scratch/bin"
cd "$scratch" || exit 1

# net FILE MODEL WEIGHTS
net() {
    printf 'model %s {\n    weights "%s";\n    input x: f32[64];\n    output y = linear(x, 128, "fc1");\n}\n' \
        "$2" "$3" >"./$1"
}

# ---- Names of files ----
names=('$HOME' '~' '*' '`touch pwned`' '$(touch pwned)' '; touch pwned' '%s%n%d' '-o' '--check' 'a b' "it's" '@w' '|w'
    '&' 'q"q' 'b\s' '??' $'new\nline' 'sub/../*')
mkdir sub
for name in "${names[@]}"; do
    [ -e "./$name" ] || cp w "./$name"
    mv w away                       # only the name itself will do
    spelt=${name//\\/\\\\} spelt=${spelt//\"/\\\"} spelt=${spelt//$'\n'/\\n}
    net s.mlp net "$spelt"
    check "weights '$name'" "$mlpc" --target=cpu --cpu=x86-64 -o out s.mlp
    mv away w
    net "./in $name.mlp" net w 2>/dev/null || continue
    check "a spec '$name'" "$mlpc" --target=cpu --cpu=x86-64 -o out "./in $name.mlp"
    check "C of '$name'" gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -Wno-comment -fsyntax-only -Iout \
        "-I$runtime" out/net.c
done

# Tools that give all that they are told to a shell, as nvcc does, or take it for options; each makes what follows -o,
# or the library.
cat >bin/tool <<'TOOL'
#!/bin/sh
sh -c "true $*"
for word; do
    case $word in
    -[a-zA-Z]*|--keep-global-symbol=*|--weaken-symbol=*|/*|rcsD) ;;
    *) echo "tool: what is '$word'?" >&2; exit 1 ;;
    esac
    [ "$last" != -o ] && [ "$last" != rcsD ] || echo made >"$word"
    last=$word
done
TOOL
chmod +x bin/tool
for name in "${names[@]}"; do
    [[ $name = */* ]] && continue
    for target in cpu cuda; do
        rm -rf made && mkdir made
        (
            export CC=$scratch/bin/tool NVCC=$scratch/bin/tool LD=$scratch/bin/tool AR=$scratch/bin/tool \
                OBJCOPY=$scratch/bin/tool
            failed=0
            cd made && check "a program '$name' for $target" "$mlpc" --exe --target=$target -o "$name" ../s.mlp &&
                check "a library in 'in $name' for $target" "$mlpc" --lib --target=$target -o "./$name.lib" ../s.mlp
            [ "$failed" = 0 ] && [ -s "./$name" ] && [ -s "./$name.lib/libnet.a" ] && [ "$(printf x%.0s ./*)" = xx ]
        ) && pass || fail "tools and '$name' for $target: $(ls made)"
    done
done
check "nothing was done that a name says" test ! -e pwned -a ! -e made/pwned -a ! -e out/pwned

# ---- Names of C ----
words="int main linux unix errno NAN INFINITY float size_t rows stdin NULL restrict inline template this _Bool
    __func__ _x __x mlp_network network parts arena levels init run error from to options memcpy exp I complex y0 assert
    __LINE__ index signal environ static_assert __x86_64__ mlp_rows row out i r v p e at count first define MLP_EXTERN
    bool alignas asm volatile __asm__ __attribute__ EOF stdout double void struct union typeof noreturn NAME_run digits
    $(printf 'n%.0s' {1..5000})"
{
    printf 'model net {\n    batch 1, 40;\n'
    for word in $words; do printf '    input %s: f32[4];\n' "$word"; done
    for word in $words; do printf '    v_%s = relu(linear(%s, 4, "%s"));\n' "$word" "$word" "$word"; done
    printf '    output sum_all = 0 + v_int'
    for word in $words; do printf ' + v_%s' "$word"; done
    printf ';\n}\n'
} >ports.mlp
{
    printf 'block goto(main, k) {\n    return relu(linear(main, k, "a"));\n}\nmodel net {\n    input while: f32[4];\n'
    for word in $words; do printf '    %s = relu(linear(while, 3, "%s"));\n' "$word" "$word"; done
    for word in $words; do printf '    output out_%s = %s + 1;\n' "$word" "$word"; done
    printf '    output blk = goto(while, 5);\n}\n'
} >values.mlp
for spec in ports values; do
    check "$spec" "$mlpc" --target=cpu --cpu=x86-64 --random-weights=1 -o $spec $spec.mlp
    for file in net.c net_x86_64.c; do
        check "$file of $spec" gcc -std=c99 -w -fsyntax-only -I$spec "-I$runtime" $spec/$file
    done
done
# What would be reserved, or the C library's, gets a name in front.
for model in _ __x sem iconv fts mtx mlp_cpu pthread_once; do
    net s.mlp $model w
    check "model $model" "$mlpc" --target=cpu --cpu=x86-64 -o "of_$model" s.mlp
    check "model $model is model_$model for C" test -e "of_$model/model_$model.h" -a ! -e "of_$model/$model.h"
done

# ---- Files that claim too much, or have no end ----
# length NUMBER: as 8 bytes
length() {
    local i
    for i in 0 8 16 24 32 40 48 56; do printf "\\x$(printf %02x $(($1 >> i & 255)))"; done
}
# claims NAME HEADER [LENGTH]
claims() { { length "${3:-${#2}}"; printf '%s' "$2"; } >"$1.claims"; }
entry='"dtype":"F32","shape"'
claims elements "{\"fc1.weight\":{$entry:[4611686018427387904,2],\"data_offsets\":[0,0]}}"
claims offsets "{\"fc1.weight\":{$entry:[2,2],\"data_offsets\":[0,9223372036854775807]}}"
claims header '{}' 100000000
claims headers '{}' -1
claims nesting "$(printf '[%.0s' {1..100000})"
claims twice "{\"a\":{$entry:[0],\"data_offsets\":[0,0]},\"a\":{$entry:[0],\"data_offsets\":[0,0]}}"
empty="{$entry:[0],\"data_offsets\":[0,0]}"
claims tensors "{$(for i in {1..20000}; do printf '"t%d":%s,' "$i" "$empty"; done)\"t\":$empty}"
claims names "{$(for i in {1..20000}; do printf '"t":%s,' "$empty"; done)\"t\":$empty}"
claims dimensions "{\"a\":{$entry:[$(printf '0,%.0s' {1..300000})0],\"data_offsets\":[0,0]}}"
# What has many parts would take 32 times its bytes as a tree. bulk BYTES TEXT: the text so often
bulk() { yes "$2" | tr -d '\n' | head -c $(($1 / ${#2} * ${#2})); }
claims entry "{\"a\":{$entry:[$(bulk 4000000 '[],')0],\"data_offsets\":[0,0]}}"
claims string "{\"__metadata__\":{\"a\":\"$(bulk 8500000 x)\"}}"
claims tree "{\"__metadata__\":{\"a\":[$(bulk 4000000 '[],')0]}}"
claims metadata "{\"__metadata__\":{$(printf '"%d":"",' {1..200000})\"\":\"\"}}"
net s.mlp net w
# The file is mapped, and its header counts up to 4 times.
for file in *.claims; do
    room=$((16 * 1024 + 5 * $(stat -c %s "$file") / 1024))
    [ -z "${SANITIZE:-}" ] || room=unlimited
    status "$file" 1 bash -c "ulimit -v $room; exec \"\$@\"" - timeout 20 "$mlpc" --check --target=cpu \
        "--weights=$file" s.mlp
done
mkfifo fifo
for file in /dev/zero fifo .; do
    status "weights from $file" 3 timeout 20 "$mlpc" --check --target=cpu "--weights=$file" s.mlp
done
[ -n "${SANITIZE:-}" ] ||
    status "a spec without end" 3 bash -c 'ulimit -v 2000000; exec timeout 60 "$@"' - "$mlpc" --check /dev/zero
# What every turn adds does not grow with the turns before.
# long NAME STATEMENTS
long() {
    printf 'model long {\n    input x: f32[4];\n    h = linear(x, 4, "first");\n'
    printf '    repeat i in 0..2000 {\n        %s\n' "$2"
    printf '    }\n    output y = h;\n}\n'
} >"$1.mlp"
long normed 'h = batchnorm(h, "n{i}");'
long gated 'h = h + linear(silu(linear(h, 4, "a{i}")) * linear(h, 4, "b{i}"), 4, "c{i}");'
[ -n "${SANITIZE:-}" ] && room=unlimited || room=200000
for name in normed gated; do
    for option in --target=cpu --target=cuda --explain; do
        status "2000 turns, $name, $option" 0 bash -c "ulimit -v $room; exec \"\$@\"" - timeout 20 \
            "$mlpc" --random-weights=1 $option -o out $name.mlp
    done
done

# ---- Outputs in the place of inputs, and places that are none ----
cp w keep
status "a program over its weights" 2 env "CC=$scratch/bin/tool" "$mlpc" --exe --target=cpu -o w s.mlp
check "the weights are there" cmp w keep
cp s.mlp net.c
status "sources over their spec" 2 "$mlpc" --target=cpu -o . net.c
check "the spec is there" cmp s.mlp net.c
mkdir folder
status "a program over a folder" 3 env "CC=$scratch/bin/tool" "$mlpc" --exe --target=cpu -o folder s.mlp
check "the folder is there" test -d folder
# ---- What is written ----
npy() { printf '\x93NUMPY\1\0\x76\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"; }
{ npy '2, 64'; head -c 512 /dev/zero; } >x.npy
net s.mlp net w
check "a program" env "CC=${CC:-gcc} -O0" "$mlpc" --exe --no-static --target=cpu --cpu=x86-64 -o net s.mlp
check "its weights" "$mlpc" --target=cpu --cpu=x86-64 --weights=external -o . s.mlp
# writes NAME EXPECTED COMMAND...: which paths it opens for writing, makes, renames or removes; names at random are X
writes() {
    local name=$1 expected=$2 got
    shift 2
    if ! strace -o trace -f -e trace=file "$@" >said 2>&1 </dev/null; then
        fail "$name"
        cat said
        return
    fi
    got=$(sed -nE '/= -1 /d; s/^[0-9]+ +//
        /^(open|openat)\(.*O_(WRONLY|RDWR|CREAT)/{s/^[^"]*"([^"]*)".*/\1/p;d}
        /^(rename|renameat|renameat2|link|linkat|symlink|unlink|unlinkat|mkdir|mkdirat|rmdir|creat|truncate)/{
            s/^[^"]*"([^"]*)"[^"]*("([^"]*)")?.*/\1 \3/p }' trace | tr ' ' '\n' |
        sed -E 's/(\.part-|\.)[A-Za-z0-9]{6}$/\1X/' | LC_ALL=C sort -u | grep . | tr '\n' ' ')
    if [ "$got" = "$expected" ]; then pass; else fail "$name writes: $got"; fi
}
if [ -n "${SANITIZE:-}" ] || ! strace -o trace -e trace=file true 2>/dev/null; then
    skip "what is written: there is no strace, it is not allowed, or sanitizers do not go with it"
    finish hostile
fi
for mode in --help --version --info --verify --bench --profile "--verify x.npy" "--weights net.weights --info"; do
    # shellcheck disable=SC2086
    writes "a program's $mode" '' ./net $mode
done
writes "a program" '.part-X y.npy ' ./net x.npy y.npy
writes "a program over an output" "$PWD/.part-X $PWD/y.npy " ./net x.npy y.npy
writes "a check" '' "$mlpc" --check s.mlp
writes "an explanation" '' "$mlpc" --explain --target=cpu s.mlp
files=
for file in net{.c,.h,.weights,_main.c,_steps.h,_weights.S,_x86_64.c}; do files+="o/$file o/$file.X "; done
writes "sources" "o $files" "$mlpc" --target=cpu --cpu=x86-64 -o o s.mlp
finish hostile
