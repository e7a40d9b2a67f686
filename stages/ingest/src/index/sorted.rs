//! Index by sorted addresses, for heaps in which objects lie far apart.
//!
//! Memory: 13 bytes per object, resident if the budget allows, paged otherwise. A look-up searches one bucket of
//! addresses with equal leading bits; there is one bucket per [`PER_BUCKET`] objects.
//!
//! Worst case: one bucket holds all n objects, and a look-up takes log2(n) accesses.

use super::words::Twice;
use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::filled;
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::{Array, ArrayPlan, ColumnReader, Job, ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column};
use std::ops::Range;

/// Average number of objects per bucket.
const PER_BUCKET: usize = 4;

/// An address and the ordinal of its object.
type Entry = [u64; 2];

const SORTED: [Column<Entry>; 2] = [Column::new("index.sorted.a"), Column::new("index.sorted.b")];

/// Sorted addresses, the ordinals of their objects, and the start of each bucket.
pub(super) struct Rows<A, L> {
    least: u64,
    /// Bits to shift out of an address's distance from `least` to get its bucket.
    shift: u32,
    addresses: A,
    nodes: L,
    starts: L,
}

impl Rows<Array<u64>, Array<u32>> {
    /// Builds the rows of all objects from the ordinal `from` on.
    pub(super) fn build(from: u32, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Result<Self, Twice>, StageError> {
        let (mut sorted, [least, most]) = sort(from, job)?;
        let count = sorted.count() as usize;
        let span = most.saturating_sub(least);
        let shift = (u64::BITS - (span / (count / PER_BUCKET + 1) as u64).leading_zeros()).min(u64::BITS - 1);
        let buckets = (span >> shift) as usize + 1;
        let (addresses, starts, nodes) =
            plan.make((filled(count, 0u64), filled(buckets + 1, count as u32), filled(count, 0u32)))?;
        let mut rows = Self { least, shift, addresses, nodes, starts };
        let twice = rows.fill(&mut sorted, job)?;
        Ok(twice.map_or(Ok(rows), |node| Err(Twice(node))))
    }

    /// Stores the sorted addresses. Returns the first object, in input order, that repeats an earlier object's address.
    fn fill(&mut self, sorted: &mut Sorted<'_, Entry>, job: &Job<'_>) -> Result<Option<NodeId>, StageError> {
        let mut twice: Option<u64> = None;
        let (mut last, mut group, mut begun) = (None, 0, 0);
        let mut at = 0;
        while let Some([address, node]) = sorted.pop()? {
            group = if last == Some(address) { group + 1 } else { 0 };
            if group == 1 {
                twice = Some(twice.map_or(node, |known| known.min(node)));
            }
            last = Some(address);
            let bucket = ((address - self.least) >> self.shift) as usize;
            while begun <= bucket {
                self.starts.set(begun, at as u32)?;
                begun += 1;
            }
            self.addresses.set(at, address)?;
            self.nodes.set(at, node as u32)?;
            at += 1;
            job.context.check_every(1 << 16, at)?;
        }
        Ok(twice.map(|node| NodeId(node as u32)))
    }

    /// The rows, if all are resident.
    pub(super) fn resident(&self) -> Option<Rows<&[u64], &[u32]>> {
        match (&self.addresses, &self.nodes, &self.starts) {
            (Array::Resident(addresses), Array::Resident(nodes), Array::Resident(starts)) => {
                Some(Rows { least: self.least, shift: self.shift, addresses, nodes, starts })
            }
            _ => None,
        }
    }

    /// The rows, resident or paged.
    pub(super) fn anywhere(&mut self) -> Rows<&mut Array<u64>, &mut Array<u32>> {
        let Self { least, shift, addresses, nodes, starts } = self;
        Rows { least: *least, shift: *shift, addresses, nodes, starts }
    }
}

/// Sorts the addresses; returns them with the smallest and the largest.
fn sort<'a>(from: u32, job: &Job<'a>) -> Result<(Sorted<'a, Entry>, [u64; 2]), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut addresses = ColumnReader::open(scratch, columns::NODE_ID)?;
    let nodes = addresses.remaining() as u32;
    addresses.skip(from.into())?;
    let mut sorter = Sorter::new("index", nodes as usize, SORTED, &context.budget, scratch)?;
    let mut ends = [u64::MAX, 0];
    for node in from..nodes {
        let address = addresses.next()?;
        ends = [ends[0].min(address), ends[1].max(address)];
        sorter.push([address, node.into()])?;
        context.check_every(1 << 16, node)?;
    }
    Ok((sorter.finish()?, ends))
}

impl<A: ReadAt<u64>, L: ReadAt<u32>> Rows<A, L> {
    /// Returns the object at an address.
    #[inline]
    pub(super) fn find(&mut self, address: u64) -> Result<Option<NodeId>, Fault> {
        let Some(bucket) = self.bucket(address)? else { return Ok(None) };
        let end = bucket.end;
        let at = self.lower_bound(bucket, address)?;
        if at == end || self.addresses.get(at)? != address {
            return Ok(None);
        }
        Ok(Some(NodeId(self.nodes.get(at)?)))
    }

    /// Whether an object begins at an address of `from..to`.
    pub(super) fn any_within(&mut self, from: u64, to: u64) -> Result<bool, Fault> {
        let at = match self.bucket(from)? {
            Some(bucket) => self.lower_bound(bucket, from)?,
            None if from < self.least => 0,
            None => return Ok(false),
        };
        Ok(at < self.addresses.count() && self.addresses.get(at)? < to)
    }

    /// Returns the positions of the address's bucket.
    #[inline]
    fn bucket(&mut self, address: u64) -> Result<Option<Range<usize>>, Fault> {
        let Some(distance) = address.checked_sub(self.least) else { return Ok(None) };
        let bucket = (distance >> self.shift) as usize;
        if bucket + 1 >= self.starts.count() {
            return Ok(None);
        }
        Ok(Some(self.starts.get(bucket)? as usize..self.starts.get(bucket + 1)? as usize))
    }

    /// Returns the first position in a range with an address of at least `address`.
    #[inline]
    fn lower_bound(&mut self, mut places: Range<usize>, address: u64) -> Result<usize, Fault> {
        while !places.is_empty() {
            let middle = places.start + places.len() / 2;
            if self.addresses.get(middle)? < address {
                places.start = middle + 1;
            } else {
                places.end = middle;
            }
        }
        Ok(places.start)
    }
}
