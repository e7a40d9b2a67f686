//! Memory of the machine, default budget, and peak memory of the process.

use std::fs;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lower bound of the default budget, bytes.
const LEAST_DEFAULT: u64 = 256 << 20;

/// A size in bytes as users write it: `512MiB`, `2GB`, `1.5G`, `4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => 1000,
            "mb" => 1000 * 1000,
            "gb" => 1000 * 1000 * 1000,
            "tb" => 1000 * 1000 * 1000 * 1000,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            _ => return Err("a size is a number and B, KiB, MiB, GiB, KB, MB or GB".to_owned()),
        };
        let number: f64 = number.parse().map_err(|_| "a size begins with a number".to_owned())?;
        Ok(Self((number * unit as f64) as u64))
    }
}

/// Returns the default budget: a quarter of the memory of the machine or cgroup, at least 256 MiB.
pub fn default_budget() -> u64 {
    (available() / 4).max(LEAST_DEFAULT)
}

/// Returns the memory of the machine, or the smallest limit of the process's cgroups (version 1 or 2) if lower.
fn available() -> u64 {
    let machine = field("/proc/meminfo", "MemTotal:").unwrap_or(4 << 30);
    cgroup_limits().into_iter().fold(machine, u64::min)
}

/// Returns the limits of all cgroups above the process. A limit that is not a number, or huge, is ignored.
fn cgroup_limits() -> Vec<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            list if list.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut folder = path.trim_matches('/');
        loop {
            let text = fs::read_to_string(format!("{root}/{folder}/{file}")).unwrap_or_default();
            limits.extend(text.trim().parse::<u64>());
            match folder.rsplit_once('/') {
                Some((above, _)) => folder = above,
                None if !folder.is_empty() => folder = "",
                None => break,
            }
        }
    }
    limits
}

/// Peak resident memory since the last [`AtWork`] that began alone, bytes; `None` where the system does not report it.
pub fn peak_rss() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// Number of runs in progress.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Guard of a run in progress. One that begins alone resets the peak, so that each of several inputs gets its own
/// unless they run side by side. Where the system cannot reset it, the peak covers the whole process.
#[derive(Debug)]
pub struct AtWork(());

impl AtWork {
    /// Starts a run.
    pub fn begin() -> Self {
        if AT_WORK.fetch_add(1, Ordering::Relaxed) == 0 {
            let _ = fs::write("/proc/self/clear_refs", "5");
        }
        Self(())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads a `Name:   12345 kB` line of a file under `/proc`, in bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("256MiB"), Ok(256 << 20));
        assert_eq!(size("1.5g"), Ok(3 << 29));
        assert_eq!(size("2 GB"), Ok(2_000_000_000));
        assert!(size("lots").is_err() && size("5 parsecs").is_err());
    }
}
