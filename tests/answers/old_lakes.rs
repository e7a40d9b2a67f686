//! heaplake reads lakes of earlier versions.
//!
//! `tests/fixtures/version-N` was made by heaplake with schema version N. In version 1 sizes and counts are unsigned,
//! in version 2 rows have no signatures, in version 3 comparisons are wide. There is one of every version that was
//! published or used, today's included.

use heaplake_schemas::SCHEMA_VERSION;
use heaplake_support::lake::{self, Lake, diagnostic, heaplake, read_json};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const VERSIONS: [u32; 4] = [1, 2, 3, 4];

/// A copy of the lake of a version.
fn old(version: u32) -> Lake {
    let lake = Lake::new();
    copy(&fixtures().join(format!("version-{version}/lake")), &lake.path());
    lake
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Standard output of a command on a run.
fn said(command: &str, run: &Path, options: &[&str]) -> String {
    lake::said(heaplake().arg(command).arg(run).args(options))
}

fn schema_version(run: &Path) -> Value {
    let json: Value = read_json(run.join("run.json"));
    json["schema_version"].clone()
}

#[test]
fn commands_read_old_lakes() {
    for version in VERSIONS {
        let lake = old(version);
        assert_eq!(lake.runs().len(), 3);
        for run in lake.runs() {
            assert_eq!(schema_version(&run), version);
            assert!(said("show", &run, &[]).contains("(release "), "{}", run.display());
            assert!(said("report", &run, &[]).contains("report.html") || run.join("report.html").exists());
        }
        let run = lake.path().join("release=1.4/snapshot=whole");
        assert!(said("top", &run, &[]).contains("288 B         32 B           17  java.util.HashMap$Node @1048576"));
        let query = said("query", &run, &["class ~ \"HashMap\" and retained = 288 and path contains \"Node\""]);
        assert!(query.contains("java.util.HashMap$Node") && query.contains(" objects that match"), "{query}");
        let why = said("why", &run, &["@1050080"]);
        assert!(why.contains("HashMap$Node @1048576") && why.contains("com.shop.Cust @1050080"), "{why}");
        assert!(said("dominators", &run, &["@1048576"]).contains("com.shop.Cust"));
    }
}

#[test]
fn runs_of_old_versions_are_made_anew_and_never_mixed() {
    for version in VERSIONS.into_iter().filter(|&version| version != SCHEMA_VERSION) {
        let lake = old(version);
        let run = lake.path().join("release=1.4/snapshot=whole");
        let input = fixtures().join("version-1/whole.hprof");
        let options = ["--release", "1.4", "--snapshot", "whole", "--edges"];
        let (cause, advice) = diagnostic(lake.analyze(&input).args(options), 1);
        let differs = format!("differs in its schema version ({version})");
        assert!(cause.contains(&differs) && advice.contains("--force"), "{cause}\n{advice}");
        heaplake().arg("duplicates").arg(&run).arg("--input").arg(&input).arg("--quiet").assert().success();
        assert_eq!(schema_version(&run), SCHEMA_VERSION);
        assert!(said("top", &run, &[]).contains("288 B         32 B           17  java.util.HashMap$Node @1048576"));
        assert_eq!(lake.runs().len(), 3);
    }
}

/// A lake of today's version is committed for future versions, and every new file names its version.
#[test]
fn the_version_is_in_every_file_and_that_of_today_is_committed() {
    assert!(VERSIONS.contains(&SCHEMA_VERSION), "commit a lake of schema version {SCHEMA_VERSION} in tests/fixtures");
    let files = |run: &Path| fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    for version in VERSIONS {
        let lake = old(version);
        for path in lake.runs().iter().flat_map(|run| files(run)) {
            if path.extension().is_none_or(|ending| ending != "parquet") {
                continue;
            }
            let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
            let said = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
            let said =
                said.into_iter().find(|entry| entry.key == "heaplake.schema_version").and_then(|entry| entry.value);
            assert_eq!(said, Some(version.to_string()), "{}", path.display());
        }
    }
}

#[test]
fn runs_of_this_version_stand() {
    let lake = old(SCHEMA_VERSION);
    let run = lake.path().join("release=1.4/snapshot=whole");
    let before = fs::read(run.join("run.json")).unwrap();
    let input = fixtures().join("version-1/whole.hprof");
    lake.analyze(&input).args(["--release", "1.4", "--snapshot", "whole", "--edges"]).assert().success();
    assert_eq!(fs::read(run.join("run.json")).unwrap(), before);
}

#[test]
fn runs_of_newer_versions_are_refused() {
    let lake = old(SCHEMA_VERSION);
    let run = lake.path().join("release=1.4/snapshot=whole");
    let text = fs::read_to_string(run.join("run.json")).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    json["schema_version"] = Value::from(SCHEMA_VERSION + 1);
    json["heaplake_version"] = Value::from("9.0.0");
    // As a later version may write it.
    json["summary"] = Value::from("elsewhere");
    fs::write(run.join("run.json"), json.to_string()).unwrap();
    for verb in ["show", "top", "report", "duplicates"] {
        let (cause, advice) = diagnostic(heaplake().arg(verb).arg(&run), 1);
        assert!(cause.contains(&format!("schema version {}", SCHEMA_VERSION + 1)), "{verb}: {cause}");
        assert!(advice.contains("9.0.0"), "{verb}: {advice}");
    }
    let listed = heaplake().arg("ls").arg(lake.path()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("damaged") && listed.contains("schema version"), "{listed}");
}
