//! How answers are written.

use crate::lake::complaint;
use crate::shared::{fleet, json, rows, sql};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::json;
use std::fs;

const STATEMENT: &str = "SELECT release, snapshot, labels, captured_at IS NULL AS unknown, count(*) AS classes FROM classes \
                         GROUP BY 1, 2, 3, 4 ORDER BY 1, 2";

#[test]
fn csv_has_a_header_and_texts_of_maps() {
    let lake = fleet();
    let output = sql(&lake.path(), &[STATEMENT, "--format", "csv"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "release,snapshot,labels,unknown,classes");
    assert!(lines[1].starts_with("1.0,run0,{host: web1},false,"), "{text}");
    assert!(lines[4].starts_with("1.1,run3,{},false,"), "{text}");
    assert_eq!(lines.len(), 5);
    let empty =
        sql(&lake.path(), &["SELECT class, count FROM classes WHERE count < 0", "--format", "csv"]).output().unwrap();
    assert_eq!(String::from_utf8(empty.stdout).unwrap(), "class,count\n");
}

#[test]
fn json_is_an_array_of_rows() {
    let lake = fleet();
    let answered = rows(&lake, STATEMENT);
    assert_eq!(answered[0]["labels"], json!({"host": "web1"}));
    assert_eq!(answered[3]["labels"], json!({}));
    assert_eq!(rows(&lake, "SELECT class FROM classes WHERE count < 0"), Vec::<serde_json::Value>::new());
}

#[test]
fn parquet_is_a_file_that_appears_whole() {
    let lake = fleet();
    let path = lake.folder().join("answer.parquet");
    let out = path.to_str().unwrap();
    sql(&lake.path(), &["SELECT * FROM classes", "--format", "parquet", "--out", out]).assert().success().stdout("");
    let read = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let count = json(&mut sql(&lake.path(), &["SELECT count(*) AS n FROM classes", "--format", "json"]));
    assert_eq!(json!(read.metadata().file_metadata().num_rows()), count[0]["n"]);
    // A statement that fails leaves the file of before, and nothing else.
    let before = fs::read(&path).unwrap();
    let fails = ["SELECT arrow_cast(class, 'Int64') FROM classes", "--format", "parquet", "--out", out];
    complaint(&mut sql(&lake.path(), &fails), 2);
    assert!(fs::read(&path).unwrap() == before);
    let left: Vec<_> = fs::read_dir(lake.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_table_shows_the_first_rows() {
    let lake = fleet();
    let shown = |arguments: &[&str]| String::from_utf8(sql(&lake.path(), arguments).output().unwrap().stdout).unwrap();
    let statement = "SELECT snapshot, 7 AS n FROM runs ORDER BY snapshot";
    assert_eq!(
        shown(&[statement]),
        "snapshot  n\n--------  -\nrun0      7\nrun1      7\nrun2      7\nrun3      7\n(4 rows)\n"
    );
    let two = shown(&[statement, "--rows", "2"]);
    assert!(two.ends_with("run1      7\n(2 rows shown, there are more: --rows 0 shows all)\n"), "{two}");
    let all = shown(&["SELECT node FROM nodes", "--rows", "0"]);
    assert!(all.lines().count() > 1000);
}

#[test]
fn several_statements_are_several_tables() {
    let lake = fleet();
    let output = sql(&lake.path(), &["SELECT 1 AS one; SELECT 2 AS two"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "one\n---\n  1\n(1 row)\ntwo\n---\n  2\n(1 row)\n");
    complaint(&mut sql(&lake.path(), &["SELECT 1; SELECT 2", "--format", "csv"]), 2);
}

#[test]
fn statements_come_from_standard_input_too() {
    let lake = fleet();
    let output = sql(&lake.path(), &[]).write_stdin("SELECT 'a' AS b;\n").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "b\n-\na\n(1 row)\n");
    complaint(sql(&lake.path(), &[]).write_stdin(" ; "), 2);
}

#[test]
fn a_terminal_obeys_nothing_of_a_name() {
    let lake = fleet();
    let output = sql(&lake.path(), &["SELECT chr(27) || '[2J' AS name"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains('['));
}
