//! Describes the machine of a measurement.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

/// Date, processor, cores, memory, kernel and heaplake's version in one line.
pub(crate) fn describe(heaplake: &Path) -> Result<String> {
    let date = first_line(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let version = first_line(Command::new(heaplake).arg("--version"))?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kib: f64 = text.trim_end_matches("kB").trim().parse().ok()?;
        Some(format!("{:.1} GB of memory", kib * 1024.0 / 1e9))
    });
    let memory = memory.unwrap_or_else(|| "unknown memory".to_owned());
    Ok(format!("*{date}, {processor}, {cores} cores, {memory}, Linux {}, {version}*", kernel.trim()))
}

fn first_line(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

/// Text after the first `NAME :` in a file under `/proc`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim().to_owned())
}
