//! Objects that places retain directly, by class: their number, retained sizes, common referrer, and the common part of
//! the paths to them. Used by [`super::leak_suspects`].

use super::class_roles::role;
use super::heap::Heap;
use heaplake_kit::array::Constant;
use heaplake_kit::array_plan::lookup;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{ArrayPlan, ColumnReader, ReadAt, StageError, on_resident};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

/// Maximum number of pairs of place and class.
pub(super) const PAIRS: usize = 1 << 15;
/// Maximum depth of nested entries of containers.
const ENTRIES: usize = 64;
/// Number of objects of a crowd kept as samples.
const SAMPLES: usize = 16;

/// Objects of a class that a place dominates directly.
#[derive(Clone, Copy)]
pub(super) struct Crowd {
    pub count: u64,
    pub bytes: u64,
    /// Bytes of the object that retains most.
    pub largest: u64,
    /// The most frequent name with an example, if more than half have it.
    pub alike: Majority<StringId>,
    /// The collection that refers to more than half, if there is one.
    collection: Majority<u32>,
    /// Every [`Self::stride`]th object.
    samples: [u32; SAMPLES],
    sampled: usize,
    stride: u64,
}

impl Crowd {
    const NOBODY: Self = Self {
        count: 0,
        bytes: 0,
        largest: 0,
        alike: Majority { value: StringId::NONE, votes: 0, example: 0 },
        collection: Majority { value: NOWHERE, votes: 0, example: 0 },
        samples: [0; SAMPLES],
        sampled: 0,
        stride: 1,
    };

    fn add(&mut self, node: u32, bytes: u64, name: StringId, parent: u32) {
        if self.count.is_multiple_of(self.stride) {
            self.sample(node);
        }
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.largest = self.largest.max(bytes);
        self.alike.vote(name, node);
        self.collection.vote(parent, node);
    }

    fn sample(&mut self, node: u32) {
        if self.sampled == SAMPLES {
            for at in 0..SAMPLES / 2 {
                self.samples[at] = self.samples[2 * at];
            }
            (self.sampled, self.stride) = (SAMPLES / 2, 2 * self.stride);
        }
        self.samples[self.sampled] = node;
        self.sampled += 1;
    }

    /// The shortest paths from `place` down to the samples, without the samples themselves.
    fn paths(&self, place: u32, heap: &Heap) -> Vec<Vec<u32>> {
        let Some(tree) = &heap.tree else { return Vec::new() };
        let above = |&at: &u32| tree.parent(at).get().filter(|_| at != place);
        let up = |&sample: &u32| std::iter::successors(Some(sample), above).take(STEPS).skip(1);
        let samples = self.samples[..self.sampled].iter();
        samples.map(|sample| up(sample).collect::<Vec<u32>>().into_iter().rev().collect()).collect()
    }

    /// Whether the objects form a linked list: the shortest path to a sample passes at least `least` objects of `class`.
    pub(super) fn is_list(&self, place: u32, class: u32, least: usize, heap: &Heap) -> bool {
        let is_of_class = |&&node: &&u32| heap.nodes.class.at(node as usize).0 == class;
        self.paths(place, heap).iter().any(|path| path.iter().filter(is_of_class).count() >= least)
    }

    /// Returns the last object below `place` common to the shortest paths to more than half of the samples.
    pub(super) fn in_common(&self, place: u32, heap: &Heap) -> u32 {
        let paths = self.paths(place, heap);
        if paths.is_empty() {
            return place;
        }
        let mut last = place;
        for depth in 0.. {
            let mut next = Majority { value: place, votes: 0, example: 0 };
            let at_depth = || paths.iter().filter(|path| depth == 0 || path.get(depth - 1) == Some(&last));
            let nodes = || at_depth().filter_map(|path| path.get(depth).copied());
            nodes().for_each(|node| next.vote(node, node));
            if 2 * nodes().filter(|&node| node == next.value).count() <= paths.len() {
                break;
            }
            last = next.value;
        }
        last
    }

    /// The object that refers to at least half.
    pub(super) fn collection(&self) -> Option<u32> {
        (self.collection.value != NOWHERE && self.collection.votes >= self.count / 2).then_some(self.collection.value)
    }
}

/// Maximum number of steps of a path.
const STEPS: usize = 1 << 10;

/// No reference on a path from a root.
const NOWHERE: u32 = u32::MAX;

/// Majority vote: the value that more than half have wins, in any order.
#[derive(Clone, Copy)]
pub(super) struct Majority<T> {
    value: T,
    /// Lower bound of the number of objects with the value.
    pub votes: u64,
    pub example: u32,
}

impl<T: Copy + PartialEq> Majority<T> {
    fn vote(&mut self, value: T, node: u32) {
        if self.votes == 0 {
            (self.value, self.example) = (value, node);
        }
        self.votes = if self.value == value { self.votes + 1 } else { self.votes - 1 };
    }
}

/// The class of a node's dominator is prefetched this many nodes ahead.
const AHEAD: usize = 16;

/// The dominator tree and the shortest paths around the places.
struct Tree<'a, C, D, P> {
    heap: &'a Heap<'a>,
    places: Vec<u32>,
    /// A bit for the last digits of each place.
    filter: u64,
    classes: C,
    dominators: D,
    parents: P,
}

impl<C: ReadAt<ClassId>, D: ReadAt<NodeId>, P: ReadAt<NodeId>> Tree<'_, C, D, P> {
    fn is_entry(&mut self, node: u32) -> Result<bool, StageError> {
        let roles = &self.heap.classes;
        Ok(roles.any(role::ENTRY) && roles.has(self.classes.get(node as usize)?.0, role::ENTRY))
    }

    /// Returns the place above a node with this dominator, if only entries of containers are between them.
    fn place(&mut self, dominator: u32) -> Result<Option<u32>, StageError> {
        let mut at = dominator;
        for _ in 0..ENTRIES {
            if self.filter >> (at % 64) & 1 != 0 && self.places.binary_search(&at).is_ok() {
                return Ok(Some(at));
            }
            if !self.is_entry(at)? {
                break;
            }
            at = self.dominators.get(at as usize)?.0;
        }
        Ok(None)
    }

    /// Returns the referrer of a node on its shortest path, skipping entries of containers.
    fn parent(&mut self, node: u32) -> Result<u32, StageError> {
        if self.parents.count() == 0 {
            return Ok(self.dominators.get(node as usize)?.0);
        }
        let mut at = node;
        for _ in 0..ENTRIES {
            let above = self.parents.get(at as usize)?;
            if above.is_none() {
                return Ok(NOWHERE);
            }
            at = above.0;
            if !self.is_entry(at)? {
                break;
            }
        }
        Ok(at)
    }

    /// Returns for each place and class the objects directly below, or below entries of the container of the place.
    fn crowds(&mut self) -> Result<BTreeMap<(u32, u32), Crowd>, StageError> {
        let heap = self.heap;
        let scratch = heap.job.scratch;
        let mut crowds: BTreeMap<(u32, u32), Crowd> = BTreeMap::new();
        let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
        let mut dominator = ColumnReader::open(scratch, columns::NODE_DOMINATOR)?;
        let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
        let mut names = ColumnReader::open(scratch, columns::NODE_NAME)?;
        // Adjacent nodes often have the same dominator.
        let mut last = (u32::MAX, None);
        for first in (0..heap.metadata.node_count as usize).step_by(BLOCK) {
            let count = BLOCK.min(heap.metadata.node_count as usize - first);
            let (classes, dominators) = (class.block(count)?, dominator.block(count)?);
            let (retained, names) = (retained.block(count)?, names.block(count)?);
            heap.job.context.check()?;
            for at in 0..count {
                let (node, class, dominator) = ((first + at) as u32, classes[at].0, dominators[at].0);
                if let Some(soon) = dominators.get(at + AHEAD) {
                    self.classes.prefetch(soon.index());
                }
                if dominator != last.0 {
                    last = (dominator, self.place(dominator)?);
                }
                let Some(place) = last.1.filter(|&place| place != node) else { continue };
                // Entries in entries are counted with the outer ones.
                let is_inner = place != dominator && heap.classes.has(class, role::ENTRY);
                if !is_inner && (crowds.len() < PAIRS || crowds.contains_key(&(place, class))) {
                    let parent = self.parent(node)?;
                    crowds.entry((place, class)).or_insert(Crowd::NOBODY).add(node, retained[at], names[at], parent);
                }
            }
        }
        Ok(crowds)
    }
}

/// Returns the objects that places retain directly, by place and class.
pub(super) fn crowds(places: &[u32], heap: &Heap) -> Result<BTreeMap<(u32, u32), Crowd>, StageError> {
    let mut places = places.to_vec();
    places.sort_unstable();
    let filter = places.iter().fold(0, |bits, place| bits | 1u64 << (place % 64));
    let has_paths = heap.tree.is_some();
    let (mut classes, mut dominators, parents) = ArrayPlan::of(&heap.job, "leak suspects").make((
        lookup(columns::NODE_CLASS),
        lookup(columns::NODE_DOMINATOR),
        has_paths.then(|| lookup(columns::PATH_PARENT)),
    ))?;
    match parents {
        Some(mut parents) => on_resident!(classes, dominators, parents => {
            Tree { heap, places, filter, classes, dominators, parents }.crowds()
        }),
        None => on_resident!(classes, dominators => {
            Tree { heap, places, filter, classes, dominators, parents: Constant(NodeId::NONE) }.crowds()
        }),
    }
}
