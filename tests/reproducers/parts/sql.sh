# SQL ends with an answer or with one line, whatever the statement.

deep() { timeout -k 5 60 "$heaplake" sql --lake lake >out 2>err; }
python=$(command -v python3)
if [ -n "$python" ]; then
    for statement in '"SELECT " + "+".join(["1"] * 4000)' '" UNION ALL ".join(["SELECT 1"] * 2000)' \
        '"SELECT " + " OR ".join(["1 = 2"] * 4000)' '"SELECT " + "(" * 4000 + "1" + ")" * 4000'; do
        "$python" -c "print($statement)" >statement
        deep <statement
        code=$?
        is "a deep statement: $statement" "$code" -lt 4
        is "one line of cause" "$(grep -c '^heaplake: ' err)" -le 1
        if grep -qE 'panicked|overflowed' err; then fail "a deep statement" "$(head -c 200 err)"; else pass; fi
    done
else
    skip "deep statements" "there is no python3"
fi

query='SELECT count(*) FROM nodes a CROSS JOIN nodes b CROSS JOIN nodes c WHERE a.node + b.node + c.node < 0'
began=$(date +%s)
timeout -s INT -k 20 2 "$heaplake" sql "$query" --lake lake >out 2>err
is "SIGINT ends a cross join" $(($(date +%s) - began)) -lt 6
expect "a text of 2 GB" 3 "$heaplake" sql "SELECT length(repeat('x', 2000000000))" --memory 128MiB --lake lake

for flipped in anywhere footer footer-length; do
    cp -r lake "flipped_$flipped"
    cp "$here/flipped/$flipped.parquet" "flipped_$flipped/release=a/snapshot=base/classes.parquet"
    expect "a flipped bit: $flipped" 1 "$heaplake" sql 'SELECT * FROM classes' --lake "flipped_$flipped"
done
