//! Shared by the rules about resources: groups those of some kinds by a key, with their retained sizes.
//!
//! The bytes of a group are the retained sizes of its nodes. A node dominated by another resource of these kinds counts
//! with that one if its group is large enough, and a node in several rows counts once, so no byte counts twice.

use super::heap::{Heap, shorten};
use super::rule::{Detector, Rule, bounded, list_bytes, map_bytes, severity};
use heaplake_kit::access::{column, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, Bitset, ColumnReader, Lookup, ReadAt, StageError, StringTable};
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::ids::{NodeId, Preorder};
use heaplake_schemas::resources::{NONE, RESOURCE_ROW, RESOURCE_TEXTS, ResourceRow};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use std::collections::BTreeMap;

/// Declaration of such a rule, without its names and constructor. One of these rules declares the two bits per node
/// that each needs while it reports: they report one after the other.
pub(super) const BASE: Rule = Rule {
    reads: &[
        column(RESOURCE_ROW).if_any(),
        texts(RESOURCE_TEXTS).if_any(),
        column(columns::NODE_PREORDER),
        column(columns::PREORDER_DOMINATOR),
    ],
    arrays: &[per_node::<Preorder>(), per_node::<Preorder>(), per_node::<u64>()],
    working: map_bytes::<Key, Group>(GROUPS) + list_bytes::<(Key, Group)>(GROUPS) + map_bytes::<Key, u64>(GROUPS),
    ..Rule::NEW
};

/// Minimum percent of the heap of a high, medium, low finding about many resources.
const PERCENT: [u64; 3] = [25, 10, 2];
/// Bits per node of such a rule.
pub(super) const BITS: u64 = 2;
/// Maximum number of groups.
const GROUPS: usize = 1 << 14;
/// Maximum characters of a name, and of a place, in a message.
const MOST_NAME: usize = 60;
const MOST_PLACE: usize = 80;

/// Group key of resources.
pub(super) type Key = [u32; 2];

/// Resources with one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub count: u64,
    /// Retained bytes.
    pub bytes: u64,
    /// Number of entries of containers.
    pub entries: u64,
    /// The resource with the largest retained size.
    pub largest: ResourceRow,
    most: u64,
    /// Whether all have the same place.
    pub same_place: bool,
}

impl Group {
    const fn new(row: ResourceRow) -> Self {
        Self { count: 0, bytes: 0, entries: 0, largest: row, most: 0, same_place: true }
    }

    /// Severity of the group: `None` below `many`, at least low from `very_many` on.
    pub(super) fn severity(&self, [many, very_many]: [u64; 2], heap: &Heap) -> Option<Severity> {
        match severity(self.bytes, heap.bytes, PERCENT) {
            _ if self.count < many => None,
            None if self.count >= very_many => Some(Severity::Low),
            severity => severity,
        }
    }

    fn add(&mut self, row: &ResourceRow, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.entries += u64::from(row.entries);
        self.same_place &= self.largest.place == row.place;
        if bytes > self.most {
            (self.largest, self.most) = (*row, bytes);
        }
    }
}

pub(super) type Report = fn(&[(Key, Group)], &Words<'_>) -> Vec<Finding>;

/// How a rule judges resources.
#[derive(Clone, Copy)]
pub(super) struct Judge {
    pub kinds: &'static [u32],
    /// Minimum number of resources.
    pub least: u64,
    /// Group key of a row.
    pub key: fn(&ResourceRow) -> Key,
    /// Minimum size of a group that counts other resources below its own: the single listener that retains a whole
    /// server is no leak of listeners.
    pub claims: u64,
    pub findings: Report,
}

impl Detector for Judge {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if self.rows(heap, |_| Ok(()))? < self.least {
            return Ok(Vec::new());
        }
        let mut sizes: BTreeMap<Key, u64> = BTreeMap::new();
        self.rows(heap, |row| {
            bounded(&mut sizes, GROUPS, (self.key)(row)).into_iter().for_each(|size| *size += 1);
            Ok(())
        })?;
        let mut retained = Outermost::open(heap)?;
        self.rows(heap, |row| match sizes.get(&(self.key)(row)) {
            Some(&size) if size >= self.claims => retained.mark(row.node),
            _ => Ok(()),
        })?;
        drop(sizes);
        retained.sweep(heap)?;
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        self.rows(heap, |row| {
            let (key, bytes) = ((self.key)(row), retained.take(row.node)?);
            if groups.len() < GROUPS || groups.contains_key(&key) {
                groups.entry(key).or_insert(Group::new(*row)).add(row, bytes);
            }
            Ok(())
        })?;
        drop(retained);
        let groups: Vec<(Key, Group)> = groups.into_iter().collect();
        let open = |strings| StringTable::open(heap.job.scratch, strings);
        Ok((self.findings)(&groups, &Words { heap, names: open(STRINGS)?, texts: open(RESOURCE_TEXTS)? }))
    }
}

impl Judge {
    /// Visits the rows of its kinds; returns their number.
    fn rows(
        &self,
        heap: &Heap,
        mut show: impl FnMut(&ResourceRow) -> Result<(), StageError>,
    ) -> Result<u64, StageError> {
        let mut count = 0;
        heap.job.each_row_if_any(RESOURCE_ROW, |row| {
            if !self.kinds.contains(&row.kind) {
                return Ok(());
            }
            count += 1;
            show(&row)
        })?;
        Ok(count)
    }
}

/// Retained sizes of nodes that no other node of a set dominates, by preorder: dominators come first.
struct Outermost {
    order: Lookup<Preorder>,
    dominators: Lookup<Preorder>,
    retained: Lookup<u64>,
    /// Nodes of the set, and nodes that they dominate.
    within: Bitset,
    /// Nodes of the set not yet counted.
    rest: Bitset,
}

impl Outermost {
    fn open(heap: &Heap) -> Result<Self, StageError> {
        // Before the arrays, which take the free memory.
        let bits = |what| Bitset::new(&heap.job.context.budget, what, heap.metadata.node_count as usize);
        let (within, rest) = (bits("resources: below")?, bits("resources: rest")?);
        let (order, dominators, retained) = ArrayPlan::of(&heap.job, "findings: resources").make((
            lookup(columns::NODE_PREORDER),
            lookup(columns::PREORDER_DOMINATOR),
            lookup(columns::NODE_RETAINED),
        ))?;
        Ok(Self { order, dominators, retained, within, rest })
    }

    fn mark(&mut self, node: u32) -> Result<(), StageError> {
        let position = self.order.get(node as usize)?;
        if let Some(position) = position.get() {
            self.within.insert(position as usize);
            self.rest.insert(position as usize);
        }
        Ok(())
    }

    fn sweep(&mut self, heap: &Heap) -> Result<(), StageError> {
        let mut dominators = ColumnReader::open(heap.job.scratch, columns::PREORDER_DOMINATOR)?;
        for position in 0..dominators.remaining() as usize {
            let dominator = dominators.next()?;
            if self.within.contains(dominator.index()) {
                self.within.insert(position);
            }
            heap.job.context.check_every(1 << 12, position)?;
        }
        Ok(())
    }

    /// Returns the retained size of a node; 0 if it was taken before, or another node of the set dominates it.
    fn take(&mut self, node: u32) -> Result<u64, StageError> {
        let Some(position) = self.order.get(node as usize)?.get() else { return Ok(0) };
        let dominator = self.dominators.get(position as usize)?;
        if !self.rest.remove(position as usize) || self.within.contains(dominator.index()) {
            return Ok(0);
        }
        Ok(self.retained.get(node as usize)?)
    }
}

/// Texts of resources.
pub(super) struct Words<'a> {
    pub heap: &'a Heap<'a>,
    names: StringTable,
    texts: StringTable,
}

impl Words<'_> {
    /// The shortened name of a row.
    pub(super) fn name(&self, name: u32) -> String {
        if name == NONE { String::new() } else { shorten(&self.names.text(name as usize), MOST_NAME) }
    }

    /// A text of a row.
    pub(super) fn text(&self, number: u32) -> Option<String> {
        (number != NONE).then(|| self.texts.text(number as usize).into_owned())
    }

    /// Source place of the function of a row, shortened: the end of the path, from the package or the last folder on.
    pub(super) fn place(&self, row: &ResourceRow) -> Option<String> {
        self.text(row.place).map(|place| shown_place(&place))
    }

    /// The function of a row with its place.
    pub(super) fn function(&self, row: &ResourceRow) -> String {
        let nodes = &self.heap.nodes;
        let name = if row.function == NONE { String::new() } else { nodes.own_name(NodeId(row.function), MOST_NAME) };
        match (name.trim().is_empty(), self.place(row)) {
            (true, Some(place)) => format!("a function at {place}"),
            (false, Some(place)) => format!("{name} ({place})"),
            (true, None) => "a function of the runtime".to_owned(),
            (false, None) => name,
        }
    }
}

/// Shortens a path to its end.
fn shown_place(place: &str) -> String {
    const MODULES: &str = "node_modules/";
    let place = place.replace('\\', "/");
    let start = match place.rfind(MODULES) {
        Some(at) => at + MODULES.len(),
        None => place.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1),
    };
    let shown = &place[start..];
    let extra = shown.chars().count().saturating_sub(MOST_PLACE);
    if extra == 0 { shown.to_owned() } else { format!("…{}", shown.chars().skip(extra + 1).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::shown_place;

    #[test]
    fn places_show_their_ends() {
        for (place, shown) in [
            ("/srv/app/lib/cache.js:12", "lib/cache.js:12"),
            ("cache.js:1", "cache.js:1"),
            ("node:internal/timers:7", "node:internal/timers:7"),
            ("C:\\app\\src\\a.js:3", "src/a.js:3"),
            ("/a/node_modules/x/node_modules/@s/y/lib/z.js:4", "@s/y/lib/z.js:4"),
        ] {
            assert_eq!(shown_place(place), shown);
        }
        let long = format!("/a/{}:4", "b".repeat(300));
        assert!(shown_place(&long).ends_with("bbb:4") && shown_place(&long).chars().count() == 80);
    }
}
