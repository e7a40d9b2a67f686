//! Scratch among other users: private, not written through links, and not trusted once truncated.

use crate::common::{CASES, gone_on, stopped, succeed, tables, undisturbed};
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::processes::{signal, wait_until_it_stops};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

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
    let (cause, advice) = diagnostic(lake.analyze(&input).arg("--scratch").arg(&scratch), 1);
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
    // Whatever the umask of the tests.
    mode(&scratch, 0o755);
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("precious"), "precious").unwrap();
    symlink(&elsewhere, scratch.join(".heaplake-scratch")).unwrap();
    let mut command = case.command(&lake, &input);
    let mut child = stopped(command.arg("--scratch").arg(&scratch), "any:%16:stop").expect("it never stopped");
    let mut seen = false;
    loop {
        for entry in fs::read_dir(&scratch).unwrap().flatten() {
            if fs::symlink_metadata(entry.path()).is_ok_and(|there| there.is_dir()) {
                seen = true;
                assert!(fs::metadata(entry.path()).map_or(true, |there| there.mode() & 0o777 == 0o700));
            }
        }
        signal(&child, "-CONT");
        if !wait_until_it_stops(&mut child) {
            break;
        }
    }
    assert!(seen && child.wait().unwrap().success());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "something was written behind the link");
    assert!(tables(&lake.run()) == expected);
}

/// Truncates the scratch files of finished stages to half of their length, if longer than `least` bytes.
fn cut_off(lake: &Lake, least: u64) -> usize {
    let mut cut = 0;
    let scratch = lake.path().join(".heaplake-scratch");
    for folder in fs::read_dir(scratch).into_iter().flatten().flatten() {
        let journal = fs::read(folder.path().join("journal.json")).unwrap_or_default();
        let journal: Value = serde_json::from_slice(&journal).unwrap_or_default();
        for (name, sum) in journal["checksums"].as_object().into_iter().flatten() {
            let file = File::options().write(true).open(folder.path().join(name));
            let length = sum["parts"].as_array().and_then(|parts| parts.last()?[0].as_u64()).unwrap_or(0);
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
        for stage in (2..).step_by(4) {
            // Before the next stage is recorded in the journal.
            let fault = format!("rename:{stage}:stop:journal.json");
            let Some(child) = stopped(&mut case.command(&lake, &input), &fault) else { break };
            let cut = cut_off(&lake, 64);
            let output = gone_on(child);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!text.contains("panicked"), "{}: {text}", case.name);
            match output.status.code() {
                // Completed despite the truncated files.
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

#[test]
fn columns_that_are_cut_off_while_they_are_mapped_publish_nothing() {
    let case = &CASES[0];
    let (lake, input, expected) = undisturbed(case);
    let mut failed = 0;
    // Columns mapped before this call stay mapped.
    for call in (8..).step_by(12) {
        let fault = format!("map:{call}:stop");
        let Some(child) = stopped(&mut case.command(&lake, &input), &fault) else { break };
        cut_off(&lake, 64 << 10);
        let output = gone_on(child);
        let text = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => assert!(tables(&lake.run()) == expected, "published from files that were cut off"),
            Some(1) => {
                failed += 1;
                let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
                assert!(lines.len() == 2 && lines[0].contains(".heaplake-scratch"), "{text}");
                assert!(lake.runs().is_empty(), "{text}");
            }
            code => panic!("{code:?} {text}"),
        }
        succeed(&mut case.command(&lake, &input), case.name);
        assert!(tables(&lake.run()) == expected);
        fs::remove_dir_all(lake.path()).unwrap();
    }
    assert!(failed > 0, "nothing was cut off in time");
}

/// Changes files that a killed run left, one at a time, and lets the next command resume.
#[test]
fn a_run_never_goes_on_with_scratch_that_is_not_what_was_written() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    let mut number = 0;
    loop {
        let kill = case.command(&lake, &input).env("HEAPLAKE_FAULT", "any:1:kill:classes.parquet").output().unwrap();
        assert!(!kill.status.success());
        let files: Vec<_> = lake.leftovers().into_iter().filter(|path| path.is_file()).collect();
        let Some(file) = files.get(number) else { break };
        let mut bytes = fs::read(file).unwrap();
        let at = bytes.len() / 2;
        match (number % 4, bytes.get_mut(at)) {
            (0 | 1, Some(byte)) => *byte ^= 1,
            (2, _) => bytes.truncate(at),
            _ => bytes.extend([0; 8]),
        }
        fs::write(file, bytes).unwrap();
        succeed(&mut case.command(&lake, &input), &file.display().to_string());
        assert!(tables(&lake.run()) == expected, "{}", file.display());
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
        fs::remove_dir_all(lake.path()).unwrap();
        number += 1;
    }
    assert!(number > 20, "{number} files");
}
