#!/usr/bin/env bash
# Downloads a released archive, compares it with its SHA-256 file, and puts it on the PATH of the following steps.
#
#   HEAPLAKE_VERSION      0.1.0 or v0.1.0
#   HEAPLAKE_REPOSITORY   OWNER/NAME with the releases
#   HEAPLAKE_DOWNLOADS    URL of a folder with the archives, in place of that of the release: a mirror
#
# The checksum comes from the same place as the archive: it finds broken downloads, not a replaced release.
set -euo pipefail

fail() {
    printf '::error title=heaplake::%s\n' "$1" >&2
    exit 2
}

version=${HEAPLAKE_VERSION#v}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+([.+-][0-9A-Za-z.+-]+)?$ ]] || fail "the version is not like 0.1.0"
case $(uname -s)-$(uname -m) in
Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-gnu ;;
*) fail "there is no binary for $(uname -s) on $(uname -m): Linux on x86-64 and ARM64 only" ;;
esac
if [ -n "${HEAPLAKE_DOWNLOADS:-}" ]; then
    from=$HEAPLAKE_DOWNLOADS
else
    [[ ${HEAPLAKE_REPOSITORY:-} =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || fail "the repository is not like OWNER/NAME"
    from=${GITHUB_SERVER_URL:-https://github.com}/$HEAPLAKE_REPOSITORY/releases/download/v$version
fi

archive=heaplake-$target.tar.gz
folder=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/heaplake.XXXXXX")
for name in "$archive" "$archive.sha256"; do
    curl --fail --silent --show-error --location --retry 3 --output "$folder/$name" "$from/$name" ||
        fail "$name of version $version cannot be downloaded"
done
(cd "$folder" && sha256sum --check --strict --quiet "$archive.sha256") || fail "$archive is not as its checksum says"
tar -x -z -f "$folder/$archive" -C "$folder"
"$folder/heaplake-$target/heaplake" --version || fail "the binary does not run here"
printf '%s\n' "$folder/heaplake-$target" >> "$GITHUB_PATH"
