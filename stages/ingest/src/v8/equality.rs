//! Stage `equality`: the equality graph of a V8 snapshot, from which duplicates are found.
//!
//! * Computes: the value of each node and its slots with targets compared by value. If classes and prototypes were
//!   compared by value, every object would reach the global object and none would have a duplicate. So the targets of
//!   `map`, `__proto__` and `constructor`, those of weak edges, and all targets of kinds that belong to the engine or
//!   have no content in the file (hidden, code, object shape, native, symbol, closure, synthetic, `system / …`) are
//!   compared by identity: they belong to the value, with kind, name, size and the labels of all slots. Nodes of those
//!   kinds are never duplicates. `shortcut` edges do not count, nor does the map of a string, which describes V8's
//!   storage of the text.
//! * Resident memory: a bit per node; first 5 bytes per node ([`super::survey`]). Then, if all columns are in memory,
//!   32 to 96 bytes per distinct value ([`super::equal_in_memory`]). Otherwise 5 MiB for the slots of one node
//!   ([`super::slots`]), up to five blocks of 1.5 MiB for two threads ([`super::equal_blocks`]), a byte per node for
//!   the survey's traits, 4 bytes per node for names if numbers were captured, and one record per repeated value (16
//!   bytes and 8 to 16 per slot), paged if they do not fit.
//! * Passes over disk: in memory, nodes twice and edges once, or twice if numbers were captured; otherwise nodes four
//!   times, edges three times (the last time those of nodes with a repeated hash; without captured numbers the survey
//!   needs none), in order.
//! * Worst case: linear, times the logarithm of the number of a node's edges; the slots of nodes with very many edges
//!   are sorted on disk if they do not fit.
//! * Fails when: the budget is too small.
//! * Determinism: input order; hashes only select, values are compared.
//! * Reference: omissions of V8 are recorded in `equal.limits`; [`super::shown`] has the list.

use super::equal_nodes::{Columns, Heap};
use super::meanings::Meanings;
use super::snapshot::{DOCUMENT, Snapshot};
use super::survey::{Survey, TRAITS};
use super::value_rules::Rules;
use super::{equal_blocks, equal_in_memory, equal_on_disk};
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::{Job, Setting, Stage, StageError, Stats, StringTable};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, STRING_HASH, STRINGS};

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "equality",
    version: 4,
    when: |setting| setting.duplicates(),
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_SELF),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
    ],
    writes: &[
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_LIMITS),
        column(columns::EQUAL_TO).when(follows),
    ],
    // Traits and links; then names, if numbers were captured, traits, and records of repeated values.
    arrays: &[
        &[per_node::<u8>(), per_node::<u32>()],
        &[per_node::<StringId>(), per_node::<u8>(), per_node::<[u64; 4]>()],
    ],
    // Opaque nodes, and buffers of the hash pass.
    least: &[bits_per_node(2)],
    fixed: 16 << 20,
    shares: true,
    temporary: &[per_node::<[u32; 4]>(), per_node::<u8>()],
    passes: "nodes four times, edges three times",
    run,
    ..Stage::NEW
};

/// Whether targets of slots are needed.
fn follows(setting: &Setting<'_>) -> bool {
    setting.looks_into_references()
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = Snapshot::load(scratch)?;
    let nodes = snapshot.metadata.node_count;
    context.progress.begin(STAGE.name, 2 * snapshot.metadata.edge_count);
    let strings = &StringTable::open(scratch, STRINGS)?;
    let survey = Survey::take(&snapshot, strings, job)?;
    let rules = Rules::new(&snapshot, &survey, scratch)?;
    let meanings = Meanings { rules: &rules, opaque: &survey.opaque };
    let follows = follows(&job.setting);
    let spilled_bytes = match Columns::open(scratch, follows)? {
        Some(columns)
            if equal_in_memory::find(&Heap { columns: &columns, meanings, strings, follows }, scratch, context)? =>
        {
            scratch.discard(TRAITS);
            0
        }
        _ => equal_on_disk::find(&equal_blocks::Heap { meanings, strings, follows }, nodes as u32, job)?,
    };
    Ok(Stats { rows: nodes, spilled_bytes })
}
