//! Rule `native-memory`: small objects that hold much memory outside the managed heap, if the format has sizes or nodes
//! of such memory. Memories of WebAssembly have a rule of their own.

use super::class_roles::Kinds;
use super::heap::{Found, Heap};
use super::rule::{Detector, Extent, Node, Rule, Tells, bounded, list_bytes, map_bytes, severity};
use heaplake_kit::StageError;
use heaplake_kit::access::column;
use heaplake_kit::text::size;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::resources::{RESOURCE_ROW, kind};
use heaplake_schemas::scratch::Metadata;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[column(RESOURCE_ROW).if_any()],
    working: map_bytes::<u32, ()>(MOST),
    candidates: list_bytes::<(u64, u32)>(2 * MOST) + map_bytes::<u32, Tally>(CLASSES),
    tells: Tells::Mass,
    open: |_, metadata| Ok(Box::new(Native::new(metadata))),
    ..Rule::NEW
};

const NAME: &str = "native-memory";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [50, 20, 5];
/// Maximum bytes of a small object, and minimum bytes of its native memory.
const SMALL: u64 = 4 << 10;
const MUCH: u64 = 64 << 10;
/// Maximum number of classes.
const CLASSES: usize = 1 << 14;

#[derive(Default)]
struct Tally {
    count: u64,
    native: u64,
    shallow: u64,
    example: u32,
}

/// Maximum number of nodes of native memory.
const MOST: usize = 1 << 14;

struct Native {
    /// Kinds of nodes that are native memory.
    kinds: Kinds,
    /// The largest such nodes, unordered: bytes and node.
    memory: Vec<(u64, u32)>,
    classes: BTreeMap<u32, Tally>,
}

impl Native {
    fn new(metadata: &Metadata) -> Self {
        let kinds = Kinds::of(&metadata.roles.native_memory, metadata);
        Self { kinds, memory: Vec::new(), classes: BTreeMap::new() }
    }

    fn add(&mut self, class: u32, node: u32, shallow: u64, native: u64) {
        let Some(tally) = bounded(&mut self.classes, CLASSES, class) else { return };
        if tally.count == 0 {
            tally.example = node;
        }
        tally.count += 1;
        tally.native = tally.native.saturating_add(native);
        tally.shallow = tally.shallow.saturating_add(shallow);
    }
}

impl Detector for Native {
    fn may_match(&self, extent: &Extent) -> bool {
        extent.native >= MUCH || extent.shallow >= MUCH
    }

    fn see(&mut self, node: &Node) {
        if node.native >= MUCH && node.shallow <= SMALL {
            self.add(node.class, node.node, node.shallow, node.native);
        }
        if self.kinds.has(node.kind) && node.shallow >= MUCH {
            self.memory.push((node.shallow, node.node));
            if self.memory.len() == 2 * MOST {
                self.memory.sort_unstable_by_key(|&(bytes, node)| (Reverse(bytes), node));
                self.memory.truncate(MOST);
            }
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let mut memory = std::mem::take(&mut self.memory);
        memory.sort_unstable_by_key(|&(_, node)| node);
        let elsewhere = memories_of_programs(heap)?;
        for (bytes, node) in memory {
            if elsewhere.contains(&node) {
                continue;
            }
            if let Some(owner) = heap.owner(node)
                && heap.nodes.shallow.at(owner as usize) <= SMALL
            {
                self.add(heap.nodes.class.at(owner as usize).0, owner, heap.nodes.shallow.at(owner as usize), bytes);
            }
        }
        let found = self.classes.iter().filter_map(|(&class, tally)| {
            let severity = severity(tally.native, heap.bytes, PERCENT)?;
            let found = Found { rule: NAME, severity, count: tally.count, bytes: tally.native };
            let mut finding = found.about_class(class, Some(tally.example), heap);
            finding.message = format!(
                "{} take {} and hold {} of native memory, for example {}",
                heap.objects(tally.count, class, None),
                size(tally.shallow),
                size(tally.native),
                heap.chain(tally.example),
            );
            finding.next_step =
                "Free it as soon as it is used: the collector sees only the small objects and is in no hurry."
                    .to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}

/// Returns the data of memories of WebAssembly.
fn memories_of_programs(heap: &Heap) -> Result<BTreeSet<u32>, StageError> {
    let mut found = BTreeSet::new();
    heap.job.each_row_if_any(RESOURCE_ROW, |row| {
        if row.kind == kind::MEMORY && found.len() < MOST {
            found.insert(row.holder);
        }
        Ok(())
    })?;
    Ok(found)
}
