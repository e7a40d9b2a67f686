#!/usr/bin/env bash
# Installs the programs that heaplake is measured against, each inside its own folder here.
# Usage: benches/peers/install.sh   (needs node, npm and cargo; what is there already is left as it is)
set -euo pipefail
cd "$(dirname "$0")"

for tool in node npm "${CARGO:-cargo}"; do
    command -v "$tool" >/dev/null || { echo "install.sh: there is no $tool here" >&2; exit 1; }
done

# No lock files: the versions that matter are pinned, and the folders stay as they are in the repository.
install=(npm install --no-package-lock --no-audit --no-fund)

[ -f devtools/node_modules/.cache/heap_snapshot_worker.mjs ] ||
    # Bundled here too, for npm may be set to run no scripts.
    (cd devtools && "${install[@]}" && node bundle.mjs)
[ -d memlab/node_modules/@memlab/heap-analysis ] ||
    # memlab can drive a browser; nothing here does, so none is fetched.
    (cd memlab && PUPPETEER_SKIP_DOWNLOAD=1 "${install[@]}")
# A workspace and a target folder of its own, whatever is set for the main build.
(cd v8-heap-parser && "${CARGO:-cargo}" build --release --locked --target-dir target)
