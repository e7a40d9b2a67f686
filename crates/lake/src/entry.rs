//! An entry of a list of runs: the part of a description that selections, comparisons and listings use.
//!
//! A description takes 20 kB in memory, an entry half a kilobyte, so that a list of 100,000 runs fits into a small
//! budget. Entries come from a description, or from the [catalogue](crate::catalogue).

use heaplake_kit::threads::locked;
use heaplake_schemas::findings::Severity;
use heaplake_schemas::options::Texts;
use heaplake_schemas::run::{self, Packed, Run};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Release.
    pub release: Arc<str>,
    /// Name.
    pub snapshot: Arc<str>,
    /// Format of the input.
    pub format: Arc<str>,
    /// Whether it is a replayed trace.
    pub is_replay: bool,
    /// Version of the tables.
    pub schema_version: u32,
    /// When the input was captured, in microseconds since 1970; see [`captured_at`](crate::captured::captured_at).
    pub captured_at_us: Option<i64>,
    /// Labels.
    pub labels: Labels,
    /// Tables; from the catalogue, only those asked for.
    pub tables: Vec<TableEntry>,
    /// Hash of the rules for names; 0 without rules.
    pub name_rules: u64,
    /// Left-out parts of the input; `None` if complete.
    pub partial: Option<Arc<str>>,
    /// Texts of the heap in the run; `None` for a replay.
    pub texts: Option<Texts>,
    /// Bytes of the heap; of a replay, allocated bytes.
    pub bytes: u64,
    /// Nodes of the heap; of a replay, allocated objects.
    pub objects: u64,
    /// Bytes of the input as stored.
    pub input_bytes: u64,
    /// Findings of high, medium and low severity.
    pub findings: [u32; 3],
    /// The seal of the description; for a run without one, a hash of the description.
    pub identity: Arc<str>,
    /// Whether it has a seal; runs of older versions have none.
    pub is_sealed: bool,
    /// In a store, the folder of the tables.
    pub folder: Option<Arc<str>>,
    /// In a compacted lake, where its small tables are.
    pub packed: Option<Packed>,
    /// What only a table of runs shows; from the catalogue, only if asked for.
    pub details: Option<Box<Details>>,
}

/// Further columns of a table of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The input as the user named it.
    pub source: Arc<str>,
    /// XXH3-128 of the input.
    pub input_hash: Arc<str>,
    /// Version of heaplake that wrote the run.
    pub heaplake_version: Arc<str>,
    /// Edges of the heap.
    pub edges: u64,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Peak scratch space, bytes.
    pub scratch_bytes: u64,
    /// Peak resident memory, bytes.
    pub peak_rss_bytes: Option<u64>,
}

/// A table of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// File name inside the run.
    pub file: Arc<str>,
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// XXH3-64 of the file; `None` in runs of older versions.
    pub xxh3_64: Option<u64>,
}

/// Labels of a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[(Arc<str>, Arc<str>)]>);

impl Labels {
    /// The value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All labels, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Labels {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(labels: I) -> Self {
        Self(labels.into_iter().map(|(name, value)| (shared(name), value.into())).collect())
    }
}

impl Entry {
    /// Extracts the entry of a run from its description.
    ///
    /// # Errors
    /// One line, for a checksum that is not of sixteen hexadecimal digits.
    pub fn of(run: &Run) -> Result<Self, String> {
        let (summary, metadata) = (&run.summary, run.replay.as_ref().map(|replay| &replay.metadata));
        let of = |severity| summary.findings.iter().filter(|finding| finding.severity == severity).count() as u32;
        let labels = run.options.labels().iter();
        Ok(Self {
            release: shared(&run.release),
            snapshot: run.snapshot.as_str().into(),
            format: shared(metadata.map_or(&summary.format, |metadata| &metadata.format)),
            is_replay: metadata.is_some(),
            schema_version: run.schema_version,
            captured_at_us: run.captured_at_us,
            labels: labels.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            tables: run.tables.iter().map(TableEntry::of).collect::<Result<_, _>>()?,
            name_rules: run.options.names().map_or(0, |rules| xxh3_64(format!("{rules:?}").as_bytes()).max(1)),
            partial: summary.partial.as_deref().map(Arc::from),
            texts: run.options.analysis().map(|options| options.texts.mode),
            bytes: metadata.map_or(summary.shallow_bytes, |metadata| metadata.allocated_bytes),
            objects: metadata.map_or(summary.node_count, |metadata| metadata.allocated_count),
            input_bytes: run.input_bytes,
            findings: [Severity::High, Severity::Medium, Severity::Low].map(of),
            identity: identity(run).into(),
            is_sealed: run.seal.is_some(),
            folder: run.folder.as_deref().map(Arc::from),
            packed: run.packed.clone(),
            details: Some(Box::new(Details {
                source: run.source.as_str().into(),
                input_hash: run.input_hash.as_str().into(),
                heaplake_version: shared(&run.heaplake_version),
                edges: summary.edge_count,
                table_bytes: run.tables.iter().fold(0, |sum, table| sum.saturating_add(table.bytes)),
                scratch_bytes: summary.scratch_bytes,
                peak_rss_bytes: summary.peak_rss_bytes,
            })),
        })
    }

    /// The table in a file.
    pub fn table(&self, file: &str) -> Option<&TableEntry> {
        self.tables.iter().find(|table| &*table.file == file)
    }
}

impl TableEntry {
    /// Parses the listing of a table.
    pub(crate) fn of(table: &run::Table) -> Result<Self, String> {
        let parse = |digits: &String| {
            let number =
                u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16 && !digits.starts_with('+'));
            number.ok_or_else(|| format!("{}: expected an XXH3-64 of sixteen digits, found {digits:?}", table.file))
        };
        let xxh3_64 = table.xxh3_64.as_ref().map(parse).transpose()?;
        Ok(Self { file: shared(&table.file), rows: table.rows, bytes: table.bytes, xxh3_64 })
    }
}

/// The seal of a description, or else a hash of it.
fn identity(run: &Run) -> String {
    // A parsed description can always be serialised.
    let hash = || format!("{:032x}", xxh3_128(&serde_json::to_vec(run).unwrap_or_default()));
    run.seal.clone().unwrap_or_else(hash)
}

/// Most texts that entries share.
const MOST_SHARED: usize = 4096;

/// Returns a text that occurs in many entries, shared between them.
pub(crate) fn shared(text: &str) -> Arc<str> {
    static SHARED: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());
    let mut shared = locked(&SHARED);
    if let Some(known) = shared.get(text) {
        return Arc::clone(known);
    }
    let new: Arc<str> = text.into();
    if shared.len() < MOST_SHARED {
        shared.insert(Arc::clone(&new));
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_has_sixteen_digits() {
        let table = |digits: &str| run::Table {
            file: "nodes.parquet".to_owned(),
            rows: 1,
            bytes: 2,
            xxh3_64: Some(digits.to_owned()),
        };
        assert_eq!(TableEntry::of(&table("00000000000000ff")).unwrap().xxh3_64, Some(255));
        for wrong in ["", "ff", "00000000000000fg", "+0000000000000ff", "00000000000000fff"] {
            let problem = TableEntry::of(&table(wrong)).unwrap_err();
            assert!(problem.contains("nodes.parquet: expected an XXH3-64"), "{problem}");
        }
    }

    #[test]
    fn texts_of_many_entries_are_shared() {
        assert!(Arc::ptr_eq(&shared("release"), &shared("release")));
    }
}
