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
