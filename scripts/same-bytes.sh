#!/usr/bin/env bash
# Compares two builds: the tables of each input must have the same bytes with both, with two budgets and 1, 2 and 7 threads.
# Snapshot tables and run.json hold times and are left out.
#
#   scripts/same-bytes.sh OLD_BINARY NEW_BINARY INPUT...
#
# An input is a file, or VERB:FILE for another verb than analyze (replay:trace.nettrace.zst).
set -euo pipefail
old=$1 new=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Checksums of all that a run wrote, by file.
run() { # BINARY VERB FILE ARGUMENTS...
    local binary=$1 verb=$2 file=$3
    shift 3
    rm -rf "$work/lake"
    "$binary" "$verb" "$file" --out "$work/lake" --snapshot it --quiet "$@" || echo "exit code $?"
    if [ -d "$work/lake/release=none/snapshot=it" ]; then
        (cd "$work/lake/release=none/snapshot=it" && sha256sum -- * | grep -v -e 'snapshot.parquet' -e 'run.json')
    fi
}

failed=0
for input in "$@"; do
    verb=analyze file=$input options=(--edges --duplicates all)
    if [[ $input == replay:* ]]; then
        verb=replay file=${input#replay:} options=(--tracks --pprof --collapsed)
    fi
    expected=$(run "$old" "$verb" "$file" "${options[@]}")
    for memory in 2GiB "${SMALL:-128MiB}"; do
        for threads in 1 2 7; do
            found=$(run "$new" "$verb" "$file" "${options[@]}" --memory "$memory" --threads "$threads")
            if [ "$found" = "$expected" ]; then
                echo "same     $input, $memory, $threads threads"
            else
                echo "DIFFERS  $input, $memory, $threads threads"
                diff <(echo "$expected") <(echo "$found") || true
                failed=1
            fi
        done
    done
done
exit $failed
