#!/usr/bin/env bash
# Makes the archive of a release, with its checksum, from a built binary:
#
#   deploy/archive.sh BINARY TARGET FOLDER [--sbom FILE]
#   deploy/archive.sh target/release/heaplake x86_64-unknown-linux-gnu dist --sbom sbom.cdx.json
#
# FOLDER/heaplake-TARGET.tar.gz has one folder, heaplake-TARGET: the binary, heaplake-check, the licence, README and
# CHANGELOG, the manual page of each command in man/, scripts of completion in completions/, and the list of components
# (heaplake.cdx.json). FOLDER/heaplake-TARGET.tar.gz.sha256 has the checksum, as sha256sum has it.
#
# The list of components is made by cargo-cyclonedx (cargo install --locked cargo-cyclonedx):
#
#   cargo cyclonedx --manifest-path pipeline/Cargo.toml --features sql,stores --target TARGET -f json \
#       --override-filename heaplake.cdx
#
# It writes pipeline/heaplake.cdx.json, and one beside the manifest of each other member, which are of no use.
#
# The pages come from the binary, which must run here. The same binary makes the same archive, to the byte: names are
# sorted, owners are 0, and times are SOURCE_DATE_EPOCH, or else those of the last commit.
set -euo pipefail

usage() {
    echo "usage: archive.sh BINARY TARGET FOLDER [--sbom FILE]" >&2
    exit 2
}

[ $# -eq 3 ] || { [ $# -eq 5 ] && [ "$4" = --sbom ]; } || usage
binary=$1 target=$2 folder=$3 sbom=${5:-}
root=$(cd "$(dirname "$0")/.." && pwd)
[[ $target =~ ^[a-z0-9_]+(-[a-z0-9_]+){2,3}$ ]] || { echo "archive.sh: $target is no target such as x86_64-unknown-linux-gnu" >&2; exit 2; }
[ -x "$binary" ] || { echo "archive.sh: $binary is no program" >&2; exit 2; }
case $binary in */*) ;; *) binary=./$binary ;; esac

# The version of the binary is that of the workspace: an old build is not released under a new name.
version=$(python3 "$root/deploy/version.py")
[ "$("$binary" --version)" = "heaplake $version" ] || { echo "archive.sh: $binary is $("$binary" --version), not $version" >&2; exit 2; }

name=heaplake-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$name/man" "$work/$name/completions" "$folder"
install -m 0755 "$binary" "$work/$name/heaplake"
install -m 0755 "$root/deploy/heaplake-check" "$work/$name/heaplake-check"
install -m 0644 "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" "$work/$name/"
[ -z "$sbom" ] || install -m 0644 "$sbom" "$work/$name/heaplake.cdx.json"

# The names of subcommands below a command, from its help: lines of two blanks below "Commands:".
commands_of() {
    "$binary" "$@" --help | awk '/^Commands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { print $1 }' | grep -vx help || true
}

page() {
    local file
    file=heaplake$(printf -- '-%s' "$@").1
    [ $# -gt 0 ] || file=heaplake.1
    "$binary" man "$@" >"$work/$name/man/$file"
}

page
while read -r command; do
    page "$command"
    while read -r below; do
        [ -z "$below" ] || page "$command" "$below"
    done < <(commands_of "$command")
done < <(commands_of)
for shell in bash elvish fish powershell zsh; do
    "$binary" completions "$shell" >"$work/$name/completions/heaplake.$shell"
done

epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
tar -c --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$epoch" -C "$work" "$name" |
    gzip -n >"$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$folder/"
(cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$folder/$name.tar.gz"
