# Runs that somebody changed are not believed, and none is hidden.

gate=(--fail-if 'classes: retained_bytes.delta > 1MiB')
# attack NAME COMMAND...: changes a copy of the lake; then no comparison passes, and verify says so.
attack() {
    local name=$1
    shift
    rm -rf changed
    cp -r lake changed
    "$@"
    for command in "diff release=a release=b --lake changed -q" "fleet rollup changed --out changed_rollup -q" "trend snapshot=* --by release --lake changed -q"; do
        # shellcheck disable=SC2086
        expect "$name: $command" 1 "$heaplake" $command
        says "$name is named" err 'snapshot=leak'
    done
    expect "$name: a gate" 1 "$heaplake" diff release=a release=b --lake changed "${gate[@]}" -q
    expect "$name: verify" 1 "$heaplake" lake verify changed
    expect "$name: sql" 1 "$heaplake" sql 'SELECT count(*), sum(retained_bytes) FROM classes' --lake changed
}
leak=changed/release=b/snapshot=leak
swap() { cp changed/release=b/snapshot=calm/classes.parquet "$leak/classes.parquet"; }
link() { ln -sf ../snapshot=calm/classes.parquet "$leak/classes.parquet"; }
flip() { sed -i 's/"release": "b"/"release": "c"/' "$leak/run.json"; }
unsealed() { sed -i '2d' "$leak/run.json"; }
moved() { rm -r "$leak" && cp -r changed/release=b/snapshot=calm "$leak"; }
dangling() { rm -r "$leak" && ln -s nowhere "$leak"; }
file() { rm -r "$leak" && touch "$leak"; }
pipe() { rm -r "$leak" && mkfifo "$leak"; }
attack "a table of another run" swap
attack "a link to a table of another run" link
attack "a flipped release" flip
attack "a seal that was removed" unsealed
attack "another run in its folder" moved
attack "a dangling link" dangling
attack "a file" file
attack "a pipe" pipe

rm -rf changed
cp -r lake changed
mkdir "$(printf 'changed/release=b/snapshot=\377')"
expect "a name that is no UTF-8" 1 "$heaplake" lake verify changed
says "it is said" out 'UTF-8'
rm -rf changed
cp -r lake changed
touch changed/README changed/.gitignore && mkdir changed/.git && ln -s nowhere changed/latest
expect "harmless files" 0 "$heaplake" lake verify changed
expect "harmless files, of sql" 0 "$heaplake" sql 'SELECT count(*) FROM classes' --lake changed
