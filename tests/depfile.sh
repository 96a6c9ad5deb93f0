#!/usr/bin/env bash
# The rules for make: -M, -MD, -MF, -MT, -MQ and -MP, held to make itself, and to gcc where it has the option. Whether
# CMake reads them, install.sh shows. depfile.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1/mlpc")
cp specs/digits.mlp specs/digits.safetensors "$scratch"
unset MAKEFLAGS MAKELEVEL MFLAGS
cd "$scratch" || exit 1

# rule NAME EXPECTED OPTION...: what -M prints for the options
rule() {
    local name=$1 expected=$2
    shift 2
    "$mlpc" -M --target=cpu "$@" >rule 2>&1 </dev/null
    if [ "$(cat rule)" = "$expected" ]; then pass; else fail "$name: $(cat rule)"; fi
}

rule "sources" "./digits.c: digits.mlp digits.safetensors" digits.mlp
rule "a library" "out/libdigits.a: digits.mlp digits.safetensors" --lib -o out digits.mlp
rule "a program" "program: digits.mlp digits.safetensors" --exe -o program digits.mlp
rule "-MT, twice" 'a b $(c): digits.mlp digits.safetensors' -MT a -MT 'b $(c)' digits.mlp
rule "-MT as one argument" 'a: digits.mlp digits.safetensors' -MTa digits.mlp
rule "-MQ" 'a\ b$$(c): digits.mlp digits.safetensors' -MQ 'a b$(c)' digits.mlp
rule "-MP" "program: digits.mlp digits.safetensors

digits.safetensors:" --exe -o program -MP digits.mlp
cp digits.safetensors other.safetensors
rule "--weights" "program: digits.mlp other.safetensors" --exe -o program --weights=other.safetensors digits.mlp
rule "--random-weights" "program: digits.mlp" --exe -o program --random-weights=1 digits.mlp
check "standard input" \
    bash -c '"$1" -M --lib -o out - <digits.mlp | grep -qx "out/libdigits.a: digits.safetensors"' - "$mlpc"
check "-MD" "$mlpc" --target=cpu -MD -o sources digits.mlp
check "-MD writes beside the output" grep -qx "sources/digits.c: digits.mlp digits.safetensors" sources/digits.c.d
check "-MD -MF" "$mlpc" --target=cpu -MD -MF named.d -MT goal -o sources digits.mlp
check "-MD -MF writes where it is told" grep -qx "goal: digits.mlp digits.safetensors" named.d
for option in -MF -MT -MQ; do
    status "$option without a value" 2 "$mlpc" digits.mlp -M $option
    status "$option without -M" 2 "$mlpc" digits.mlp $option x
    says "$option without -M" '-MF, -MT, -MQ and -MP need -M or -MD'
done
status "-MP without -M" 2 "$mlpc" --target=cpu -MP -o sources digits.mlp

# ---- Names that mean something to make ----
# Each is the name of a spec, of weights and of a plan file. With the rule, make must find them, think that what was
# made of them is up to date, and make it anew after each of them was touched. As a target, make must know the name.
names=('a b' 'a$b' 'a#b' 'a:b' 'a\b' 'a\ b' 'a\\#b' 'a\\b' 'a\:b' 'two  blanks' "it's" 'a&b' '$(x)' '${x}$$')
names+=('a=b' 'a := b' 'export a=b' 'a|b' 'a\|b' 'a%b' 'a\%b' $'a\tb' '~root' 'a*b' 'a?b' '[a]' 'a[b' 'a\*b')
printf 'include rule\ngoal:\n\t@echo made\n\t@touch goal\n' >Makefile
for name in "${names[@]}"; do
    cp digits.mlp "$name.mlp"
    cp digits.safetensors "$name.safetensors"
    echo "mlpc plans 1" >"$name.plan"
    touch -d "1 hour ago" "$name".*
    rm -f goal
    check "-M for '$name'" "$mlpc" -M -MP -MF rule -MT goal --weights="$name.safetensors" --plan="$name.plan" \
        "$name.mlp"
    got=$(make 2>&1; make 2>&1)
    for file in "$name.mlp" "$name.safetensors" "$name.plan"; do
        touch "$file"
        touch -d "1 minute ago" goal
        got+=$(echo; make 2>&1; make 2>&1)
    done
    if [ "$got" = "$(printf "made\nmake: 'goal' is up to date.\n%.0s" 1 2 3 4)" ]; then
        pass
    else
        fail "make does not read '$name': $(cat rule; echo "$got")"
    fi
    [[ $name = *[$'\t*?[']* ]] && continue                      # of which make makes no target, or what it finds
    "$mlpc" -M -MF target -MQ "$name" digits.mlp
    status "make knows the target '$name'" 0 make -f target -- "$name"
    says "make knows the target '$name'" "Nothing to be done for"
    [[ $name = *[:=\|%~]* || $name = *\\#* ]] && continue      # which gcc 12 leaves as they are
    echo >"$name.c"
    gcc -MM -MF quoted -MQ "$name" "$name.c"
    "$mlpc" -M -MF ours -MQ "$name" --random-weights=1 "$name.mlp"
    check "'$name' as gcc writes it" cmp ours <(sed 's/\.c$/.mlp/' quoted)
done

# A name means one file, and none that it would find.
touch -d "1 hour ago" 'a*b.mlp' 'a*b.safetensors' '[a].mlp' '[a].safetensors'
touch -d "1 minute ago" goal
touch a-b.mlp a-b.safetensors a.mlp a.safetensors
for name in 'a*b' '[a]'; do
    "$mlpc" -M -MP -MF rule -MT goal --weights="$name.safetensors" "$name.mlp"
    if [[ $(make 2>&1) = *"is up to date." ]]; then pass; else fail "'$name' finds other files: $(cat rule)"; fi
done

# A target of such a name is made anew when what it depends on is newer.
printf 'include rule\n%%:\n\t@echo made\n\t@touch "$@"\n' >target.mk
for name in 'a=b' 'a|b' 'a%b' 'a b=c%'; do
    "$mlpc" -M -MF rule -MQ "$name" digits.mlp
    touch -d "1 hour ago" "./$name"
    got=$(make -f target.mk -- "./$name" 2>&1; make -f target.mk -- "./$name" 2>&1)
    if [[ $got = made*"is up to date." ]]; then pass; else fail "the target '$name': $(cat rule; echo "$got")"; fi
done

# Names that make has no way of writing: said, and nothing is made.
# refused NAME OPTION...
refused() {
    local name=$1
    shift
    rm -rf none
    status "a rule that names '$name'" 2 "$mlpc" --target=cpu -o none "$@"
    says "a rule that names '$name'" 'no rule for make can name'
    check "a rule that names '$name': nothing is made" test ! -e none
}
for name in $'line\nbreak' 'semi;colon' 'back\' 'blank ' 'member(1)'; do
    cp digits.mlp "$name"
    refused "$name" -MD "$name"
    [ "$name" = 'member(1)' ] || refused "$name" -MD -MQ "$name" digits.mlp
done
for name in 'all&' $'a\tb'; do
    refused "$name" -MD -MQ "$name" digits.mlp
done

# A file that is gone: without -MP make stops.
cp digits.safetensors passing.safetensors
"$mlpc" -M -MF rule -MT goal --weights=passing.safetensors digits.mlp
rm passing.safetensors
status "a file that is gone, without -MP" 2 make
cp digits.safetensors passing.safetensors
"$mlpc" -M -MP -MF rule -MT goal --weights=passing.safetensors digits.mlp
rm passing.safetensors goal
status "a file that is gone, with -MP" 0 make
finish depfile
