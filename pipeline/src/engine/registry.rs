//! All stages, in an order in which one thread can run them.
//!
//! A new stage is one line here, below the writers of the files that it reads. A stage that writes a table is a line of
//! [`heaplake_publish::TABLES`] instead; one that knows a format, a line of its format.

use heaplake_duplicates::{
    additional, candidates, certificates, components, holders, resolve, set_graph, sets, trivial,
};
use heaplake_graph::{distances, dominators, preorder, retained, retainers, shortest_paths};
use heaplake_ingest::{FORMATS, Format};
use heaplake_kit::Stage;
use heaplake_kit::access::Access;
use heaplake_kit::threads::locked;
use heaplake_publish::{TABLES, function_signatures, replay_summary, signatures, summary, totals, trace_signatures};
use heaplake_replay::replay_trace;
use heaplake_summarise::{
    allocations, big, call_tree, chains, class_rows, findings, largest, live_allocations, original_places, outermost,
    owners, possible_classes, retainer_trees,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex};

/// Entry of a stage in the list.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The stage.
    pub stage: &'static Stage,
    /// Folder inside scratch; `None` for scratch itself.
    pub folder: Option<&'static str>,
    /// Kind of product.
    pub product: Product,
}

/// Kind of product of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Columns and documents for other stages. They survive a kill.
    Columns,
    /// A table of the run, in this file. Every attempt rewrites it, like all parts of the run.
    Table(&'static str),
    /// Numbers copied to `run.json`.
    Summary,
}

impl Product {
    /// Whether it is a part of the run itself.
    #[must_use]
    pub fn is_part_of_run(self) -> bool {
        self != Self::Columns
    }
}

const fn stage(stage: &'static Stage) -> Entry {
    Entry { stage, folder: None, product: Product::Columns }
}

/// The same stage on the graph in which each set of duplicates is one node.
const fn of_sets(stage: &'static Stage) -> Entry {
    Entry { stage, folder: Some(set_graph::FOLDER), product: Product::Columns }
}

/// Stages of an analysis that work on any format.
const NEUTRAL: &[Entry] = &[
    stage(&distances::STAGE),
    stage(&shortest_paths::STAGE),
    stage(&preorder::STAGE),
    stage(&retainers::STAGE),
    stage(&dominators::STAGE),
    stage(&retained::STAGE),
    stage(&outermost::STAGE),
    stage(&owners::STAGE),
    stage(&trivial::STAGE),
    stage(&components::STAGE),
    stage(&candidates::STAGE),
    stage(&certificates::STAGE),
    stage(&resolve::STAGE),
    stage(&sets::STAGE),
    stage(&set_graph::STAGE),
    of_sets(&preorder::STAGE),
    of_sets(&retainers::STAGE),
    of_sets(&dominators::STAGE),
    stage(&holders::STAGE),
    stage(&additional::STAGE),
    stage(&class_rows::STAGE),
    stage(&big::STAGE),
    stage(&chains::STAGE),
    stage(&retainer_trees::STAGE),
    stage(&largest::STAGE),
    stage(&possible_classes::STAGE),
    stage(&original_places::STAGE),
    stage(&findings::STAGE),
    stage(&signatures::STAGE),
    stage(&call_tree::STAGE),
    stage(&live_allocations::STAGE),
    stage(&function_signatures::STAGE),
];

/// Stages of a replay.
const REPLAY: &[Entry] = &[stage(&replay_trace::STAGE), stage(&allocations::STAGE), stage(&trace_signatures::STAGE)];

/// Stages that compute the summary.
const SUMMARIES: &[&Stage] = &[&totals::STAGE, &summary::STAGE, &replay_summary::STAGE];

/// Lists the stages of an analysis of a format, or of a replay.
pub fn entries(format: Option<&'static dyn Format>) -> Vec<Entry> {
    let own = format.map_or(&[][..], |format| format.stages()).iter().copied().map(stage);
    let shared = if format.is_some() { NEUTRAL } else { REPLAY };
    let tables = TABLES.iter().map(|table| Entry { product: Product::Table(table.file), ..stage(table.stage) });
    let summaries = SUMMARIES.iter().map(|summary| Entry { product: Product::Summary, ..stage(summary) });
    own.chain(shared.iter().copied()).chain(tables).chain(summaries).collect()
}

/// Every stage.
pub fn all_stages() -> impl Iterator<Item = &'static Stage> {
    let formats = FORMATS.into_iter().flat_map(|format| format.stages().iter().copied());
    let shared = NEUTRAL.iter().chain(REPLAY).map(|entry| entry.stage);
    let tables = TABLES.iter().map(|table| table.stage);
    formats.chain(shared).chain(tables).chain(SUMMARIES.iter().copied())
}

/// Whether some stage appends to a file.
pub fn is_appended(file: &str) -> bool {
    let mut appended = all_stages().flat_map(|stage| stage.appends).flat_map(Access::all_files);
    appended.any(|appended| appended.name == file)
}

/// Files declared only by other stages. The set of a stage is computed once, because a process may execute many small
/// runs.
pub fn foreign(stage: &'static Stage) -> Arc<BTreeSet<&'static str>> {
    static ALL: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| all_stages().flat_map(own).collect());
    static KNOWN: Mutex<BTreeMap<usize, Arc<BTreeSet<&'static str>>>> = Mutex::new(BTreeMap::new());
    let mut known = locked(&KNOWN);
    let foreign = known.entry(std::ptr::from_ref(stage).addr()).or_insert_with(|| {
        let own: BTreeSet<&str> = own(stage).collect();
        Arc::new(ALL.difference(&own).copied().collect())
    });
    Arc::clone(foreign)
}

/// Files in scratch itself that a stage declares.
fn own(stage: &'static Stage) -> impl Iterator<Item = &'static str> {
    let files = stage.accesses().flat_map(Access::all_files);
    files.filter(|file| file.folder.is_none()).map(|file| file.name)
}
