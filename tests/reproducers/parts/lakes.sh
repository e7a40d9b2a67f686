# Odd files in a lake, and limits of the system.

mkdir -p bomb/release=none
cp -r "$here/bomb" bomb/release=none/snapshot=bomb
expect "a page that expands" 1 "$heaplake" report bomb/release=none/snapshot=bomb -o bomb.html --memory 128MiB
is "no page is left half written" ! -e bomb.html

cp -r lake sparse
truncate -s 3G sparse/release=b/snapshot=leak/run.json
expect "ls beside a run.json of 3 GB" 0 "$heaplake" ls sparse
says "it names the run" out 'snapshot=leak'
says "it lists the others" out 'base'

echo secret >secret
chmod 600 secret
cp -r lake linked
ln -sf "$PWD/secret" linked/release=a/snapshot=base/classes.parquet
timeout 60 "$heaplake" lake merge linked --out merged -q >out 2>err
is "merge refuses a link" $? != 0
is "nothing of its target arrives" -z "$(grep -rl secret merged 2>/dev/null)"

mkfifo maps.pipe
expect "source maps in a pipe" 2 "$heaplake" analyze calm.heapsnapshot --out odd --source-maps maps.pipe

expect "a limit on the size of files" 3 bash -c "ulimit -f 1; exec '$heaplake' analyze '$PWD/calm.heapsnapshot' --out limited -q"
# The least address space in which the program starts.
space=50000
until bash -c "ulimit -v $space; exec '$heaplake' --version" >/dev/null 2>&1; do space=$((space * 5 / 4)); done
expect "a small address space" 3 bash -c "ulimit -v $space; exec '$heaplake' analyze '$PWD/calm.heapsnapshot' --out limited -q"

if command -v zstd >/dev/null; then
    { printf '\x50\x2a\x4d\x18\x04\x00\x00\x00skip'; zstd -qc calm.heapsnapshot; } >skippable.heapsnapshot.zst
    expect "zstd with a skippable frame first" 0 "$heaplake" analyze skippable.heapsnapshot.zst --out zstd -q
    zstd -q --ultra --long=31 -c calm.heapsnapshot >long.heapsnapshot.zst
    timeout 60 "$heaplake" analyze long.heapsnapshot.zst --out zstd -q --force >out 2>err || says "a long window is named" err 'window'
else
    skip "odd zstd" "there is no zstd"
fi

# A link in the place of a run stays, and so does what it leads to.
cp -r lake linked
mv linked/release=b/snapshot=leak elsewhere
ln -s ../../elsewhere linked/release=b/snapshot=leak
expect "drop of a link" 2 "$heaplake" lake drop linked leak --yes
expect "--force over a link" 2 "$heaplake" analyze leak.heapsnapshot --out linked --release b --snapshot leak --force -q
is "the link is there" -h linked/release=b/snapshot=leak
is "what it leads to is there" -e elsewhere/run.json

# What does not exist is named with the nearest, and nothing is left.
mkdir -p other nothing && touch other/notes
expect "verify of no lake" 2 "$heaplake" lake verify other
expect "a label that no run has" 2 "$heaplake" fleet rollup lake --by label.x --out labelled -q
expect "a label that no run has, of trend" 2 "$heaplake" trend 'snapshot=*' --by label.x --lake lake -q
expect "a target that does not exist" 2 "$heaplake" duplicates lake/release=b/snapshot=leek
says "the nearest is named" err 'snapshot=leak'
expect "a rollup of nothing" 2 "$heaplake" fleet rollup nothing
is "nothing is left" "$(ls -A nothing)" = ""
expect "a table that does not exist" 2 "$heaplake" sql 'SELECT * FROM clases' --lake lake
says "the nearest table is named" err 'nearest: classes'
expect "a pattern that is none" 2 "$heaplake" sql "SELECT regexp_replace(class, '(', '') FROM classes" --lake lake

# Millions of values in a description take no gigabyte.
cp -r lake zeros
{ printf '{"options":{"x":[0' && yes ,0 | head -20000000 | tr -d '\n' && printf ']}}'; } >zeros/release=b/snapshot=leak/run.json
for command in "ls zeros" "diff release=a release=b --lake zeros -q"; do
    # shellcheck disable=SC2086
    (ulimit -v 700000 && timeout 60 "$heaplake" $command >out 2>err)
    is "$command in little memory" $? -le 1
done
