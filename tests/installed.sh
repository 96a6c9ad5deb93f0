# Sourced after lib.sh by tests that see mlpc as it is installed, alone: installed BUILD. It is made with make install
# below a DESTDIR, then moved: nothing may know where it is. $prefix is the folder, which has a blank in its name, and
# $plain_prefix a link to it without one.

# Neither what builds this project nor what is installed on this machine has a say.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES CPATH CMAKE_PREFIX_PATH CMAKE_GENERATOR PREFIX DESTDIR

# Networks are compiled here again and again. This C compiler keeps the objects that mlpc asks for: they follow from its
# options, the source and the headers beside it, since the runtime's headers stay the same.
keeping_compiler() {
    local compiler options
    read -r compiler options <<<"${CC:-cc}"
    compiler=$(command -v "$compiler")      # a name that tests may take for themselves
    mkdir "$scratch/kept"
    cat >"$scratch/keeping-cc" <<END
#!/usr/bin/env bash
source=\${!#} folder=\$(dirname -- "\${!#}")
if [[ \$folder != */mlpc.* || \$source != *.c ]]; then
    exec $compiler "\$@"
fi
kept=$scratch/kept/\$(cat "\$folder"/*.h - "\$source" <<<"\${*//\$folder/}" | cksum | tr ' ' _)
object=\${*: -2:1}
if [ ! -e "\$kept" ]; then
    $compiler "\$@" || exit
    cp "\$object" "\$kept"
fi
cp "\$kept" "\$object"
END
    chmod +x "$scratch/keeping-cc"
    export CC="$scratch/keeping-cc${options:+ $options}"
}

installed() {
    local stage="$scratch/staged here"
    check "make install" make -s B="$1" DESTDIR="$stage" PREFIX="/opt/some place" install
    prefix=$scratch/"moved there"
    mv "$stage/opt/some place" "$prefix"
    plain_prefix=$scratch/prefix
    ln -s "$prefix" "$plain_prefix"
    export PATH=$prefix/bin:$PATH PKG_CONFIG_PATH=$plain_prefix/lib/pkgconfig
    keeping_compiler
}
