//! Files of users beside the views of a lake.

use crate::shared::{fleet, json, sql};
use heaplake_support::lake::{Lake, diagnostic};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const HOSTS: &str = "\u{feff}Host,Team,\"of, age\"\nweb1,shop,3\nweb2,\"pay\nroll\",\nweb9,shop,7\n";

/// Finding counts by team.
const BY_TEAM: &str = "SELECT team, count(*) AS runs, sum(\"of, age\") AS age FROM runs \
                       JOIN hosts ON labels['host'] = hosts.host GROUP BY team ORDER BY team";

fn attached(lake: &Lake, statement: &str, attach: impl AsRef<Path>) -> Vec<Value> {
    json(sql(&lake.path(), &[statement, "--format", "json"]).arg("--attach").arg(attach.as_ref()))
}

/// The cause why a file cannot be attached.
fn refused(lake: &Lake, attach: impl AsRef<Path>, code: i32) -> String {
    diagnostic(sql(&lake.path(), &["SELECT 1"]).arg("--attach").arg(attach.as_ref()), code).0
}

#[test]
fn a_table_of_hosts_joins_by_a_label() {
    let lake = fleet();
    let expected = [json!({"team": "pay\nroll", "runs": 1, "age": null}), json!({"team": "shop", "runs": 2, "age": 6})];
    // A name that would be a pattern to the engine, and one given by the user.
    let odd = lake.input("a *[1]%20=?.csv", HOSTS.as_bytes());
    assert_eq!(attached(&lake, BY_TEAM, format!("Hosts={}", odd.display())), expected);
    let plain = lake.input("hosts.csv", HOSTS.as_bytes());
    assert_eq!(attached(&lake, BY_TEAM, &plain), expected);
    let tabs = lake.input("hosts.tsv", HOSTS.replace("of, age", "of age").replace(',', "\t").as_bytes());
    let statement = BY_TEAM.replace("of, age", "of age");
    assert_eq!(attached(&lake, &statement, &tabs), expected);
    // An answer as Parquet is a table of its own.
    let parquet = lake.folder().join("hosts.parquet");
    let mut write = sql(&lake.path(), &["SELECT * FROM hosts", "--format", "parquet"]);
    write.arg("--attach").arg(&plain).arg("--out").arg(&parquet).assert().success();
    assert_eq!(attached(&lake, BY_TEAM, &parquet), expected);
}

#[test]
fn unusable_files_are_refused_in_one_line() {
    let lake = fleet();
    let file = |name: &str, content: &str| lake.input(name, content.as_bytes());
    assert!(refused(&lake, file("hosts.json", "{}"), 2).contains(".parquet"));
    assert!(refused(&lake, "no/such.csv", 1).contains("no/such.csv"));
    assert!(refused(&lake, file("runs.csv", HOSTS), 2).contains("there is already a view runs"));
    assert!(refused(&lake, file("torn.parquet", "PAR1"), 1).contains("torn.parquet"));
    assert!(refused(&lake, file("ragged.csv", "a,b\n1,2\n3\n"), 1).contains("ragged.csv"));
    assert!(refused(&lake, file("twice.csv", "Host,host\n1,2\n"), 1).contains("twice.csv"));
    assert!(refused(&lake, file("empty.csv", ""), 1).contains("found none"));
    assert!(refused(&lake, file("short.parquet", "PAR1PAR1"), 1).contains("short.parquet"));
    assert!(refused(&lake, "s3://bucket/hosts.csv", 2).contains("s3:"));
    let folder = lake.folder().join("folder.csv");
    fs::create_dir(&folder).unwrap();
    assert!(refused(&lake, folder, 1).contains("directory"));
    // The file itself is no place for the answer.
    let hosts = file("own.csv", HOSTS);
    let mut command = sql(&lake.path(), &["SELECT 1", "--format", "csv"]);
    diagnostic(command.arg("--attach").arg(&hosts).arg("--out").arg(&hosts), 2);
    assert_eq!(fs::read_to_string(hosts).unwrap(), HOSTS);
}

#[test]
fn values_with_lines_and_columns_without_names_are_read() {
    let lake = fleet();
    let row = |at: u32| format!("{at},\"note, {at}\nsecond line\",x\r\n");
    let text: String = (0..30_000).map(row).collect();
    let notes = lake.input("notes.csv", format!("ID,,Text\r\n{text}").as_bytes());
    let statement = "SELECT max(id) AS id, count(*) AS rows, min(column2) AS note, min(text) AS text FROM notes";
    let expected = json!({"id": 29_999, "rows": 30_000, "note": "note, 0\nsecond line", "text": "x"});
    assert_eq!(attached(&lake, statement, &notes), [expected]);
    // Lists of an attached table beside a map of the lake.
    let lists = lake.folder().join("lists.parquet");
    let mut write = sql(&lake.path(), &["SELECT labels, array_agg(release) AS list FROM runs GROUP BY labels"]);
    write.args(["--format", "parquet", "--out"]).arg(&lists).assert().success();
    let statement = "SELECT labels['host'] AS host, array_length(list) AS runs FROM lists ORDER BY runs DESC LIMIT 1";
    assert_eq!(attached(&lake, statement, &lists), [json!({"host": "web1", "runs": 2})]);
}

#[test]
fn values_after_the_rows_that_give_the_types_are_kept_or_named() {
    let lake = fleet();
    let rows = |late: &str| format!("number,late\n{}{late}\n", "1,\n".repeat(100_001));
    let late = lake.input("late.csv", rows("2,text").as_bytes());
    let answer = attached(&lake, "SELECT count(late) AS texts, sum(number) AS sum FROM late", &late);
    assert_eq!(answer, [json!({"texts": 1, "sum": 100_003})]);
    let wrong = lake.input("wrong.csv", rows("two,text").as_bytes());
    let mut command = sql(&lake.path(), &["SELECT sum(number) FROM wrong"]);
    let (cause, _) = diagnostic(command.arg("--attach").arg(&wrong), 1);
    assert!(cause.contains("wrong.csv") && cause.contains("'two'"), "{cause}");
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let lake = fleet();
    let pipe = lake.folder().join("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(refused(&lake, pipe, 1).contains("this is no regular file"));
}
