#!/usr/bin/env bash
# Measures the engine against other programs on the same snapshots, and puts the result into RESULTS.md.
# Usage: benches/peers/compare.sh [OPTION OF end-to-end...]   (for example --runs 5, or snapshots of your own)
set -euo pipefail
cd "$(dirname "$0")/../.."

benches/peers/install.sh
"${CARGO:-cargo}" build --release --locked -p heaplake -p heaplake-bench

# Snapshots that V8 wrote, for generated ones have structures on which v8-heap-parser takes time out of proportion, and
# a comparison on those alone would flatter us.
mkdir -p target/bench
snapshots=()
for records in 170000 960000; do
    snapshot="target/bench/node-$(node --version)-$records.heapsnapshot"
    if [ ! -f "$snapshot" ]; then
        echo "writing $snapshot" >&2
        node --max-old-space-size=8000 benches/peers/make-snapshots/big.mjs "$snapshot.part" "$records"
        mv "$snapshot.part" "$snapshot"
    fi
    snapshots+=("$snapshot")
done

target/release/heaplake-bench end-to-end --peers --save --sizes 100MB "$@" "${snapshots[@]}"
