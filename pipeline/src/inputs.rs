//! Resolves the arguments of a command into a list of inputs.

use crate::diagnostic::Diagnostic;
use crate::log;
use heaplake_ingest::FORMATS;
use heaplake_input::kind::{self, Kind};
use heaplake_input::source::Input;
use heaplake_kit::text::quoted;
use heaplake_kit::{InputError, storage};
use heaplake_replay::format as trace_format;
use std::fs;
use std::io;
use std::path::Path;

/// Kind of input a command wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Heap snapshots.
    Snapshots,
    /// Traces of allocations and garbage collections.
    Traces,
}

impl Wanted {
    /// Endings of the files to search folders for, without compression suffixes.
    fn endings(self) -> Vec<&'static str> {
        match self {
            Self::Snapshots => FORMATS.iter().rev().flat_map(|format| format.endings()).copied().collect(),
            Self::Traces => trace_format::ENDINGS.to_vec(),
        }
    }

    /// Returns the other kind.
    fn other(self) -> Self {
        match self {
            Self::Snapshots => Self::Traces,
            Self::Traces => Self::Snapshots,
        }
    }

    /// Returns the command that takes this kind.
    fn command(self) -> &'static str {
        match self {
            Self::Snapshots => "analyze",
            Self::Traces => "replay",
        }
    }

    fn none_here(self) -> String {
        let endings = self.endings();
        let (last, others) = endings.split_last().unwrap_or((&"", &[]));
        format!("the folder holds no {} or {last}, nor .gz or .zst of one", others.join(", "))
    }
}

/// Characters of an unknown file's beginning to show.
const BEGINNING: usize = 24;

/// Refuses content that matches no wanted format, with a diagnostic that names the formats or the right command.
pub(crate) fn check(name: &str, beginning: &[u8], wanted: Wanted) -> Result<(), Diagnostic> {
    let kind = kind::of(beginning);
    // V8 is the fallback: any JSON object may be one of its snapshots.
    let of_v8 = kind::text(beginning).starts_with(b"{") && kind.is_none_or(|kind| kind == kind::V8);
    let others = &FORMATS[..FORMATS.len() - 1];
    let (fits, what, command, known) = match wanted {
        Wanted::Snapshots => {
            let fits = of_v8 || others.iter().any(|format| format.recognises(beginning));
            (fits, "heap snapshot", "analyze", SNAPSHOTS)
        }
        Wanted::Traces => (trace_format::recognises(beginning), "trace of allocations", "replay", TRACES),
    };
    if fits {
        return Ok(());
    }
    let (said, found, hint) = match kind {
        _ if kind::text(beginning).is_empty() => {
            (format!("not a {what}: the file is empty"), "an empty file".to_owned(), known)
        }
        Some(Kind { is, advice }) => (format!("this is {is}, which {command} does not read"), is.to_owned(), advice),
        None => {
            let text: String = String::from_utf8_lossy(beginning).chars().take(BEGINNING).collect();
            (format!("not a {what}: it begins with {text:?}"), format!("{text:?}"), known)
        }
    };
    let error = InputError { file: name.to_owned(), offset: 0, expected: format!("a {what}"), found, hint };
    Err(Diagnostic { error: Some(Box::new(error.into())), ..Diagnostic::failed(format!("{name}: {said}"), hint) })
}

/// Formats that `analyze` reads, for diagnostics.
const SNAPSHOTS: &str = "heaplake reads .heapsnapshot (V8), .hprof (Java), .gcdump, .nettrace and profiler logs with walks of the heap (.NET), \
     also compressed as .gz or .zst";
/// Formats that `replay` reads, for diagnostics.
const TRACES: &str = "heaplake replays .nettrace (.NET), .jfr (Java), .heapprofile (V8), .heapsnapshot with allocations (V8) and \
                      its own event and profiler logs, also compressed as .gz or .zst";

/// Suffixes of compressed files.
const COMPRESSED: [&str; 2] = [".gz", ".zst"];

/// An argument that yields no input: its text, and the reason.
pub(crate) type Unusable = (String, String);

/// Resolves files, folders, glob patterns, URLs and `-` into inputs without repetition. Arguments keep their order; the
/// inputs of one folder or pattern are sorted.
pub(crate) fn resolve(names: &[String], wanted: Wanted) -> Vec<Result<Input, Unusable>> {
    let mut inputs: Vec<Result<Input, Unusable>> = Vec::new();
    for name in names {
        for input in one(name, wanted) {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
    }
    inputs
}

fn one(name: &str, wanted: Wanted) -> Vec<Result<Input, Unusable>> {
    let path = Path::new(name);
    let unusable = |why: &str| vec![Err((name.to_owned(), why.to_owned()))];
    if name == "-" {
        return vec![Ok(Input::Stdin)];
    }
    if let Some(url) = storage::url(path) {
        return of_store(url, wanted).unwrap_or_else(|why| unusable(&why));
    }
    if path.is_dir() {
        let mut found = Vec::new();
        search(path, wanted, &mut found);
        if found.is_empty() {
            let others = of_other_kind(path, wanted);
            return unusable(&format!("{}{}", wanted.none_here(), but(others, wanted)));
        }
        // Sorted by path, usable or not.
        found.sort_by_key(|input| match input {
            Ok(input) => input.name(),
            Err((path, _)) => path.clone(),
        });
        return found;
    }
    if !path.exists() && name.contains(['*', '?', '[']) {
        return match glob::glob(name) {
            Err(error) => unusable(&format!("not a glob pattern: {error}")),
            Ok(paths) => {
                let found: Vec<_> =
                    paths.flatten().filter(|path| path.is_file()).map(|path| Ok(Input::File(path))).collect();
                if found.is_empty() { unusable("no file matches the pattern") } else { found }
            }
        };
    }
    // Opening a missing or unreadable file reports it later.
    vec![Ok(Input::File(path.to_owned()))]
}

/// Returns a note for each named folder that holds files of the other kind, with the command for them and its `options`.
pub(crate) fn left_out(names: &[String], wanted: Wanted, options: &str) -> Vec<String> {
    let folders = names.iter().filter(|name| Path::new(name).is_dir());
    let counted = folders.map(|name| (name, of_other_kind(Path::new(name), wanted))).filter(|(_, others)| *others > 0);
    counted
        .map(|(name, others)| {
            let files = if others == 1 { "1 file is".to_owned() } else { format!("{others} files are") };
            let command = wanted.other().command();
            format!(
                "{name}: {files} left out, which heaplake {command} reads: heaplake {command} {} {options}",
                quoted(name)
            )
        })
        .collect()
}

fn but(others: usize, wanted: Wanted) -> String {
    let command = wanted.other().command();
    match others {
        0 => String::new(),
        1 => format!(", but 1 file that heaplake {command} reads"),
        others => format!(", but {others} files that heaplake {command} reads"),
    }
}

/// Counts the files of a folder that only the other command takes.
fn of_other_kind(folder: &Path, wanted: Wanted) -> usize {
    let mut found = Vec::new();
    search(folder, wanted.other(), &mut found);
    let is_other = |input: &Input| matches!(input, Input::File(path) if !is_wanted(&path.to_string_lossy(), wanted));
    found.iter().flatten().filter(|&input| is_other(input)).count()
}

/// Resolves a URL: an object, all wanted ones below a prefix, or the matches of a pattern, sorted.
fn of_store(url: &str, wanted: Wanted) -> Result<Vec<Result<Input, Unusable>>, String> {
    let failed = |error: io::Error| format!("cannot list what is there: {error}");
    let is_pattern = url.contains(['*', '?', '[']);
    if !url.ends_with('/') {
        match storage::input(Path::new(url)) {
            // Opening a missing object reports it later.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if !is_pattern => return Err(error.to_string()),
            Err(_) => {}
            Ok(_) => return Ok(vec![Ok(Input::File(url.into()))]),
        }
    }
    let folder = if is_pattern { before_pattern(url) } else { url };
    let pattern = glob::Pattern::new(url).map_err(|error| format!("not a glob pattern: {error}"))?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    let mut found = Vec::new();
    let level = storage::list_inputs(folder).map_err(failed)?;
    if let Some(first) = level.foreign.first() {
        let of = level.foreign.len();
        log::warn(&format!("{url}: {of} keys that are no paths are left out, such as {first}"));
    }
    for object in level.objects {
        let name = object.url.rsplit('/').next().unwrap_or_default();
        let takes = match is_pattern {
            true => pattern.matches_with(&object.url, options),
            false => {
                !object.url[folder.trim_end_matches('/').len().min(object.url.len())..].contains("/.")
                    && is_wanted(name, wanted)
            }
        };
        if takes {
            found.push(Ok(Input::File(object.url.into())));
        }
    }
    match found.is_empty() {
        true if is_pattern => Err("no object matches the pattern".to_owned()),
        true => {
            Err(format!("there is no such object, and below {}", wanted.none_here().replacen("the folder", "it", 1)))
        }
        false => Ok(found),
    }
}

/// Returns the part of a pattern before its first wildcard, up to a slash.
fn before_pattern(url: &str) -> &str {
    let end = url.find(['*', '?', '[']).unwrap_or(url.len());
    &url[..url[..end].rfind('/').map_or(end, |slash| slash + 1)]
}

/// Collects the wanted files below a folder, and the folders that cannot be read.
fn search(folder: &Path, wanted: Wanted, found: &mut Vec<Result<Input, Unusable>>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            found.push(Err((folder.display().to_string(), format!("cannot search the folder: {error}"))));
            return;
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&entry.path(), wanted, found);
        } else if is_wanted(&name, wanted) {
            found.push(if is_special(&entry.path()) {
                Err((entry.path().display().to_string(), "this is a pipe, a socket or a device".to_owned()))
            } else {
                Ok(Input::File(entry.path()))
            });
        }
    }
}

/// Whether a path is a device, pipe or socket: opening one may block forever.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

fn is_wanted(name: &str, wanted: Wanted) -> bool {
    let plain = COMPRESSED.iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
    wanted.endings().into_iter().any(|ending| plain.ends_with(ending))
}

/// Returns a readable name for an input: the file name without endings, with only letters, digits, dots, dashes and
/// underscores.
pub(crate) fn stem(input: &Input) -> String {
    let name = match input {
        Input::Stdin => "stdin".to_owned(),
        Input::File(path) => path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
    };
    let formats = [Wanted::Snapshots, Wanted::Traces].into_iter().flat_map(Wanted::endings);
    let endings = COMPRESSED.into_iter().chain(formats).chain([".log"]);
    let name = endings.fold(name.as_str(), |name, end| name.strip_suffix(end).unwrap_or(name));
    let clean: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' })
        .take(100)
        .collect();
    let clean = clean.trim_start_matches('.');
    if clean.is_empty() { "snapshot".to_owned() } else { clean.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_snapshot_is_named() {
        let said = |beginning: &[u8], wanted| check("it", beginning, wanted).map_err(|diagnostic| diagnostic.cause);
        for good in [&b"{\"snapshot\":"[..], b" \n{", b"JAVA PROFILE 1.0.2\0", b"Nettrace"] {
            assert_eq!(said(good, Wanted::Snapshots), Ok(()));
        }
        for (beginning, end) in [
            (&b"hello\nworld"[..], "it begins with \"hello\\nworld\""),
            (b"", "the file is empty"),
            (b" \n", "the file is empty"),
        ] {
            assert_eq!(said(beginning, Wanted::Snapshots), Err(format!("it: not a heap snapshot: {end}")));
            assert_eq!(said(beginning, Wanted::Traces), Err(format!("it: not a trace of allocations: {end}")));
        }
        for (beginning, is) in [(&b"\x7fELF\x02"[..], "a program"), (b"PK\x03\x04", "a zip archive")] {
            for (wanted, command) in [(Wanted::Snapshots, "analyze"), (Wanted::Traces, "replay")] {
                let expected = format!("it: this is {is}, which {command} does not read");
                assert_eq!(said(beginning, wanted), Err(expected));
            }
        }
        assert_eq!(
            said(b"JAVA PROFILE 1.0.2\0", Wanted::Traces),
            Err("it: this is a heap dump of Java (.hprof), which replay does not read".to_owned())
        );
        assert_eq!(said(b"Nettrace", Wanted::Traces), Ok(()));
        assert_eq!(
            said(b"{\"head\":{\"callFrame\":{}", Wanted::Snapshots),
            Err("it: this is an allocation profile of V8 (.heapprofile), which analyze does not read".to_owned())
        );
    }

    #[test]
    fn stems_are_readable_and_safe() {
        for (path, expected) in [
            ("a/Heap.2026.heapsnapshot.gz", "Heap.2026"),
            ("x y=z.heapsnapshot", "x_y_z"),
            (".heapsnapshot", "snapshot"),
            ("..zst", "snapshot"),
            ("a.hprof.gz", "a"),
            ("plain", "plain"),
        ] {
            assert_eq!(stem(&Input::File(path.into())), expected);
        }
        assert_eq!(stem(&Input::Stdin), "stdin");
    }
}
