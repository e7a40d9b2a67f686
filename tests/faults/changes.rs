//! Inputs that change while they are read: nothing is published.

use crate::common::{CASES, Case, ended, gone_on, heaplake, stopped};
use heaplake_support::lake::Lake;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Stops a case after its first stage, which reads the input, and changes the input; returns the exit code and
/// messages.
fn meanwhile(case: &Case, lake: &Lake, input: &Path, change: impl FnOnce()) -> (Option<i32>, String) {
    let child = stopped(&mut case.command(lake, input), "rename:1:stop:journal.json").expect("it never stopped");
    change();
    let output = gone_on(child);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn assert_refused((code, text): &(Option<i32>, String), lake: &Lake, what: &str) {
    assert_eq!(*code, Some(1), "{what}: {text}");
    assert!(text.contains("the file changed while it was read"), "{what}: {text}");
    assert_eq!(lake.runs().len(), 0, "{what}");
    lake.assert_empty();
}

#[test]
fn a_file_that_changes_in_place_is_noticed() {
    for case in &CASES {
        for change in 0..4 {
            let lake = Lake::new();
            let input = case.input(&lake);
            let content = fs::read(&input).unwrap();
            let ended = meanwhile(case, &lake, &input, || match change {
                0 => File::options()
                    .write(true)
                    .open(&input)
                    .unwrap()
                    .write_all_at(&[0; 64], content.len() as u64 / 2)
                    .unwrap(),
                1 => File::options().append(true).open(&input).unwrap().write_all_at(b"more", 0).unwrap(),
                2 => File::options().write(true).open(&input).unwrap().set_len(content.len() as u64 / 2).unwrap(),
                _ => {
                    let other = lake.folder().join("other");
                    fs::write(&other, &content).unwrap();
                    fs::rename(&other, &input).unwrap();
                }
            });
            assert_refused(&ended, &lake, &format!("{} change {change}", case.name));
        }
    }
}

/// Only the content differs: length, time and inode are the same.
#[test]
fn the_second_reading_of_a_dump_has_the_hash_of_the_first() {
    let case = &CASES[1];
    let lake = Lake::new();
    let input = case.input(&lake);
    let modified = fs::metadata(&input).unwrap().modified().unwrap();
    let content = fs::read(&input).unwrap();
    let ended = meanwhile(case, &lake, &input, || {
        let file = File::options().write(true).open(&input).unwrap();
        // The dump's capture time, in its header.
        file.write_all_at(&[content[26] ^ 1], 26).unwrap();
        file.set_modified(modified).unwrap();
    });
    assert_refused(&ended, &lake, "same time");
}

#[test]
fn duplicates_of_a_run_are_those_of_its_input() {
    let case = &CASES[0];
    let lake = Lake::new();
    let input = case.input(&lake);
    assert!(case.command(&lake, &input).status().unwrap().success());
    let before = fs::read(lake.run().join("run.json")).unwrap();
    let content = fs::read(&input).unwrap();
    let mut command = heaplake("duplicates");
    let child =
        stopped(command.arg(lake.run()).arg("--quiet"), "read:2:stop:a.heapsnapshot").expect("it never stopped");
    let changed: Vec<u8> = content.iter().map(|byte| if *byte == b'7' { b'8' } else { *byte }).collect();
    fs::write(&input, changed).unwrap();
    let output = gone_on(child);
    assert!(!output.status.success(), "it made a run of something else");
    assert_eq!(fs::read(lake.run().join("run.json")).unwrap(), before);
    fs::write(&input, content).unwrap();
    let mut command = heaplake("duplicates");
    let output = ended(command.arg(lake.run()).arg("--quiet"), "again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
