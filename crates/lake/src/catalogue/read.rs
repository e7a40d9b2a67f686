//! Reads the catalogue of a lake.

use super::segment::Segment;
use crate::entry::Entry;
use crate::layout::{Layout, Named};
use crate::standing::Version;
use crate::stored;
use heaplake_kit::{StageError, storage};
use heaplake_schemas::catalogue::{FOLDER, RUNS, TABLES};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Prefix of the names of segments.
pub(super) const SEGMENT: &str = "segment-";
/// Attempts to read segments that others merge meanwhile.
const TRIES: u32 = 20;

/// Objects of a piece of a listing: a page has 1,000.
const OBJECTS: usize = 900;
/// Objects of a run beside its tables: its description, its page, and the mark of its attempt.
const BESIDE: usize = 3;

/// What a reader needs of each run.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Whether it needs a table.
    pub tables: &'a dyn Fn(&str) -> bool,
    /// Whether it needs [`Details`](crate::entry::Details).
    pub details: bool,
}

impl Wanted<'_> {
    /// All tables, without details.
    pub const TABLES: Wanted<'static> = Wanted { tables: &|_| true, details: false };
    /// Neither tables nor details.
    pub const NO_TABLES: Wanted<'static> = Wanted { tables: &|_| false, details: false };
}

/// The segments of a lake, in memory.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    segments: Vec<Segment>,
    /// Hash of the path, segment and row of each run, sorted.
    rows: Vec<(u64, u32, u32)>,
    /// Segments that cannot be read, with the problem of each.
    pub damaged: Vec<(PathBuf, String)>,
}

/// A row of the catalogue that describes a run as it is now.
pub(crate) struct Known<'a> {
    segment: &'a Segment,
    row: usize,
    /// Whether no file was added to or removed from the run since the row was written.
    pub is_complete: bool,
}

impl Known<'_> {
    /// Its entry.
    pub(crate) fn entry(&self) -> Entry {
        self.segment.entry(self.row)
    }

    /// Bytes of its files, when the row was written.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.segment.runs.disk_bytes(self.row)
    }
}

impl Catalogue {
    /// Reads the catalogue of a lake, or of the lake of a folder `release=…`; empty if there is none. Segments that
    /// cannot be read are left out: their runs are read from the descriptions.
    pub(crate) fn read(folder: &Path, wanted: Wanted<'_>) -> Self {
        let catalogue = lake_of(folder).join(FOLDER);
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::read_once(&catalogue, wanted) {
                Some(catalogue) => return catalogue,
                // Others merge segments all the time: the descriptions are read instead.
                None if tries == TRIES => return Self::default(),
                None => {}
            }
        }
    }

    /// As [`Self::read`]; `None` if a segment vanished meanwhile.
    fn read_once(folder: &Path, wanted: Wanted<'_>) -> Option<Self> {
        let mut catalogue = Self::default();
        let segments = segments(folder);
        for segment in &segments {
            [RUNS.file, TABLES.file].iter().for_each(|file| stored::begin(segment, file));
        }
        for path in segments {
            match Segment::read(&path, wanted.tables, wanted.details) {
                Ok(segment) => catalogue.push(segment),
                Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return None,
                Err(error) => catalogue.damaged.push((path, error.to_string())),
            }
        }
        catalogue.rows.sort_unstable();
        Some(catalogue)
    }

    fn push(&mut self, segment: Segment) {
        let number = self.segments.len() as u32;
        let rows = (0..segment.runs.len()).map(|row| (hash(segment.runs.path(row)), number, row as u32));
        self.rows.extend(rows);
        self.segments.push(segment);
    }

    /// Whether there is no run.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Places of some runs of a folder of its lake, sorted: between two of them are at most about [`OBJECTS`] objects.
    pub(crate) fn cuts(&self, folder: &Path) -> Vec<String> {
        let lake = lake_of(folder);
        let rows = self.segments.iter().flat_map(|segment| (0..segment.runs.len()).map(move |row| (segment, row)));
        let runs = rows.map(|(segment, row)| (lake.join(segment.runs.path(row)), segment.table_count(row) + BESIDE));
        let runs: BTreeMap<PathBuf, usize> = runs.filter(|(place, _)| place.starts_with(folder)).collect();
        let (mut cuts, mut objects) = (Vec::new(), 0);
        for (place, of_run) in runs {
            objects += of_run;
            if objects > OBJECTS {
                cuts.push(place.to_string_lossy().into_owned());
                objects = of_run;
            }
        }
        cuts
    }

    /// The row of the run at a place whose description has this version.
    pub(crate) fn find(&self, place: &Path, version: &Version) -> Option<Known<'_>> {
        let path = path_in_lake(place)?;
        let wanted = hash(&path);
        let first = self.rows.partition_point(|(hash, ..)| *hash < wanted);
        let same = self.rows[first..].iter().take_while(|(hash, ..)| *hash == wanted);
        let rows = same.map(|&(_, segment, row)| (&self.segments[segment as usize], row as usize));
        let mut current = rows.filter_map(|(segment, row)| {
            let known = segment.runs.version(row);
            let is_complete = known.folder_changed_ns == version.folder_changed_ns;
            let is_current = segment.runs.path(row) == path && known.is_same(version);
            is_current.then_some(Known { segment, row, is_complete })
        });
        let first = current.next()?;
        // A later row may know files that were added since.
        let complete = (!first.is_complete).then(|| current.find(|known| known.is_complete)).flatten();
        Some(complete.unwrap_or(first))
    }
}

fn hash(path: &str) -> u64 {
    xxh3_64(path.as_bytes())
}

/// Path of a run in its lake: the names of its folders.
pub(super) fn path_in_lake(place: &Path) -> Option<String> {
    let (release, snapshot) = (place.parent()?.file_name()?.to_str()?, place.file_name()?.to_str()?);
    Some(format!("{release}/{snapshot}"))
}

/// The lake of a folder that is a lake, or a folder `release=…` in one.
fn lake_of(folder: &Path) -> &Path {
    let is_release = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("release="));
    folder.parent().filter(|_| is_release).unwrap_or(folder)
}

/// Folders of the segments of a catalogue, by name; none if there is no catalogue.
pub(super) fn segments(catalogue: &Path) -> Vec<PathBuf> {
    if let Some(url) = storage::url(catalogue) {
        return segments_of_store(url);
    }
    let entries = std::fs::read_dir(catalogue).into_iter().flatten().flatten();
    let names: BTreeSet<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.into_iter().filter(|name| runs_of(name).is_some()).map(|name| catalogue.join(name)).collect()
}

/// As [`segments`], in a store; remembers the lengths of their tables.
fn segments_of_store(catalogue: &str) -> Vec<PathBuf> {
    let objects = storage::store().and_then(|store| store.list(catalogue)).unwrap_or_default().objects;
    let mut segments: BTreeMap<&Path, Vec<Named>> = BTreeMap::new();
    for object in &objects {
        let path = Path::new(&object.url);
        if let (Some(segment), Some(file)) = (path.parent(), path.file_name()) {
            let file = file.to_string_lossy().into_owned();
            segments.entry(segment).or_default().push(Named { file, bytes: Some(object.bytes), xxh3_64: None });
        }
    }
    let name = |segment: &Path| segment.file_name().and_then(|name| runs_of(&name.to_string_lossy()));
    // The table of runs is written last.
    segments.retain(|segment, tables| name(segment).is_some() && tables.iter().any(|table| table.file == RUNS.file));
    let remember = |(segment, tables): (&Path, Vec<Named>)| {
        stored::remember(segment, Layout { tables, is_fixed: true, ..Layout::default() });
        segment.to_owned()
    };
    segments.into_iter().map(remember).collect()
}

/// Number of runs of a segment, by its name; `None` for other names.
pub(super) fn runs_of(name: &str) -> Option<u64> {
    let (runs, hash) = name.strip_prefix(SEGMENT)?.split_once('-')?;
    (hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())).then(|| runs.parse().ok()).flatten()
}

/// Whether an object of a store belongs to the catalogue of a lake: `within` is its path in the lake.
pub(crate) fn has(within: &[&str]) -> bool {
    matches!(within, [FOLDER, segment, file] if runs_of(segment).is_some() && [RUNS.file, TABLES.file].contains(file))
}
