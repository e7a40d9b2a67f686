//! Stage `equality`: the equality graph of a V8 snapshot, by which duplicates are found.
//!
//! * Computes: for each node its value and the slots whose targets are compared by value. If classes and prototypes
//!   were compared by value, every object would reach the global object and none would have a duplicate. So the
//!   targets of `map`, `__proto__` and `constructor`, those of weak edges, and all targets of kinds that belong to the
//!   engine or whose content the file does not have (hidden, code, object shape, native, symbol, closure, synthetic,
//!   `system / …`) are compared by identity: they belong to the value, with kind, name, size and the labels of all
//!   slots. Nodes of those kinds are never duplicates. `shortcut` edges do not count. The map of a string does not
//!   either: it says how V8 keeps the text, not what it is.
//! * Resident memory: a bit per node; first 5 bytes per node ([`super::survey`]). Then, where all columns are in memory, 32
//!   to 96 bytes per distinct value ([`super::equal_in_memory`]). Else 5 MiB for the slots of one node
//!   ([`super::slots`]), up to five blocks of 1.5 MiB for two threads ([`super::equal_blocks`]), a byte per node for what
//!   the survey found, where numbers were captured names of 4 bytes per node, and one record per repeated value (16 bytes
//!   and 8 to 16 per slot), where the budget allows, paged where not.
//! * Passes over disk: in memory, nodes twice and edges once, or twice where numbers were captured; else nodes four times, edges three times
//!   (the last time those of nodes whose hash is repeated; without captured numbers the survey needs none), in order.
//! * Worst case: linear, times the logarithm of the number of a node's edges; those of nodes that have very many are
//!   sorted on disk where they do not fit.
//! * Fails when: the budget is too small.
//! * Determinism: input order; hashes only select, values are compared.
//! * Reference: what V8 leaves out is noted in `equal.limits`; [`super::shown`] has the list.

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

/// What the engine knows of this stage.
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
    // What is opaque, and buffers of the hash pass.
    least: &[bits_per_node(2)],
    fixed: 16 << 20,
    shares: true,
    temporary: &[per_node::<[u32; 4]>(), per_node::<u8>()],
    passes: "nodes four times, edges three times",
    run,
    ..Stage::NEW
};

/// Whether the targets of slots are asked for.
fn follows(setting: &Setting<'_>) -> bool {
    setting.looks_into_references()
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = Snapshot::load(scratch)?;
    let nodes = snapshot.facts.node_count;
    context.progress.begin(STAGE.name, 2 * snapshot.facts.edge_count);
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
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes })
}
