#!/usr/bin/env bash
# Measures the engine against other programs on the same files, and puts the results into RESULTS.md.
# Usage: benches/peers/compare.sh [v8|jvm] [OPTION OF end-to-end or dumps...]   (for example jvm --runs 5; both without a
# word; files of your own too)
set -euo pipefail
cd "$(dirname "$0")/../.."

formats=(v8 jvm)
case ${1:-} in
    v8 | jvm) formats=("$1") && shift ;;
esac
benches/peers/install.sh "${formats[@]}"
"${CARGO:-cargo}" build --release --locked -p heaplake -p heaplake-bench
mkdir -p target/bench

# Snapshots that V8 wrote, for generated ones have structures on which v8-heap-parser takes time out of proportion, and
# a comparison on those alone would flatter us.
v8() {
    local snapshots=()
    for records in 170000 960000; do
        local snapshot="target/bench/node-$(node --version)-$records.heapsnapshot"
        if [ ! -f "$snapshot" ]; then
            echo "writing $snapshot" >&2
            node --max-old-space-size=8000 benches/peers/make-snapshots/big.mjs "$snapshot.part" "$records"
            mv "$snapshot.part" "$snapshot"
        fi
        snapshots+=("$snapshot")
    done
    target/release/heaplake-bench end-to-end --peers --save --sizes 100MB "$@" "${snapshots[@]}"
}

# Dumps that HotSpot wrote: a small one, one without compressed references, a large one.
jvm() {
    command -v javac >/dev/null || { echo "compare.sh: there is no javac here" >&2; exit 1; }
    local classes=target/bench/java dumps=()
    mkdir -p "$classes"
    javac -d "$classes" benches/peers/make-snapshots/Depot.java
    local parcels oops
    for plan in "200000 +" "200000 -" "1700000 +"; do
        read -r parcels oops <<<"$plan"
        local dump="target/bench/depot-$parcels$([ "$oops" = + ] || echo -wide).hprof"
        if [ ! -f "$dump" ]; then
            echo "writing $dump" >&2
            java -Xmx12g "-XX:${oops}UseCompressedOops" -cp "$classes" Depot "$dump.part.hprof" "$parcels"
            mv "$dump.part.hprof" "$dump"
        fi
        dumps+=("$dump")
    done
    target/release/heaplake-bench dumps --save "$@" "${dumps[@]}"
}

for format in "${formats[@]}"; do
    "$format" "$@"
done
