//! Several processes that write the same run: one of them makes it, the others fail or find it; never a mixture.

use crate::common::{CASES, Case, assert_all_whole, heaplake, rounds, succeed};
use heaplake_support::generated::generated;
use heaplake_support::lake::Lake;
use heaplake_support::processes::wait_for;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Starts all at once and waits; returns the exit code and messages of each.
fn at_once(commands: Vec<Command>) -> Vec<(Option<i32>, String)> {
    let children: Vec<Child> = commands.into_iter().map(|mut command| command.spawn().unwrap()).collect();
    let ended = children.into_iter().map(|child| child.wait_with_output().unwrap());
    ended.map(|output| (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())).collect()
}

/// At least one succeeds; the others say that another one is at work, or that a run exists.
fn assert_told(ended: &[(Option<i32>, String)], what: &str) {
    for (code, text) in ended {
        let told = ["another heaplake is", "a run stands here", "another run took this place"];
        let expected = *code == Some(0) || (*code == Some(1) && told.iter().any(|words| text.contains(words)));
        assert!(expected, "{what}: {code:?} {text}");
    }
    assert!(ended.iter().any(|(code, _)| *code == Some(0)), "{what}: {ended:?}");
}

fn assert_clean(lake: &Lake, what: &str) {
    assert_all_whole(lake, what);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new(), "{what}");
}

fn analyze(lake: &Path, input: &Path, options: &[&str]) -> Command {
    let mut command = heaplake("analyze");
    command.arg(input).arg("--out").arg(lake).args(["--quiet", "--edges"]).args(options);
    command
}

/// Two inputs of about the same work.
fn two_inputs(lake: &Lake) -> [PathBuf; 2] {
    [1, 2].map(|seed| lake.input(&format!("{seed}.heapsnapshot"), &generated(seed, 60_000)))
}

#[test]
fn two_inputs_for_one_name() {
    let lake = Lake::new();
    let inputs = two_inputs(&lake);
    let link = lake.folder().join("link");
    symlink(lake.path(), &link).unwrap();
    for round in 0..rounds(8) {
        let force: &[&str] = if round % 2 == 0 { &["--snapshot", "n"] } else { &["--snapshot", "n", "--force"] };
        let out = if round % 4 < 2 { lake.path() } else { link.clone() };
        fs::create_dir_all(lake.path()).unwrap();
        let what = format!("round {round}");
        assert_told(&at_once(vec![analyze(&lake.path(), &inputs[0], force), analyze(&out, &inputs[1], force)]), &what);
        assert_eq!(lake.runs().len(), 1, "{what}");
        assert_clean(&lake, &what);
        if round % 3 == 2 {
            fs::remove_dir_all(lake.path()).unwrap();
        }
    }
}

#[test]
fn two_scratch_folders_are_one_place() {
    let lake = Lake::new();
    let inputs = two_inputs(&lake);
    for round in 0..rounds(4) {
        let scratch = [0, 1].map(|nth| lake.folder().join(format!("scratch{nth}")).display().to_string());
        let commands = [0, 1].map(|nth| {
            analyze(&lake.path(), &inputs[nth], &["--snapshot", "n", "--force", "--report", "--scratch", &scratch[nth]])
        });
        assert_told(&at_once(commands.into()), &format!("round {round}"));
        assert_clean(&lake, &format!("round {round}"));
    }
}

#[test]
fn duplicates_beside_an_analysis() {
    let lake = Lake::new();
    let input = two_inputs(&lake)[0].clone();
    succeed(&mut analyze(&lake.path(), &input, &["--snapshot", "n"]), "first");
    let run = lake.run();
    for round in 0..rounds(5) {
        let mut duplicates = heaplake("duplicates");
        duplicates.arg(&run).arg("--quiet");
        let forced = analyze(&lake.path(), &input, &["--snapshot", "n", "--force"]);
        assert_told(&at_once(vec![duplicates, forced]), &format!("round {round}"));
        assert_eq!(lake.run(), run);
        assert_clean(&lake, &format!("round {round}"));
    }
}

#[test]
fn one_content_under_two_paths() {
    for case in &CASES {
        let lake = Lake::new();
        let input = case.input(&lake);
        let other = lake.folder().join("other");
        fs::create_dir_all(&other).unwrap();
        let copy = other.join(input.file_name().unwrap());
        fs::copy(&input, &copy).unwrap();
        for round in 0..rounds(3) {
            let what = format!("{} round {round}", case.name);
            let commands = [&input, &copy, &input, &copy].map(|input| case.command(&lake, input));
            assert_told(&at_once(commands.into()), &what);
            assert_eq!(lake.runs().len(), 1, "{what}");
            assert_clean(&lake, &what);
            fs::remove_dir_all(lake.path()).unwrap();
        }
    }
}

#[test]
fn two_analyses_of_standard_input() {
    let lake = Lake::new();
    for round in 0..rounds(3) {
        let children: Vec<Child> = [1, 2]
            .map(|seed| {
                let mut command = analyze(&lake.path(), Path::new("-"), &["--snapshot", "n"]);
                let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
                let mut pipe = child.stdin.take().unwrap();
                // A refused process does not read it.
                std::thread::spawn(move || drop(pipe.write_all(&generated(seed, 60_000))));
                child
            })
            .into();
        let ended: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let ended: Vec<_> =
            ended.iter().map(|end| (end.status.code(), String::from_utf8_lossy(&end.stderr).into_owned())).collect();
        assert_told(&ended, &format!("round {round}"));
        assert_eq!(lake.runs().len(), 1);
        assert_clean(&lake, &format!("round {round}"));
        fs::remove_dir_all(lake.path()).unwrap();
    }
}

/// Twenty writers of five runs, and readers of any run.
#[test]
fn twenty_processes_on_one_lake() {
    let lake = Lake::new();
    let inputs: Vec<(&Case, PathBuf)> = CASES.iter().map(|case| (case, case.input(&lake))).collect();
    let mut commands = Vec::new();
    for nth in 0..20 {
        let (case, input) = &inputs[nth % inputs.len()];
        let mut command = case.command(&lake, input);
        if nth % 3 == 0 {
            command.arg("--force");
        }
        commands.push(command);
    }
    assert_told(&at_once(commands), "writers alone");
    assert_clean(&lake, "writers alone");
    let mut commands = Vec::new();
    for (nth, run) in lake.runs().iter().enumerate() {
        let (case, input) = &inputs[nth % inputs.len()];
        let mut writer = case.command(&lake, input);
        writer.arg("--force");
        commands.push(writer);
        for verb in ["show", "report"] {
            let mut reader = heaplake(verb);
            reader.arg(run).stdout(Stdio::null());
            commands.push(reader);
        }
        let mut list = heaplake("ls");
        list.arg(lake.path()).stdout(Stdio::null());
        commands.push(list);
    }
    for (code, text) in at_once(commands) {
        // A reader may find a replaced run gone.
        assert!(matches!(code, Some(0..=2)) && !text.contains("panicked"), "{code:?} {text}");
    }
    assert_clean(&lake, "with readers");
}

/// A run put in place meanwhile, without heaplake, is not touched.
#[test]
fn what_somebody_else_puts_in_the_place_stays() {
    let lake = Lake::new();
    let [input, _] = two_inputs(&lake);
    let place = lake.path().join("release=none/snapshot=n");
    // It waits for its input, while it has the place locked.
    let mut command = analyze(&lake.path(), Path::new("-"), &["--snapshot", "n"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let content = fs::read(&input).unwrap();
    pipe.write_all(&content[..1000]).unwrap();
    // It makes scratch after locking and checking the place.
    let scratch = lake.path().join(".heaplake-scratch");
    wait_for("it makes no scratch", || scratch.exists().then_some(()));
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("mine.txt"), "mine").unwrap();
    pipe.write_all(&content[1000..]).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("somebody changed what stands here"), "{text}");
    assert_eq!(fs::read(place.join("mine.txt")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
}
