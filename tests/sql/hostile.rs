//! Hostile statements, files and environments: one line of cause, one of advice, in time.

use crate::shared::{fleet, sql};
use heaplake_support::cgroup::{Cgroup, ROOM};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::processes::{end, signal, wait_until_it_hears};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A join that takes hours, in an operator that never yields.
const ENDLESS: &str = "SELECT a.node FROM nodes a CROSS JOIN nodes b CROSS JOIN nodes c ORDER BY random() LIMIT 5";

#[test]
fn a_signal_ends_any_statement() {
    let lake = fleet();
    for name in ["-INT", "-TERM"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        command.args(["sql", ENDLESS, "--threads", "1", "--lake"]).arg(lake.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_hears(&mut child);
        std::thread::sleep(Duration::from_secs(3));
        signal(&child, name);
        let signalled = Instant::now();
        assert_eq!(end(&mut child).code(), Some(130), "{name}");
        assert!(signalled.elapsed() < Duration::from_secs(20), "{name}");
    }
}

#[test]
fn deep_statements_are_refused() {
    let lake = fleet();
    let nested = |open: &str, close: &str| format!("SELECT {}1{}", open.repeat(3000), close.repeat(3000));
    for text in [
        format!("SELECT {}", vec!["1"; 4000].join("+")),
        vec!["SELECT 1"; 2000].join(" UNION ALL "),
        format!("SELECT count(*) FROM runs WHERE {}", vec!["release = 'a'"; 4000].join(" OR ")),
        nested("(", ")"),
        nested("CASE WHEN true THEN ", " END"),
    ] {
        let (cause, _) = diagnostic(sql(&lake.path(), &[]).write_stdin(text), 2);
        assert!(cause.contains("too deep: expected at most 500"), "{cause}");
    }
}

#[test]
fn statements_at_the_limit_are_answered() {
    let lake = fleet();
    for text in [
        format!("SELECT {}", vec!["1"; 480].join("+")),
        vec!["SELECT 1"; 480].join(" UNION ALL "),
        format!("SELECT count(*) FROM runs WHERE {}", vec!["release = 'a'"; 240].join(" OR ")),
        format!("SELECT {}1{}", "abs(".repeat(40), ")".repeat(40)),
        format!("SELECT {}1{}", "CASE WHEN true THEN ".repeat(40), " END".repeat(40)),
        format!("SELECT count(*) FROM runs WHERE release IN ({})", vec!["'a'"; 20_000].join(", ")),
    ] {
        let output = sql(&lake.path(), &["--threads", "1"]).write_stdin(text.clone()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        // The parser has its own limit.
        let refused = output.status.code() == Some(2) && error.contains("recursion limit");
        assert!(output.status.success() || refused, "{} {:?} {error}", &text[..60], output.status);
    }
}

#[test]
fn memory_ends_in_a_sentence() {
    const BUDGET: u64 = 128 << 20;
    let lake = fleet();
    let Some(group) = Cgroup::limited_to(BUDGET + ROOM) else { return };
    let series = "FROM generate_series(1, 200000)";
    for (statement, format, answers) in [
        ("SELECT length(repeat('x', 2000000000))".to_owned(), "table", false),
        (format!("SELECT value, repeat('x', 900) AS wide {series} ORDER BY wide, value DESC"), "csv", true),
        (format!("SELECT first_value(w) OVER () FROM (SELECT repeat('x', 2000) AS w {series})"), "csv", false),
        (format!("SELECT repeat('x', 300) AS a, repeat('y', 70) AS b {series}"), "table", true),
        ("SELECT repeat('x', 9000) AS a FROM generate_series(1, 20000)".to_owned(), "json", true),
        ("SELECT * FROM nodes ORDER BY retained_bytes DESC".to_owned(), "csv", true),
    ] {
        let mut command = group.heaplake();
        command.args(["sql", &statement, "--memory", "128MiB", "--threads", "2", "--rows", "0"]);
        command.args(["--format", format, "--lake"]).arg(lake.path());
        let output = command.stdout(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let refused = output.status.code() == Some(3) && text.lines().count() == 2;
        let is_right = if answers { output.status.success() } else { refused };
        assert!(is_right, "{statement} {format}: {:?} {text} {}", output.status, group.peak());
    }
}

#[test]
fn a_small_address_space_is_told() {
    let lake = fleet();
    for kib in [500_000, 1_000_000] {
        let mut command = assert_cmd::Command::new("sh");
        let script = format!("ulimit -v {kib}; exec \"$@\"");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_heaplake"), "sql", "SELECT count(*) FROM runs"]);
        command.args(["--threads", "2", "--lake"]).arg(lake.path());
        diagnostic(&mut command, 3);
    }
}

#[test]
fn few_threads_are_told() {
    let lake = fleet();
    for most in [2, 3, 5] {
        let Some(group) = Cgroup::of_threads(most) else { return };
        let mut command = group.heaplake();
        command.args(["sql", "SELECT count(class) FROM classes", "--threads", "4", "--lake"]).arg(lake.path());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(3) && text.lines().count() == 2, "{most}: {:?} {text}", output.status);
        assert!(text.contains("gives no thread"), "{text}");
    }
}

#[test]
fn a_flipped_bit_changes_no_answer() {
    let lake = fleet();
    let statement = "SELECT * FROM classes ORDER BY release, snapshot, class_id";
    let answer = || sql(&lake.path(), &[statement, "--format", "csv", "--threads", "1"]).output().unwrap();
    let expected = answer().stdout;
    let path = lake.runs()[0].join("classes.parquet");
    let bytes = fs::read(&path).unwrap();
    let mut errors = 0;
    // All of the end with the footer, and some of the pages.
    let places = (0..12).map(|at| at * bytes.len() / 12).chain((bytes.len() - 12..bytes.len()).step_by(2));
    for at in places {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        let output = answer();
        let error = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            assert!(output.stdout == expected, "byte {at}");
        } else {
            assert!(output.status.code() == Some(1) && error.lines().count() == 2, "byte {at}: {error}");
            assert!(error.contains("classes.parquet"), "byte {at}: {error}");
            errors += 1;
        }
    }
    assert!(errors >= 15, "{errors}");
}

#[test]
fn a_lake_that_is_not_there_is_no_empty_one() {
    let (cause, _) = diagnostic(heaplake().args(["sql", "SELECT * FROM runs", "--lake", "nolake"]), 2);
    assert!(cause.starts_with("nolake: "), "{cause}");
}

#[test]
fn a_run_that_cannot_be_read_is_told_with_the_exit_code() {
    let lake = fleet();
    fs::write(lake.runs()[0].join("run.json"), "{").unwrap();
    let run = |options: &[&str]| {
        let output = sql(&lake.path(), &[&["SELECT count(*) AS n FROM runs", "--format", "csv"], options].concat());
        let output = { output }.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "n\n3\n");
        assert!(String::from_utf8_lossy(&output.stderr).contains("left out"));
        output.status.code()
    };
    assert_eq!((run(&[]), run(&["--skip-damaged"])), (Some(1), Some(0)));
}

#[test]
fn a_run_that_goes_meanwhile_ends_nothing() {
    let lake = fleet();
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.args(["sql", "--format", "csv", "--lake"]).arg(lake.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The lake is usually open by then; the answer is the same if it is not.
    std::thread::sleep(Duration::from_secs(2));
    fs::remove_dir_all(&lake.runs()[0]).unwrap();
    let statement = "SELECT count(DISTINCT snapshot) AS runs, count(class) > 0 AS some FROM classes";
    child.stdin.take().unwrap().write_all(statement.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"runs,some\n3,true\n"[..]));
}

#[test]
fn a_table_that_is_gone_is_an_error() {
    let lake: Lake = fleet();
    fs::remove_file(lake.runs()[0].join("classes.parquet")).unwrap();
    let (cause, _) = diagnostic(&mut sql(&lake.path(), &["SELECT count(class) FROM classes"]), 1);
    assert!(cause.contains("classes.parquet"), "{cause}");
}

#[test]
fn a_table_or_description_of_another_run_is_not_believed() {
    let lake = fleet();
    let runs = lake.runs();
    let table = runs[0].join("classes.parquet");
    let whole = fs::read(&table).unwrap();
    // No page's checksum covers this byte.
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    for (content, said) in [(flipped, "XXH3-64"), (fs::read(runs[1].join("owners.parquet")).unwrap(), "bytes")] {
        fs::write(&table, content).unwrap();
        let (cause, _) = diagnostic(&mut sql(&lake.path(), &["SELECT count(class) FROM classes"]), 1);
        assert!(cause.contains("classes.parquet") && cause.contains(said), "{cause}");
    }
    fs::remove_file(&table).unwrap();
    std::os::unix::fs::symlink(runs[1].join("classes.parquet"), &table).unwrap();
    diagnostic(&mut sql(&lake.path(), &["SELECT count(class) FROM classes"]), 1);
    fs::remove_file(&table).unwrap();
    fs::write(&table, &whole).unwrap();
    let path = runs[0].join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"rows\":", "\"rows\":9", 1)).unwrap();
    let output = sql(&lake.path(), &["SELECT count(*) AS n FROM runs", "--format", "csv"]).output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b"n\n3\n"[..]));
    fs::write(&path, text).unwrap();
    sql(&lake.path(), &["SELECT count(class) FROM classes"]).assert().success();
}

#[test]
fn what_is_wrong_with_a_statement_is_no_damage() {
    let lake = fleet();
    for (statement, said) in [
        ("SELECT regexp_replace(class, '(', '') FROM classes", "regex"),
        ("SELECT * FROM clases", "the nearest: classes"),
        (
            "SELECT sum(count) OVER (ORDER BY count RANGE BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 \
             FOLLOWING) FROM classes",
            "",
        ),
    ] {
        let output = sql(&lake.path(), &[statement]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let answered = said.is_empty() && output.status.success();
        assert!(answered || output.status.code() == Some(2) && error.contains(said), "{statement}: {error}");
    }
    let (cause, _) = diagnostic(&mut sql(&lake.path(), &["--named", "largest-class"]), 2);
    assert!(cause.contains("the nearest: largest-classes"), "{cause}");
    let (cause, _) = diagnostic(&mut sql(&lake.path(), &["--named", "largest-classes", "--param", "limti=3"]), 2);
    assert!(cause.contains("the nearest: limit"), "{cause}");
    // An output must not be a file of a run.
    let run = lake.runs()[0].clone();
    let table = run.join("classes.parquet").display().to_string();
    let (cause, _) = diagnostic(&mut sql(&lake.path(), &["SELECT 1", "--format", "parquet", "--out", &table]), 2);
    assert!(cause.contains("a file of a run"), "{cause}");
}
