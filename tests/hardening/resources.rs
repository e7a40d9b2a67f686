//! Missing or unreadable files, full disks and small budgets: one line of cause, one of advice, and nothing left in the
//! lake.

use super::good::{GOOD, edited};
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnosed, diagnostic, heaplake};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

// Unreadable inputs and unwritable outputs.

#[test]
fn inputs_that_are_not_there() {
    let lake = Lake::new();
    fs::create_dir(lake.folder().join("nothing")).unwrap();
    lake.input("nothing/notes.txt", b"");
    for (name, wanted) in [
        ("nothing", "the folder holds no .heapsnapshot"),
        ("missing.heapsnapshot", "cannot open: No such file"),
        ("missing/Heap.heapsnapshot", "cannot open: No such file"),
        ("*.heapsnapshot", "no file matches the pattern"),
        ("[", "not a glob pattern"),
    ] {
        let input = lake.folder().join(name);
        let (cause, _) = diagnostic(&mut lake.analyze(&input), 1);
        assert!(cause.starts_with(&format!("{}: {wanted}", input.display())), "{cause}");
        lake.assert_empty();
    }
}

#[test]
fn inputs_that_cannot_be_read() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", GOOD.as_bytes());
    fs::set_permissions(&input, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&input).is_ok() {
        eprintln!("skipped: this user may read everything");
    } else {
        let (cause, advice) = diagnostic(&mut lake.analyze(&input), 1);
        assert!(cause.contains("cannot open: Permission denied"), "{cause}");
        assert!(advice.contains("that you may use it"), "{advice}");
        lake.assert_empty();
    }
    // Opens successfully and then fails to read.
    let (cause, _) = diagnostic(&mut lake.analyze("/proc/self/mem"), 1);
    assert!(cause.starts_with("/proc/self/mem: cannot read: Input/output error"), "{cause}");
    lake.assert_empty();
}

#[test]
fn lakes_that_cannot_be() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", GOOD.as_bytes());
    for out in [input.clone(), input.join("lake")] {
        let mut command = heaplake();
        let (cause, _) = diagnostic(command.arg("analyze").arg(&input).arg("--out").arg(&out), 2);
        assert!(cause.starts_with(&format!("{}: cannot create: ", out.display())), "{cause}");
    }
    let scratch = input.join("scratch");
    let (cause, _) = diagnostic(lake.analyze(&input).arg("--scratch").arg(&scratch), 1);
    assert!(cause.contains(&format!("{}: cannot create: ", scratch.display())), "{cause}");
    lake.assert_empty();
    assert_eq!(fs::read(&input).unwrap(), GOOD.as_bytes());
}

/// Runs `heaplake analyze` in a shell after the commands `before`, which may set limits. `$1` is the lake.
fn in_a_shell(before: &str, folder: &Path, input: &Path, options: &[&str]) -> assert_cmd::Command {
    let script = format!("{before}; shift; exec \"$@\"");
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(folder).arg(env!("CARGO_BIN_EXE_heaplake")).arg("analyze").arg(input);
    command.arg("--out").arg(folder).arg("--quiet").args(options);
    command
}

/// A snapshot of a few megabytes.
fn large() -> Vec<u8> {
    generated(3, 4_000_000)
}

#[test]
fn files_that_may_not_grow() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &large());
    // heaplake ignores the limit's signal, which would end it before the error.
    let mut command = in_a_shell("ulimit -f 100", &lake.path(), &input, &["--resume", "always"]);
    let (cause, advice) = diagnostic(&mut command, 3);
    assert!(cause.contains("cannot write: File too large"), "{cause}");
    assert!(advice.contains("--scratch"), "{advice}");
    lake.assert_empty();
}

#[test]
fn small_address_spaces() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &large());
    // Below that, the system does not even load the program.
    let starts = |kib: &usize| {
        let script = format!("ulimit -v {kib}; exec \"$0\" --version");
        let mut command = assert_cmd::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_heaplake")]).output().unwrap().status.success()
    };
    let least = (20_000..2_000_000).step_by(20_000).find(starts).unwrap();
    let mut refused = 0;
    for kib in [0, 20_000, 60_000, 120_000].map(|more| least + more) {
        let before = format!("ulimit -v {kib}");
        let options = ["--memory", "256MiB", "--threads", "2", "--force"];
        // Near the limit, one process may be refused and the next one not.
        let output = in_a_shell(&before, &lake.path(), &input, &options).output().unwrap();
        if output.status.success() {
            continue;
        }
        diagnosed(output, 3);
        refused += 1;
    }
    assert!(refused > 0);
}

/// A folder with a small disk mounted; only the command's process tree sees the mount.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Runs a script with the disk as `$1`, and these words as `$2` and following.
    fn run(&self, limit: &str, script: &str, words: &[&Path]) -> assert_cmd::Command {
        let script = format!("mount -t tmpfs -o {limit} none \"$1\" && cd \"$1\" || exit 99; {script}");
        let mut command = assert_cmd::Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh"]).arg(&self.folder).args(words);
        command
    }

    /// `heaplake analyze` with its lake on the disk; lists its leftovers on standard output.
    fn analyze(&self, limit: &str, input: &Path, options: &str) -> assert_cmd::Command {
        let script = format!(
            "\"$2\" analyze \"$3\" --out \"$1\" --quiet --resume always {options}; code=$?; find \"$1\" -mindepth 1; exit $code"
        );
        self.run(limit, &script, &[Path::new(env!("CARGO_BIN_EXE_heaplake")), input])
    }

    fn is_permitted(&self) -> bool {
        self.run("size=1m", "exit 0", &[]).output().is_ok_and(|output| output.status.success())
    }
}

#[test]
fn full_disks() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &large());
    let disk = Disk { folder: lake.folder().join("disk") };
    fs::create_dir(&disk.folder).unwrap();
    if !disk.is_permitted() {
        eprintln!("skipped: mounting a small disk is not permitted here");
        return;
    }
    let scratch = lake.folder().join("scratch");
    let elsewhere = format!("--scratch '{}' --edges", scratch.display());
    let mut limits: Vec<(String, &str)> = ["64k", "1m", "3m"].map(|size| (format!("size={size}"), "")).to_vec();
    limits.extend(["64k", "400k"].map(|size| (format!("size={size}"), elsewhere.as_str())));
    // Room for `most` files and folders, including the disk's own.
    limits.extend((1..12).flat_map(|most| ["", &elsewhere].map(|options| (format!("nr_inodes={most}"), options))));
    for (limit, options) in limits {
        let mut command = disk.analyze(&limit, &input, options);
        let output = command.output().unwrap();
        if options == elsewhere && output.status.success() {
            // The tables alone are few.
            assert!(limit.starts_with("nr_inodes="), "{limit}");
            continue;
        }
        let (cause, advice) = diagnostic(&mut command, 3);
        assert!(cause.contains("No space left on device"), "{limit}: {cause}");
        assert!(advice.contains("--out and --scratch"), "{limit}: {advice}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{limit} {options}: left behind");
        assert_eq!(fs::read_dir(&scratch).into_iter().flatten().count(), 0, "{limit}");
    }
    // A large enough disk.
    disk.analyze("size=200m", &input, "").assert().success();
}

// Memory limits.

/// The size that the advice names for `--memory`.
fn advised(advice: &str) -> String {
    let size = advice.strip_prefix("raise --memory to at least ").unwrap_or_else(|| panic!("{advice}"));
    assert!(size.ends_with("MiB"), "{advice}");
    size.to_owned()
}

#[test]
fn budgets_that_are_too_small() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", GOOD.as_bytes());
    for size in ["1KiB", "0", "31MiB", "71MiB"] {
        let (cause, advice) = diagnostic(lake.analyze(&input).args(["--memory", size]), 3);
        assert!(cause.contains("too small for stage edges"), "{cause}");
        assert_eq!(advised(&advice), "72MiB");
        lake.assert_empty();
    }
    for size in ["", "much", "-1GiB", "5 parsecs"] {
        lake.analyze(&input).arg(format!("--memory={size}")).assert().code(2);
    }
    lake.analyze(&input).args(["--memory", "72MiB"]).assert().success();
    assert_eq!(lake.runs().len(), 1);
}

/// The size named by a refusal suffices at once.
#[test]
fn budgets_that_are_named_suffice() {
    for fixture in ["v8/node24_app.heapsnapshot.zst", "jvm/dupfix.hprof.zst"] {
        let lake = Lake::new();
        let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(fixture);
        let all = ["--edges", "--duplicates", "all", "--memory"];
        let (_, advice) = diagnostic(lake.analyze(&input).args(all).arg("30MiB"), 3);
        lake.assert_empty();
        lake.analyze(&input).args(all).arg(advised(&advice)).assert().success();
    }
}

#[test]
fn more_nodes_than_the_budget_holds() {
    let lake = Lake::new();
    let input =
        lake.input("Heap.heapsnapshot", edited(&[("\"node_count\":4", "\"node_count\":4000000000")]).as_bytes());
    let (cause, advice) = diagnostic(lake.analyze(&input).args(["--memory", "128MiB"]), 3);
    assert!(cause.contains("budget of 134217728 bytes is too small for stage "), "{cause}");
    lake.assert_empty();
    // With that much the header is accepted, and the rows contradict it.
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--memory", &advised(&advice)]), 1);
    assert!(cause.contains("expected 4000000000 nodes as snapshot.node_count promises, found 4"), "{cause}");
    lake.assert_empty();
}

#[test]
fn more_locations_than_the_budget_holds() {
    let lake = Lake::new();
    let text = edited(&[("\"locations\":[", &format!("\"locations\":[{}", "7,1,4,2,".repeat(2_200_000)))]);
    let input = lake.input("Heap.heapsnapshot", text.as_bytes());
    lake.analyze(&input).args(["--memory", "72MiB"]).assert().success();
    let small = fs::read(lake.run().join("classes.parquet")).unwrap();
    lake.analyze(&input).args(["--memory", "1GiB", "--force"]).assert().success();
    assert!(small == fs::read(lake.run().join("classes.parquet")).unwrap());
}
