//! Output formats.

use crate::shared::{fleet, json, rows, sql};
use heaplake_support::lake::diagnostic;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

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
    // A failing statement keeps the previous file, and leaves nothing else.
    let before = fs::read(&path).unwrap();
    let fails = ["SELECT arrow_cast(class, 'Int64') FROM classes", "--format", "parquet", "--out", out];
    diagnostic(&mut sql(&lake.path(), &fails), 2);
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
    diagnostic(&mut sql(&lake.path(), &["SELECT 1; SELECT 2", "--format", "csv"]), 2);
}

#[test]
fn statements_come_from_standard_input_too() {
    let lake = fleet();
    let output = sql(&lake.path(), &[]).write_stdin("SELECT 'a' AS b;\n").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "b\n-\na\n(1 row)\n");
    diagnostic(sql(&lake.path(), &[]).write_stdin(" ; "), 2);
}

#[test]
fn a_terminal_obeys_nothing_of_a_name() {
    let lake = fleet();
    let output = sql(&lake.path(), &["SELECT chr(27) || '[2J' AS name"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains('['));
}

#[test]
fn answers_go_through_pipes_and_devices_and_keep_the_mode_of_files() {
    let lake = fleet();
    let at = |name: &str| lake.folder().join(name);
    let to =
        |name: &str| sql(&lake.path(), &["SELECT 'it' AS b", "--format", "csv", "--out", at(name).to_str().unwrap()]);
    fs::write(at("file"), "before").unwrap();
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o604)).unwrap();
    symlink("file", at("link")).unwrap();
    to("link").assert().success().stdout("");
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "b\nit\n");
    assert_eq!(fs::metadata(at("file")).unwrap().permissions().mode() & 0o777, 0o604);
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let reader = Command::new("cat").arg(at("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    to("pipe").assert().success();
    assert_eq!(reader.wait_with_output().unwrap().stdout, b"b\nit\n");
    let (cause, _) = diagnostic(&mut to("."), 2);
    assert!(cause.ends_with("cannot write: this is a folder"), "{cause}");
    for (name, minor) in [("null", "3"), ("full", "7")] {
        let made = Command::new("mknod").args(["-m", "666"]).arg(at(name)).args(["c", "1", minor]).output().unwrap();
        if !made.status.success() || fs::File::options().write(true).open(at(name)).is_err() {
            eprintln!("SKIPPED: devices cannot be made and opened here");
            return;
        }
    }
    to("null").assert().success();
    let (cause, _) = diagnostic(&mut to("full"), 3);
    assert!(cause.contains("full: cannot write: No space left on device"), "{cause}");
    assert!(["null", "full"].iter().all(|name| fs::metadata(at(name)).unwrap().file_type().is_char_device()));
}
