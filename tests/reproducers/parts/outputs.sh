# Outputs are written through what is no regular file, and nothing of the user's is removed or replaced.

if [ "$(id -u)" = 0 ] && mknod -m 666 null c 1 3 2>/dev/null; then
    device() { expect "$1 to a device" "$2" "${@:3}"; is "$1 leaves the device" -c null; [ -c null ] || { rm -f null; mknod -m 666 null c 1 3; }; }
    device "report -o" 0 "$heaplake" report "$run" -o null
    device "diff --report" 0 "$heaplake" diff release=a release=b --lake lake --report null
    device "diff --junit" 0 "$heaplake" diff release=a release=b --lake lake --fail-if 'classes: count.delta < -1000000' --junit null
    device "diff --markdown" 0 "$heaplake" diff release=a release=b --lake lake --fail-if 'classes: count.delta < -1000000' --markdown null
    device "analyze --metrics" 0 "$heaplake" analyze calm.heapsnapshot --out devices --metrics null
    device "analyze --findings-json" 0 "$heaplake" analyze other.heapsnapshot --out devices --findings-json null
    device "rollup --metrics" 0 "$heaplake" fleet rollup lake --out rolled --metrics null
    device "sql --out" 0 "$heaplake" sql 'SELECT 1' --lake lake --format csv --out null
else
    skip devices "only root makes device nodes"
fi

mkfifo pipe
cat pipe >from_pipe &
expect "a pipe with a reader" 0 "$heaplake" report "$run" -o pipe
wait
is "the page went through the pipe" -s from_pipe
expect "a pipe without a reader" 1 "$heaplake" report "$run" -o pipe
is "the pipe is still there" -p pipe
mkdir a_folder
expect "a folder as an output" 2 "$heaplake" report "$run" -o a_folder

mkdir -p users/group-mine users/diff_mine
echo mine >users/group-mine/file
echo mine >users/diff_mine.parquet
expect "rollup beside folders of the user" 0 "$heaplake" fleet rollup lake --out users
expect "rollup again" 0 "$heaplake" fleet rollup lake --out users
expect "diff beside files of the user" 0 "$heaplake" diff release=a release=b --lake lake --out users
expect "diff again" 0 "$heaplake" diff release=a release=b --lake lake --out users
is "folders of the user stay" -f users/group-mine/file
is "files of the user stay" "$(cat users/diff_mine.parquet)" = mine

mkdir -p occupied/release=none/snapshot=x
echo mine >occupied/release=none/snapshot=x/file
expect "analyze into a folder that is no run" 2 "$heaplake" analyze calm.heapsnapshot --out occupied --snapshot x
says "it names the folder" err 'occupied/release=none/snapshot=x'
expect "--force does not change that" 2 "$heaplake" analyze calm.heapsnapshot --out occupied --snapshot x --force
is "it stays" -f occupied/release=none/snapshot=x/file

# An output is no input, no other output, and no file of a run.
cp calm.heapsnapshot mine.heapsnapshot
ln mine.heapsnapshot hard.heapsnapshot
ln -s mine.heapsnapshot soft.heapsnapshot
for output in mine hard soft; do
    expect "--findings-json $output" 2 "$heaplake" analyze mine.heapsnapshot --out own --findings-json "$output.heapsnapshot" -q
    expect "--metrics $output" 2 "$heaplake" analyze mine.heapsnapshot --out own --metrics "$output.heapsnapshot" -q
done
is "the input is as it was" "$(cmp calm.heapsnapshot mine.heapsnapshot && echo same)" = same
printf '[[gate]]\nname = "a"\nfail_if = "false"\n' >g.toml
expect "--gates and --junit" 2 "$heaplake" diff release=a release=b --lake lake --gates g.toml --junit g.toml -q
expect "one file for all" 2 "$heaplake" diff release=a release=b --lake lake --fail-if false --junit x --markdown ./x --report "$PWD/x" -q
expect "-o over a table" 2 "$heaplake" report "$run" -o "$run/nodes.parquet"
expect "--out over a table" 2 "$heaplake" sql 'SELECT 1 AS a' --lake lake --format parquet --out "$run/classes.parquet"
expect "a folder that does not exist" 2 "$heaplake" report "$run" -o nowhere/x
expect "the lake is whole" 0 "$heaplake" lake verify lake
