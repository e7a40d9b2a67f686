//! Leftovers of killed processes: the next command on the lake removes them, unless another process needs them.

use crate::common::{CASES, heaplake, stopped, succeed, tables, undisturbed};
use heaplake_support::journal::resealed;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::processes::{signal, wait_until_it_stops};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The names in the lake other than releases and the catalogue.
fn hidden(lake: &Lake) -> Vec<String> {
    let entries = fs::read_dir(lake.path()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("release=") && name != "catalogue").collect()
}

fn killed(command: &mut Command, fault: &str) {
    let status = command.env("HEAPLAKE_FAULT", fault).status().unwrap();
    assert_eq!(status.signal(), Some(9), "{fault}: {status:?}");
}

#[test]
fn scratch_of_a_committed_run_goes() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    // The lake is synced last, with its run already in place.
    let place = lake.path().join("release=none");
    killed(&mut case.command(&lake, &input), &format!("sync:1:kill:{}", place.display()));
    if lake.runs().is_empty() {
        killed(
            &mut case.command(&lake, &input),
            &format!("remove:1:kill:{}", lake.path().join(".heaplake-new").display()),
        );
    }
    assert!(!lake.runs().is_empty());
    assert!(!hidden(&lake).is_empty(), "nothing to clear");
    succeed(&mut case.command(&lake, &input), "the next command");
    assert_eq!(hidden(&lake), Vec::<String>::new());
    assert!(tables(&lake.run()) == expected);
}

#[test]
fn scratch_to_go_on_with_stays_and_scratch_of_what_is_gone_goes() {
    let case = &CASES[1];
    let (lake, input, _) = undisturbed(case);
    let other = &CASES[0];
    let other_input = other.input(&lake);
    killed(&mut case.command(&lake, &input), "any:1:kill:classes.parquet");
    let scratch = || fs::read_dir(lake.path().join(".heaplake-scratch")).into_iter().flatten().count();
    assert!(scratch() > 0);
    succeed(&mut other.command(&lake, &other_input), "another input");
    assert_eq!(scratch(), 1, "what a run can go on with, without a lock");
    assert_eq!(hidden(&lake), [".heaplake-scratch"]);
    fs::remove_file(&input).unwrap();
    succeed(&mut other.command(&lake, &other_input), "after the input went");
    assert_eq!(hidden(&lake), Vec::<String>::new());
}

#[test]
fn scratch_of_another_version_is_not_used_and_goes() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    for (from, to) in [
        ("\"heaplake_version\":\"", "\"heaplake_version\":\"9"),
        ("[\"scan\",", "[\"scan\",9"),
        ("\"done\":", "\"undone\":"),
    ] {
        killed(&mut case.command(&lake, &input), "any:1:kill:classes.parquet");
        let is_journal = |path: &PathBuf| path.ends_with("journal.json");
        let journal = lake.leftovers().into_iter().find(is_journal).expect("a journal");
        let text = fs::read_to_string(&journal).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&journal, resealed(&text.replace(from, to))).unwrap();
        let mut command = heaplake("analyze");
        command.arg(&input).arg("--out").arg(lake.path()).args(["-v", "--edges", "--duplicates", "all"]);
        let output = command.output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !log.contains("going on after") && log.contains(": scan: "), "{log}");
        assert!(tables(&lake.run()) == expected);
        assert_eq!(hidden(&lake), Vec::<String>::new());
        fs::remove_dir_all(lake.path()).unwrap();
    }
}

#[test]
fn pages_and_comparisons_in_the_making_go() {
    let case = &CASES[0];
    let (lake, input, _) = undisturbed(case);
    succeed(&mut case.command(&lake, &input), "a run");
    let run = lake.run();
    killed(heaplake("report").arg(&run).stdout(Stdio::null()), "rename:1:kill:report.html");
    let names = |folder: &Path| -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(names(&run).iter().any(|name| name.starts_with(".heaplake-output-")));
    succeed(&mut case.command(&lake, &input), "the next command");
    assert!(!names(&run).iter().any(|name| name.starts_with('.')));

    let (out, passing) = (lake.folder().join("diff"), lake.folder().join("passing"));
    let diff = |fault: &str| {
        let mut command = heaplake("diff");
        command.arg(&run).arg(&run).arg("--out").arg(&out).arg("--scratch").arg(&passing).arg("--quiet");
        command.env("HEAPLAKE_FAULT", fault).status().unwrap()
    };
    assert_eq!(diff("sync:1:kill:heaplake-new").signal(), Some(9));
    assert!(names(&out).iter().any(|name| name.starts_with('.')) && !names(&passing).is_empty());
    assert!(diff("").success());
    assert!(!names(&out).iter().any(|name| name.starts_with('.')));
    assert_eq!(names(&passing), Vec::<String>::new());
}

#[test]
fn what_a_process_at_work_needs_stays() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    let other = &CASES[0];
    let other_input = other.input(&lake);
    let mut stops = 0;
    // Calls all the way from creating the first folder to removing the last.
    let mut slow = stopped(&mut case.command(&lake, &input), "any:%64:stop").expect("it never stopped");
    loop {
        stops += 1;
        succeed(&mut other.command(&lake, &other_input), "beside it");
        signal(&slow, "-CONT");
        if !wait_until_it_stops(&mut slow) {
            break;
        }
    }
    assert!(stops >= 10 && slow.wait().unwrap().success(), "{stops}");
    let run =
        lake.runs().into_iter().find(|run| run.to_string_lossy().contains("snapshot=a-") && tables(run) == expected);
    assert!(run.is_some(), "{:?}", lake.runs());
    assert_eq!(hidden(&lake), Vec::<String>::new());
}

#[test]
fn a_lock_that_leads_elsewhere_is_refused() {
    let case = &CASES[1];
    let (lake, input, _) = undisturbed(case);
    let precious = lake.input("precious.txt", b"precious");
    let places = lake.path().join(".heaplake-new/release=none");
    fs::create_dir_all(&places).unwrap();
    symlink(&precious, places.join(".snapshot=n.lock")).unwrap();
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--snapshot", "n"]), 1);
    assert!(cause.contains(".snapshot=n.lock: cannot lock"), "{cause}");
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    fs::remove_file(places.join(".snapshot=n.lock")).unwrap();
    assert!(Command::new("mkfifo").arg(places.join(".snapshot=n.lock")).status().unwrap().success());
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--snapshot", "n"]), 1);
    assert!(cause.contains("cannot lock"), "{cause}");
}

/// File times only show whether files are unchanged: clocks and their jumps do not matter.
#[test]
fn files_of_any_time_resume() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    let year = Duration::from_secs(365 * 24 * 3600);
    for time in [SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + 150 * year] {
        File::options().write(true).open(&input).unwrap().set_modified(time).unwrap();
        killed(&mut case.command(&lake, &input), "any:1:kill:classes.parquet");
        for path in lake.leftovers() {
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
        let mut command = heaplake("analyze");
        command.arg(&input).arg("--out").arg(lake.path()).args(["--edges", "--duplicates", "all"]);
        let output = command.output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && log.contains("going on after"), "{log}");
        assert!(tables(&lake.run()) == expected);
        fs::remove_dir_all(lake.path()).unwrap();
    }
}

/// A disk that cannot be synced after the run is in place: the run stays, and the error says so.
#[test]
fn a_run_that_could_not_be_synced_stands_and_is_said_to() {
    let case = &CASES[1];
    let (lake, input, expected) = undisturbed(case);
    succeed(&mut case.command(&lake, &input), "to learn how often it syncs");
    let parquet = tables(&lake.run()).len() as u64 + 1;
    let mut said = 0;
    for call in 1..parquet + 8 {
        let mut command = case.command(&lake, &input);
        let output = command.arg("--force").env("HEAPLAKE_FAULT", format!("sync:{call}:5")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(tables(&lake.run()) == expected, "{call}");
        if text.contains("the run is in its place, but may be lost with the power") {
            assert_eq!(output.status.code(), Some(1));
            said += 1;
        }
    }
    assert_eq!(said, 2, "the folders of the release and of the lake");
}
