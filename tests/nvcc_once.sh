#!/usr/bin/env bash
# nvcc for several networks, which compiles each file of the runtime once:
# kept=FOLDER nvcc=COMMAND nvcc_once.sh ARGUMENT...
# What it made of the same file with the same options is in the FOLDER.
file=${!#} object=
[[ $file = */runtime/*.c && " $* " = *" -c -o "* ]] || exec $nvcc "$@"
object=$(sed 's/.* -c -o \([^ ]*\) .*/\1/' <<<"$*")
key=$kept/$(basename "$file").$(cksum <<<"${*/"$object"/}" | tr ' ' _)
if [ ! -e "$key" ]; then
    $nvcc "$@" && cp "$object" "$key.$$" && mv "$key.$$" "$key"
else
    cp "$key" "$object"
fi
