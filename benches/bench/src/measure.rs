//! Measures the cost of one command, by the kernel's accounting.
//!
//! `getrusage` reports the largest resident set among *all* children waited for, so a process can measure one child
//! only. Every measurement is therefore a fresh process of this binary (`measure -- COMMAND`), started by [`command`].
//! The binary is small, which matters: a child's peak is never below that of the process that forked it.

use anyhow::{Context, Result, bail};
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode, Stdio};
use std::time::Instant;
use std::{env, fs};

/// Options of `measure`.
#[derive(Args)]
#[command(after_help = "Example:\n  heaplake-bench measure -- heaplake analyze Heap.heapsnapshot --out lake")]
pub(crate) struct Options {
    /// Folder of a memory cgroup to run the command in
    #[arg(long, value_name = "FOLDER")]
    group: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Cost of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub wall_seconds: f64,
    /// CPU time in user mode.
    pub user_seconds: f64,
    /// CPU time in the kernel.
    pub system_seconds: f64,
    /// User and system time.
    pub cpu_seconds: f64,
    /// Largest resident set.
    pub max_rss_bytes: u64,
    /// Bytes read from files, cached or not, without mapped ones.
    pub read_bytes: u64,
    /// Exit code as in shells: 128 plus the signal's number for a killed process.
    pub exit_code: i32,
}

/// A finished command and its standard error.
pub(crate) struct Run {
    pub cost: Cost,
    /// Everything that it printed.
    pub log: String,
}

/// The subcommand: exits with the command's exit code.
pub(crate) fn main(options: &Options) -> ExitCode {
    match here(options).and_then(|cost| {
        writeln!(io::stdout(), "{}", serde_json::to_string(&cost)?)?;
        Ok(cost.exit_code)
    }) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(error) => {
            eprintln!("heaplake-bench measure: {error:#}");
            ExitCode::from(127)
        }
    }
}

/// Runs the command as the only child that this process ever has.
fn here(options: &Options) -> Result<Cost> {
    if let Some(group) = &options.group {
        // A child inherits its parent's group.
        let file = group.join("cgroup.procs");
        fs::write(&file, process::id().to_string()).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let (program, arguments) = options.command.split_first().context("no command")?;
    let (start, read_before) = (Instant::now(), read_bytes()?);
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let wall_seconds = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let (user_seconds, system_seconds) = (seconds(usage.user_time()), seconds(usage.system_time()));
    Ok(Cost {
        wall_seconds,
        user_seconds,
        system_seconds,
        cpu_seconds: user_seconds + system_seconds,
        // Linux counts in KiB.
        max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
        read_bytes: read_bytes()? - read_before,
        exit_code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
    })
}

/// Bytes read by this process and by the children that it waited for.
fn read_bytes() -> Result<u64> {
    let account = fs::read_to_string("/proc/self/io").context("cannot read /proc/self/io")?;
    let bytes = account.lines().find_map(|line| line.strip_prefix("rchar: "));
    bytes.context("/proc/self/io has no rchar")?.parse().context("/proc/self/io: no number")
}

/// Measures a command in a process of its own, inside a cgroup if given. A command that fails is a result, not an
/// error.
pub(crate) fn command(group: Option<&Path>, command: &[OsString]) -> Result<Run> {
    let mut own = Command::new(env::current_exe()?);
    own.arg("measure");
    if let Some(group) = group {
        own.arg("--group").arg(group);
    }
    let output = own.arg("--").args(command).stdin(Stdio::null()).output()?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    match serde_json::from_slice(&output.stdout) {
        Ok(cost) => Ok(Run { cost, log }),
        Err(_) => bail!("no measurement: {}", log.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_shell() {
        let cost = |script: &str| {
            here(&Options { group: None, command: ["sh", "-c", script].map(OsString::from).to_vec() }).unwrap()
        };
        assert_eq!(cost("exit 3").exit_code, 3);
        assert_eq!(cost("kill -9 $$").exit_code, 137);
        assert!(cost("true").max_rss_bytes > 0);
        assert!(cost("head -c 3000000 /dev/zero > /dev/null").read_bytes >= 3_000_000);
    }
}
