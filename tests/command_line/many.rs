//! Many inputs in one call: several are processed at a time, without a visible difference.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Small inputs of several formats: good ones, copies, a damaged one and one of another kind.
fn night(folder: &Path) {
    let of = |name: &str| fixtures::content(name);
    let good = ["v8/pairs_node20.heapsnapshot", "v8/steps_base.heapsnapshot", "v8/steps_target.heapsnapshot"].map(of);
    for host in 0..4 {
        let host = folder.join(format!("host{host}"));
        fs::create_dir_all(&host).unwrap();
        for (nth, content) in good.iter().enumerate() {
            fs::write(host.join(format!("{nth}.heapsnapshot")), content).unwrap();
        }
        fs::write(host.join("3.heapsnapshot"), &good[0][..good[0].len() / 2]).unwrap();
        fs::write(host.join("4.heapsnapshot"), b"PK\x03\x04").unwrap();
        fs::write(host.join("5.hprof"), of("jvm/dupfix.hprof")).unwrap();
        fs::copy(fixtures::v8("resources26"), host.join("6.heapsnapshot.zst")).unwrap();
    }
}

/// Status, input and kind of failure of each input, and the bytes of all tables without times.
type Made = (Vec<[String; 3]>, BTreeMap<String, Vec<u8>>);

fn analyse(lake: &Lake, night: &Path, more: &[&str]) -> Made {
    let mut command = heaplake();
    command.arg("analyze").arg(night).arg("--out").arg(lake.path()).args(["--quiet", "--json", "--edges"]).args(more);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reports: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let told = reports.iter().map(|it| ["status", "input", "kind"].map(|name| text(&it[name]))).collect();
    assert_eq!(lake.leftovers(), Vec::<std::path::PathBuf>::new());
    let mut files = BTreeMap::new();
    for run in lake.runs() {
        for file in fs::read_dir(&run).unwrap().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name != "snapshot.parquet" && name != "run.json" {
                let run = run.file_name().unwrap().to_string_lossy().into_owned();
                files.insert(format!("{run}/{name}"), fs::read(file.path()).unwrap());
            }
        }
    }
    (told, files)
}

#[test]
fn inputs_side_by_side_become_what_they_become_one_after_the_other() {
    let inputs = Lake::new();
    night(inputs.folder());
    let (told, files) = analyse(&Lake::new(), inputs.folder(), &["--threads", "1"]);
    assert_eq!(told.len(), 28);
    let count = |status: &str| told.iter().filter(|it| it[0] == status).count();
    assert_eq!((count("committed"), count("unchanged"), count("failed")), (5, 15, 8));
    for more in
        [&["--threads", "4", "--memory", "1GiB"][..], &["--threads", "2"], &["--threads", "7", "--memory", "128MiB"]]
    {
        let (again, made) = analyse(&Lake::new(), inputs.folder(), more);
        assert_eq!(again, told, "{more:?}");
        assert!(made == files, "{more:?}");
    }
}

#[test]
fn lines_are_printed_in_the_order_of_the_inputs() {
    let (inputs, lake) = (Lake::new(), Lake::new());
    night(inputs.folder());
    let mut command = heaplake();
    command.arg("analyze").arg(inputs.folder()).arg("--out").arg(lake.path()).args([
        "--threads",
        "4",
        "--memory",
        "1GiB",
    ]);
    let output = command.output().unwrap();
    let (said, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(said.contains("\n28 inputs: 5 new, 15 in the lake before, 8 failed (8 damaged)\n"), "{said}");
    // A line for each input, and the table of errors.
    assert_eq!(said.lines().count(), 20 + 2 + 4, "{said}");
    let order = |text: &str, names: &[&str]| {
        let places: Vec<usize> = names.iter().map(|name| text.find(name).unwrap_or_else(|| panic!("{name}"))).collect();
        assert!(places.is_sorted(), "{names:?} {places:?}");
    };
    order(
        &said,
        &["snapshot=0-", "snapshot=1-", "snapshot=2-", "snapshot=5-", "snapshot=6-", "host1/0.heapsnapshot: in the"],
    );
    order(&errors, &["host0/3.heapsnapshot", "host0/4.heapsnapshot", "host1/3.heapsnapshot", "host3/4.heapsnapshot"]);
}
