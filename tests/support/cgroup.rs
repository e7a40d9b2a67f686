//! Runs the binary in a cgroup, which limits its touched pages (code and mapped files included) or its threads.

use crate::lake::binary;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes that a process may touch beyond its budget.
pub const ROOM: u64 = 48 << 20;

/// A cgroup for one process at a time, removed on drop.
pub struct Cgroup {
    folder: PathBuf,
    /// File of the peak memory.
    peak: &'static str,
}

impl Cgroup {
    /// A memory cgroup below this process's group; prints a note and returns `None` where the machine forbids it.
    pub fn limited_to(bytes: u64) -> Option<Self> {
        Self::told("memory", ["memory.max", "memory.limit_in_bytes"], bytes)
    }

    /// A cgroup of at most `most` processes and threads.
    pub fn of_threads(most: u64) -> Option<Self> {
        Self::told("pids", ["pids.max"; 2], most)
    }

    fn told(controller: &str, files: [&str; 2], limit: u64) -> Option<Self> {
        let group = Self::try_limited(controller, files, limit);
        if group.is_none() {
            eprintln!("SKIPPED: this machine does not let a test make a cgroup of {controller}");
        }
        group
    }

    /// `files`: the limit's file in version 2 and in version 1.
    fn try_limited(controller: &str, files: [&str; 2], most: u64) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("heaplake-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, own) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            let (root, limit, peak) = match controllers {
                "" => ("/sys/fs/cgroup".to_owned(), files[0], "memory.peak"),
                of if of == controller => (format!("/sys/fs/cgroup/{of}"), files[1], "memory.max_usage_in_bytes"),
                _ => return None,
            };
            let folder = Path::new(&root).join(own).join(&name);
            fs::create_dir(&folder).ok()?;
            let group = Self { folder, peak };
            fs::write(group.folder.join(limit), most.to_string()).ok()?;
            Some(group)
        })
    }

    /// The binary in this group, ready for arguments. The started process is the binary itself.
    pub fn heaplake(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(&self.folder).arg(binary());
        command
    }

    /// Peak memory as the kernel reports it.
    pub fn peak(&self) -> String {
        fs::read_to_string(self.folder.join(self.peak)).unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}
