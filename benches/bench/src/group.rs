//! A memory cgroup: the only honest test of a budget.
//!
//! What a program says it allocates, and even its resident set, can be argued about; a limit that the kernel enforces
//! cannot. Page cache counts in a group and is reclaimed first, so a run inside one has no cache of its input to hide
//! behind either. Making one needs permission, usually root's.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, process, thread};

/// A child group of our own group; removed on drop.
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// Makes a group with this limit, bytes.
    ///
    /// # Errors
    /// When this machine or this user cannot.
    pub fn create(limit: u64) -> Result<Self> {
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
            // Refused where it is so already, or must not be; whether the group has a limit to set is what counts.
            let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
        }
        let file = group.folder.join(memory);
        fs::write(&file, &limit).with_context(|| format!("cannot write {}", file.display()))?;
        // A kernel that keeps no account of swap cannot limit it either.
        let _ = fs::write(group.folder.join(swap), swap_limit);
        Ok(group)
    }

    /// Where a process writes its number to enter.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process leaves its group a moment after it was waited for.
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

/// Folder of the group that a process with this `/proc/self/cgroup` is in, as far as memory goes.
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
    // In a container the path may be that of the world outside.
    let inside = root.join(own);
    Ok((if inside.is_dir() { inside } else { root.to_owned() }, version))
}
