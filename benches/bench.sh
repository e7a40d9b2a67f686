#!/usr/bin/env bash
# Measures the engine on generated snapshots, and its inner loops, and puts both into RESULTS.md.
# Usage: benches/bench.sh [OPTION OF end-to-end...]   (for example --runs 5, or real snapshots)
set -euo pipefail
cd "$(dirname "$0")/.."

"${CARGO:-cargo}" build --release --locked -p heaplake -p heaplake-bench
target/release/heaplake-bench end-to-end --save "$@"
target/release/heaplake-bench kernels --save
