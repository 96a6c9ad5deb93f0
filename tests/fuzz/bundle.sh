#!/usr/bin/env bash
# Puts the fuzzers with all that they need into a folder, for any Linux on x86-64, whatever its C library; there
# `FOLDER/run.sh SECONDS PROCESSES_PER_TARGET` fuzzes: bundle.sh FOLDER
#
# The programs name a loader and libraries below the current folder, which run.sh goes to.
set -eu
mkdir -p "$1"
folder=$(readlink -f "$1")
cd "$(dirname "$0")/../.."
loader=$(readlink -f /lib64/ld-linux-x86-64.so.2)
# shellcheck disable=SC2016
make --no-print-directory fuzz_bundle FUZZERS="$folder" \
    ENGINE='-fsanitize=fuzzer -Wl,--compress-debug-sections=zlib,--dynamic-linker=lib/loader,-rpath,\$$ORIGIN/lib'
mkdir -p "$folder/lib"
cp "$loader" "$folder/lib/loader"
for program in "$folder"/fuzz_*; do
    "$loader" --list "$program"
done | awk '$2 == "=>" { print $3 }' | sort -u | xargs -I{} cp -L {} "$folder/lib/"
du -sm "$folder" | awk '{ print $1 " MiB in " $2 }'
