//! Commands that query a run react to signals, and leave nothing when stopped.

use crate::common::{CASES, heaplake, stopped, succeed};
use heaplake_support::lake::Lake;
use heaplake_support::processes::{end, signal};
use std::fs;
use std::path::Path;

/// Names of hidden entries of a folder.
fn hidden(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_signal_ends_a_question_with_130() {
    let case = &CASES[0];
    let lake = Lake::new();
    let input = case.input(&lake);
    succeed(&mut case.command(&lake, &input), case.name);
    let run = lake.run();
    // Most of the work comes after these calls: a signal is handled on its own thread.
    for (verb, fault) in
        [("report", "folder:1:stop"), ("report", "open:1:stop:run.json"), ("top", "open:1:stop:run.json")]
    {
        for with in ["-TERM", "-INT", "-HUP"] {
            let mut child = stopped(heaplake(verb).arg(&run), fault).expect("it never stopped");
            signal(&child, with);
            signal(&child, "-CONT");
            assert_eq!(end(&mut child).code(), Some(130), "{verb} {fault} {with}");
            assert_eq!(hidden(&run), Vec::<String>::new(), "{verb} {fault} {with}");
            assert!(!run.join("report.html").exists());
        }
    }
}
