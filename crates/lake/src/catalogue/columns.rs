//! The runs of a segment in memory, as columns.

use crate::entry::{Details, Entry, Labels, TableEntry, shared};
use crate::reader::{Batch, Reader, damaged, value};
use crate::standing::Version;
use arrow::array::{
    Array, AsArray, BooleanArray, Int64Array, MapArray, StringArray, TimestampMicrosecondArray, UInt32Array,
    UInt64Array,
};
use heaplake_kit::StageError;
use heaplake_schemas::catalogue::RUNS;
use heaplake_schemas::options;
use heaplake_schemas::run::Packed;
use std::path::Path;
use std::sync::Arc;

/// Columns that every list of runs needs.
#[derive(Debug)]
pub(crate) struct Columns {
    path: StringArray,
    release: StringArray,
    snapshot: StringArray,
    format: StringArray,
    replay: BooleanArray,
    captured_at: TimestampMicrosecondArray,
    labels: MapArray,
    schema_version: UInt32Array,
    input_bytes: UInt64Array,
    node_count: UInt64Array,
    shallow_bytes: UInt64Array,
    findings: [UInt32Array; 3],
    partial_reason: StringArray,
    /// Missing in segments of older versions, whose runs have all texts.
    texts: Option<StringArray>,
    disk_bytes: UInt64Array,
    name_rules: UInt64Array,
    identity: StringArray,
    sealed: BooleanArray,
    tables_folder: StringArray,
    night: StringArray,
    packed_seal: StringArray,
    description_bytes: UInt64Array,
    description_changed: Int64Array,
    folder_changed: Int64Array,
    description_tag: StringArray,
    details: Option<DetailColumns>,
}

/// Columns of [`Details`].
#[derive(Debug)]
struct DetailColumns {
    heaplake_version: StringArray,
    source: StringArray,
    input_hash: StringArray,
    edge_count: UInt64Array,
    table_bytes: UInt64Array,
    scratch_bytes: UInt64Array,
    peak_rss_bytes: UInt64Array,
}

/// Name of a column that older versions did not write.
const TEXTS: &str = "texts";

/// Names of the columns of [`Details`].
const OF_DETAILS: [&str; 7] =
    ["heaplake_version", "source", "input_hash", "edge_count", "table_bytes", "scratch_bytes", "peak_rss_bytes"];

impl Columns {
    /// Reads the table [`RUNS`]; the columns of [`Details`] on request.
    pub(super) fn read(path: &Path, details: bool) -> Result<Self, StageError> {
        let reader = Reader::open(path)?;
        let columns = RUNS.columns.iter().map(|column| column.name).filter(|name| *name != TEXTS || reader.has(TEXTS));
        let columns: Vec<&str> = columns.filter(|name| details || !OF_DETAILS.contains(name)).collect();
        let runs = reader.in_one_batch().columns(&columns)?.batch()?;
        let runs = runs.ok_or_else(|| damaged(path, "expected a run, found none"))?;
        let (texts, flags, sizes) = (Texts(&runs), |name| runs.flags(name).cloned(), |name| runs.sizes(name));
        let (u32s, times) = (|name| runs.u32s(name).cloned(), |name| runs.i64s(name).cloned());
        Ok(Self {
            path: texts.of("path")?,
            release: texts.of("release")?,
            snapshot: texts.of("snapshot")?,
            format: texts.of("format")?,
            replay: flags("replay")?,
            captured_at: runs.times("captured_at")?.clone(),
            labels: runs.maps("labels")?.clone(),
            schema_version: u32s("schema_version")?,
            input_bytes: sizes("input_bytes")?,
            node_count: sizes("node_count")?,
            shallow_bytes: sizes("shallow_bytes")?,
            findings: [u32s("high_findings")?, u32s("medium_findings")?, u32s("low_findings")?],
            partial_reason: texts.of("partial_reason")?,
            texts: if runs.has(TEXTS) { Some(texts.of(TEXTS)?) } else { None },
            disk_bytes: sizes("disk_bytes")?,
            name_rules: runs.u64s("name_rules")?.clone(),
            identity: texts.of("identity")?,
            sealed: flags("sealed")?,
            tables_folder: texts.of("tables_folder")?,
            night: texts.of("night")?,
            packed_seal: texts.of("packed_seal")?,
            description_bytes: sizes("description_bytes")?,
            description_changed: times("description_changed_ns")?,
            folder_changed: times("folder_changed_ns")?,
            description_tag: texts.of("description_tag")?,
            details: if details { Some(DetailColumns::of(&runs)?) } else { None },
        })
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.path.len()
    }

    /// Folder of a run in the lake.
    pub(crate) fn path(&self, run: usize) -> &str {
        self.path.value(run)
    }

    /// Version of the description of a run.
    pub(crate) fn version(&self, run: usize) -> Version {
        Version {
            bytes: self.description_bytes.value(run),
            changed_ns: self.description_changed.value(run),
            folder_changed_ns: self.folder_changed.value(run),
            tag: value(&self.description_tag, run).map(Arc::from),
        }
    }

    /// Bytes of the files of a run.
    pub(crate) fn disk_bytes(&self, run: usize) -> u64 {
        self.disk_bytes.value(run)
    }

    /// The entry of a run with these tables.
    pub(super) fn entry(&self, run: usize, tables: &[TableEntry]) -> Entry {
        Entry {
            release: shared(self.release.value(run)),
            snapshot: self.snapshot.value(run).into(),
            format: shared(self.format.value(run)),
            is_replay: self.replay.value(run),
            schema_version: self.schema_version.value(run),
            captured_at_us: value(&self.captured_at, run),
            labels: self.labels(run),
            tables: tables.to_vec(),
            name_rules: self.name_rules.value(run),
            partial: value(&self.partial_reason, run).map(Arc::from),
            texts: self.texts(run),
            bytes: self.shallow_bytes.value(run),
            objects: self.node_count.value(run),
            input_bytes: self.input_bytes.value(run),
            findings: [0, 1, 2].map(|severity: usize| self.findings[severity].value(run)),
            identity: self.identity.value(run).into(),
            is_sealed: self.sealed.value(run),
            folder: value(&self.tables_folder, run).map(Arc::from),
            packed: self.packed(run),
            details: self.details.as_ref().map(|details| Box::new(details.of_run(run))),
        }
    }

    fn texts(&self, run: usize) -> Option<options::Texts> {
        match &self.texts {
            Some(texts) => value(texts, run).and_then(options::Texts::of_name),
            None => (!self.replay.value(run)).then(options::Texts::default),
        }
    }

    fn packed(&self, run: usize) -> Option<Packed> {
        let (night, seal) = (value(&self.night, run)?, value(&self.packed_seal, run)?);
        Some(Packed { night: night.to_owned(), seal: seal.to_owned() })
    }

    fn labels(&self, run: usize) -> Labels {
        let entries = self.labels.value(run);
        let [names, values] = [0, 1].map(|column| entries.column(column).as_string_opt::<i32>().cloned());
        let (Some(names), Some(values)) = (names, values) else { return Labels::default() };
        let labels = names.iter().zip(&values).filter_map(|(name, value)| Some((name?, value.unwrap_or_default())));
        labels.collect()
    }
}

impl DetailColumns {
    fn of(runs: &Batch) -> Result<Self, StageError> {
        let texts = Texts(runs);
        Ok(Self {
            heaplake_version: texts.of("heaplake_version")?,
            source: texts.of("source")?,
            input_hash: texts.of("input_hash")?,
            edge_count: runs.sizes("edge_count")?,
            table_bytes: runs.sizes("table_bytes")?,
            scratch_bytes: runs.sizes("scratch_bytes")?,
            peak_rss_bytes: runs.sizes("peak_rss_bytes")?,
        })
    }

    fn of_run(&self, run: usize) -> Details {
        Details {
            source: self.source.value(run).into(),
            input_hash: self.input_hash.value(run).into(),
            heaplake_version: shared(self.heaplake_version.value(run)),
            edges: self.edge_count.value(run),
            table_bytes: self.table_bytes.value(run),
            scratch_bytes: self.scratch_bytes.value(run),
            peak_rss_bytes: value(&self.peak_rss_bytes, run),
        }
    }
}

/// Columns of texts, cheap to clone.
struct Texts<'a>(&'a Batch);

impl Texts<'_> {
    fn of(&self, name: &str) -> Result<StringArray, StageError> {
        self.0.texts(name).cloned()
    }
}
