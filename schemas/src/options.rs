//! Options of a run.

pub use crate::big_classes::{BigClasses, LEAST_COUNT, LEAST_RETAINED};
use crate::names::NameRules;
use crate::owners::OwnerRules;
use crate::symbols::Symbols;
pub use crate::symbols::{SourceMap, SourceMaps};
pub use crate::tables::{TableName, TraceTable};
pub use crate::texts::{Secret, TextOptions, Texts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Options that shape the result: runs on the same input with the same options have the same tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, from = "Either")]
pub enum Options {
    /// Options of a replay.
    Replay(ReplayOptions),
    /// Options of an analysis.
    Analysis(AnalysisOptions),
}

impl Options {
    /// Options of an analysis, or `None` for a replay.
    pub fn analysis(&self) -> Option<&AnalysisOptions> {
        match self {
            Self::Analysis(options) => Some(options),
            Self::Replay(_) => None,
        }
    }

    /// Options of an analysis; the defaults for a replay.
    pub fn analysis_or_default(&self) -> &AnalysisOptions {
        static DEFAULTS: LazyLock<AnalysisOptions> = LazyLock::new(AnalysisOptions::default);
        self.analysis().unwrap_or(&DEFAULTS)
    }

    /// Options of a replay, or `None` for an analysis.
    pub fn replay(&self) -> Option<&ReplayOptions> {
        match self {
            Self::Analysis(_) => None,
            Self::Replay(options) => Some(options),
        }
    }

    /// The user's rules for names.
    pub fn names(&self) -> Option<&NameRules> {
        match self {
            Self::Analysis(options) => options.names.as_ref(),
            Self::Replay(options) => options.names.as_ref(),
        }
    }

    /// Assemblies and PDBs.
    pub fn symbols(&self) -> Option<&Symbols> {
        match self {
            Self::Analysis(options) => options.symbols.as_ref(),
            Self::Replay(options) => options.symbols.as_ref(),
        }
    }

    /// Source maps of the scripts.
    pub fn source_maps(&self) -> Option<&SourceMaps> {
        match self {
            Self::Analysis(options) => options.source_maps.as_ref(),
            Self::Replay(options) => options.source_maps.as_ref(),
        }
    }

    /// The user's labels.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Analysis(options) => &options.labels,
            Self::Replay(options) => &options.labels,
        }
    }
}

/// Options of the replay of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayOptions {
    /// The user's labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How the trace is replayed.
    #[serde(rename = "replay")]
    pub recording: Recording,
    /// The user's rules for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NameRules>,
    /// Assemblies and PDBs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Symbols>,
    /// Source maps of the scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_maps: Option<SourceMaps>,
}

/// Options of the analysis of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnalysisOptions {
    /// Tables to write, if the format has them.
    #[serde(default)]
    pub tables: Tables,
    /// The user's labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Whether weak references keep their referents alive, in formats that leave the choice.
    #[serde(default)]
    pub referents: Referents,
    /// Rule of shallow sizes, in formats that do not state them.
    #[serde(default)]
    pub sizes: SizeRule,
    /// Whether a damaged input is analysed as far as it is readable.
    #[serde(default)]
    pub salvage: bool,
    /// Number of the heap walk in a trace, from 1; by default the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<u32>,
    /// Thresholds of big classes.
    #[serde(default)]
    pub big: BigClasses,
    /// Scope of the search for duplicates.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// Patterns of names of classes whose search for duplicates has no limit of work.
    #[serde(default)]
    pub duplicates_of: Vec<String>,
    /// Work limit of that search, in pairs of slots, if the user set one.
    #[serde(default)]
    pub duplicate_work: Option<u64>,
    /// The user's owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<OwnerRules>,
    /// The user's rules for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NameRules>,
    /// Source maps of the scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_maps: Option<SourceMaps>,
    /// Assemblies and PDBs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Symbols>,
    /// What the run holds of the texts of the heap.
    #[serde(default, skip_serializing_if = "TextOptions::is_full")]
    pub texts: TextOptions,
}

/// Options of either kind as read: the kind is known only at the end, and serde's buffer of unknown members would take
/// many times their length in memory.
#[derive(Deserialize, JsonSchema)]
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
    #[serde(default)]
    texts: TextOptions,
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
            texts,
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
                texts,
            }),
        }
    }
}

impl AnalysisOptions {
    /// Whether duplicates are searched. Without texts, objects with different ones would count as duplicates.
    pub fn finds_duplicates(&self) -> bool {
        self.has_contents() && (self.duplicates != Duplicates::None || !self.duplicates_of.is_empty())
    }

    /// Whether the search follows references of any class.
    pub fn looks_into_references(&self) -> bool {
        self.has_contents() && (self.duplicates == Duplicates::All || !self.duplicates_of.is_empty())
    }

    /// Whether different texts are different.
    pub fn has_contents(&self) -> bool {
        self.texts.mode != Texts::None
    }
}

/// Scope of the search for duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// No search.
    None,
    /// Only instances without references to follow.
    #[default]
    Trivial,
    /// All instances; references are followed.
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

/// A choice of tables. The default omits those larger than most users want.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Every table.
    pub fn all() -> Self {
        TableName::ALL.into_iter().collect()
    }

    /// Adds a table.
    #[must_use]
    pub fn with(mut self, table: TableName) -> Self {
        self.0.insert(table);
        self
    }

    /// Whether a table is chosen.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Referents {
    /// They keep them alive.
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

/// Rule of shallow sizes in a Java heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeRule {
    /// [`Self::Jvm`] for compact object headers and stacks of virtual threads, else [`Self::Mat`].
    #[default]
    Auto,
    /// Eclipse MAT's rule.
    Mat,
    /// The virtual machine's rule: object layout of JDK 24 and newer.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// Mean sampling interval.
    pub sample_interval: u32,
    /// Choice of sampled objects.
    #[serde(default)]
    pub sample_start: SampleStart,
    /// Recorded events of objects.
    pub sample_mode: SampleMode,
    /// Sampling seed.
    pub seed: u64,
    /// Tables to write, if the trace has the data.
    #[serde(default = "TraceTable::most")]
    pub tables: BTreeSet<TraceTable>,
    /// Whether allocations are also written as a profile for pprof.
    #[serde(default)]
    pub pprof: bool,
    /// Whether they are also written as collapsed stacks.
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
    pub fn tracks(&self) -> bool {
        TraceTable::TRACKS.iter().any(|table| self.tables.contains(table))
    }
}

/// Choice of sampled objects of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SampleStart {
    /// Random ones, denser among the first of a type, and all that are large for their type.
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

/// Recorded events of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMode {
    /// Creation.
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
