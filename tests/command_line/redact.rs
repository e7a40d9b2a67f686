//! `heaplake redact`: analyses of a snapshot and of its redaction give the same sizes; outputs, keys and checks.

use super::common::stdout;
use heaplake_schemas::{classes, nodes};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake};
use heaplake_support::table::Table;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// `heaplake redact INPUT -o OUTPUT`.
fn redact(input: &Path, output: &Path) -> assert_cmd::Command {
    let mut command = heaplake();
    command.arg("redact").arg(input).arg("-o").arg(output);
    command
}

/// Tables of the analysis of an input: nodes, classes.
fn tables(lake: &Lake, input: &Path, name: &str) -> [Table; 2] {
    lake.analyze(input).args(["--snapshot", name]).assert().success();
    let run = lake.runs().into_iter().find(|run| run.ends_with(format!("snapshot={name}"))).unwrap();
    [nodes::TABLE.file, classes::TABLE.file].map(|file| Table::read(&run, file))
}

/// Names of classes and their figures, sorted.
fn of_classes(table: &Table) -> Vec<(String, [Option<u64>; 3])> {
    let figures = ["count", "shallow_bytes", "retained_bytes"].map(|column| table.u64s(column));
    let rows = table.strings("class").into_iter().enumerate();
    let mut rows: Vec<_> = rows.map(|(row, class)| (class, figures.each_ref().map(|column| column[row]))).collect();
    rows.sort();
    rows
}

#[test]
fn sizes_and_classes_of_a_redacted_snapshot_are_those_of_the_original() {
    for name in [
        "v8/small_internals_numeric.heapsnapshot.zst",
        "v8/node24_numeric.heapsnapshot.zst",
        "v8/chromium138_dom.heapsnapshot.zst",
        "jvm/dupfix.hprof.zst",
        "jvm/hello-live.hprof.zst",
        "jvm/headers-compact.hprof.zst",
    ] {
        let lake = Lake::new();
        let original = fixtures::path(name);
        for texts in ["hash", "none"] {
            let redacted =
                lake.folder().join(format!("{texts}.{}", name.rsplit_once('.').unwrap().0.replace('/', "-")));
            redact(&original, &redacted).args(["--texts", texts]).assert().success();
            let (before, after) = (tables(&lake, &original, "a"), tables(&lake, &redacted, texts));
            for column in ["id", "shallow_bytes", "retained_bytes"] {
                assert_eq!(before[0].u64s(column), after[0].u64s(column), "{name} {texts} {column}");
            }
            assert_eq!(before[0].u32s("dominator"), after[0].u32s("dominator"), "{name} {texts}");
            assert_eq!(of_classes(&before[1]), of_classes(&after[1]), "{name} {texts}");
        }
    }
}

#[test]
fn outputs_are_replaced_only_on_request_and_never_the_input() {
    let lake = Lake::new();
    let input = lake.input("app.hprof", &fixtures::content("jvm/dupfix.hprof"));
    let output = lake.folder().join("out.hprof");
    let text = stdout(redact(&input, &output).arg("--quiet"));
    assert_eq!(text, "");
    let first = fs::read(&output).unwrap();
    assert_eq!(first.len() as u64, fs::metadata(&input).unwrap().len());
    let (cause, advice) = diagnostic(&mut redact(&input, &output), 2);
    assert!(cause.ends_with("this file exists") && advice.contains("--force"), "{cause} {advice}");
    diagnostic(redact(&input, &input).arg("--force"), 2);
    let text = stdout(redact(&input, &output).arg("--force"));
    assert!(text.contains("byte arrays") && text.contains("boxed values"), "{text}");
    assert_ne!(fs::read(&output).unwrap(), first, "another random key");
    let cut = lake.input("cut.hprof", &first[..first.len() / 2]);
    let (cause, _) = diagnostic(redact(&cut, &output).arg("--force"), 1);
    assert!(cause.contains("cut.hprof: byte "), "{cause}");
    let there: Vec<PathBuf> = fs::read_dir(lake.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(there.len(), 3, "{there:?}");
}

#[test]
fn a_key_is_made_once_and_gives_the_same_masks_of_streams_and_compressed_files() {
    let lake = Lake::new();
    let content = fixtures::content("v8/small.heapsnapshot");
    let input = lake.input("a.heapsnapshot", &content);
    let (key, at) = (lake.folder().join("key"), |name: &str| lake.folder().join(name));
    redact(&input, &at("1")).arg("--key").arg(&key).assert().success();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    redact(&fixtures::path("v8/small.heapsnapshot.zst"), &at("2.zst")).arg("--key").arg(&key).assert().success();
    redact(Path::new("-"), &at("3")).arg("--key").arg(&key).write_stdin(content).assert().success();
    let first = fs::read(at("1")).unwrap();
    assert!(zstd::decode_all(fs::File::open(at("2.zst")).unwrap()).unwrap() == first);
    assert!(fs::read(at("3")).unwrap() == first);
    fs::write(&key, "short").unwrap();
    let (cause, _) = diagnostic(redact(&input, &at("4")).arg("--key").arg(&key), 2);
    assert!(cause.contains("this is no key"), "{cause}");
}

#[test]
fn a_check_finds_secrets_and_never_prints_them() {
    let lake = Lake::new();
    let mut content = fixtures::content("v8/small.heapsnapshot");
    let end = content.iter().rposition(|&byte| byte == b']').unwrap();
    content.splice(end..end, *b",\"mail to bob.b@example.com\",\"4111 1111 1111 1111\"");
    let input = lake.input("a.heapsnapshot", &content);
    let check = |input: &Path| {
        let mut command = heaplake();
        command.arg("redact").arg("--check").arg(input);
        command
    };
    let output = check(&input).assert().code(1).get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("card numbers, first at bytes") && !text.contains("bob") && !text.contains("4111"), "{text}");
    let redacted = lake.folder().join("b.heapsnapshot");
    redact(&input, &redacted).assert().success();
    assert!(stdout(&mut check(&redacted)).contains("no secrets found"));
    assert_eq!(answer(check(&redacted).arg("--json"))["found"], serde_json::json!({}));
}
