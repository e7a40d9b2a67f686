//! Killed runs resume after the last finished stage, and their tables equal those of an undisturbed run.

use heaplake_support::fixtures;
use heaplake_support::generated::generated;
use heaplake_support::journal::resealed;
use heaplake_support::lake::Lake;
use heaplake_support::planted;
use heaplake_support::processes::{processor_time, signal, wait_for, wait_until_it_hears};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tables that depend on input and options only.
const TABLES: [&str; 3] = ["nodes.parquet", "edges.parquet", "classes.parquet"];

fn bytes(run: &Path) -> Vec<Vec<u8>> {
    TABLES.map(|table| fs::read(run.join(table)).unwrap()).to_vec()
}

/// heaplake with a log; it can be resumed when killed, unless the options say otherwise.
fn command(lake: &Lake, verb: &str, input: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.arg(verb).arg(input).arg("--out").arg(lake.path()).arg("-v").args(options);
    if !options.contains(&"--resume") {
        command.args(["--resume", "always"]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn spawn(lake: &Lake, verb: &str, input: &Path, options: &[&str]) -> Child {
    command(lake, verb, input, options).spawn().unwrap()
}

/// `heaplake analyze INPUT --out LAKE --edges`, with further options.
fn start(lake: &Lake, input: &Path, options: &[&str]) -> Child {
    spawn(lake, "analyze", input, &[&["--edges"], options].concat())
}

/// Waits for the end of a run; returns its log.
fn log_of(run: Child) -> String {
    let output = run.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{log}");
    log
}

/// Runs an analysis to its end; returns its log.
fn finish(lake: &Lake, input: &Path, options: &[&str]) -> String {
    log_of(start(lake, input, options))
}

/// Kills a run when its log mentions a stage, unless it has ended.
fn kill_at(mut run: Child, stage: &str) {
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    lines.any(|line| line.contains(&format!(": {stage}: ")));
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Starts an analysis and kills it when its log mentions a stage, unless it has ended.
fn kill_after(lake: &Lake, input: &Path, stage: &str) {
    kill_at(start(lake, input, &[]), stage);
}

/// An empty lake, a snapshot of 327 thousand nodes beside it, and the tables of an undisturbed run.
fn undisturbed() -> (Lake, PathBuf, Vec<Vec<u8>>) {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixtures::content("v8/insp_plain.heapsnapshot"));
    finish(&lake, &input, &[]);
    let expected = bytes(&lake.run());
    fs::remove_dir_all(lake.path()).unwrap();
    (lake, input, expected)
}

/// A run is killed before each journal entry but the first: a stage has finished then, but only the earlier ones are
/// recorded. If that stage replaced a file of another one, the next run starts over.
#[test]
fn a_run_killed_after_any_stage_goes_on_behind_it() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(11, 3_000_000));
    finish(&lake, &input, &[]);
    let expected = bytes(&lake.run());
    fs::remove_dir_all(lake.path()).unwrap();
    let (mut killed, mut went_on) = (0, 0);
    for entry in 2.. {
        let fault = format!("rename:{entry}:kill:journal.json");
        let output = command(&lake, "analyze", &input, &["--edges"]).env("HEAPLAKE_FAULT", fault).output().unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.signal(), Some(9), "{entry}");
        killed += 1;
        let log = finish(&lake, &input, &[]);
        let goes_on = log.contains("going on after");
        assert_eq!(goes_on, !log.contains(": read: "), "{entry}: {log}");
        went_on += u32::from(goes_on);
        assert!(bytes(&lake.run()) == expected, "{entry}: other bytes");
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
        fs::remove_dir_all(lake.path()).unwrap();
    }
    assert!(killed > 20 && went_on + 5 >= killed, "{went_on} of {killed} went on");
}

/// Replaces the content of a file by zeros, so that only a run that does not read it again can resume.
fn blank(path: &Path) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    file.write_all(&vec![0; file.metadata().unwrap().len() as usize]).unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn a_replay_killed_behind_its_reader_goes_on_without_the_trace() {
    let replay = |lake: &Lake, trace: &Path| spawn(lake, "replay", trace, &["--tracks", "--pprof", "--collapsed"]);
    let files = |lake: &Lake| -> BTreeMap<PathBuf, Vec<u8>> {
        let run = lake.run();
        let paths = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path());
        let parts = paths.filter(|path| path.extension().is_some_and(|extension| extension != "json"));
        parts.map(|path| (path.strip_prefix(&run).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
    };
    let lake = Lake::new();
    let content = fixtures::content("dotnet/net8_exact.log");
    let trace = lake.input("agent.log", &content);
    assert!(log_of(replay(&lake, &trace)).contains(": replay: "));
    let expected = files(&lake);
    assert_eq!(expected.len(), 17);
    fs::remove_dir_all(lake.path()).unwrap();

    let in_time = (0..20).any(|_| {
        kill_at(replay(&lake, &trace), "replay");
        let late = !lake.runs().is_empty();
        if late {
            fs::remove_dir_all(lake.path()).unwrap();
        }
        !late
    });
    assert!(in_time, "always done before the signal came");
    blank(&trace);
    let log = log_of(replay(&lake, &trace));
    assert!(log.contains("going on after") && !log.contains(": replay: "), "{log}");
    assert!(files(&lake) == expected, "other bytes");
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_run_killed_again_and_again_ends_all_the_same() {
    let (lake, input, expected) = undisturbed();
    let mut killed = 0;
    // Later and later, so that it makes progress on any machine.
    for milliseconds in std::iter::successors(Some(10), |last| Some(last + 7 + last / 16)) {
        let mut child = start(&lake, &input, &[]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        if !lake.runs().is_empty() {
            break;
        }
        killed += 1;
    }
    assert!(killed > 0, "it was never killed");
    let log = finish(&lake, &input, &[]);
    assert!(!log.contains(": read: "), "{log}");
    assert!(bytes(&lake.run()) == expected, "other bytes");
    finish(&lake, &input, &["--force"]);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_run_that_kept_its_columns_in_memory_begins_anew() {
    let (lake, input, expected) = undisturbed();
    let cases =
        [("auto", "auto", false), ("never", "always", false), ("always", "never", true), ("always", "auto", true)];
    for (first, second, goes_on) in cases {
        let late = |_: &u32| {
            kill_at(start(&lake, &input, &["--resume", first]), "essential edges");
            let late = !lake.runs().is_empty();
            if late {
                fs::remove_dir_all(lake.path()).unwrap();
            }
            late
        };
        assert!((0..20).take_while(late).count() < 20, "always done before the signal came");
        let log = finish(&lake, &input, &["--resume", second]);
        assert_eq!(log.contains("going on after"), goes_on, "{first} {second}: {log}");
        assert_eq!(!log.contains(": read: "), goes_on, "{first} {second}: {log}");
        assert!(bytes(&lake.run()) == expected, "{first} {second}: other bytes");
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
        fs::remove_dir_all(lake.path()).unwrap();
    }
}

/// Waits for the end of a signalled process, which is allowed a second; on a busy machine, a second of its threads' CPU
/// time.
fn end_within_a_second(mut child: Child, name: &str) -> Option<i32> {
    let (signalled, before) = (Instant::now(), processor_time(&child));
    let mut work = Duration::ZERO;
    let code = wait_for(name, || {
        work = work.max(processor_time(&child).saturating_sub(before));
        child.try_wait().unwrap().map(|status| status.code())
    });
    let threads = std::thread::available_parallelism().unwrap().get() as u32;
    let elapsed = signalled.elapsed();
    let second = Duration::from_secs(1);
    assert!(elapsed < second || work < threads * second, "{name}: {work:?} of work in {elapsed:?}");
    code
}

#[test]
fn signals_stop_a_run_within_a_second() {
    let (lake, folder) = (Lake::new(), tempfile::tempdir().unwrap());
    let plan = planted::realistic(7, 60_000_000);
    let input = planted::write(&plan, folder.path());
    for (name, milliseconds) in [("-INT", 30), ("-TERM", 200), ("-INT", 450), ("-TERM", 700)] {
        let mut child = start(&lake, &input, &[]);
        wait_until_it_hears(&mut child);
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(&child, name);
        let code = end_within_a_second(child, name);
        assert!(matches!(code, Some(130) | Some(0)), "{name}: {code:?}");
        assert_eq!(code == Some(0), !lake.runs().is_empty());
    }
    finish(&lake, &input, &[]);
    planted::compare(&plan, &lake.run());
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn what_was_made_from_something_else_is_not_used() {
    let (lake, input, _) = undisturbed();
    kill_after(&lake, &input, "essential edges");
    let log = finish(&lake, &input, &["--label", "other=options"]);
    assert!(!log.contains("going on after") && log.contains(": read: "), "{log}");
    fs::remove_dir_all(lake.path()).unwrap();

    kill_after(&lake, &input, "essential edges");
    fs::write(&input, fixtures::content("v8/small.heapsnapshot")).unwrap();
    let log = finish(&lake, &input, &[]);
    assert!(!log.contains("going on after") && log.contains(": read: "), "{log}");
    fs::remove_dir_all(lake.path()).unwrap();

    kill_after(&lake, &input, "read");
    let journal = lake.leftovers().into_iter().find(|path| path.ends_with("journal.json"));
    if let Some(journal) = journal {
        let text = fs::read_to_string(&journal).unwrap();
        let text = text.replace("\"heaplake_version\":\"", "\"heaplake_version\":\"0.0.0-");
        fs::write(&journal, resealed(&text)).unwrap();
        let log = finish(&lake, &input, &[]);
        assert!(!log.contains("going on after") && log.contains(": read: "), "{log}");
    }
}
