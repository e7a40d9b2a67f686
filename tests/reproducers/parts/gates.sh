# A gate never passes because a run could not be seen.

gate=(--fail-if 'classes: retained_bytes.delta > 1MiB')
expect "the gate fails" 4 "$heaplake" diff release=a release=b,snapshot=leak --lake lake "${gate[@]}" -q
cp -r lake blind
truncate -s 300 blind/release=b/snapshot=leak/run.json
for command in "diff release=a release=b --lake blind -q" "fleet rollup blind --out blind_rollup -q" "trend release=a release=b release=c --lake blind -q"; do
    # shellcheck disable=SC2086
    timeout 60 "$heaplake" $command >out 2>err
    is "$command: an unreadable run is no success" $? = 1
    says "$command names the run" err 'snapshot=leak'
done
timeout 60 "$heaplake" diff release=a release=b --lake blind "${gate[@]}" --junit blind.xml --markdown blind.md -q >out 2>err
is "a gate over an unreadable run is no success" "$?" != 0
says "JUnit names it" blind.xml 'snapshot=leak'
says "JUnit counts it" blind.xml 'errors="[1-9]'
says "Markdown names it" blind.md 'snapshot=leak'
expect "unless it may be left out" 0 "$heaplake" diff release=a release=b --lake blind -q --skip-damaged

expect "a lake that does not exist" 2 "$heaplake" ls nolake
expect "a lake that does not exist, of sql" 2 "$heaplake" sql 'SELECT count(*) FROM runs' --lake nolake
timeout 60 "$heaplake" ls lake --release aa >out 2>err
is "a release that no run has" $? != 0
says "the nearest release is named" err '\ba\b'
