#!/usr/bin/env bash
# Puts seeds, dictionaries and run.sh beside the fuzzers of a folder: layout.sh FOLDER TARGET...
cd "$(dirname "$0")/../.." || exit 1
folder=$1
shift
for target; do
    rm -rf "$folder/seeds/$target"
    mkdir -p "$folder/seeds/$target"
    tests/fuzz/seeds.sh "$target" | while read -r seed; do
        find "$seed" -type f | while read -r file; do
            cp "$file" "$folder/seeds/$target/$(tr / _ <<<"$file")"
        done
    done
    [ ! -r "tests/fuzz/$target.dict" ] || cp "tests/fuzz/$target.dict" "$folder/"
done
cp tests/fuzz/run.sh "$folder/"
