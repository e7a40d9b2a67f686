//! Memory cgroups: limits enforced by the kernel.
//!
//! A program's own numbers and even its resident set are debatable; a cgroup limit is not. The page cache counts in the
//! group and is reclaimed first, so the input cannot stay cached outside the budget. Creating a group usually needs
//! root.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, process, thread};

/// A child of this process's group, removed on drop.
pub(crate) struct Group {
    folder: PathBuf,
}

impl Group {
    /// Creates a group with a limit in bytes; fails where the machine or the user's rights forbid it.
    pub(crate) fn create(limit: u64) -> Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let (parent, version) = own_group(&groups).context("no memory cgroup here")?;
        let folder = parent.join(format!("heaplake-bench-{}", process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let group = Self { folder };
        let limit = limit.to_string();
        let (memory, swap, swap_limit) = match version {
            Version::One => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", limit.as_str()),
            Version::Two => ("memory.max", "memory.swap.max", "0"),
        };
        if version == Version::Two {
            // Refused where already enabled or forbidden; only setting the limit below counts.
            let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
        }
        let file = group.folder.join(memory);
        fs::write(&file, &limit).with_context(|| format!("cannot write {}", file.display()))?;
        // A kernel without swap accounting cannot limit swap either.
        let _ = fs::write(group.folder.join(swap), swap_limit);
        Ok(group)
    }

    /// Folder whose `cgroup.procs` a process writes its id to.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process leaves its group shortly after it has been waited for.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        eprintln!("heaplake-bench: cannot remove {}", self.folder.display());
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    One,
    Two,
}

/// Memory cgroup folder of the process with this `/proc/self/cgroup`.
fn own_group(groups: &str) -> Result<(PathBuf, Version)> {
    let path = |wanted: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            wanted(controllers).then(|| path.trim_matches('/').to_owned())
        })
    };
    let one = path(|controllers| controllers.split(',').any(|name| name == "memory"));
    let (root, own, version) = match one {
        Some(own) => ("/sys/fs/cgroup/memory", own, Version::One),
        None => ("/sys/fs/cgroup", path(str::is_empty).context("no line of version 2")?, Version::Two),
    };
    let root = Path::new(root);
    ensure!(root.is_dir(), "no {}", root.display());
    // In a container the path may be the host's.
    let inside = root.join(own);
    Ok((if inside.is_dir() { inside } else { root.to_owned() }, version))
}
