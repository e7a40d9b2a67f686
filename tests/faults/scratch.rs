//! Scratch among other users: private, not written through links, and not trusted once it was cut off.

use crate::common::{CASES, succeed, tables, undisturbed};
use crate::lake::{Lake, complaint};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

fn mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_in_which_all_may_replace_files_is_refused() {
    let case = &CASES[0];
    let (lake, input, expected) = undisturbed(case);
    let scratch = lake.folder().join("scratch");
    fs::create_dir(&scratch).unwrap();
    mode(&scratch, 0o777);
    let (cause, advice) = complaint(lake.analyze(&input).arg("--scratch").arg(&scratch), 1);
    assert!(cause.contains("any user may replace files in this folder") && advice.contains("--scratch"), "{cause}");
    mode(&scratch, 0o1777);
    succeed(case.command(&lake, &input).arg("--scratch").arg(&scratch), "with the sticky bit");
    assert!(tables(&lake.run()) == expected);
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
}

#[test]
fn scratch_is_private_and_never_behind_a_link() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    let (scratch, elsewhere) = (lake.folder().join("scratch"), lake.folder().join("elsewhere"));
    fs::create_dir(&scratch).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("precious"), "precious").unwrap();
    symlink(&elsewhere, scratch.join(".heaplake-scratch")).unwrap();
    let mut child = case.command(&lake, &input);
    let mut child = child.arg("--scratch").arg(&scratch).env("HEAPLAKE_FAULT", "any:1+:slow").spawn().unwrap();
    let mut seen = false;
    while child.try_wait().unwrap().is_none() {
        for entry in fs::read_dir(&scratch).unwrap().flatten() {
            if fs::symlink_metadata(entry.path()).is_ok_and(|there| there.is_dir()) {
                seen = true;
                assert!(fs::metadata(entry.path()).map_or(true, |there| there.mode() & 0o777 == 0o700));
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(seen && child.wait().unwrap().success());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "something was written behind the link");
    assert!(tables(&lake.run()) == expected);
}

/// Cuts files of scratch off at half of their length: those that finished stages left and no other one extends or
/// rewrites, when they are longer than so many bytes.
fn cut_off(lake: &Lake, least: u64) -> usize {
    let mut cut = 0;
    let scratch = lake.path().join(".heaplake-scratch");
    for folder in fs::read_dir(scratch).into_iter().flatten().flatten() {
        let journal = fs::read(folder.path().join("journal.json")).unwrap_or_default();
        let journal: Value = serde_json::from_slice(&journal).unwrap_or_default();
        let left = journal["lengths"].as_object().into_iter().flatten();
        for (name, length) in left.filter(|(name, _)| !name.starts_with("string.") && *name != "node.name") {
            let file = File::options().write(true).open(folder.path().join(name));
            let length = length.as_u64().unwrap_or(0);
            if length > least && file.is_ok_and(|file| file.set_len(length / 2).is_ok()) {
                cut += 1;
            }
        }
    }
    cut
}

#[test]
fn scratch_that_is_cut_off_is_an_error() {
    let (mut failed, mut signals) = (0, Vec::new());
    for case in &CASES {
        let (lake, input, expected) = undisturbed(case);
        for round in 1..8 {
            let mut child = case.command(&lake, &input).env("HEAPLAKE_FAULT", "any:%3:slow").spawn().unwrap();
            std::thread::sleep(Duration::from_millis(40 * round));
            let cut = cut_off(&lake, 64);
            let output = {
                child.try_wait().unwrap();
                child.wait_with_output().unwrap()
            };
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!text.contains("panicked"), "{}: {text}", case.name);
            match output.status.code() {
                // It was done with what was cut off.
                Some(0) => assert!(
                    tables(&lake.run()) == expected,
                    "{}: published from {cut} files that were cut off",
                    case.name
                ),
                Some(1) => failed += 1,
                code => signals.push(format!("{} {code:?} {text}", case.name)),
            }
            succeed(&mut case.command(&lake, &input), case.name);
            assert!(tables(&lake.run()) == expected, "{}", case.name);
            assert_eq!(lake.leftovers(), Vec::<PathBuf>::new(), "{}", case.name);
            fs::remove_dir_all(lake.path()).unwrap();
        }
    }
    assert!(signals.is_empty(), "{signals:?}");
    assert!(failed > 0, "nothing was cut off in time");
}
