//! Users' files beside heaplake's: they stay, or the command names them and changes nothing.

use crate::common::{add, command, files, json};
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A lake of four releases with a run each.
fn lake() -> (Lake, Vec<PathBuf>) {
    let lake = Lake::new();
    let runs = (1..5).map(|release| add(&lake.path(), (&release.to_string(), "a", None), release)).collect();
    (lake, runs)
}

/// Everything below a folder: files with their contents, links with their targets.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        if path.is_symlink() {
            all.insert(path.clone(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            all.insert(path.clone(), Vec::new());
            all.extend(everything(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Commands that write a folder, and the names of their manifests.
fn writers(runs: &[PathBuf], out: &Path) -> [(assert_cmd::Command, &'static str); 2] {
    let mut diff = heaplake();
    diff.arg("diff").args(&runs[..2]).arg("--out").arg(out).arg("--quiet");
    let mut trend = heaplake();
    trend.arg("trend").args(&runs[..3]).arg("--out").arg(out).arg("--quiet");
    [(diff, "diff.json"), (trend, "trend.json")]
}

#[test]
fn comparisons_leave_what_they_did_not_write() {
    let (lake, runs) = lake();
    for at in 0..2 {
        let out = lake.folder().join(format!("out{at}"));
        let run = || writers(&runs, &out).into_iter().nth(at).unwrap();
        let (mut first, manifest) = run();
        let prefix = manifest.replace(".json", "_");
        fs::create_dir(&out).unwrap();
        // Files of the user with names similar to tables.
        let mine = [format!("{prefix}notes.txt"), format!("{prefix}mine.parquet"), "notes.txt".to_owned()];
        mine.iter().for_each(|name| fs::write(out.join(name), "mine").unwrap());
        first.assert().success();
        let written = names(&out);
        run().0.assert().success();
        assert_eq!(names(&out), written);
        assert!(mine.iter().all(|name| fs::read(out.join(name)).unwrap() == b"mine"));
        // A table in the manifest that is no longer written is removed; entries outside the folder are ignored.
        let path = out.join(manifest);
        let mut listing: Value = read_json(&path);
        let precious = lake.input("diff_precious.parquet", b"precious");
        fs::write(out.join(format!("{prefix}old.parquet")), "").unwrap();
        symlink(&precious, out.join(format!("{prefix}link.parquet"))).unwrap();
        for file in [
            format!("{prefix}old.parquet"),
            format!("{prefix}link.parquet"),
            "notes.txt".into(),
            "../diff_precious.parquet".into(),
            precious.display().to_string(),
        ] {
            listing["tables"].as_array_mut().unwrap().push(serde_json::json!({"file": file, "rows": 0, "bytes": 0}));
        }
        fs::write(&path, listing.to_string()).unwrap();
        run().0.assert().success();
        let left: Vec<String> = names(&out).into_iter().filter(|name| !name.ends_with("link.parquet")).collect();
        assert_eq!(left, written);
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        // Without a valid manifest, tables are the user's files, and so is an invalid manifest.
        for (name, text) in [(&*prefix, None), (manifest, Some("{\"input\": \"src/main.js\"}"))] {
            let before = fs::read(&path).unwrap();
            text.map_or_else(|| fs::remove_file(&path), |text| fs::write(&path, text)).unwrap();
            let there = everything(&out);
            let (cause, advice) = diagnostic(&mut run().0, 2);
            assert!(cause.starts_with(&out.join(name).display().to_string()), "{cause}");
            assert!(advice.starts_with("move it away"), "{advice}");
            assert!(everything(&out) == there);
            fs::write(&path, before).unwrap();
        }
    }
}

#[test]
fn a_rollup_leaves_what_it_did_not_write() {
    let (lake, runs) = lake();
    let out = lake.folder().join("out");
    let rollup = || {
        let mut command = heaplake();
        command.args(["fleet", "rollup", "--quiet"]).arg(lake.path()).arg("--out").arg(&out);
        command
    };
    let mine = ["group-photos", "group-0123456789abcdef"];
    for name in mine {
        fs::create_dir_all(out.join(name)).unwrap();
        fs::write(out.join(name).join("beach.jpg"), "mine").unwrap();
    }
    rollup().assert().success();
    let groups: Vec<String> =
        names(&out).into_iter().filter(|name| name.starts_with("group-") && !mine.contains(&name.as_str())).collect();
    assert_eq!(groups.len(), 4);
    // A removed group keeps the user's file in it.
    fs::write(out.join(&groups[0]).join("notes.txt"), "mine").unwrap();
    for run in &runs {
        fs::remove_dir_all(run).unwrap();
    }
    add(&lake.path(), ("5", "a", None), 9);
    rollup().assert().success();
    assert_eq!(names(&out.join(&groups[0])), ["notes.txt"]);
    assert!(groups[1..].iter().all(|group| !out.join(group).exists()));
    assert!(mine.iter().all(|name| fs::read(out.join(name).join("beach.jpg")).unwrap() == b"mine"));
    // An obstacle in the place of a group is named, and so is a rollup.json of another program.
    let is_new = |name: &String| name.starts_with("group-") && !mine.contains(&name.as_str()) && *name != groups[0];
    let group = out.join(names(&out).into_iter().find(is_new).unwrap());
    let description = fs::read(out.join("rollup.json")).unwrap();
    for (named, text) in [(&group, None), (&out.join("rollup.json"), Some("{\"input\": \"src/main.js\"}"))] {
        text.map_or_else(|| fs::remove_file(out.join("rollup.json")), |text| fs::write(out.join("rollup.json"), text))
            .unwrap();
        let there = everything(&out);
        let (cause, _) = diagnostic(&mut rollup(), 2);
        assert!(cause.starts_with(&named.display().to_string()), "{cause}");
        assert!(everything(&out) == there);
    }
    fs::write(out.join("rollup.json"), description).unwrap();
    rollup().assert().success();
}

#[test]
fn a_run_with_a_file_of_the_user_is_neither_dropped_nor_taken_away() {
    let (lake, runs) = lake();
    let notes = runs[0].join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let before = files(&lake.path());
    let drop = || json(command("drop").arg(lake.path()).args(["--release", "1", "--yes"]), 2);
    assert_eq!(drop()["runs"][0]["dropped"], false);
    let (cause, advice) = diagnostic(command("drop").arg(lake.path()).args(["--release", "1", "--yes"]), 2);
    assert_eq!(cause, format!("{}: heaplake did not write this, and it would go with the run", notes.display()));
    assert!(advice.starts_with("move it out"), "{advice}");
    let other = lake.folder().join("other");
    let merged = command("merge").arg(&runs[0]).arg("--out").arg(&other).args(["--move", "--quiet"]).output().unwrap();
    assert!(!merged.status.success() && String::from_utf8_lossy(&merged.stderr).contains("notes.txt"));
    assert!(files(&lake.path()) == before && files(&other).is_empty());
    // The others are dropped, and so is this one once the file is out of it.
    json(command("drop").arg(lake.path()).args(["*", "--yes"]), 2);
    assert_eq!(lake.runs(), [runs[0].clone()]);
    fs::rename(&notes, lake.folder().join("notes.txt")).unwrap();
    json(command("drop").arg(lake.path()).args(["*", "--yes"]), 0);
    lake.assert_empty();
}

#[test]
fn what_a_broken_description_lists_stays() {
    let (lake, runs) = lake();
    let notes = runs[0].join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let path = runs[0].join("run.json");
    let described = fs::read_to_string(&path).unwrap();
    fs::write(&path, described.replacen("\"classes.parquet\"", "\"notes.txt\"", 1)).unwrap();
    let (cause, _) = diagnostic(command("drop").arg(lake.path()).args(["*", "--release", "1", "--yes"]), 2);
    assert!(cause.starts_with(&notes.display().to_string()), "{cause}");
    assert_eq!(fs::read(&notes).unwrap(), b"mine");
}

#[test]
fn what_stands_in_the_place_of_a_run_is_named() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(1, 300_000));
    let place = lake.path().join("release=none/snapshot=x");
    let refused = |named: &Path| {
        let before = everything(&lake.path());
        for more in [&[][..], &["--force"]] {
            let (cause, _) = diagnostic(lake.analyze(&input).args(["--snapshot", "x"]).args(more), 2);
            assert!(cause.contains(&format!("{}: ", named.display())), "{cause}");
        }
        assert!(everything(&lake.path()) == before);
    };
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("thesis.txt"), "mine").unwrap();
    refused(&place);
    fs::remove_dir_all(&place).unwrap();
    fs::write(&place, "mine").unwrap();
    refused(&place);
    fs::remove_file(&place).unwrap();
    lake.analyze(&input).args(["--snapshot", "x", "--report"]).assert().success();
    lake.analyze(&input).args(["--snapshot", "x", "--force"]).assert().success();
    fs::write(place.join("notes.txt"), "mine").unwrap();
    let before = everything(&lake.path());
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--snapshot", "x", "--force"]), 2);
    assert!(cause.contains(&format!("{}: ", place.join("notes.txt").display())), "{cause}");
    let (cause, _) = diagnostic(heaplake().arg("duplicates").arg(&place).arg("--quiet"), 2);
    assert!(cause.contains(&format!("{}: ", place.join("notes.txt").display())), "{cause}");
    assert!(everything(&lake.path()) == before);
}

/// Users' folders with names similar to scratch.
#[test]
fn scratch_is_told_from_what_users_keep_beside_it() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(1, 300_000));
    let scratch = lake.folder().join("scratch");
    let mine = [".heaplake-scratch-backup/x", ".heaplake-passing-notes", ".heaplake-scratch/notes"]
        .map(|name| scratch.join(name));
    for folder in &mine {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("thesis.lock"), "mine").unwrap();
    }
    fs::write(scratch.join(".heaplake-scratch/thesis.lock"), "mine").unwrap();
    for folder in [".heaplake-scratch-backup", ".heaplake-scratch"] {
        fs::set_permissions(scratch.join(folder), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let before = everything(&scratch);
    lake.analyze(&input).arg("--scratch").arg(&scratch).assert().success();
    heaplake()
        .arg("diff")
        .arg(lake.run())
        .arg(lake.run())
        .arg("--quiet")
        .arg("--scratch")
        .arg(&scratch)
        .assert()
        .success();
    assert!(everything(&scratch) == before);
}
