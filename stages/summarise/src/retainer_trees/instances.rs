//! The instances of big classes, class by class.

use crate::class_rows::counts;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::column::BLOCK;
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::{BudgetVec, ColumnMap, ColumnReader, Job, StageError};
use heaplake_paths::retainer_tree::Instance;
use heaplake_schemas::scratch::{self as columns, Column, Metadata};

const SORTED: [Column<Entry>; 2] = [Column::new("retainer_trees.instance.a"), Column::new("retainer_trees.instance.b")];

/// An instance, and the place of its class among the big ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    place: u32,
    node: u32,
    shallow_bytes: u64,
    retained_bytes: u64,
}

/// Reads the instances class by class.
pub(super) struct Instances<'a> {
    sorted: Sorted<'a, Entry>,
    counts: Vec<u64>,
    next: Option<Entry>,
}

impl<'a> Instances<'a> {
    /// Sorts the instances of these classes. Samples a class with more than `allowed` instances evenly.
    pub(super) fn sorted(
        metadata: &Metadata,
        classes: &[u32],
        allowed: impl Fn(usize) -> u64,
        job: &Job<'a>,
    ) -> Result<Self, StageError> {
        let budget = &job.context.budget;
        let class_count = ColumnReader::open(job.scratch, columns::CLASS_BIG)?.remaining() as usize;
        let mut places = budget.filled("retainer trees: classes", class_count, u32::MAX)?;
        classes.iter().enumerate().for_each(|(place, &class)| places[class as usize] = place as u32);
        let mut counts = vec![0u64; classes.len()];
        for row in ColumnMap::uncounted(job.scratch, columns::CLASS_ROW)?.iter() {
            if let Some(count) = counts.get_mut(places[row.class_id as usize] as usize) {
                *count = row.count;
            }
        }
        let steps: Vec<u64> = (0..).zip(&counts).map(|(place, &count)| count.div_ceil(allowed(place)).max(1)).collect();
        let most = counts.iter().zip(&steps).map(|(count, step)| count.div_ceil(*step)).sum::<u64>();
        let mut sorter = Sorter::new("retainer trees: sorter", most as usize, SORTED, budget, job.scratch)?;
        let mut seen = vec![0u64; classes.len()];
        each(metadata, &places, job, |entry| {
            let place = entry.place as usize;
            seen[place] += 1;
            if (seen[place] - 1).is_multiple_of(steps[place]) { sorter.push(entry) } else { Ok(()) }
        })?;
        let mut sorted = sorter.finish()?;
        let next = sorted.pop()?;
        Ok(Self { sorted, counts, next })
    }

    /// Bytes written to disk.
    pub(super) fn bytes(&self) -> u64 {
        self.sorted.bytes()
    }

    /// Returns the instances of the next class, at `place`, in the order of nodes, and whether they are only a sample.
    pub(super) fn next(&mut self, place: usize) -> Result<(Vec<Instance>, bool), StageError> {
        let mut list = Vec::new();
        while let Some(Entry { node, shallow_bytes, retained_bytes, .. }) =
            self.next.filter(|entry| entry.place as usize == place)
        {
            list.push(Instance { node, shallow_bytes, retained_bytes });
            self.next = self.sorted.pop()?;
        }
        let is_part = (list.len() as u64) < self.counts[place];
        Ok((list, is_part))
    }
}

/// Visits every instance of these classes that chains count, in the order of nodes.
fn each(
    metadata: &Metadata,
    places: &BudgetVec<u32>,
    job: &Job<'_>,
    mut each: impl FnMut(Entry) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut class = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut shallow = ColumnReader::open(scratch, columns::NODE_SHALLOW)?;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut outermost = ColumnReader::open(scratch, columns::NODE_OUTERMOST)?;
    let mut preorder = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    for first in (0..metadata.node_count as usize).step_by(BLOCK) {
        let count = BLOCK.min(metadata.node_count as usize - first);
        let (classes, sizes, retained) = (class.block(count)?, shallow.block(count)?, retained.block(count)?);
        let (outermost, numbers) = (outermost.block(count)?, preorder.block(count)?);
        context.step(count as u64)?;
        for (at, class) in classes.iter().enumerate() {
            let place = places[class.index()];
            if place == u32::MAX {
                continue;
            }
            let (node, size) = ((first + at) as u32, sizes[at]);
            let is_garbage = metadata.keeps_garbage && numbers[at].is_none();
            if !is_garbage && counts(metadata, node, size) {
                let retained_bytes = if outermost[at] != 0 { retained[at] } else { 0 };
                each(Entry { place, node, shallow_bytes: size, retained_bytes })?;
            }
        }
    }
    Ok(())
}
