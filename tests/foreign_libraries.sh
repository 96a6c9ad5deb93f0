#!/usr/bin/env bash
# Debian's jansson and protobuf-c for another architecture, unpacked into a folder, where they are not there yet:
# foreign_libraries.sh ARCHITECTURE FOLDER. Lists of packages go below the folder, too: the system's apt is left as it
# is.
set -e
architecture=$1
[ ! -e "$2/done" ] || exit 0
command -v apt-get dpkg >/dev/null || { echo "there is no apt-get" >&2; exit 1; }
mkdir -p "$2/lists/partial" "$2/cache/archives/partial"
cd "$2"
options=(-o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=root
    -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture")
apt-get -q "${options[@]}" update
apt-get -q "${options[@]}" download "libjansson-dev:$architecture" "libprotobuf-c-dev:$architecture"
for package in *.deb; do
    dpkg -x "$package" .
done
rm -rf lists cache ./*.deb
touch done
