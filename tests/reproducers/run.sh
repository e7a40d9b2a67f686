#!/usr/bin/env bash
# Attacks that once broke something outside the engine, each with the outcome that is right.
#
#   tests/reproducers/run.sh BINARY
#
# BINARY is a heaplake with SQL; attacks on object stores are in tests/stores. Everything happens in a temporary folder.
# Attacks that need root, or a memory cgroup, are skipped elsewhere, with a word. The last line counts; the exit status
# is 1 if an outcome was wrong.
set -u
here=$(cd "$(dirname "$0")" && pwd)
heaplake=$(realpath "${1:?usage: run.sh BINARY}")
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1

passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "SKIPPED $1: $2"; }

# expect NAME CODE COMMAND...: runs a command in at most 60 s; leaves its output in the files out and err.
expect() {
    local name=$1 code=$2 got
    shift 2
    timeout -k 5 60 "$@" >out 2>err </dev/null
    got=$?
    if [ "$got" != "$code" ]; then
        fail "$name" "exit status $got instead of $code: $(head -c 300 err | tr '\n' ' ')"
    elif grep -qE 'panicked|RUST_BACKTRACE|overflowed its stack|memory allocation of' err; then
        fail "$name" "a panic: $(head -c 300 err | tr '\n' ' ')"
    else
        pass
    fi
}
# says NAME FILE PATTERN: the file has a line like that.
says() { if grep -qE -- "$3" "$2"; then pass; else fail "$1" "no line like '$3': $(head -c 300 "$2" | tr '\n' ' ')"; fi; }
# is NAME CONDITION...: test(1).
is() { local name=$1; shift; if test "$@"; then pass; else fail "$name" "not true: $*"; fi; }

# snapshot COUNT BYTES: a V8 heap snapshot in which the root refers to COUNT objects of class Session.
snapshot() {
    awk -v n="$1" -v size="$2" 'BEGIN {
        printf "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\",\"detachedness\"],"
        printf "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\",\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\"],\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],"
        printf "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"],"
        printf "\"trace_function_info_fields\":[],\"trace_node_fields\":[],\"sample_fields\":[],\"location_fields\":[]},"
        printf "\"node_count\":%d,\"edge_count\":%d,\"trace_function_count\":0},\n\"nodes\":[9,0,1,0,%d,0,0", n + 1, n, n
        for (i = 1; i <= n; i++) printf ",\n3,1,%d,%d,0,0,0", 2 * i + 1, size
        printf "],\n\"edges\":["
        for (i = 1; i <= n; i++) printf "%s2,2,%d", i == 1 ? "" : ",\n", 7 * i
        printf "],\n\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":[],\"locations\":[],\"strings\":[\"\",\"Session\",\"held\"]}\n"
    }'
}
analyze() { "$heaplake" analyze "$1" --out "$2" --release "$3" --snapshot "$4" -q || echo "analyze $* failed"; }

snapshot 2000 100 >calm.heapsnapshot
snapshot 2001 100 >other.heapsnapshot
snapshot 2000 20100 >leak.heapsnapshot
snapshot 2002 100 >third.heapsnapshot
analyze calm.heapsnapshot lake a base
analyze other.heapsnapshot lake b calm
analyze leak.heapsnapshot lake b leak
analyze third.heapsnapshot lake c calm
run=lake/release=a/snapshot=base

for part in "$here"/parts/*.sh; do
    # shellcheck source=/dev/null
    . "$part"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
