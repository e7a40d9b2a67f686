//! Tests the verdicts of gates on tables.

use super::comparison::{check, gates};
use super::diff_tables::Cell::{Real, Text, Truth, Whole};
use super::diff_tables::{Row, comparison, row, write};
use crate::gates::junit::junit;
use crate::gates::markdown::markdown;
use crate::gates::{Gates, Outcome, Undecided};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_schemas::diff::{CHAINS, CLASSES};
use std::fs;
use std::sync::atomic::AtomicBool;

fn class(name: &'static str, base: i64, target: i64, q: Option<f64>, effect: Option<f64>) -> Row {
    let delta = target - base;
    let mut cells = vec![
        ("class", Text(name)),
        ("signature", Text(name)),
        ("status", Text(if delta > 0 { "grew" } else { "same" })),
        ("base_mean_retained_bytes", Whole(base)),
        ("target_mean_retained_bytes", Whole(target)),
        ("delta_mean_retained_bytes", Whole(delta)),
        ("delta_sum_retained_bytes", Whole(delta)),
    ];
    if base > 0 || delta > 0 {
        let percent = if base > 0 { 100.0 * delta as f64 / base as f64 } else { f64::INFINITY };
        cells.push(("percent_sum_retained_bytes", Real(percent)));
    }
    cells.extend(q.map(|q| ("q_retained_bytes", Real(q))));
    cells.extend(effect.map(|effect| ("smallest_effect_retained_bytes", Real(effect))));
    row(&cells)
}

fn classes() -> Vec<Row> {
    let mut leak = class("app.Leak", 1 << 20, 3 << 20, Some(0.001), Some(4096.0));
    leak.extend(row(&[("grew_through_text", Text("root › app.Cache › app.Leak")), ("grew_through_new", Truth(true))]));
    vec![
        leak,
        class("app.<b>|`x`", 0, 1 << 20, Some(0.01), Some(8192.0)),
        class("lib.Pool", 1 << 20, 2 << 20, Some(0.001), Some(100.0)),
        class("app.Same", 5000, 5000, Some(1.0), Some(1024.0)),
        class("app.Noise", 5000, 6000, Some(0.6), Some(2048.0)),
    ]
}

#[test]
fn the_example_of_the_manual() {
    let folder = comparison(5);
    write(folder.path(), &CLASSES, &classes());
    let verdicts =
        check(&gates(&[r#"class ~ "^app" and retained_bytes.delta_percent > 5 and q < 0.05"#]), folder.path());
    let [verdict] = &verdicts.gates[..] else { panic!("one gate") };
    // Growth from 0 is infinite in percent.
    assert_eq!((verdict.outcome, verdict.rows, verdict.watched, verdict.failing), (Outcome::Failed, 5, 4, 2));
    assert_eq!(verdict.undecided, 0);
    assert_eq!(verdict.found[0].subject, "app.Leak");
    assert_eq!(verdict.found[0].grew_through.as_deref(), Some("root › app.Cache › app.Leak"));
    assert!(!verdicts.pass());
    let sensitivity = verdict.sensitivity.as_ref().unwrap();
    assert_eq!((sensitivity.rows, sensitivity.median, sensitivity.greatest), (4, 4096.0, 8192.0));
}

/// Number of rows for which an expression is true.
fn failing(rows: &[Row], expression: &str) -> u64 {
    let folder = comparison(5);
    write(folder.path(), &CLASSES, rows);
    check(&gates(&[expression]), folder.path()).gates[0].failing
}

#[test]
fn operators() {
    let rows = classes();
    for (expression, expected) in [
        ("true", 5),
        ("not true", 0),
        ("class !~ \"^app\"", 1),
        ("class ~* '^APP\\.l'", 1),
        ("not class ~ '^app' and q < 0.05", 1),
        ("class = 'app.Same' or class = 'lib.Pool' and q = 1", 1),
        ("(class = 'app.Same' or class = 'lib.Pool') and q < 1", 1),
        ("retained_bytes.delta > 1MiB", 1),
        ("retained_bytes.delta >= 1MiB", 3),
        ("retained_bytes.delta >= 0.5MiB", 3),
        ("retained_bytes.delta = 1kb", 1),
        ("delta_retained_bytes > 1048576", 1),
        ("retained_bytes.target - retained_bytes.base = retained_bytes.delta", 5),
        ("retained_bytes.delta / retained_bytes.base > 1.5", 1),
        ("retained_bytes.delta / 0 > 1 or retained_bytes.delta % 0 = 0", 0),
        ("-retained_bytes.delta < -1MiB", 1),
        ("retained_bytes.base % 1000 = 0", 3),
        ("2 + 3 * 4 = 14", 5),
        ("status in ('grew', 'appeared')", 4),
        ("status not in ('grew', 'appeared')", 1),
        ("q between 0.005 and 0.6", 2),
        ("q not between 0.005 and 0.6", 3),
        ("retained_bytes.shift is null", 5),
        ("retained_bytes.percent is not null", 5),
        // A comparison with a null is null, and so is its negation.
        ("retained_bytes.shift > 5", 0),
        ("not retained_bytes.shift > 5", 0),
        // A new subject has grown infinitely.
        ("retained_bytes.percent > 5", 4),
        ("retained_bytes.percent > 5 %", 4),
        ("retained_bytes.percent > 5 % and retained_bytes.delta > 1.5 MiB", 1),
        ("(retained_bytes.percent > 1000 %) or false", 1),
        ("not retained_bytes.delta_percent > 5", 1),
        ("class like 'app.%'", 4),
        ("class not like '%ea_'", 4),
        ("class ilike 'APP.leak'", 1),
        ("class like 'app'", 0),
        ("grew_through_new", 1),
        ("not grew_through_new", 0),
        ("grew_through_new = true and grew_through_text ~ 'Cache'", 1),
        ("class < 'app.M'", 2),
        ("'a\"b' = \"a\"\"b\"", 5),
        ("class = 'app.Leak' AND NOT status = 'same'", 1),
        ("base_runs = 1 and target_runs <> 2", 5),
        ("fingerprint == 1", 5),
        ("9007199254740993 > 9007199254740992", 5),
        ("170141183460469231731687303715884105727 + 1 > 1.0e38", 5),
    ] {
        assert_eq!(failing(&rows, expression), expected, "{expression}");
    }
}

#[test]
fn without_statistics_gates_say_so() {
    let folder = comparison(1);
    write(folder.path(), &CLASSES, &[class("a", 1, 1 << 30, None, None)]);
    let verdicts = check(&gates(&["retained_bytes.delta > 1 and q < 0.05", "class = 'b' and q < 1"]), folder.path());
    let [statistic, nothing] = &verdicts.gates[..] else { panic!("two gates") };
    assert_eq!((statistic.outcome, statistic.undecided, &statistic.sensitivity), (Outcome::Undecided, 1, &None));
    let remarks = statistic.remarks().join("; ");
    assert!(remarks.contains("cannot be decided: there are too few runs"), "{remarks}");
    assert!(!verdicts.pass() && verdicts.fail());
    let allowed = gates(&["q < 0.05", "retained_bytes.delta > 1 GiB"]).when_undecided(Undecided::Pass);
    assert!(check(&allowed, folder.path()).pass());
    // Conditions decided without the statistic are decided.
    assert!(check(&gates(&["retained_bytes.delta > 2GiB and q < 0.05"]), folder.path()).pass());
    assert_eq!((nothing.watched, nothing.remarks().len()), (0, 1));
    assert!(nothing.remarks()[0].contains("watches no row"));
}

#[test]
fn a_table_that_is_missing_does_not_pass() {
    let folder = comparison(1);
    write(folder.path(), &CLASSES, &classes());
    let verdicts = check(&gates(&["chains: share > 0.9", "retained_bytes.delta > 1TiB"]), folder.path());
    assert_eq!(verdicts.gates.iter().map(|gate| gate.outcome).collect::<Vec<_>>(), [Outcome::Unknown, Outcome::Passed]);
    assert!(!verdicts.pass());
    assert!(verdicts.gates[0].remarks()[0].contains("no table chains"));
}

#[test]
fn the_first_twenty_rows_are_kept_and_all_are_counted() {
    let folder = comparison(2);
    let rows: Vec<Row> = (0..20_000).map(|at| class("a", 1000, 100_000 - at, Some(0.5), None)).collect();
    write(folder.path(), &CLASSES, &rows);
    let verdicts = check(&gates(&["retained_bytes.target < 99950"]), folder.path());
    let verdict = &verdicts.gates[0];
    assert_eq!((verdict.failing, verdict.found.len()), (20_000 - 51, 20));
    assert_eq!(verdict.found[0].target, Some(99_949));
}

#[test]
fn memory_is_counted_and_a_stop_is_obeyed() {
    let folder = comparison(3);
    let rows: Vec<Row> = (0..20_000).map(|at| class("a", 1, at, Some(0.5), Some(1.0))).collect();
    write(folder.path(), &CLASSES, &rows);
    let check = |bytes, cancel| {
        let context =
            Context { budget: Budget::new(bytes), threads: 1, progress: &Silent, cancel: &AtomicBool::new(cancel) };
        gates(&["false"]).check(folder.path(), &context)
    };
    assert!(check(256 << 10, false).is_ok());
    assert!(matches!(check(64 << 10, false), Err(StageError::Budget { .. })));
    assert!(matches!(check(1 << 20, true), Err(StageError::Cancelled)));
    fs::write(folder.path().join(CLASSES.table.file), "no table").unwrap();
    assert!(matches!(check(1 << 20, false), Err(StageError::Table { .. })));
    fs::remove_file(folder.path().join("diff.json")).unwrap();
    assert!(matches!(check(1 << 20, false), Err(StageError::Io { .. })));
}

fn of_all_kinds() -> Gates {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gates.toml");
    let text = r#"
[[gate]]
name = "app classes & their <size>"
fail_if = 'class ~ "^app" and retained_bytes.delta >= 1MiB and q < 0.05'
message = "ask @team, see #12"

[[gate]]
name = "new paths"
table = "chains"
fail_if = "status = 'new_path' and share > 0.5"

[[gate]]
name = "nothing grows by a gibibyte"
fail_if = "retained_bytes.delta > 1GiB"

[[gate]]
name = "owners"
table = "owners"
fail_if = "retained_bytes.delta > 1MiB"
"#;
    fs::write(&file, text).unwrap();
    Gates::from_toml(&file).unwrap()
}

#[test]
fn verdicts_for_build_servers() {
    let folder = comparison(5);
    write(folder.path(), &CLASSES, &classes());
    write(folder.path(), &CHAINS, &[]);
    let verdicts = check(&of_all_kinds(), folder.path());
    insta::assert_snapshot!("junit", junit(&verdicts).unwrap());
    insta::assert_snapshot!("markdown", markdown(&verdicts));
    assert_eq!(serde_json::to_value(&verdicts).unwrap()["gates"][0]["outcome"], "failed");
}
