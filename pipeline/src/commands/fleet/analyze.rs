//! `heaplake fleet analyze`: snapshots into the lake, one task of a Ray cluster for each.
//!
//! The Python package does the work: this command finds a Python that has it and replaces itself by it.

use crate::commands::analyze;
use crate::diagnostic::{Diagnostic, Done};
use crate::log;
use crate::memory::Size;
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MORE: &str = "\
Examples:
  heaplake fleet analyze nightly/ --out lake --release 2.4.1 --label 'host={stem}' --address head:6379
  heaplake fleet analyze nightly/ --out lake --manifest night.parquet
  heaplake fleet analyze 'snapshots/*.hprof.gz' --out lake --scratch /scratch --scratch-per-node 200GiB

Each snapshot is a task with the cores, the memory and the scratch that heaplake plan says. The task commits its run, so \
 inputs and lake must be reachable under the same names on all nodes. A task whose memory or scratch did not suffice is \
 tried again with more, one whose node died on another. The same command goes on after a kill.

It needs the Python package with Ray: pip install 'heaplake[ray]'. HEAPLAKE_PYTHON names the Python that has it; else it \
 is the one beside heaplake, or python3.";

/// Help heading of options of the cluster.
const CLUSTER: &str = "Cluster";

/// Probe for the Python packages: the exit code says which one is missing.
const PROBE: &str = "import sys, importlib.util as u\n\
                     sys.exit(1 if u.find_spec('heaplake') is None else 2 if u.find_spec('ray') is None else 0)";

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake fleet analyze nightly/ --out lake --address head:6379\n\nMore: heaplake fleet analyze --help",
    after_long_help = MORE
)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    analyze: analyze::Arguments,
    /// Address of the cluster [default: RAY_ADDRESS, or this machine]
    ///
    /// HOST:PORT of its head, or ray://HOST:PORT for a client outside. Without one, Ray runs on this machine during the
    /// command.
    #[arg(long, value_name = "ADDRESS", help_heading = CLUSTER)]
    address: Option<String>,
    /// Retries after the loss of a node or lack of memory
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = CLUSTER)]
    retries: u16,
    /// Tasks that wait or run at a time [default: four per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = CLUSTER)]
    in_flight: Option<u32>,
    /// Maximum memory of a task [default: that of the largest node]
    #[arg(long, value_name = "SIZE", help_heading = CLUSTER)]
    most_memory: Option<Size>,
    /// Scratch of a node, where nodes do not declare it
    ///
    /// Nodes declare it in MiB as the resource heaplake_scratch: ray start --resources '{"heaplake_scratch": 200000}'.
    /// Otherwise tasks in flight together take at most this size times the number of nodes.
    #[arg(long, value_name = "SIZE", help_heading = CLUSTER)]
    scratch_per_node: Option<Size>,
    /// Time that an input waits for a node that can take it [default: 10m]
    ///
    /// A number and s, m or h. The input fails when no such node has come by then. The default is 1m on a cluster
    /// without an autoscaler.
    #[arg(long, value_name = "TIME", help_heading = CLUSTER)]
    wait: Option<String>,
    /// Time limit of a task [default: none]
    ///
    /// A number and s, m or h. A task that takes longer is ended, and its input fails.
    #[arg(long, value_name = "TIME", help_heading = CLUSTER)]
    time_limit: Option<String>,
    /// Write a row for each input: JSON lines, or .parquet
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    manifest: Option<PathBuf>,
}

/// Replaces the process by Python. The parsed arguments only serve to refuse wrong ones early, and to make a missing key
/// of texts once for all tasks.
pub(crate) fn run(arguments: &Arguments) -> Done {
    arguments.analyze.texts()?;
    let python = python(env::var_os("HEAPLAKE_PYTHON"), env::current_exe().ok().as_deref());
    probe(&python)?;
    let mut command = Command::new(&python);
    command.args(["-m", "heaplake.fleet", "analyze"]).args(handed_on(env::args_os()));
    if log::is_json() {
        command.args(["--log-format", "json"]);
    }
    if let Ok(binary) = env::current_exe() {
        command.env("HEAPLAKE_BINARY", binary);
    }
    Err(missing(&python, &command.exec().to_string()))
}

/// Chooses a Python: the one of HEAPLAKE_PYTHON, else the one beside the binary, as in a virtual environment, else
/// `python3`.
fn python(told: Option<OsString>, binary: Option<&Path>) -> PathBuf {
    let beside = || binary.and_then(Path::parent).map(|folder| folder.join("python3")).filter(|path| path.exists());
    told.filter(|told| !told.is_empty()).map(PathBuf::from).or_else(beside).unwrap_or_else(|| "python3".into())
}

/// Refuses a Python without the packages.
fn probe(python: &Path) -> Result<(), Diagnostic> {
    let probe = Command::new(python).args(["-c", PROBE]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    match probe.map(|status| status.code()) {
        Ok(Some(0)) => Ok(()),
        Ok(Some(1)) => Err(missing(python, "it has no package heaplake")),
        Ok(Some(2)) => Err(missing(python, "it has no package ray")),
        Ok(_) => Err(missing(python, "it does not run")),
        Err(error) => Err(missing(python, &error.to_string())),
    }
}

fn missing(python: &Path, why: &str) -> Diagnostic {
    let cause = format!("fleet analyze needs a Python with heaplake and Ray; {}: {why}", python.display());
    Diagnostic::usage(cause, "pip install 'heaplake[ray]', or set HEAPLAKE_PYTHON to a Python that has them")
}

/// Command-line words after `fleet analyze`.
fn handed_on(words: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    words.skip(1).skip_while(|word| word != "fleet").skip_while(|word| word != "analyze").skip(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_behind_the_command_are_handed_on() {
        let words = ["heaplake", "--color", "never", "fleet", "analyze", "a", "fleet", "analyze", "--out", "lake"];
        let rest: Vec<OsString> = handed_on(words.map(OsString::from).into_iter()).collect();
        assert_eq!(rest, ["a", "fleet", "analyze", "--out", "lake"]);
    }

    #[test]
    fn the_python_that_is_told_wins_then_the_one_beside() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("heaplake");
        assert_eq!(python(None, Some(&binary)), Path::new("python3"));
        std::fs::write(folder.path().join("python3"), "").unwrap();
        assert_eq!(python(None, Some(&binary)), folder.path().join("python3"));
        assert_eq!(python(Some("".into()), Some(&binary)), folder.path().join("python3"));
        assert_eq!(python(Some("p".into()), Some(&binary)), Path::new("p"));
    }
}
