#!/bin/sh
# Compares a service without a recorder, with Flight Recorder, and with the recorder at several intervals:
#   recorders/java/bench.sh AGENT.so JDK...
# Prints requests per second of processor time (see tests/java/Service.java), three runs each, and the bytes written.
set -eu
agent=$1
shift
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1/bin/javac" -d "$work" "$here/tests/java/Service.java"

run() {
    name=$1
    shift
    rm -f "$work"/log.*
    rates=$(for _ in 1 2 3; do "$jdk/bin/java" -Xmx512m "$@" -cp "$work" Service 2 4 1 2>/dev/null | tail -1; done)
    bytes=$(cat "$work"/log.* 2>/dev/null | wc -c)
    printf '%-28s %8s %8s %8s requests/s  %10s bytes\n' "$name" $rates "$bytes"
}

for jdk; do
    "$jdk/bin/java" -version 2>&1 | sed -n 3p
    run none
    run "JFR, settings=profile" "-XX:StartFlightRecording:filename=$work/log.jfr,settings=profile"
    for options in interval=1 interval=10 interval=100 interval=10,mode=lifetimes; do
        run "$options" "-agentpath:$agent=out=$work/log.events,$options"
    done
    run none
done
