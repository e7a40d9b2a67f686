//! Stage `largest`: the objects that retain most, and what holds them.
//!
//! * Computes: the [`COUNT`] nodes of largest retained size, the runtime's own synthetic nodes left out, each with its
//!   dominators from the root down.
//! * Reads: `node.{retained,kind}` in order; for the few winners and their dominators other columns at random.
//! * Writes: the document of largest objects.
//! * Resident memory: none that grows with the input.
//! * Passes over disk: one over the retained sizes.
//! * Worst case: linear; a path through a long list is walked node by node.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: equals are ordered by node.
//! * Reference: none needed.

use heaplake_kit::{ColumnMap, ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::run::{LargeObject, PATH_HEAD, PATH_TAIL, Step};
use heaplake_schemas::scratch::{self as columns, Facts, STRINGS, documents};
use std::cmp::Reverse;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "largest",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 4 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "retained sizes once",
};

/// Objects that are kept.
pub const COUNT: usize = 10;

/// Characters of a name that are kept.
const MOST_NAME: usize = 80;

/// Finds the largest objects.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts = &scratch.read_document::<Facts>(documents::FACTS)?;
    context.progress.begin(STAGE.name, facts.node_count);
    let largest = winners(facts, scratch, context)?;
    let nodes = Nodes::open(scratch)?;
    let objects: Vec<LargeObject> = largest.into_iter().map(|node| nodes.describe(node, facts.root)).collect();
    scratch.write_document(documents::LARGEST, &objects)?;
    context.progress.end();
    Ok(Stats { rows: objects.len() as u64, spilled_bytes: 0 })
}

fn winners(facts: &Facts, scratch: &Scratch, context: &Context<'_>) -> Result<Vec<NodeId>, StageError> {
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut best: Vec<(Reverse<u64>, NodeId)> = Vec::with_capacity(COUNT + 1);
    for node in 0..facts.node_count as u32 {
        if node.is_multiple_of(1 << 20) {
            context.step(1 << 20)?;
        }
        let entry = (Reverse(retained.next()?), NodeId(node));
        let kind = kinds.next()?;
        if best.len() == COUNT && entry >= best[COUNT - 1] {
            continue;
        }
        if entry.1 != facts.root && !facts.synthetic_kinds.contains(&kind) {
            let at = best.partition_point(|other| *other < entry);
            best.insert(at, entry);
            best.truncate(COUNT);
        }
    }
    Ok(best.into_iter().map(|(_, node)| node).collect())
}

struct Nodes {
    id: ColumnMap<u64>,
    class: ColumnMap<ClassId>,
    class_name: ColumnMap<StringId>,
    name: ColumnMap<StringId>,
    shallow: ColumnMap<u64>,
    retained: ColumnMap<u64>,
    dominator: ColumnMap<NodeId>,
    strings: StringTable,
}

impl Nodes {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            id: ColumnMap::open(scratch, columns::NODE_ID, None)?,
            class: ColumnMap::open(scratch, columns::NODE_CLASS, None)?,
            class_name: ColumnMap::open(scratch, columns::CLASS_NAME, None)?,
            name: ColumnMap::open(scratch, columns::NODE_NAME, None)?,
            shallow: ColumnMap::open(scratch, columns::NODE_SHALLOW, None)?,
            retained: ColumnMap::open(scratch, columns::NODE_RETAINED, None)?,
            dominator: ColumnMap::open(scratch, columns::NODE_DOMINATOR, None)?,
            strings: StringTable::open(scratch, STRINGS)?,
        })
    }

    /// A node with the dominators above it.
    fn describe(&self, node: NodeId, root: NodeId) -> LargeObject {
        // Bottom up: the nearest dominators, and a window that ends up holding those next to the root.
        let mut near: Vec<NodeId> = Vec::new();
        let mut far: std::collections::VecDeque<NodeId> = std::collections::VecDeque::new();
        let mut left_out = 0;
        let mut at = node;
        while at != root {
            at = self.dominator[at.index()];
            if near.len() < PATH_TAIL {
                near.push(at);
            } else {
                far.push_back(at);
                if far.len() > PATH_HEAD {
                    far.pop_front();
                    left_out += 1;
                }
            }
        }
        let path = far.into_iter().rev().chain(near.into_iter().rev()).map(|node| self.step(node)).collect();
        LargeObject { object: self.step(node), path, path_left_out: left_out }
    }

    fn step(&self, node: NodeId) -> Step {
        let class = self.class_name[self.class[node.index()].index()];
        let name = self.name[node.index()];
        let text: String = if name == class || name.is_none() {
            String::new()
        } else {
            self.strings.text(name.index()).chars().take(MOST_NAME).collect()
        };
        Step {
            node: node.0,
            id: self.id[node.index()],
            class: self.strings.text(class.index()).into_owned(),
            name: text,
            shallow_bytes: self.shallow[node.index()],
            retained_bytes: self.retained[node.index()],
        }
    }
}
