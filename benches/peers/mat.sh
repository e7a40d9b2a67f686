#!/usr/bin/env bash
# Lets Eclipse MAT read a heap dump as if for the first time, with its dominator tree, and removes what it leaves.
# Usage: benches/peers/mat.sh FILE.hprof   (needs ParseHeapDump.sh on the path)
set -euo pipefail

# MAT puts its indexes beside the dump.
folder=$(mktemp -d "${TMPDIR:-/tmp}/mat.XXXXXX")
trap 'rm -rf "$folder"' EXIT
ln -s "$(realpath "$1")" "$folder/"
ParseHeapDump.sh "$folder/$(basename "$1")" -vmargs -Xmx8g
