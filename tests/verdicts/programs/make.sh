#!/usr/bin/env bash
# Runs the programs of this folder and keeps their heap dumps: make.sh OUT [NAME ...], without names all. Packages come from
# npm, those of node-older in the versions that have the fault, and jars of Java from /usr/share/java (Debian: those that the
# second line of java/*/run names). A program whose packages are missing is named and left out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
work=$out/work
mkdir -p "$work"
cp -r "$here/node" "$here/node-older" "$here/java" "$work/"
cp -r "$here/node/lib" "$work/node-older/"
for folder in "$work/node" "$work/node-older"; do
    [ -d "$folder/node_modules" ] || (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1)
done
[ $# -gt 0 ] || set -- $(cd "$here" && ls node*/*.[cm]js java/*/run | sed -E 's|^node[^/]*/(.*)\.[cm]js$|\1|; s|^java/(.*)/run$|\1|')

java_dump() {
    local run=$work/java/$1/run classes=$work/classes/$1 path jar
    path=$(sed -n 2p "$run" | tr ' ' '\n' | sed -E '/./!d; s|.*|/usr/share/java/&.jar|' | paste -sd:)
    rm -rf "$classes"
    mkdir -p "$classes"
    javac -nowarn -proc:none -g -encoding UTF-8 -cp "$path" -d "$classes" $(find "$work/java/$1" "$work/java/common" -name '*.java' -not -path '*/plugin/*')
    # A plugin is compiled into a folder of its own: loaders of the program find it there.
    if [ -d "$work/java/$1/plugin" ]; then
        rm -rf "$classes-plugin"
        mkdir -p "$classes-plugin"
        javac -nowarn -g -cp "$classes" -d "$classes-plugin" $(find "$work/java/$1/plugin" -name '*.java')
    fi
    (cd "$work/java/$1" && find . -name '*.clj' -exec cp --parents {} "$classes" \;)
    (cd "$classes" && SNAP=$2 timeout 240 java -XX:+UseSerialGC -Xmx320m $(sed -n 3p "$run") -cp "$classes:$path" "$(sed -n 1p "$run")")
}

node_dump() {
    local program
    program=$(ls "$work"/node*/"$1".[cm]js)
    (cd "$(dirname "$program")" && SNAP=$2 timeout 240 node --expose-gc "$(basename "$program")")
}

for name in "$@"; do
    log=$work/$name.log
    if [ -f "$work/java/$name/run" ]; then
        dump=$out/$name.hprof
        java_dump "$name" "$dump" >"$log" 2>&1 || true
    else
        dump=$out/$name.heapsnapshot
        node_dump "$name" "$dump" >"$log" 2>&1 || true
    fi
    [ -s "$dump" ] || { echo "$name: no dump, see $log"; rm -f "$dump"; }
done
