//! Error messages of gates.

use crate::gates::Gates;
use std::fs;

fn diagnostic(written: &str) -> String {
    let error = Gates::parse_expressions(&[written.to_owned()]).unwrap_err();
    format!("{}\n  -> {}\n", error.cause, error.advice)
}

fn diagnostics(written: &[&str]) -> String {
    written.iter().map(|written| diagnostic(written) + "\n").collect()
}

#[test]
fn names() {
    insta::assert_snapshot!(diagnostics(&[
        "class ~ \"^app\" and retained_byte.delta > 5",
        "retained_bytes.deltapercent > 5",
        "retained_bytes > 5",
        "klass = \"a\"",
        "chain: share > 0.5",
        "chains: grew_thru ~ \"a\"",
        "zzz > 1",
        "a.b.c > 1",
    ]));
}

#[test]
fn syntax() {
    insta::assert_snapshot!(diagnostics(&[
        "",
        "   ",
        "class ~ \"a",
        "q <",
        "q < 0.05 and",
        "(q < 0.05",
        "q < 0.05)",
        "q < 0.05 p < 0.05",
        "q < 0.05 && p < 0.05",
        "q < 0.05 || p < 0.05",
        "!(q < 0.05)",
        "q < 0.05 -- comment",
        "q < 0.05; drop table classes",
        "retained_bytes.delta > 10MiBs",
        "class = \"a\" AND\n  retained_bytes.delta >> 5",
        "class in ()",
        "class[1] = 'a'",
        "class like signature",
        "`class` = 'a'",
    ]));
}

#[test]
fn types() {
    insta::assert_snapshot!(diagnostics(&[
        "class > 5",
        "retained_bytes.delta ~ \"5\"",
        "class ~ signature",
        "class ~ \"(a\"",
        "class ~ \"\\w{1000}{1000}\"",
        "retained_bytes.delta",
        "not class",
        "class + 1 > 2",
        "q = null",
        "1 < retained_bytes.delta < 5",
        "(q < 1) in (true)",
        "abs(retained_bytes.delta) > 5",
        "cast(class as int) > 5",
        "case when true then true else false end",
        "exists (select 1)",
        "class = (select 1)",
        "q > 1e999",
    ]));
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gates.toml");
    let mut said = String::new();
    for text in [
        "gates = []",
        "gate = 1",
        "[[gate]]\nname = 'a'",
        "[[gate]]\nfail_if = 'q < 1'",
        "[[gate]]\nname = 'a'\nfail_if = ''",
        "[[gate]]\nname = 'a'\nfail_if = 1",
        "[[gate]]\nname = 'a'\ntable = 'clases'\nfail_if = 'q < 1'",
        "[[gate]]\nname = 'a'\nfailif = 'q < 1'",
        "[[gate]]\nname = 'a'\nfail_if = 'q < 1'\n[[gate]]\nname = 'a'\nfail_if = 'q < 1'",
        "[[gate]]\nname = 'a'\n\nfail_if = '''\nq < 1 and\nshar > 1'''\ntable = 'chains'",
        "[[gate]",
    ] {
        fs::write(&file, text).unwrap();
        let error = Gates::from_toml(&file).unwrap_err();
        let cause = error.cause.replace(&file.display().to_string(), "gates.toml");
        said += &format!("{cause}\n  -> {}\n\n", error.advice);
    }
    fs::write(&file, b"a = '\xff'").unwrap();
    assert!(Gates::from_toml(&file).unwrap_err().cause.ends_with("line 1: expected UTF-8, found other bytes"));
    fs::remove_file(&file).unwrap();
    assert!(Gates::from_toml(&file).unwrap_err().cause.contains("cannot read"));
    insta::assert_snapshot!(said);
}

/// Runs with the stack of a main thread: the unoptimised parser needs more than a test thread has.
#[test]
fn hostile_expressions_end_soon() {
    std::thread::Builder::new().stack_size(8 << 20).spawn(hostile_expressions).unwrap().join().unwrap();
}

fn hostile_expressions() {
    let deep = |open: &str, middle: &str, close: &str, times: usize| {
        format!("{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    for bad in [
        "a".repeat(10 << 20),
        "\"".repeat(10 << 20),
        deep("(", "true", ")", 5_000),
        deep("(", "true", ")", 450),
        deep("not ", "q", "", 3000),
        deep("-", "1 > 0", "", 4000),
        format!("true{}", " and true".repeat(1500)),
        format!("1{} > 0", " + 1".repeat(4000)),
        format!("class ~ \"{}\"", "(a*)*".repeat(3000)),
        format!("class ~ \"{}\"", "(".repeat(10_000)),
        "class ~ \"(\\\\pL{1000}){1000}\"".to_owned(),
        format!("true{}", " in (true, true)".repeat(100)),
        format!("1{} > 0", " between 1 and 2".repeat(200)),
        deep("(((", "", "", 13),
        deep("if(", "1", ")", 200),
        deep("case ", "1", " end", 40),
        "\u{0}\u{202e}".to_owned(),
    ] {
        let shown = bad.chars().take(40).collect::<String>();
        let Err(error) = Gates::parse_expressions(&[bad]) else { panic!("{shown} … is no expression") };
        assert!(error.cause.len() < 2000 && !error.cause.contains(['\u{0}', '\u{202e}']), "{error}");
    }
    // Expressions within the bounds parse, in about the same time.
    let wide = format!("class in ({}\"a\")", "\"a\", ".repeat(480));
    for good in [deep("(", "true", ")", 30), format!("true{}", " and true".repeat(490)), wide] {
        Gates::parse_expressions(&[good]).unwrap();
    }
    // Processor time in nanoseconds: wall time depends on other processes.
    let work = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let work: u64 = work.split(' ').next().unwrap().parse().unwrap();
    assert!(work < 60_000_000_000, "{work}");
    let many = vec!["true".to_owned(); 1001];
    assert!(Gates::parse_expressions(&many).unwrap_err().cause.starts_with("expected at most 1000 gates"));
}
