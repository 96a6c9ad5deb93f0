#!/usr/bin/env bash
# The tour in README.md, line by line, in an empty folder with mlpc as it is installed. A block behind "`FILE`:" is that
# file; every other block is commands. "# WORD" behind a command is what it prints. Blocks whose tool is missing are
# skipped, as is the export from PyTorch, whose result is in specs/. nvcc is not run, but its files must be there.
# tour.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/installed.sh
root=$PWD
installed "$1"
mkdir "$scratch/tour"
cd "$scratch/tour" || exit 1
cp "$root/specs/digits.safetensors" "$root/specs/digits_x.npy" .

mkdir "$scratch/bin"
cat >"$scratch/bin/nvcc" <<'END'
#!/usr/bin/env bash
for argument; do
    [[ $argument == -* || $before == -o || -s $argument ]] || { echo "there is no $argument"; exit 1; }
    before=$argument
done
END
printf '#!/bin/sh\nexec %s "$@"\n' "$CC" >"$scratch/bin/cc"
chmod +x "$scratch/bin/nvcc" "$scratch/bin/cc"
PATH=$scratch/bin:$PATH

# Blocks of the section become 00, 01, ..., named FILE.00 where they are the content of a file.
awk '/^## /{inside = $0 == "## A tour"; next}
    !inside {next}
    /^    / || (block != "" && /^$/ ) {
        if (block == "")
            block = sprintf("block.%02d.%s", count++, file)
        held = held substr($0, 5) "\n"
        if (/./) { printf "%s", held >block; held = "" }
        next
    }
    /./ {
        block = held = ""
        file = match($0, /`[^`]*`:$/) ? substr($0, RSTART + 1, RLENGTH - 3) : ""
    }' "$root/README.md"

# line COMMAND
line() {
    local expected=
    [[ $1 == *" # "* ]] && expected=${1##* # }
    check "$1" bash -c "$1"
    [ -z "$expected" ] || says "$1" "^$expected\$"
}

for block in block.*; do
    file=${block#block.*.}
    tool=$(sed -n '1s/ .*//p' "$block")
    if [ -n "$file" ]; then
        cp "$block" "$file"
    elif ! command -v "$tool" >/dev/null; then
        skip "the tour's block of $tool, which is not there"
    else
        while read -r command; do
            line "$command"
        done < <(sed -z 's/\\\n *//g' "$block")
    fi
done
check "the tour has blocks of files and of commands" test "$(ls block.*.?* | wc -l)" = 6 -a "$passed" -gt 12
check "the spec is that of specs/, but for comments" diff digits.mlp <(grep -v '^#' "$root/specs/digits.mlp")
check "the rows are there" test "$(stat -c %s y.npy)" = $((128 + 360 * 10 * 4))
finish tour
