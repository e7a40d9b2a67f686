#!/usr/bin/env bash
# Installs the programs that heaplake is measured against: those of npm inside their own folders here, those of crates.io
# into target/peers. What is there already is left as it is. Eclipse MAT is not installed: who has it, has it.
# Usage: benches/peers/install.sh [v8] [jvm]   (both without a word; v8 needs node, npm and cargo, jvm needs cargo)
set -euo pipefail
cd "$(dirname "$0")"
cargo=${CARGO:-cargo}

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "install.sh: there is no $tool here" >&2; exit 1; }
    done
}

v8() {
    need node npm "$cargo"
    # No lock files: the versions that matter are pinned, and the folders stay as they are in the repository.
    local install=(npm install --no-package-lock --no-audit --no-fund)
    # The file `installed` is written last: an installation that was killed leaves none, and is made anew.
    [ -f devtools/node_modules/installed ] ||
        # Bundled here too, for npm may be set to run no scripts.
        (cd devtools && rm -rf node_modules && "${install[@]}" && node bundle.mjs && touch node_modules/installed)
    [ -f memlab/node_modules/installed ] ||
        # memlab can drive a browser; nothing here does, so none is fetched.
        (cd memlab && rm -rf node_modules && PUPPETEER_SKIP_DOWNLOAD=1 "${install[@]}" && touch node_modules/installed)
    # A workspace and a target folder of its own, whatever is set for the main build.
    (cd v8-heap-parser && "$cargo" build --release --locked --target-dir target)
}

jvm() {
    need "$cargo"
    # With the versions that the crates were published with: one of them does not build with newer ones.
    for crate in hprof-analyzer@0.3.2 hprof-slurp@0.10.0; do
        [ -x "../../target/peers/bin/${crate%@*}" ] ||
            "$cargo" install --locked --root ../../target/peers --target-dir ../../target/peers/build "$crate"
    done
}

[ $# -gt 0 ] || set -- v8 jvm
for peers in "$@"; do
    case $peers in
        v8 | jvm) "$peers" ;;
        *) echo "install.sh: v8 or jvm, not $peers" >&2; exit 2 ;;
    esac
done
