//! The hash pass: finds nodes with equal record hashes.

use super::partition::{Entry, Partition};
use super::records::Records;
use super::verify_pass::{LENGTHS, NONE, NUMBERS, VerifyPass};
use crate::hash_cons::mix;
use crate::spill::PairSpill;
use crate::{Budget, BudgetVec, ColumnWriter, Context, Reservation, Scratch, StageError};

/// Maximum number of partitions, a file each.
const MOST_PARTITIONS: usize = 64;
/// Nodes per partition such that its hash table fits the L2 cache.
const NODES_PER_PARTITION: u64 = 1 << 16;
/// Minimum entries of the hash table.
const LEAST_TABLE: usize = 1 << 10;
/// Bytes per hash table entry and its number.
const SLOT: u64 = 12;
/// Budget reserved for the verify pass, if available, bytes.
const LEAST_FOR_VERIFYING: u64 = 4 << 20;

/// The hash pass; see the module.
pub struct HashPass<'a> {
    scratch: &'a Scratch,
    partitions: Vec<Partition>,
    /// Shift from a hash to its partition.
    shift: u32,
    lengths: ColumnWriter<u32>,
    nodes: u32,
    node: u32,
    hash: u64,
    length: u32,
    _buffers: Reservation,
}

impl<'a> HashPass<'a> {
    /// Budget of both passes for `nodes` nodes, besides the kept records, bytes.
    pub fn bytes(nodes: u64) -> u64 {
        // Buffers of node numbers take less than a bit per node.
        nodes / 8 + Self::table_bytes(nodes) + ((MOST_PARTITIONS + 2) * Partition::BUFFER_BYTES) as u64
    }

    fn partitions(nodes: u64) -> usize {
        (nodes.div_ceil(NODES_PER_PARTITION).clamp(1, MOST_PARTITIONS as u64) as usize).next_power_of_two()
    }

    pub(super) fn table_bytes(nodes: u64) -> u64 {
        let entries = nodes.div_ceil(Self::partitions(nodes) as u64);
        ((entries + entries / 2).next_power_of_two().max(LEAST_TABLE as u64)) * SLOT
    }

    /// Begins a pass over nodes below `nodes`.
    pub fn new(nodes: u32, scratch: &'a Scratch, budget: &Budget) -> Result<Self, StageError> {
        let count = Self::partitions(nodes.into());
        Ok(Self {
            scratch,
            partitions: (0..count).map(|_| Partition::new(scratch)).collect(),
            shift: u64::BITS - count.trailing_zeros(),
            lengths: ColumnWriter::create(scratch, LENGTHS)?,
            nodes,
            node: 0,
            hash: 0,
            length: 0,
            // Two more for leftovers of a round.
            _buffers: budget.reserve("values", ((count + 2) * Partition::BUFFER_BYTES) as u64)?,
        })
    }

    /// Ends the pass. Leaves `for_others` bytes of the budget free if possible.
    pub fn finish(mut self, for_others: u64, context: &Context<'_>) -> Result<VerifyPass, StageError> {
        (self.lengths.len()..self.nodes.into()).try_for_each(|_| self.lengths.push(0))?;
        self.lengths.finish()?;
        self.scratch.measure();
        let budget = &context.budget;
        let left_to_others = budget.reserve("values", for_others.min(budget.free() / 4))?;
        let left_to_verifying = budget.reserve("values", LEAST_FOR_VERIFYING.min(budget.free() / 2))?;
        let most = budget.free() / 4 / SLOT;
        let capacity = (Self::table_bytes(self.nodes.into()) / SLOT).min(most.next_power_of_two() / 2);
        let capacity = (capacity as usize).max(LEAST_TABLE);
        let table = budget.zeroed("values", capacity)?;
        let numbers = budget.filled("values", capacity, NONE)?;
        let of_nodes = PairSpill::create(budget, self.scratch, "values", self.nodes as usize, self.nodes.into())?;
        let mut repeated = Repeated { table, numbers, count: 0, of_nodes };
        let mut spilled = 0;
        for partition in self.partitions {
            spilled += partition.spilled_bytes();
            repeated.take(partition, self.scratch, context)?;
        }
        let Repeated { table, numbers, count, of_nodes } = repeated;
        drop((table, numbers));
        spilled += of_nodes.spilled_bytes();
        of_nodes.write_last(self.scratch, context, NONE, NUMBERS)?;
        drop(left_to_verifying);
        let mut verify_pass = VerifyPass::new(count as usize, self.scratch, budget)?;
        drop(left_to_others);
        verify_pass.add_spilled(spilled);
        Ok(verify_pass)
    }
}

impl HashPass<'_> {
    /// Extends the hash of a record by a word; the initial hash is 0.
    #[inline]
    pub fn with(hash: u64, word: u64) -> u64 {
        mix(hash, word)
    }

    /// Adds a node with the hash ([`Self::with`]) and the length of its record. Nodes ascend.
    #[inline]
    pub fn add(&mut self, node: u32, hash: u64, words: u32) -> Result<(), StageError> {
        while self.lengths.len() < node.into() {
            self.lengths.push(0)?;
        }
        self.lengths.push(words)?;
        // With a single partition the shift is the full width.
        let partition = hash.checked_shr(self.shift).unwrap_or(0) as usize;
        self.partitions[partition].push(Entry::new(hash, node))
    }
}

impl Records for HashPass<'_> {
    #[inline]
    fn begin(&mut self, node: u32) -> Result<bool, StageError> {
        (self.node, self.hash, self.length) = (node, 0, 0);
        Ok(true)
    }

    #[inline]
    fn word(&mut self, word: u64) -> Result<(), StageError> {
        self.hash = Self::with(self.hash, word);
        self.length += 1;
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> Result<u32, StageError> {
        self.add(self.node, self.hash, self.length)?;
        Ok(self.node)
    }
}

/// Returns the slot of an entry's hash, existing or free, and the hash as stored.
#[inline]
fn slot(table: &[u64], entry: Entry) -> (usize, u64) {
    let (mask, hash) = (table.len() - 1, entry.hash().max(1));
    let mut place = hash as usize & mask;
    while table[place] != 0 && table[place] != hash {
        place = (place + 1) & mask;
    }
    (place, hash)
}

/// Numbers the repeated hashes.
struct Repeated {
    /// Hashes at their slots; 0 if free.
    table: BudgetVec<u64>,
    /// Numbers of the hashes; [`NONE`] if not repeated so far.
    numbers: BudgetVec<u32>,
    count: u32,
    /// Nodes with repeated hashes, and their numbers.
    of_nodes: PairSpill,
}

impl Repeated {
    /// Numbers the repeated hashes of a partition, in as many rounds as the hash table needs.
    fn take(&mut self, mut partition: Partition, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
        loop {
            context.check()?;
            // A round reads one file and writes the other.
            let mut rest = Partition::new(scratch);
            self.round(&partition, &mut rest)?;
            if rest.is_empty() {
                return Ok(());
            }
            partition = rest;
        }
    }

    /// Fills the hash table once; entries that do not fit go to `rest`.
    fn round(&mut self, partition: &Partition, rest: &mut Partition) -> Result<(), StageError> {
        let Self { table, numbers, count, of_nodes } = self;
        let most = table.len() / 4 * 3;
        let (mut distinct, before) = (0, *count);
        table.fill(0);
        numbers.fill(NONE);
        partition.each(|entry| {
            let (place, hash) = slot(table, entry);
            if table[place] == hash {
                if numbers[place] == NONE {
                    numbers[place] = *count;
                    *count += 1;
                }
                Ok(())
            } else if distinct < most {
                distinct += 1;
                table[place] = hash;
                Ok(())
            } else {
                rest.push(entry)
            }
        })?;
        if *count == before {
            return Ok(());
        }
        partition.each(|entry| match numbers[slot(table, entry).0] {
            NONE => Ok(()),
            number => of_nodes.push(entry.node, number),
        })
    }
}
