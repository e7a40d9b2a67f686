//! Interrupts: a signal ends a run soon, with advice on how to resume, and finished stages are kept.

use heaplake_generator::shapes::find;
use heaplake_generator::trace_shapes::SHAPES;
use heaplake_support::fixtures;
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::processes::{end, signal, wait_for, wait_until_it_hears};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(lake: &Lake, input: &Path, stdin: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.arg("analyze").arg(input).arg("--out").arg(lake.path()).args(["-v", "--edges", "--resume", "always"]);
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Repeats an attempt with a late signal.
fn in_time<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    (0..20).find_map(|_| attempt()).expect("always too late")
}

/// Starts a run and signals it when its log mentions a stage; returns the process and the rest of its log. `None` if an
/// earlier run, signalled late, has finished that stage; then this run completes.
fn signal_after(
    lake: &Lake,
    input: &Path,
    stage: &str,
    with: &str,
) -> Option<(Child, impl Iterator<Item = String> + use<>)> {
    let mut child = start(lake, input, Stdio::null());
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    if !lines.any(|line| line.contains(&format!(": {stage}: "))) {
        assert_eq!(end(&mut child).code(), Some(0), "{stage} never ended");
        return None;
    }
    signal(&child, with);
    Some((child, lines))
}

/// Interrupts a run when its log mentions a stage; returns its last lines.
fn interrupt_after(lake: &Lake, input: &Path, stage: &str, with: &str) -> String {
    in_time(|| {
        let Some((mut child, lines)) = signal_after(lake, input, stage, with) else {
            fs::remove_dir_all(lake.path()).unwrap();
            return None;
        };
        let words: Vec<String> = lines.filter(|line| !line.contains(" rows in ")).collect();
        match end(&mut child).code() {
            Some(0) => {
                fs::remove_dir_all(lake.path()).unwrap();
                None
            }
            code => {
                assert_eq!(code, Some(130), "{words:?}");
                Some(words.join("\n"))
            }
        }
    })
}

#[test]
fn an_interrupt_ends_a_run_and_leaves_what_it_has_done() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixtures::content("v8/insp_plain.heapsnapshot"));
    for (stage, with) in [("read", "-INT"), ("essential edges", "-TERM"), ("dominators", "-INT"), ("largest", "-INT")] {
        let words = interrupt_after(&lake, &input, stage, with);
        let expected = format!("heaplake: {}: interrupted\n  -> run the same command again", input.display());
        assert!(words.ends_with(&expected), "after {stage}: {words}");
        assert!(lake.runs().is_empty() && lake.leftovers().iter().any(|path| path.ends_with("journal.json")));
        assert!(!lake.leftovers().iter().any(|path| path.extension().is_some_and(|end| end == "parquet")));
    }
    // The same command finishes it.
    lake.analyze(&input).assert().success();
    assert_eq!(lake.runs().len(), 1);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn an_input_is_one_process_at_a_time_and_a_dead_one_is_no_obstacle() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixtures::content("v8/insp_plain.heapsnapshot"));
    let mut child = in_time(|| {
        let (mut child, _) = signal_after(&lake, &input, "read", "-STOP").unwrap();
        let late = !lake.runs().is_empty();
        if late {
            child.kill().unwrap();
            child.wait().unwrap();
            fs::remove_dir_all(lake.path()).unwrap();
        }
        (!late).then_some(child)
    });
    let (cause, advice) = diagnostic(&mut lake.analyze(&input), 1);
    assert!(cause.contains("another heaplake is at work on this input"), "{cause}");
    assert!(advice.contains("wait"), "{advice}");
    // A killed process cannot clean up.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lake.runs().is_empty() && !lake.leftovers().is_empty());
    lake.analyze(&input).assert().success();
    assert_eq!(lake.runs().len(), 1);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_ends_waiting_for_a_silent_pipe() {
    let lake = Lake::new();
    let mut child = start(&lake, Path::new("-"), Stdio::piped());
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"snapshot\":").unwrap();
    // The run has begun once its scratch folder exists.
    let scratch = lake.path().join(".heaplake-scratch");
    wait_for("it never began", || scratch.exists().then_some(()));
    signal(&child, "-INT");
    assert_eq!(end(&mut child).code(), Some(130));
    drop(pipe);
    lake.assert_empty();
}

#[test]
fn an_interrupt_stops_before_the_next_input() {
    let lake = Lake::new();
    let first = lake.input("a0.heapsnapshot", &generated(1, 300_000));
    let threads = std::thread::available_parallelism().unwrap().get();
    for nth in 1..threads + 4 {
        fs::hard_link(&first, lake.folder().join(format!("a{nth}.heapsnapshot"))).unwrap();
    }
    let words = interrupt_after(&lake, lake.folder(), "read", "-INT");
    // As many inputs as there are threads were in progress.
    let interrupted = words.matches(".heapsnapshot: interrupted").count();
    assert!((1..=threads).contains(&interrupted), "{words}");
    assert!(words.contains(&first.display().to_string()), "{words}");
    assert!(lake.runs().is_empty());
}

/// Deep trees and deep stacks of each kind: every loop over them checks for signals.
#[test]
fn extreme_traces_hear_signals() {
    for name in ["levels", "java-deep-stack", "types", "collections"] {
        let shape = find(SHAPES, name).unwrap();
        let lake = Lake::new();
        let mut content = Vec::new();
        shape.write(400_000, &mut content).unwrap();
        let input = lake.input(&format!("it.{}", shape.ending), &content);
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        command.arg(shape.command).arg(&input).arg("--out").arg(lake.path()).arg("--quiet");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_hears(&mut child);
        // In the middle of its work on a fast machine; any other moment works too.
        std::thread::sleep(Duration::from_millis(700));
        signal(&child, "-TERM");
        let code = end(&mut child).code();
        assert!(matches!(code, Some(0 | 130)), "{name}: {code:?}");
    }
}

#[test]
fn an_interrupted_search_for_secrets_leaves_nothing_behind() {
    let lake = Lake::new();
    let input = lake.input("heap.heapsnapshot", &generated(1, 3_000_000));
    let scratch = lake.folder().join("scratch");
    let files = || fs::read_dir(&scratch).map_or(0, Iterator::count);
    in_time(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        command.arg("secrets").arg(&input).arg("--scratch").arg(&scratch).args(["--fail-on", "low"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for("it does not begin", || (files() > 0 || child.try_wait().unwrap().is_some()).then_some(()));
        signal(&child, "-TERM");
        let code = end(&mut child).code();
        assert_eq!(files(), 0);
        (code == Some(130)).then_some(())
    });
}
