//! What a user can choose about a run.

pub use crate::big_classes::{BigClasses, LEAST_COUNT, LEAST_RETAINED};
use crate::names::NameRules;
use crate::owners::OwnerRules;
use crate::symbols::Symbols;
pub use crate::symbols::{SourceMap, SourceMaps};
pub use crate::table_names::{TableName, TraceTable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Options that shape the result: two runs on the same input with the same options have the same tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, from = "Either")]
pub enum Options {
    /// Those of the replay of a trace.
    Replay(ReplayOptions),
    /// Those of the analysis of a snapshot.
    Analysis(AnalysisOptions),
}

impl Options {
    /// Those of an analysis.
    #[must_use]
    pub fn analysis(&self) -> Option<&AnalysisOptions> {
        match self {
            Self::Analysis(options) => Some(options),
            Self::Replay(_) => None,
        }
    }

    /// Those of an analysis; the defaults for a replay.
    #[must_use]
    pub fn analysis_or_default(&self) -> &AnalysisOptions {
        static DEFAULTS: LazyLock<AnalysisOptions> = LazyLock::new(AnalysisOptions::default);
        self.analysis().unwrap_or(&DEFAULTS)
    }

    /// Those of a replay.
    #[must_use]
    pub fn replay(&self) -> Option<&ReplayOptions> {
        match self {
            Self::Analysis(_) => None,
            Self::Replay(options) => Some(options),
        }
    }

    /// Rules of the user for names.
    #[must_use]
    pub fn names(&self) -> Option<&NameRules> {
        match self {
            Self::Analysis(options) => options.names.as_ref(),
            Self::Replay(options) => options.names.as_ref(),
        }
    }

    /// Assemblies and PDBs.
    #[must_use]
    pub fn symbols(&self) -> Option<&Symbols> {
        match self {
            Self::Analysis(options) => options.symbols.as_ref(),
            Self::Replay(options) => options.symbols.as_ref(),
        }
    }

    /// Source maps of the scripts.
    #[must_use]
    pub fn source_maps(&self) -> Option<&SourceMaps> {
        match self {
            Self::Analysis(options) => options.source_maps.as_ref(),
            Self::Replay(options) => options.source_maps.as_ref(),
        }
    }

    /// The user's labels.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Analysis(options) => &options.labels,
            Self::Replay(options) => &options.labels,
        }
    }
}

/// What shapes the replay of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayOptions {
    /// The user's labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How it is replayed.
    #[serde(rename = "replay")]
    pub recording: Recording,
    /// Rules of the user for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NameRules>,
    /// Assemblies and PDBs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Symbols>,
    /// Source maps of the scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_maps: Option<SourceMaps>,
}

/// What shapes the analysis of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalysisOptions {
    /// The tables that are written, where the format has them.
    #[serde(default)]
    pub tables: Tables,
    /// The user's labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Whether weak references keep their referents alive, in formats that leave the choice.
    #[serde(default)]
    pub referents: Referents,
    /// Whose rule shallow sizes follow, in formats that do not state them.
    #[serde(default)]
    pub sizes: SizeRule,
    /// Whether a damaged input is analysed as far as it can be read.
    #[serde(default)]
    pub salvage: bool,
    /// Which of the walks of the heap in a trace, counted from 1, where not the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<u32>,
    /// Which classes are big.
    #[serde(default)]
    pub big: BigClasses,
    /// How far the search for duplicates goes.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// Patterns of names of classes for which that search has no limit of work.
    #[serde(default)]
    pub duplicates_of: Vec<String>,
    /// Work allowed for it, in pairs of slots, where the user set it.
    #[serde(default)]
    pub duplicate_work: Option<u64>,
    /// Who owns objects, where the user says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<OwnerRules>,
    /// Rules of the user for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NameRules>,
    /// Source maps of the scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_maps: Option<SourceMaps>,
    /// Assemblies and PDBs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Symbols>,
}

/// Options of both kinds as they are read: which kind they are shows only at the end, and to keep what nobody knows until then
/// would take many times its length in memory.
#[derive(Deserialize)]
struct Either {
    #[serde(rename = "replay")]
    recording: Option<Recording>,
    #[serde(default)]
    tables: Tables,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    referents: Referents,
    #[serde(default)]
    sizes: SizeRule,
    #[serde(default)]
    salvage: bool,
    walk: Option<u32>,
    #[serde(default)]
    big: BigClasses,
    #[serde(default)]
    duplicates: Duplicates,
    #[serde(default)]
    duplicates_of: Vec<String>,
    duplicate_work: Option<u64>,
    owners: Option<OwnerRules>,
    names: Option<NameRules>,
    source_maps: Option<SourceMaps>,
    symbols: Option<Symbols>,
}

impl From<Either> for Options {
    fn from(either: Either) -> Self {
        let Either {
            recording,
            tables,
            labels,
            referents,
            sizes,
            salvage,
            walk,
            big,
            duplicates,
            duplicates_of,
            duplicate_work,
            owners,
            names,
            source_maps,
            symbols,
        } = either;
        match recording {
            Some(recording) => Self::Replay(ReplayOptions { labels, recording, names, symbols, source_maps }),
            None => Self::Analysis(AnalysisOptions {
                tables,
                labels,
                referents,
                sizes,
                salvage,
                walk,
                big,
                duplicates,
                duplicates_of,
                duplicate_work,
                owners,
                names,
                source_maps,
                symbols,
            }),
        }
    }
}

impl AnalysisOptions {
    /// Whether duplicates are looked for.
    #[must_use]
    pub fn finds_duplicates(&self) -> bool {
        self.duplicates != Duplicates::None || !self.duplicates_of.is_empty()
    }

    /// Whether references of any class are followed for it.
    #[must_use]
    pub fn looks_into_references(&self) -> bool {
        self.duplicates == Duplicates::All || !self.duplicates_of.is_empty()
    }
}

/// How far duplicate instances are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// Not at all.
    None,
    /// References are not followed.
    #[default]
    Trivial,
    /// References are followed.
    All,
}

impl Duplicates {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Trivial => "trivial",
            Self::All => "all",
        }
    }
}

/// A choice of tables. The default leaves out those that are larger than most users want.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables(BTreeSet<TableName>);

impl Default for Tables {
    fn default() -> Self {
        TableName::ALL.into_iter().filter(|table| ![TableName::Edges, TableName::Values].contains(table)).collect()
    }
}

impl FromIterator<TableName> for Tables {
    fn from_iter<I: IntoIterator<Item = TableName>>(tables: I) -> Self {
        Self(tables.into_iter().collect())
    }
}

impl Tables {
    /// Every table that there is.
    #[must_use]
    pub fn all() -> Self {
        TableName::ALL.into_iter().collect()
    }

    /// The same and one more.
    #[must_use]
    pub fn with(mut self, table: TableName) -> Self {
        self.0.insert(table);
        self
    }

    /// Whether a table is wanted.
    #[must_use]
    pub fn has(&self, table: TableName) -> bool {
        self.0.contains(&table)
    }
}

impl std::fmt::Display for Tables {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|table| table.name()).collect();
        formatter.write_str(&names.join(","))
    }
}

/// Whether weak, soft and phantom references keep their referents alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Referents {
    /// They do.
    #[default]
    Hold,
    /// They do not.
    Skip,
}

impl Referents {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Skip => "skip",
        }
    }
}

/// Whose rule the shallow sizes of a Java heap follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeRule {
    /// The virtual machine's where object headers are compact and for stacks of virtual threads, Eclipse MAT's elsewhere.
    #[default]
    Auto,
    /// Eclipse MAT's.
    Mat,
    /// The virtual machine's, as JDK 24 and newer lay out objects.
    Jvm,
}

impl SizeRule {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Mat => "mat",
            Self::Jvm => "jvm",
        }
    }
}

/// How a trace is replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Mean interval of sampling.
    pub sample_interval: u32,
    /// Which objects are taken.
    #[serde(default)]
    pub sample_start: SampleStart,
    /// What was recorded of objects.
    pub sample_mode: SampleMode,
    /// Seed of sampling.
    pub seed: u64,
    /// The tables that are written, where the trace tells enough for them.
    #[serde(default = "TraceTable::most")]
    pub tables: BTreeSet<TraceTable>,
    /// Whether allocations are written as a profile.
    #[serde(default)]
    pub pprof: bool,
    /// Whether they are written as collapsed stacks.
    #[serde(default)]
    pub collapsed: bool,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            sample_interval: 10,
            sample_start: SampleStart::default(),
            sample_mode: SampleMode::default(),
            seed: 0,
            tables: TraceTable::most(),
            pprof: false,
            collapsed: false,
        }
    }
}

impl Recording {
    /// Whether the addresses of each object are recorded.
    #[must_use]
    pub fn tracks(&self) -> bool {
        TraceTable::TRACKS.iter().any(|table| self.tables.contains(table))
    }
}

/// Which objects of a type a sample begins with and goes on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleStart {
    /// Random ones, the first of a type more densely than later ones, and all that are large for their type.
    #[default]
    Random,
    /// The Nth, then about every Nth.
    Nth,
}

impl SampleStart {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Nth => "nth",
        }
    }
}

/// What is recorded of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMode {
    /// Their creation.
    Creation,
    /// Creation and collection.
    #[default]
    CreationAndCollection,
}

impl SampleMode {
    /// Name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::CreationAndCollection => "creation-and-collection",
        }
    }
}
