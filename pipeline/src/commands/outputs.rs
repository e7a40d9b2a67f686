//! Check of output files named on a command line: none may be a file that the command reads, another output, or a file
//! of a run or of a comparison. Every command with output files runs this check before any work.
//!
//! Existing files are equal if device and inode are; missing ones, if their resolved paths are. Devices and pipes may
//! be named several times.

use crate::diagnostic::Diagnostic;
use crate::inputs::Unusable;
use heaplake_input::source::Input;
use heaplake_kit::storage;
use heaplake_lake::run_files;
use heaplake_schemas::{comparison, rollup, run, series};
use std::fs::{metadata, read_link};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};

/// Maximum symbolic links followed, the system's limit.
const MOST_LINKS: usize = 40;
/// Files, each with the option or argument that names it.
pub(super) type Named<'a> = Vec<(&'static str, &'a Path)>;

/// Option that names a folder; only its manifest is checked.
pub(super) const FOLDER: &str = "--out FOLDER";

/// Name and path of standard input, which may be a file.
pub(super) const STDIN: (&str, &str) = ("standard input", "/dev/stdin");

/// Refuses, as a usage error, outputs that would replace a file that the command reads or writes, or a file of a run or
/// of a comparison. `read` is called only if there are outputs.
pub(super) fn check<'a>(
    written: &[(&'static str, Option<&Path>)],
    read: impl FnOnce() -> Named<'a>,
) -> Result<(), Diagnostic> {
    let written: Named<'_> = written.iter().filter_map(|(name, path)| Some((*name, (*path)?))).collect();
    if written.is_empty() {
        return Ok(());
    }
    let read: Vec<(&str, Identity)> =
        read().into_iter().filter_map(|(name, path)| Some((name, Identity::of(path)?))).collect();
    let mut before: Vec<(&str, Identity)> = Vec::new();
    for (name, path) in written {
        if let Some(of) = owner(path).filter(|_| name != FOLDER) {
            return Err(refused(path, &format!("{name} would write to a file of {of}")));
        }
        let Some(identity) = Identity::of(path) else { continue };
        if let Some((other, _)) = read.iter().find(|(_, other)| *other == identity) {
            return Err(refused(path, &format!("{name} would replace what {other} reads")));
        }
        if let Some((other, _)) = before.iter().find(|(_, other)| *other == identity) {
            return Err(refused(path, &format!("{other} and {name} would write to one file")));
        }
        before.push((name, identity));
    }
    Ok(())
}

fn refused(path: &Path, problem: &str) -> Diagnostic {
    Diagnostic::usage(format!("{}: {problem}", path.display()), "name another file")
}

/// The inputs of a command.
pub(super) fn of_inputs(inputs: &[Result<Input, Unusable>]) -> Named<'_> {
    inputs.iter().flatten().map(named_input).collect()
}

fn named_input(input: &Input) -> (&'static str, &Path) {
    match input {
        Input::File(path) => ("the command", path),
        Input::Stdin => (STDIN.0, Path::new(STDIN.1)),
    }
}

/// The files of one option.
pub(super) fn of_option<'a, P: AsRef<Path> + ?Sized + 'a>(
    option: &'static str,
    files: impl IntoIterator<Item = &'a P>,
) -> Named<'a> {
    files.into_iter().map(|file| (option, file.as_ref())).collect()
}

/// Identity of a file.
#[derive(PartialEq, Eq)]
enum Identity {
    File(u64, u64),
    Path(PathBuf),
}

impl Identity {
    /// Identity of a path; `None` for a device, a pipe or a folder.
    fn of(path: &Path) -> Option<Self> {
        if storage::is_url(path) {
            return Some(Self::Path(path.to_owned()));
        }
        match metadata(path) {
            Ok(there) if there.is_file() => Some(Self::File(there.dev(), there.ino())),
            Ok(_) => None,
            Err(_) => Some(Self::Path(target(path))),
        }
    }
}

/// Resolves links of a path, and links in its folders as far as these exist.
fn target(path: &Path) -> PathBuf {
    let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    let mut at = absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MOST_LINKS {
        let Ok(to) = read_link(&at) else { break };
        at = folder(&at).join(to);
    }
    match at.file_name() {
        Some(name) => storage::canonical(&folder(&at)).join(name),
        None => at,
    }
}

/// Owner of a file, by its name and folder; `None` for a permitted output.
fn owner(path: &Path) -> Option<&'static str> {
    let target = if storage::is_url(path) { path.to_owned() } else { target(path) };
    let (folder, name) = (target.parent()?, target.file_name()?.to_string_lossy());
    let is_table = |prefix: &str| name.starts_with(prefix) && name.ends_with(".parquet");
    let has = |file: &str| storage::is_url(&target) || folder.join(file).is_file();
    if (name == run::FILE || is_table("") || run_files::FOR_OTHERS.contains(&&*name)) && has(run::FILE) {
        return Some("a run");
    }
    let manifests = [(comparison::FILE, "diff_"), (series::FILE, "trend_"), (rollup::FILE, "rollup_")];
    let is_of = |(manifest, prefix): &(&str, &str)| (name == *manifest || is_table(prefix)) && has(manifest);
    manifests.iter().any(is_of).then_some("a comparison")
}
