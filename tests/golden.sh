#!/usr/bin/env bash
# Holds generated/ to fresh output, or refreshes it: golden.sh BUILD [refresh]
# generated/SPEC/TARGET has the sources of specs/SPEC.mlp for that target; packed weights are left out.
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
build=$1
specs="digits gated_ffn"

for spec in $specs; do
    for target in cpu cuda; do
        fresh=$scratch/$spec/$target
        committed=generated/$spec/$target
        mkdir -p "$fresh"
        check "emit $spec for $target" "$build/mlpc" --target=$target -o "$fresh" "specs/$spec.mlp"
        rm -f "$fresh"/*.weights
        if [ "${2:-}" = refresh ]; then
            rm -rf "$committed"
            mkdir -p "$committed"
            cp "$fresh"/* "$committed"
        else
            check "$committed is what mlpc writes (see the difference; make golden)" diff -r "$committed" "$fresh"
        fi
    done
done
finish golden
