//! Temporary folders in memory if there is room: thousands of small runs need no disk.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

const MEMORY: &str = "/dev/shm";

/// Space needed by concurrent tests, KiB. Containers often have 64 MiB.
const ROOM: u64 = 2 << 20;

/// A temporary folder, in memory if there is room.
pub(crate) fn fast_folder() -> TempDir {
    static IS_FAST: OnceLock<bool> = OnceLock::new();
    match IS_FAST.get_or_init(has_room) {
        true => TempDir::new_in(MEMORY).unwrap(),
        false => TempDir::new().unwrap(),
    }
}

fn has_room() -> bool {
    if !Path::new(MEMORY).is_dir() || TempDir::new_in(MEMORY).is_err() {
        return false;
    }
    let Ok(said) = Command::new("df").args(["-Pk", MEMORY]).output() else { return false };
    // A header, then the file system's name, its size, used space, free space.
    let line = String::from_utf8_lossy(&said.stdout).lines().nth(1).unwrap_or_default().to_owned();
    line.split_whitespace().nth(3).and_then(|free| free.parse().ok()).is_some_and(|free: u64| free >= ROOM)
}
