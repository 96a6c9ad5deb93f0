#!/usr/bin/env bash
# The compiler's command line: exit statuses, what is left after an error, determinism, dumps. compiler.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1/mlpc")
root=$PWD
digits=$root/specs/digits.mlp
cp specs/digits.mlp specs/digits.safetensors "$scratch"
cd "$scratch" || exit 1
# Where a program is needed, and not what it computes: the least one, for one instruction set.
echo 'model small { input x: f32[3]; output y = tanh(x); }' >small.mlp
small="--exe --target=cpu --cpu=native"

# ---- Exit statuses ----
status "--help" 0 "$mlpc" --help
says "--help" '--target'
status "--version" 0 "$mlpc" --version
says "--version" '^mlpc '
status "no arguments" 2 "$mlpc"
status "unknown option" 2 "$mlpc" --no-such-option digits.mlp
says "unknown option" 'no-such-option'
status "misspelt option" 2 "$mlpc" --treads=2 digits.mlp
says "misspelt option" "unknown option '--treads=2'; did you mean '--threads'?"
status "a spec without an end" 3 "$mlpc" --target=cpu /dev/zero
status "two specs" 2 "$mlpc" --target=cpu digits.mlp digits.mlp
status "unknown target" 2 "$mlpc" --target=tpu digits.mlp
for list in v5 "" v3, native,v3; do
    status "--cpu=$list" 2 "$mlpc" --target=cpu --cpu="$list" digits.mlp
    says "--cpu=$list" 'a list of x86-64, x86-64-v2, v3, v4, or native alone'
done
check "--cpu" "$mlpc" --target=cpu --cpu=x86-64-v4,x86-64 -o levels digits.mlp
check "a file for each level" \
    bash -c '[ "$(echo levels/digits_*64*.c)" = "levels/digits_x86_64.c levels/digits_x86_64_v4.c" ]'
check "--cpu=native" "$mlpc" --target=cpu --cpu=native -o native digits.mlp
check "a file for the level given" bash -c '[ "$(echo native/digits_[!m]*.c)" = native/digits_native.c ]'
for number in 0 65 two ""; do
    status "--threads=$number" 2 "$mlpc" --target=cpu --threads="$number" digits.mlp
    says "--threads=$number" 'a number from 1 to 32'
done
status "--threads on a GPU" 2 "$mlpc" --threads=2 digits.mlp
check "without --threads, no word of them" bash -c '! grep -qE "threads = [^1N]|share" native/*'
status "unknown dump" 2 "$mlpc" --dump=nothing digits.mlp
status "missing operand of -o" 2 "$mlpc" digits.mlp -o
status "no such spec" 3 "$mlpc" --target=cpu none.mlp
says "no such spec" 'none.mlp'
status "a folder as spec" 3 "$mlpc" --target=cpu .

# ---- Forms of output ----
check "standard input" bash -c "'$mlpc' --check - <digits.mlp"
mkdir check
check "--check" "$mlpc" --check -o check digits.mlp
check "--check writes nothing" rmdir check
for stage in ast graph fused plan memory; do
    check "--dump=$stage" "$mlpc" --target=cpu --dump=$stage digits.mlp
    says "--dump=$stage" .
done
check "--dot" "$mlpc" --dot digits.mlp
says "--dot" 'digraph'
check "--explain" "$mlpc" --target=cpu --explain --threads=4 digits.mlp
says "--explain" 'on 4 cores with AVX2'
# What could steer a terminal, in a layer's name and in the spec's, is spelt out wherever names are shown.
steering=$'a\e[31m\a\x7f\xc2\x9b\xe2\x80\xae\xef\xbf\xbe\xef\xbf\xbfz'
spelt='a\\x1b\[31m\\x07\\x7f\\xc2\\x9b\\xe2\\x80\\xae\\xef\\xbf\\xbe\\xef\\xbf\\xbfz'
echo "model m { input x: f32[4]; output y = softmax(linear(x, 3, \"$steering\")); }" >"$steering.mlp"
# steers_nothing NAME: what was said last is printable ASCII
steers_nothing() {
    if LC_ALL=C grep -q '[^ -~]' "$scratch/said"; then fail "$1: $(cat -v "$scratch/said")"; else pass; fi
}
for what in --dump=ast --dump=graph --dump=plan --dump=memory --dot --memory --memory=svg --explain; do
    status "$what of a name that steers" 0 "$mlpc" --target=cpu --random-weights=1 $what "$steering.mlp"
    [[ $what != --dump=[ag]* && $what != --explain ]] || says "$what of a name that steers" "$spelt"
    steers_nothing "$what of a name that steers"
done
check "sources of a name that steers" "$mlpc" --target=cpu --random-weights=1 -o steering "$steering.mlp"
check "what a program will show steers nothing" \
    bash -c '! LC_ALL=C grep -qE "[^ -~]|\\\\(0[0-3]|177|[23])" steering/m.c'
printf '\44\0\0\0\0\0\0\0{"\\u001b[31.weight":{"dtype":"F32"}}' >steering.safetensors
status "weights with a name that steers" 1 "$mlpc" --target=cpu --check --weights=steering.safetensors "$steering.mlp"
says "weights with a name that steers" "tensor '\\\\x1b\[31.weight'"
steers_nothing "weights with a name that steers"
status "an option that steers" 2 "$mlpc" "--$steering" digits.mlp
says "an option that steers" "$spelt"
steers_nothing "an option that steers"
status "an import's option that steers" 2 "$mlpc" import "--$steering" digits.onnx
steers_nothing "an import's option that steers"
status "an import of a name that steers" 3 "$mlpc" import "$steering.onnx"
steers_nothing "an import of a name that steers"
check "--floor" "$mlpc" --explain --floor a100 digits.mlp
says "--floor" 'on one NVIDIA A100 (80 GB, SXM)'
check "--floor of one's own" "$mlpc" --target=cpu --explain --floor=20,50 digits.mlp
says "--floor of one's own" 'on a device of 20 GB/s and 50 GFLOP/s'
for floor in H201 20 20,0 core ""; do
    status "--floor=$floor" 2 "$mlpc" --explain --floor=$floor digits.mlp
done
status "--floor without --explain" 2 "$mlpc" --dump=plan --floor=H100 digits.mlp
check "--explain names no plans of products that are in a kernel" \
    bash -c '! "$1" --explain --whole=few digits.mlp | grep -q "plan for 1 row"' - "$mlpc"
check "--memory" "$mlpc" --target=cpu --memory=text digits.mlp
says "--memory" '^values between steps: '
[ "$("$mlpc" --target=cpu --memory digits.mlp)" = "$(cat "$scratch/said")" ] && pass || fail "--memory is text"
status "--memory=pdf" 2 "$mlpc" --memory=pdf digits.mlp
says "--memory=pdf" 'it is one of text, svg'
status "--memory and --explain" 2 "$mlpc" --memory --explain digits.mlp
# total TITLE: bytes of the last command's map
total() { sed -n "s/^$1: \([0-9]*\) bytes.*/\1/p" "$scratch/said"; }
for whole in never few; do
    check "--memory for CUDA" "$mlpc" --memory --whole=$whole digits.mlp
    device=$(total "on the device") host=$(total "on the host")
    check "for CUDA" "$mlpc" --whole=$whole -o memory digits.mlp
    check "--memory counts the device's, $device" grep -q "arena_bytes = $device," memory/digits.c
    weights=$(stat -c %s memory/digits.weights)
    check "--memory counts the host's, $host" grep -q "staging_bytes = $((host - weights))," memory/digits.c
done
check "--memory for CPU threads" "$mlpc" --target=cpu --threads=3 --memory digits.mlp
host=$(total "on the host")
check "for CPU threads" "$mlpc" --target=cpu --threads=3 -o memory digits.mlp
floats=$(sed -n 's/.* arena\[3 \* \([0-9]*\)\];.*/\1/p' memory/digits.c) weights=$(stat -c %s memory/digits.weights)
check "--memory counts each thread's, $host" test "$host" = $((3 * 4 * floats + weights))
# ---- Budgets: to the byte ----
# budget DEVICE HOST: digits.mlp with a budget of so many bytes
budget() { sed "s/^model .*/&\n    budget { device $1 B; host $2 B; }/" digits.mlp >budget.mlp; }
for target in cpu cuda; do
    "$mlpc" --target=$target --memory digits.mlp >"$scratch/said"
    device=$(total "on the device") host=$(total "on the host")
    budget "${device:-0}" "$host"
    check "a budget that holds, $target" "$mlpc" --target=$target -o within budget.mlp
    budget "${device:-0}" $((host - 1))
    status "a host over its budget, $target" 1 "$mlpc" --target=$target -o over budget.mlp
    says "a host over its budget, $target" "^budget.mlp:.* keeps $host bytes on the host, 1 more.*\[over-budget\]"
    says "a host over its budget, $target: the map" '^values between steps: '
done
budget $((device - 1)) "$host"
status "a device over its budget" 1 "$mlpc" -o over budget.mlp
says "a device over its budget" "keeps $device bytes on the device, 1 more.* largest: workspace.*\[over-budget\]"
budget "$device" $((host - $(stat -c %s within/digits.weights)))
check "weights in a file of their own are not the host's" "$mlpc" --weights=external -o outside budget.mlp
check "over a budget nothing is written" bash -c '[ -z "$(ls -A over 2>/dev/null)" ]'
budget $((device - 1)) 0
status "over a budget, --check" 1 "$mlpc" --check budget.mlp
status "over a budget, --memory" 0 "$mlpc" --memory budget.mlp
says "over a budget, --memory" '^on the device: .*; 1 more than its budget, '
check "-M" "$mlpc" -M digits.mlp
says "-M names the weights" 'digits.safetensors'
check "-MD -MF -MT" "$mlpc" --target=cpu -o sources -MD -MF deps.d -MT goal digits.mlp
check "-MF and -MT are used" grep -q '^goal:.*digits.mlp' deps.d
mkdir "a b'c\$d"
check "names with blanks and quotes" "$mlpc" $small -o "a b'c\$d/digits program" digits.mlp
check "the program is there" test -x "a b'c\$d/digits program"

# ---- Linking ----
# A program for an interpreter (ld.so) is one that looks for shared libraries.
is_static() { [ -x "$1" ] && ! readelf -l "$1" | grep -q INTERP; }
is_dynamic() { readelf -l "$1" | grep -q INTERP; }
cat >no_static_libraries <<'END'
#!/bin/sh
case $* in
    -print-file-name=*) echo libc.a ;;
    *) exec gcc "$@" ;;
esac
END
chmod +x no_static_libraries
if [ -n "${SANITIZE:-}" ]; then
    skip "static programs: sanitizers' libraries are shared"
else
    check "a program" "$mlpc" --exe --target=cpu -o linked digits.mlp
    if [ -e "$(${CC:-gcc} -print-file-name=libc.a)" ]; then
        check "a program is static" is_static linked
    else
        skip "a program is static: there is no static C library"
    fi
    check "a program is small: it has $(stat -c %s linked) bytes, weights included" \
        test "$(stat -c %s linked)" -lt 1200000
    check "a program has names" bash -c 'nm linked | grep -q digits_init'
    check "a program holds no BLAS" bash -c '! nm linked | grep -iE "cblas|sgemm"'
    check "--no-static" "$mlpc" $small --no-static -o dynamic small.mlp
    check "--no-static: the program is dynamic" is_dynamic dynamic
    check "--no-static: it needs nothing but the C library" \
        bash -c '[ -z "$(readelf -d dynamic | grep NEEDED | grep -vE "lib[cm]\.so|ld-linux")" ]'
    check "no static C library" env CC=./no_static_libraries "$mlpc" $small -o dynamic small.mlp
    check "no static C library: the program is dynamic" is_dynamic dynamic
    check "CC with its own idea" env CC="gcc -pie" "$mlpc" $small -o dynamic small.mlp
    check "CC with its own idea: the program is dynamic" is_dynamic dynamic
fi
status "--static and --no-static" 2 "$mlpc" --exe --target=cpu --static --no-static -o no digits.mlp
status "--static for CUDA" 2 "$mlpc" --exe --static -o no digits.mlp
status "--static without a program" 2 "$mlpc" --target=cpu --static -o no digits.mlp
status "--static where that fails" 3 \
    env CC="gcc -fsanitize=address" "$mlpc" $small --static -o no small.mlp
check "--static where that fails: no program" test ! -e no

# ---- Colour ----
sed 's/128/128x/' digits.mlp >wrong.mlp
status "colour" 1 "$mlpc" --target=cpu --color=always -o wrong wrong.mlp
says "--color=always" "$(printf '\033\\[')"
status "no colour" 1 "$mlpc" --target=cpu -o wrong wrong.mlp
cp "$scratch/said" uncoloured
check "no colour in a file" bash -c "grep -q error: uncoloured && ! grep -q '$(printf '\033')' uncoloured"

# ---- For tools ----
# document NAME STATUS PATTERN COMMAND...: one SARIF document on standard error, whatever fails
document() {
    local name=$1 expected=$2 pattern=$3 got
    shift 3
    "$@" 2>"$scratch/said" >"$scratch/spoken" </dev/null
    got=$?
    [ $got = "$expected" ] && pass || fail "$name: exits with $got, expected $expected"
    says "$name" "$pattern"
    check "$name: one document" test "$(sed -n '1p;$p' "$scratch/said" | tr -d '\n')" = "{}"
}
sarif="$mlpc --diagnostics-format=sarif"
document "SARIF, nothing wrong" 0 '"results": \[\]' $sarif --check digits.mlp
document "SARIF of a spec" 1 '"ruleId": "bad-number"' $sarif --check wrong.mlp
document "SARIF, no such spec" 3 '"ruleId": "environment"' $sarif none.mlp
document "SARIF, a C compiler that fails" 3 '"ruleId": "environment"' \
    env CC="ls --no-such-option" $sarif --exe --target=cpu -o no digits.mlp
check "SARIF, a C compiler that fails: what it says" grep -q '^ls: ' "$scratch/spoken"
document "SARIF, an output that is an input" 2 '"ruleId": "command-line"' $sarif -M -MF digits.mlp digits.mlp
document "SARIF, no plan" 4 '"ruleId": "no-plan"' $sarif --locked --whole=never -o no digits.mlp
echo nonsense >bad.plan
document "SARIF of a plan file" 1 '"uri": "bad.plan"' $sarif --plan=bad.plan -o no digits.mlp

# ---- How many ----
{ echo 'model m { input x: f32[1];'; for i in $(seq 30); do echo "h$i = a$i;"; done; echo 'output y = x; }'; } >many.mlp
errors_shown() { "$mlpc" --check "$@" many.mlp 2>&1 | grep -c ': error: '; }
check "20 errors" test "$(errors_shown)" = 20
check "--error-limit=3" test "$(errors_shown --error-limit=3)" = 3
check "--error-limit=0" test "$(errors_shown --error-limit=0)" = 30
status "--error-limit=3 counts the rest" 1 "$mlpc" --check --error-limit=3 many.mlp
says "--error-limit=3 counts the rest" '^27 more errors$'
for limit in few -1 ""; do
    status "--error-limit=$limit" 2 "$mlpc" --check --error-limit=$limit many.mlp
done

# ---- Determinism ----
mkdir -p one two/deeper/place
cp digits.mlp digits.safetensors two/deeper/place
check "compile here" "$mlpc" --target=cpu -o one digits.mlp
check "compile there" bash -c "cd two && '$mlpc' --target=cpu -o deeper/out ./deeper/place/digits.mlp"
check "same sources and weights" diff -r one two/deeper/out
check "compile there by another path" "$mlpc" --target=cuda -o cuda_one digits.mlp
check "compile here for CUDA" "$mlpc" --target=cuda -o cuda_two "$PWD/two/deeper/place/digits.mlp"
check "same CUDA sources and weights" diff -r cuda_one cuda_two
check "program here" "$mlpc" $small -o program_one digits.mlp
check "program there" bash -c "cd two && '$mlpc' $small -o program_two deeper/place/digits.mlp"
if [ -n "${SANITIZE:-}" ]; then
    skip "the same program from two folders: sanitizers record paths"
else
    check "same program" cmp program_one two/program_two
fi
check "seed 1" "$mlpc" --target=cpu --random-weights=1 -o seed_1 digits.mlp
check "seed 1 again" "$mlpc" --target=cpu --random-weights=1 -o seed_1_again digits.mlp
check "seed 2" "$mlpc" --target=cpu --random-weights=2 -o seed_2 digits.mlp
check "a seed gives the same bytes" diff -r seed_1 seed_1_again
status "another seed gives others" 1 diff -rq seed_1 seed_2

# ---- An error leaves nothing, and old output as it was ----
checksums() { find "$1" -type f -exec cksum {} + | sort; }
before=$(checksums one)
cp program_one old_program
cp digits.safetensors good.safetensors
# NAME STATUS PATTERN: neither new nor old output suffers from the error that digits.mlp now causes, which is named.
untouched() {
    status "$1" "$2" "$mlpc" --target=cpu -o fresh digits.mlp
    says "$1" "$3"
    check "$1: no sources" bash -c '[ -z "$(ls -A fresh 2>/dev/null)" ]'
    status "$1, again" "$2" "$mlpc" --target=cpu -o one digits.mlp
    check "$1: old sources are whole" test "$before" = "$(checksums one)"
    status "$1, program" "$2" "$mlpc" --exe --target=cpu -o program_one digits.mlp
    check "$1: the old program is whole" cmp program_one old_program
}
head -c 40000 good.safetensors >digits.safetensors
untouched "cut weights" 1 'digits.mlp:4:.*digits.safetensors'
head -c 4 good.safetensors >digits.safetensors
untouched "weights cut in their length" 1 'digits.mlp:4:.*digits.safetensors'
rm digits.safetensors
untouched "missing weights" 3 'digits.mlp:4:.*digits.safetensors'
cp good.safetensors digits.safetensors
sed -i 's/"fc2"/"fc9"/' digits.mlp
untouched "missing tensor" 1 'digits.mlp:8:.*fc9.weight'
cp "$digits" .
sed -i 's/h2, 10/h3, 10/' digits.mlp
untouched "wrong spec" 1 'digits.mlp:9:.*h3'
cp "$digits" .

# ---- The environment fails ----
touch file
status "a file where the folder should be" 3 "$mlpc" --target=cpu -o file digits.mlp
status "a folder that cannot be made" 3 "$mlpc" --target=cpu -o file/below digits.mlp
status "a program in no folder" 3 "$mlpc" --exe --target=cpu -o no/such/folder/program digits.mlp
status "a disk that is full" 3 full_disk 8 "$mlpc" --target=cpu -o full digits.mlp
status "a limit on files" 3 bash -c "ulimit -f 8; exec '$mlpc' --target=cpu -o full digits.mlp"
printf '#!/bin/sh\nkill -"$SIGNAL" "$PPID"\nsleep 0.1\n' >ending && chmod +x ending && mkdir -p temporary
for signal in INT QUIT PIPE XCPU USR1; do
    {
        (ulimit -c 0; export SIGNAL=$signal CC=$PWD/ending TMPDIR=$PWD/temporary
            exec "$mlpc" --exe --target=cpu -o ended digits.mlp)
    } >/dev/null 2>&1
    check "SIG$signal ends it" test $? -gt 128
    check "and leaves nothing" test -z "$(ls -A temporary; ls | grep '^ended')"
done
check "a disk that is full: no sources" bash -c '[ -z "$(ls -A full 2>/dev/null)" ]'
status "a C compiler that fails" 3 env CC=false "$mlpc" --exe --target=cpu -o failed digits.mlp
status "no C compiler" 3 env CC=/no/such/compiler "$mlpc" --exe --target=cpu -o failed digits.mlp
check "a C compiler that fails: no program" test ! -e failed
status "an old program and no C compiler" 3 env CC=false "$mlpc" --exe --target=cpu -o program_one digits.mlp
check "an old program and no C compiler: it is whole" cmp program_one old_program
check "an option's value may be the next argument" "$mlpc" --target cpu --random-weights 7 --check digits.mlp
status "no such target" 2 "$mlpc" --target=gpu digits.mlp
says "no such target" 'it is one of cpu, cuda'
status "two modes" 2 "$mlpc" --exe --lib digits.mlp
says "two modes" '--exe and --lib exclude each other'
sed '/weights/d' digits.mlp >bare.mlp
check "a network without weights" "$mlpc" --target=cpu --check bare.mlp
status "nothing to embed" 1 "$mlpc" --target=cpu --weights=embed --check bare.mlp
says "nothing to embed" 'bare.mlp:[0-9]*:[0-9]*: error: there are no weights to embed'
check "a library with its weights in it" bash -c '"$1" --lib --target=cpu --cpu=native -o embedded digits.mlp &&
    [ "$(ls embedded)" = "digits.h
libdigits.a" ]' - "$mlpc"
check "a library with its weights beside it" bash -c '
    "$1" --lib --target=cpu --cpu=native --weights=external -o beside digits.mlp &&
    [ -s beside/digits.weights ]' - "$mlpc"
status "a build for a debugger" 0 env CC="gcc -O0 -g -Wall -Wextra" "$mlpc" --exe --target=cpu -o slow small.mlp
check "a build for a debugger: no warnings" test -z "$(cat "$scratch/said")"
check "CC's own options win" \
    env CC="${CC:-gcc} -O0 -Werror=unknown-pragmas" "$mlpc" $small -o slow small.mlp
check "a compiler behind another program" env CC="env LC_ALL=C ${CC:-gcc}" "$mlpc" $small -o slow small.mlp
# Standard output that cannot be written.
for what in --explain --dot --memory --dump=ast --format; do
    status "$what on a full disk" 3 bash -c '"$1" "$2" "${@:3}" digits.mlp >/dev/full' - "$mlpc" "$what" --target=cpu
    says "$what on a full disk" 'standard output cannot be written'
done
for what in --help --version "import --help"; do
    status "$what on a full disk" 3 bash -c '"$1" $2 >/dev/full' - "$mlpc" "$what"
    says "$what on a full disk" 'standard output cannot be written'
done
status "SARIF beside a full disk" 3 \
    bash -c '"$1" --dump=graph --diagnostics-format=sarif digits.mlp >/dev/full' - "$mlpc"
says "SARIF beside a full disk" '"exitCode": 3'
check "SARIF beside a full disk is nothing else" test "$(head -c 1 "$scratch/said")" = "{"
# Messages that cannot be written: a warning is nothing to lose, and an error stays one.
echo "model m { input x: f32[4]; input z: f32[2]; output y = x * 2; }" >warns.mlp
for form in text sarif; do
    for to in '2>/dev/full' '2>&-'; do
        status "a warning as $form $to" 3 \
            bash -c '"$1" --target=cpu -o "lost$2" --diagnostics-format=$2 warns.mlp '"$to" - "$mlpc" $form
        status "an error as $form $to" 1 bash -c 'echo x | "$1" --check --diagnostics-format=$2 - '"$to" - "$mlpc" $form
    done
done
check "no output beside a warning that is lost" test ! -e losttext
# What takes long is said on a terminal, which `script` makes, and nowhere else.
if command -v script >/dev/null; then
    script -qec "env CC='${CC:-gcc}' '$mlpc' --exe --target=cpu -o slow digits.mlp 2>&1" "$scratch/said" >/dev/null
    says "progress on a terminal" 'compiling digits_x86_64_v4.c'
else
    skip "progress on a terminal: there is no script(1)"
fi
status "progress elsewhere" 0 "$mlpc" $small -o slow small.mlp
check "progress elsewhere: nothing" test ! -s "$scratch/said"
# What stands in the way is found before anything changes; devices and links stay what they are.
cp digits.mlp same.mlp
cp digits.safetensors digits.weights
sed 's/digits.safetensors/digits.weights/' digits.mlp >packed.mlp
# takes_place NAME FILE WHAT COMMAND...: refused for the sake of FILE, which is as it was
takes_place() {
    local name=$1 file=$2 what=$3
    shift 3
    cp "$file" kept_input
    status "$name" 2 "$@"
    says "$name" "would take the place of the $what"
    check "$name: it is as it was" cmp "$file" kept_input
}
takes_place "the output is the spec" same.mlp spec "$mlpc" --exe --target=cpu -o same.mlp same.mlp
ln same.mlp linked.mlp
takes_place "the output is the spec by another name" same.mlp spec "$mlpc" --exe --target=cpu -o linked.mlp same.mlp
takes_place "the output is standard input" same.mlp spec \
    bash -c '"$1" --exe --target=cpu -o same.mlp - <same.mlp' - "$mlpc"
takes_place "the rule for make is the spec" same.mlp spec "$mlpc" -M -MF same.mlp same.mlp
takes_place "the rule for make is the weights" digits.safetensors "weights file" \
    "$mlpc" -M -MF digits.safetensors same.mlp
takes_place "packed weights are the weights" digits.weights "weights file" "$mlpc" --target=cpu -o . packed.mlp
status "two outputs in one place" 2 "$mlpc" --exe --target=cpu -o both -MD -MF ./both digits.mlp
check "two outputs in one place: none" test ! -e both
for option in --whole=never --locked; do
    status "$option on a CPU" 2 "$mlpc" --target=cpu $option digits.mlp
    says "$option on a CPU" "${option%=*} is for --target=cuda"
done
for option in --cpu=v3 --threads=1; do
    status "$option on a GPU" 2 "$mlpc" $option digits.mlp
    says "$option on a GPU" "${option%=*} is for --target=cpu"
done
"$mlpc" --target=cpu -o kept digits.mlp && cp kept/digits.c kept.c && sed 's/relu/tanh/' digits.mlp >other.mlp
status "a depfile that cannot be written" 3 "$mlpc" --target=cpu -o kept -MD -MF nowhere/d other.mlp
check "the sources are as they were" cmp kept/digits.c kept.c
mkdir -p beside_way/digits.weights
cp digits.mlp beside_way/prog
status "weights that cannot be written" 3 "$mlpc" $small --weights=external -o beside_way/prog digits.mlp
check "the program is as it was" cmp beside_way/prog digits.mlp
mkdir -p library_way/libdigits.a
status "a library that cannot be written" 3 "$mlpc" --lib --target=cpu --cpu=native -o library_way digits.mlp
check "no header without its library" test ! -e library_way/digits.h
check "nothing is left aside" \
    bash -c '[ -z "$(ls -d kept/*.?????? beside_way/*.?????? library_way/*.?????? 2>/dev/null)" ]'
check "a depfile into a pipe" bash -c '"$1" -M -MF /dev/fd/3 digits.mlp 3>&1 | grep -q digits.safetensors' - "$mlpc"
touch real.d && ln -s real.d link.d
check "a depfile through a link" bash -c '"$1" -M -MF link.d digits.mlp && [ -L link.d ] &&
    grep -q digits.safetensors real.d' - "$mlpc"

ln -s not_yet.d ahead.d && ln -s nowhere/d astray.d && ln -s /proc/self/fd/1 closed.d && mkfifo fifo.d
check "a depfile through a link to what is not there yet" bash -c '"$1" -M -MF ahead.d digits.mlp && [ -L ahead.d ] &&
    grep -q digits.safetensors not_yet.d' - "$mlpc"
# What cannot be written or taken back is found before any output is in its place: not even the folder is left.
for depfile in /dev/full astray.d nowhere/d closed.d . fifo.d; do
    timeout 2 "$mlpc" --target=cpu -o none -MD -MF $depfile digits.mlp >&- 2>&- <&-
    got=$?
    if [ $got = 3 ] || [ $depfile,$got = fifo.d,124 ]; then pass; else fail "-MF $depfile: exits with $got"; fi
    check "-MF $depfile: no output" test ! -e none
done
check "a closed standard output is no file" test -L closed.d
status "to a closed standard output" 3 bash -c '"$1" --dump=graph digits.mlp >&-' - "$mlpc"
status "from a closed standard input" 3 bash -c '"$1" --check - <&-' - "$mlpc"

# Names of headers and functions of C, and of the runtime; the last is that of what chooses among instruction sets.
levels=native
for name in assert stdint string math mlp_cpu mlp_runtime step_0 at_y features; do
    [ $name != features ] || levels=x86-64,v3
    printf 'model %s { input x: f32[3]; output run = tanh(linear(x, 2, "a")); }\n' $name >named.mlp
    check "a model named $name" "$mlpc" --exe --target=cpu --cpu=$levels --random-weights=1 -o named named.mlp
    check "a model named $name runs" ./named --verify
done
status "no locked plan" 4 "$mlpc" --target=cuda --whole=never --locked -o locked digits.mlp
says "no locked plan for one row" "digits.mlp:7:15: error: no plan for the product of 'h1', 1 row"
status "no locked plan beside a kernel" 4 "$mlpc" --target=cuda --whole=few --locked -o locked digits.mlp
says "no locked plan beside a kernel: for the other rows" \
    "digits.mlp:7:15: error: no plan for the product of 'h1', 360 rows"
[ "$(grep -c 'error: no plan' "$scratch/said")" = 3 ] && pass ||
    fail "no locked plan beside a kernel, which needs none: $(cat "$scratch/said")"

# ---- Whole networks in one kernel ----
status "a form that is none" 2 "$mlpc" --whole=one -o whole digits.mlp
for form in never few; do
    check "--whole=$form" "$mlpc" --target=cuda --whole=$form -o whole_$form digits.mlp
done
check "--whole=never: no such kernel" bash -c '! grep -q mlp_few whole_never/digits.cu'
check "--whole=never: both batch sizes step by step" \
    bash -c '[ "$(grep -c "form = MLP_FORM_STEPS" whole_never/digits.c)" = 2 ]'
check "--whole=few: one row in a kernel, 360 rows in steps" \
    bash -c 'grep -q "rows = 1, .form = MLP_FORM_FEW" whole_few/digits.c &&
    grep -q "rows = 360, .form = MLP_FORM_STEPS" whole_few/digits.c'
check "--whole=all: every form" bash -c '"$1" --target=cuda --whole=all --random-weights=1 -o whole_all "$2" &&
    grep -q "_rows(unsigned char" whole_all/dlrm_bot.cu && grep -q "_few_b1(unsigned char" whole_all/dlrm_bot.cu &&
    grep -q "forms = {steps_b1, rows_b1, forward_b1}" whole_all/dlrm_bot.c' - "$mlpc" "$root/specs/ladder/dlrm_bot.mlp"
check "all batch sizes in kernels: no product" bash -c '"$1" --target=cuda --random-weights=1 -o whole_only "$2" &&
    ! grep -q mlp_gemm whole_only/nerf64.c' - "$mlpc" "$root/specs/ladder/nerf64.mlp"
status "what keeps a network in steps" 0 "$mlpc" --explain "$root/specs/ladder/mnist.mlp"
says "what keeps a network in steps" '^1024 rows: step by step (one kernel for few rows: more than 16 rows; for many: '

# ---- Warnings ----
sed 's/output/unread = relu(h1);\n    output/' digits.mlp >warns.mlp
status "a warning" 0 "$mlpc" --target=cpu -o warned warns.mlp
says "a warning" 'warns.mlp:[0-9]*:[0-9]*: warning: .*unread'
status "-Werror" 1 "$mlpc" --target=cpu -Werror -o werror warns.mlp
says "-Werror" 'error: .*unread.* \[-Werror=unused-value\]'
status "-Werror=NAME" 1 "$mlpc" --check -Werror=unused-value warns.mlp
status "-Werror=NAME of another" 0 "$mlpc" --check -Werror=unused-input warns.mlp
says "-Werror=NAME of another" 'warning: .*unread.* \[-Wunused-value\]'
status "-Wno-error=NAME" 0 "$mlpc" --check -Wno-error=unused-value -Werror warns.mlp
says "-Wno-error=NAME" 'warning: .*unread.* \[-Wunused-value\]'
status "-Wno-NAME" 0 "$mlpc" --check -Wno-unused-value -Wall -Werror warns.mlp
check "-Wno-NAME, whatever -Wall says: nothing" test ! -s "$scratch/said"
status "-Wno-error" 0 "$mlpc" --check -Werror -Wno-error warns.mlp
status "an unknown warning" 2 "$mlpc" --check -Wunused-valeu warns.mlp
says "an unknown warning" "-Wunused-valeu: there is no warning 'unused-valeu'; did you mean 'unused-value'"
status "an unknown warning, denied" 2 "$mlpc" --check -Wno-error=unused warns.mlp
check "-Werror leaves nothing" bash -c '[ -z "$(ls -A werror 2>/dev/null)" ]'

# ---- Size and time ----
cat >deep.mlp <<'END'
model deep {
    batch 16;
    input x: f32[64];
    h = x;
    repeat i in 0..400 {
        h = relu(linear(h, 64, "l{i}"));
    }
    output y = h;
}
END
begin=$(date +%s%N)
check "400 layers" "$mlpc" --target=cpu --random-weights=1 -o deep deep.mlp
spent=$((($(date +%s%N) - begin) / 1000000))
limit=$([ -n "${SANITIZE:-}" ] && echo 10000 || echo 1000)
check "400 layers compile in less than $limit ms (took $spent)" test $spent -lt "$limit"
# 4 rows of 48 numbers, twice.
status "a chain of 40 layers" 0 "$mlpc" --target=cpu --dump=memory "$root/tests/cases/pytorch/deep40/model.mlp"
says "a chain of 40 layers needs two buffers" "arena $((2 * 4 * 48 * 4)) bytes"
finish compiler
