#!/usr/bin/env bash
# Runs a build of Cargo that prints a line every ten seconds instead of one per crate; for logs, where Cargo has no bar.
# Usage: scripts/building.sh CARGO build [OPTION...]
set -euo pipefail

log=$(mktemp)
build=
trap 'kill $build 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT TERM
"$@" 2>"$log" &
build=$!
begin=$SECONDS
crates=$(grep -c '^name = ' Cargo.lock)
while kill -0 "$build" 2>/dev/null; do
    sleep 1
    if [ $(((SECONDS - begin) % 10)) -eq 9 ]; then
        echo "  $((SECONDS - begin + 1)) s: $(grep -c '^ *Compiling' "$log" || true) crates begun, of at most $crates" >&2
    fi
done
if ! wait "$build"; then
    cat "$log" >&2
    exit 1
fi
