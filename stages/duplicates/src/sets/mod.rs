//! Stage `duplicate sets`: members, sizes and additional bytes of the sets.
//!
//! * Computes: a set for each group of two or more nodes, and its additional bytes: the size of all nodes that its
//!   members reach, minus the size of those that one member reaches. The private part of a component cannot be reached
//!   from another component. So if all members have one certificate, the additional bytes are the private size of a
//!   component, times the number of components minus one. For other sets that is a lower bound, and a second comparison
//!   computes the exact value if the allowed work suffices. Otherwise the nodes that the members reach beyond the first
//!   one are the upper bound, or the whole heap if they are too many. The lower bound of a possible set counts repeated
//!   certificates, and is 0 if the input is incomplete. Its upper bound is at most the retained size of its members.
//! * Resident memory: two bits, set 4 and private size 8 bytes per node and 64 per set, and 4 per set and member while
//!   members are grouped (on disk if they exceed half of the free memory), paged where the budget does not allow it;
//!   for the second comparison as `undecided pairs`, and 4 MiB for the additional nodes of a set. The sets are sorted
//!   on disk.
//! * Passes over disk: groups twice, components and their slots once.
//! * Worst case: linear, sorting of the sets, and the allowed work. The second comparison gives up on sets that add
//!   more than 262,144 nodes. Neither limit depends on the budget.
//! * Fails when: the budget is too small, or a sum exceeds 64 bits.
//! * Determinism: by additional bytes, then first member.
//! * Reference: none needed.

mod additional;
mod bounds;
mod equal_values;
mod group;
mod kept;
mod nodes;
mod numbers;
mod private_sizes;
mod rows;

use crate::options::{Choices, looks_into_references, names_classes};
use group::{GROUP_MEMBERS, GROUP_SIZES, Group, NUMBER};
use heaplake_kit::access::{Size, bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{ColumnReader, Job, Offsets, ReadAt, Stage, StageError, Stats};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, STRINGS, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "duplicate sets",
    version: 7,
    when: |setting| setting.duplicates(),
    reads: &[
        document(documents::METADATA),
        column(columns::EQUAL_GROUP).when(looks_into_references),
        column(columns::EQUAL_UNDECIDED),
        column(columns::EQUAL_UNDECIDED_REASON),
        column(columns::EQUAL_CERTIFICATE).when(looks_into_references),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_LIMITS).if_any(),
        column(columns::NODE_SELF),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_CLASS),
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_TO).when(looks_into_references),
        column(columns::EQUAL_CANDIDATE).when(looks_into_references),
        column(columns::EQUAL_ORDER).when(looks_into_references),
        column(columns::EQUAL_COMPONENT).when(looks_into_references),
        column(columns::EQUAL_COMPONENT_SIZE).when(looks_into_references),
        column(columns::CLASS_NAME),
        column(columns::NODE_RETAINED).when(looks_into_references),
        column(columns::NODE_OUTERMOST).when(looks_into_references),
        texts(STRINGS).when(names_classes),
    ],
    writes: &[
        column(columns::EQUAL_SET),
        column(columns::SET_ROW),
        column(columns::SET_MEMBER),
        column(columns::CLASS_DUPLICATE_COUNT),
        column(columns::CLASS_DUPLICATE_BYTES),
    ],
    arrays: &[
        // The counters of sets, with the estimated size of the groups.
        &[GROUPS, per_node::<u32>(), per_node::<u8>()],
        &[
            GROUPS,
            per_node::<u64>(),
            Offsets::SIZE,
            per_edge::<NodeId>(),
            per_node::<u32>(),
            per_node::<u32>(),
            per_node::<u8>(),
        ],
        &[
            GROUPS,
            Offsets::SIZE,
            per_edge::<NodeId>(),
            per_node::<NodeId>(),
            per_node::<NodeId>(),
            per_node::<u32>(),
            per_node::<u64>(),
            per_node::<u32>(),
        ],
        &[GROUPS, bits_per_node(8 * size_of::<kept::Tally>() as u64 / 8), per_node::<u8>()],
        &[GROUPS, per_node::<u32>()],
    ],
    least: &[bits_per_node(2)],
    // Groups have at least 8 MiB.
    fixed: numbers::LATER + (8 << 20),
    // Numbers, members twice while they are grouped, sizes, and the order of the sets while it is merged.
    shares: true,
    temporary: &[per_node::<u32>(), per_node::<[u32; 2]>(), per_node::<u32>(), per_node::<u64>()],
    passes: "groups twice, components once",
    run,
    ..Stage::NEW
};

// The reserve for later phases covers the pairs while they are grouped.
const _: () = assert!(PairSpill::MOST_BYTES < numbers::LATER);

/// The groups, estimated as one per eight nodes. Most heaps have fewer; more are paged.
const GROUPS: Size = bits_per_node(8 * size_of::<Group>() as u64 / 8);

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let choices = Choices::load(job)?;
    let nodes = ColumnReader::open(scratch, columns::EQUAL_VALUE)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let mut groups;
    if job.setting.looks_into_references() {
        let whole;
        (groups, whole) = numbers::assign(nodes as usize, job)?;
        private_sizes::add_all(&mut groups, nodes as usize, job)?;
        group::collect_members(&mut groups, job)?;
        additional::find(choices.work, &mut groups, job)?;
        bounds::find(whole, &mut groups, job)?;
        kept::find(&mut groups, job)?;
    } else {
        groups = equal_values::assign(nodes as usize, job)?;
        group::collect_members(&mut groups, job)?;
    }
    rows::write(&mut groups, job)?;
    nodes::write(&mut groups, job)?;
    [GROUP_SIZES, GROUP_MEMBERS, NUMBER].into_iter().for_each(|column| scratch.discard(column));
    context.progress.end();
    Ok(Stats { rows: groups.count() as u64, spilled_bytes: 0 })
}
