//! Output files named by the user: an existing path is written through, replaced or refused, and never damaged.

use super::common::{analyze, small};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::processes::{signal, wait_until_it_hears};
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A lake with one run, and a folder for outputs: on disk, since no device can be opened in memory.
struct Made {
    lake: Lake,
    input: PathBuf,
    run: PathBuf,
    folder: TempDir,
}

impl Made {
    fn new() -> Self {
        let lake = Lake::new();
        let input = lake.input("Heap.heapsnapshot", &small());
        assert!(analyze(&lake).arg(&input).arg("--quiet").output().unwrap().status.success());
        let (run, folder) = (lake.run(), TempDir::new().unwrap());
        Self { lake, input, run, folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The arguments of each command that writes a file, and a text in that file.
    fn commands(&self, to: &Path) -> Vec<(Vec<String>, &'static str)> {
        let (run, input, lake) = (self.run.display(), self.input.display(), self.lake.path());
        let (lake, to) = (lake.display(), to.display());
        let texts = [
            (format!("report {run} --quiet -o {to}"), "<!doctype html>"),
            (format!("diff {run} {run} --quiet --report {to}"), "<!doctype html>"),
            (format!("diff {run} {run} --quiet --fail-if retained_bytes.delta>1 --junit {to}"), "<testsuites"),
            (format!("diff {run} {run} --quiet --markdown {to}"), "#"),
            (format!("analyze {input} --out {lake} --quiet --metrics {to}"), "# EOF"),
            (format!("analyze {input} --out {lake} --quiet --findings-json {to}"), "\"findings\""),
            (format!("fleet rollup {lake} --quiet --metrics {to}"), "# EOF"),
            (format!("query {run} --out {to}"), "retained,shallow,node,class,name"),
        ];
        let words = |text: String| text.split(' ').map(str::to_owned).collect();
        texts.into_iter().map(|(text, holds)| (words(text), holds)).collect()
    }

    fn each(&self, to: &Path, mut check: impl FnMut(assert_cmd::Command, &str, &str)) {
        for (words, holds) in self.commands(to) {
            let mut command = heaplake();
            command.args(&words).env_remove("GITHUB_STEP_SUMMARY");
            check(command, holds, &words.join(" "));
        }
    }

    /// The names in the folder of outputs, to detect leftovers.
    fn names(&self) -> Vec<String> {
        let names =
            fs::read_dir(self.folder.path()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

fn holds(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).unwrap().to_lowercase().contains(&text.to_lowercase())
}

fn succeed(mut command: assert_cmd::Command, words: &str) {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && error.is_empty(), "{words}: {error}");
}

/// Makes a device like /dev/null (3) or /dev/full (7); `None` without root's rights.
fn device(path: &Path, minor: &str) -> Option<()> {
    let made = Command::new("mknod").args(["-m", "666"]).arg(path).args(["c", "1", minor]).output();
    let usable = || fs::File::options().write(true).open(path).is_ok();
    let made = made.is_ok_and(|made| made.status.success()) && usable();
    if !made {
        eprintln!("SKIPPED: devices cannot be made and opened here");
    }
    made.then_some(())
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn files_are_replaced_with_their_mode_and_links_are_followed() {
    let made = Made::new();
    let (file, link, dangling) = (made.at("file"), made.at("link"), made.at("dangling"));
    symlink("file", &link).unwrap();
    symlink("elsewhere", &dangling).unwrap();
    fs::write(made.at("plain"), "").unwrap();
    let usual = fs::metadata(made.at("plain")).unwrap().mode() & 0o777;
    for path in [&file, &link, &dangling] {
        made.each(path, |command, text, words| {
            let target =
                path.canonicalize().unwrap_or_else(|_| made.at(if *path == dangling { "elsewhere" } else { "file" }));
            let _ = fs::remove_file(&target);
            succeed(command, words);
            assert!(holds(&target, text), "{words}");
            assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, usual, "{words}");
        });
        assert_eq!(fs::symlink_metadata(path).unwrap().is_symlink(), *path != file);
    }
    made.each(&link, |command, text, words| {
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o604)).unwrap();
        succeed(command, words);
        assert!(holds(&file, text), "{words}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o604, "{words}");
    });
    assert_eq!(made.names(), ["dangling", "elsewhere", "file", "link", "plain"]);
}

#[test]
fn devices_are_written_through_and_a_full_one_is_an_error() {
    let made = Made::new();
    let (null, full, link) = (made.at("null"), made.at("full"), made.at("link"));
    let Some(()) = device(&null, "3").and_then(|()| device(&full, "7")) else { return };
    symlink("null", &link).unwrap();
    for path in [&null, &link] {
        made.each(path, |command, _, words| succeed(command, words));
    }
    made.each(&full, |mut command, _, _| {
        let (cause, advice) = diagnostic(&mut command, 3);
        assert!(cause.contains("full: cannot write: No space left on device"), "{cause}");
        assert!(advice.starts_with("free some space"), "{advice}");
    });
    for path in [&null, &full] {
        assert!(fs::symlink_metadata(path).unwrap().file_type().is_char_device(), "{}", path.display());
    }
    assert_eq!(made.names(), ["full", "link", "null"]);
}

#[test]
fn a_folder_is_refused_and_stays_as_it_is() {
    let made = Made::new();
    let folder = made.at("folder");
    fs::create_dir(&folder).unwrap();
    made.each(&folder, |mut command, _, words| {
        let (cause, advice) = diagnostic(&mut command, 2);
        assert_eq!(
            (cause, advice.as_str()),
            (format!("{}: cannot write: this is a folder", folder.display()), "name a file"),
            "{words}"
        );
    });
    assert_eq!((made.names(), fs::read_dir(&folder).unwrap().count()), (vec!["folder".to_owned()], 0));
}

#[test]
fn a_folder_that_may_not_be_written_to_is_an_error() {
    let made = Made::new();
    fs::write(made.at("file"), "before").unwrap();
    fs::set_permissions(made.folder.path(), Permissions::from_mode(0o555)).unwrap();
    if fs::write(made.at("root"), "").is_ok() {
        eprintln!("SKIPPED: this user may write everywhere");
        return;
    }
    made.each(&made.at("file"), |mut command, _, _| {
        let (cause, _) = diagnostic(&mut command, 2);
        assert!(cause.contains("cannot write: Permission denied"), "{cause}");
    });
    assert!(holds(&made.at("file"), "before"));
}

#[test]
fn a_pipe_is_written_through_to_its_reader() {
    let made = Made::new();
    let pipe = made.at("pipe");
    make_pipe(&pipe);
    made.each(&pipe, |command, text, words| {
        let read = fs::File::create(made.at("read")).unwrap();
        let mut reader = Command::new("cat").arg(&pipe).stdout(read).spawn().unwrap();
        succeed(command, words);
        assert!(reader.wait().unwrap().success() && holds(&made.at("read"), text), "{words}");
    });
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(made.names(), ["pipe", "read"]);
}

#[test]
fn a_pipe_without_a_reader_hears_signals_and_ends() {
    let made = Made::new();
    let pipe = made.at("pipe");
    make_pipe(&pipe);
    let words = |with: &str| {
        made.commands(&pipe).into_iter().map(|(words, _)| words).find(|words| words.contains(&with.to_owned()))
    };
    // The wait does not depend on the command, so one of each kind.
    for with in ["--report", "--metrics"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        let mut child = command.args(words(with).unwrap()).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_hears(&mut child);
        std::thread::sleep(Duration::from_millis(1000));
        assert!(child.try_wait().unwrap().is_none(), "{with}: it did not wait");
        signal(&child, "-TERM");
        let signalled = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{with}");
        assert!(signalled.elapsed() < Duration::from_secs(2), "{with}");
    }
    let started = Instant::now();
    let (cause, _) = diagnostic(heaplake().args(words("--junit").unwrap()), 1);
    assert!(cause.ends_with("pipe: cannot write: nobody reads from this pipe"), "{cause}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn open_files_are_written_to_where_they_are() {
    let made = Made::new();
    let shell = |words: &[String], redirection: &str| {
        let mut command = assert_cmd::Command::new("sh");
        command.args(["-c", &format!("exec \"$@\" {redirection}"), "sh", env!("CARGO_BIN_EXE_heaplake")]).args(words);
        command
    };
    let piped = made.commands(Path::new("/dev/stdout"));
    for (words, text) in &piped {
        let output = heaplake().args(words).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).to_lowercase().contains(&text.to_lowercase()), "{words:?}");
    }
    for (path, number) in [("/dev/stdout", 1), ("/dev/fd/5", 5), ("/proc/self/fd/5", 5)] {
        let file = made.at("file");
        for (words, text) in made.commands(Path::new(path)) {
            fs::write(&file, "begin\n").unwrap();
            succeed(shell(&words, &format!("{number}>>'{}'", file.display())), &words.join(" "));
            assert!(holds(&file, "begin\n") && holds(&file, text), "{path} {words:?}");
        }
    }
    assert_eq!(made.names(), ["file"]);
}

#[test]
fn the_summary_of_a_step_is_appended_to() {
    let made = Made::new();
    let summary = made.at("summary");
    fs::write(&summary, "before\n").unwrap();
    let (words, _) = made.commands(&summary).swap_remove(3);
    for _ in 0..2 {
        heaplake().args(&words).env("GITHUB_STEP_SUMMARY", &summary).assert().success();
    }
    let text = fs::read_to_string(&summary).unwrap();
    let once = text.len().checked_sub(7).unwrap() / 2;
    assert!(text.starts_with("before\n") && once > 20 && text[7..7 + once] == text[7 + once..], "{text}");
}

/// A disk that fills up while the output is written.
#[test]
fn a_full_disk_leaves_the_file_of_before() {
    let made = Made::new();
    let disk = made.at("disk");
    fs::create_dir(&disk).unwrap();
    let script = "mount -t tmpfs -o size=12k none \"$1\" || exit 99; echo before >\"$1/file\"; head -c 4096 /dev/zero >\"$1/other\"; \
        disk=$1; shift; \"$@\" 2>\"$disk/../error\"; code=$?; cat \"$disk/file\"; ls -A \"$disk\"; exit $code";
    made.each(&disk.join("file"), |_, _, words| {
        let (args, mut in_disk) = (words.split(' '), Command::new("unshare"));
        let inner = ["--mount", "sh", "-c", script, "sh"];
        let filled = in_disk.args(inner).arg(&disk).arg(env!("CARGO_BIN_EXE_heaplake")).args(args).output().unwrap();
        if filled.status.code() == Some(99) || !filled.status.success() && filled.stdout.is_empty() {
            eprintln!("SKIPPED: mounting a small disk is not permitted here");
        } else if filled.status.success() {
            // Some are small enough.
            assert!(!words.contains("report"), "{words}");
        } else {
            let error = fs::read_to_string(made.at("error")).unwrap();
            assert_eq!(filled.status.code(), Some(3), "{words}: {error}");
            assert_eq!(String::from_utf8_lossy(&filled.stdout), "before\nfile\nother\n", "{words}");
            assert!(error.contains("No space left on device") && error.lines().count() == 2, "{words}: {error}");
        }
    });
}

/// Standard output on a full disk, and to a closed pipe.
#[test]
fn standard_output_that_cannot_be_written_to() {
    let made = Made::new();
    let full = made.at("full");
    let is_device = device(&full, "7").is_some();
    let (run, lake) = (made.run.display().to_string(), made.lake.path().display().to_string());
    let (run, lake) = (run.as_str(), lake.as_str());
    for words in
        [&["show", run][..], &["ls", lake, "--json"], &["man"], &["completions", "bash"], &["--help"], &["top", run]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        command.args(words).stderr(Stdio::piped());
        if is_device {
            let out = fs::File::options().write(true).open(&full).unwrap();
            let output = command.stdout(out).output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(3), "{words:?}: {error}");
            assert!(
                error.contains("standard output: cannot write: No space left") && error.lines().count() == 2,
                "{error}"
            );
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{words:?}");
    }
}

#[test]
fn what_killed_outputs_leave_goes_and_what_looks_alike_stays() {
    let made = Made::new();
    let of_user = [".heaplake-output-", ".heaplake-output-notes", ".file.backup"].map(|name| made.at(name));
    for folder in &of_user {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("thesis"), "mine").unwrap();
    }
    // In the format of temporary names: a random part and its checksum.
    let begin = format!(".heaplake-output-{:016x}", 7);
    let left = made.at(&format!("{begin}{:016x}", xxhash_rust::xxh3::xxh3_64(begin.as_bytes())));
    made.each(&made.at("file"), |command, _, words| {
        fs::create_dir(&left).unwrap();
        fs::write(left.join("output"), "half").unwrap();
        succeed(command, words);
        assert!(!left.exists(), "{words}");
    });
    assert!(of_user.iter().all(|folder| holds(&folder.join("thesis"), "mine")));
}
