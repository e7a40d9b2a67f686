#!/usr/bin/env bash
# Fuzzes for SECONDS_IN_ALL seconds the targets that are named, or all, with the mutation loop, which needs stable Rust only;
# with FUZZ_GUIDED=1 one after the other with cargo-fuzz, guided by coverage, which needs nightly Rust and cargo-fuzz.
# Findings go to fuzz/findings, or to fuzz/coverage/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
seconds=${SECONDS_IN_ALL:-600}

if [ -z "${FUZZ_GUIDED:-}" ]; then
    exec $cargo run --locked -p heaplake-fuzz -- "$seconds" "$@"
fi

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <($cargo run --quiet --locked -p heaplake-fuzz -- --list)
fi
each=$((seconds / ${#targets[@]} + 1))
failed=0
for target in "${targets[@]}"; do
    corpus=fuzz/coverage/corpus/$target
    mkdir -p "$corpus" "fuzz/coverage/artifacts/$target"
    # What mutation begins with.
    $cargo run --quiet --locked -p heaplake-fuzz -- --seeds "$target" "$corpus"
    FUZZ_TARGET=$target cargo +nightly fuzz run --fuzz-dir fuzz/coverage any "$corpus" -- \
        -artifact_prefix="fuzz/coverage/artifacts/$target/" -max_total_time="$each" -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=1 -close_fd_mask=1 || failed=1
done
exit $failed
