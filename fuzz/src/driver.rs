//! Supervises workers: starts them, and keeps the inputs at which they die, hang or exceed the memory limit.

use crate::analysis;
use crate::subject::Target;
use crate::worker::{COUNT, CURRENT};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// An input may take this much CPU time, and this much time in all.
const HANGS: Duration = Duration::from_secs(10);
const SLEEPS: Duration = Duration::from_secs(120);

/// Polling interval.
const LOOK: Duration = Duration::from_millis(20);

/// An input that failed.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Failure, in one line.
    pub what: String,
    /// The kept input.
    pub input: PathBuf,
}

/// Results of a target so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of inputs.
    pub inputs: u64,
    /// Seconds.
    pub seconds: f64,
    /// Findings: description, count and input.
    pub findings: BTreeMap<String, (u64, PathBuf)>,
}

/// The worker program and the folder of findings.
pub struct Driver {
    /// This program, which understands `--worker`.
    pub program: PathBuf,
    /// Folder of findings.
    pub findings: PathBuf,
}

impl Driver {
    /// Runs a worker until a bound is reached; restarts with another seed where one dies.
    pub fn run(&self, target: &Target, seed: u64, time: Duration, inputs: u64, tally: &mut Tally) -> Vec<Finding> {
        let (started, mut found, mut attempt) = (Instant::now(), Vec::new(), 0);
        let before = tally.inputs;
        while started.elapsed() < time && tally.inputs - before < inputs {
            let folder = analysis::folder();
            let left = (time - started.elapsed().min(time), inputs - (tally.inputs - before));
            let died = self.watch(target, seed.wrapping_add(attempt << 32), left, folder.path());
            tally.inputs += number(&folder.path().join(COUNT));
            attempt += 1;
            let Some(what) = died else { break };
            let finding = self.keep(target, &what, &folder.path().join(CURRENT), tally);
            found.extend(finding);
        }
        tally.seconds += started.elapsed().as_secs_f64();
        found
    }

    /// Runs one input; returns why it died, if it did.
    pub fn once(&self, target: &Target, input: &Path) -> Option<String> {
        let folder = analysis::folder();
        fs::write(folder.path().join(CURRENT), fs::read(input).unwrap()).unwrap();
        let arguments = ["--once".into(), target.name.into(), input.as_os_str().to_owned()];
        let child = self.spawn(&arguments, folder.path());
        wait(child, folder.path())
    }

    fn watch(&self, target: &Target, seed: u64, left: (Duration, u64), folder: &Path) -> Option<String> {
        let (time, inputs) = left;
        let milliseconds = time.as_millis().to_string();
        let numbers = [seed.to_string(), milliseconds, inputs.to_string()];
        let words = ["--worker", target.name, &numbers[0], &numbers[1], &numbers[2]];
        let arguments: Vec<_> = words.iter().map(Into::into).chain([folder.as_os_str().to_owned()]).collect();
        wait(self.spawn(&arguments, folder), folder)
    }

    fn spawn(&self, arguments: &[std::ffi::OsString], folder: &Path) -> Child {
        let log = File::create(folder.join("log")).unwrap();
        let mut command = Command::new(&self.program);
        // Temporary files that targets leave are removed with the folder.
        command.args(arguments).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().unwrap()
    }

    /// Keeps the input of a new finding.
    fn keep(&self, target: &Target, what: &str, current: &Path, tally: &mut Tally) -> Option<Finding> {
        if let Some((times, _)) = tally.findings.get_mut(what) {
            *times += 1;
            return None;
        }
        let folder = self.findings.join(target.name);
        fs::create_dir_all(&folder).unwrap();
        let clean: String = what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(80).collect();
        let input = folder.join(format!("{:02}-{clean}", tally.findings.len()));
        fs::copy(current, &input).unwrap();
        tally.findings.insert(what.to_owned(), (1, input.clone()));
        Some(Finding { what: what.to_owned(), input })
    }
}

/// Waits for a worker; returns why it died, if it did.
fn wait(mut child: Child, folder: &Path) -> Option<String> {
    let (mut input, mut since, mut before) = (None, Instant::now(), Duration::ZERO);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (!status.success()).then(|| cause(folder, &status.to_string()));
        }
        let (current, work) = (fs::metadata(folder.join(CURRENT)).and_then(|file| file.modified()).ok(), work(&child));
        if current != input {
            (input, since, before) = (current, Instant::now(), work);
        }
        // On a busy machine a worker waits for a processor.
        if work.saturating_sub(before) > HANGS || since.elapsed() > SLEEPS {
            child.kill().unwrap();
            child.wait().unwrap();
            return Some(format!("no end after {} s", HANGS.as_secs()));
        }
        thread::sleep(LOOK);
    }
}

/// CPU time of a process so far; zero where `/proc` does not show it.
fn work(child: &Child) -> Duration {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // The name comes first and may contain anything. Then the state; eleven fields on, user time and system time, in
    // hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
}

/// How a worker ended: the place of a panic, or its exit status.
fn cause(folder: &Path, status: &str) -> String {
    let log = String::from_utf8_lossy(&fs::read(folder.join("log")).unwrap_or_default()).into_owned();
    let mut lines = log.lines();
    match lines.find(|line| line.contains("panicked at") || line.contains("memory allocation of")) {
        Some(line) => {
            let said = if line.ends_with(':') { lines.next().unwrap_or_default() } else { "" };
            let place = line.rsplit("panicked at ").next().unwrap_or(line);
            let said: String = said.chars().filter(|c| !c.is_ascii_digit()).take(120).collect();
            format!("{place} {said}").trim().to_owned()
        }
        None => status.to_owned(),
    }
}

fn number(path: &Path) -> u64 {
    fs::read_to_string(path).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
