//! Selects the nodes to compare: those that candidate classes and certificates leave undecided.

use crate::options::Choices;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::{ArrayPlan, Bitset, ColumnReader, Job, ReadAt, StageError};
use heaplake_schemas::scratch::{self as columns, Column};

/// One node for each certificate of a candidate class that has several. Sorted by component of the candidate class in
/// descending order, then by candidate class, then by node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Pair {
    from_last_component: u32,
    pub candidate: u32,
    pub node: u32,
}

const COLUMNS: [Column<Pair>; 2] = [Column::new("equal.pairs"), Column::new("equal.pairs_merged")];

/// Finds one node of each certificate in candidate classes that have several. Marks candidate classes as undecided if
/// the user does not want their references compared.
pub(crate) fn find<'a>(
    choices: &Choices,
    undecided: &mut Bitset,
    nodes: usize,
    job: &Job<'a>,
) -> Result<Sorted<'a, Pair>, StageError> {
    let mut mixed = mixed(nodes, job)?;
    let mut node_classes = ColumnReader::open(job.scratch, columns::NODE_CLASS)?;
    for candidate in 0..nodes {
        let class = node_classes.next()?;
        if mixed.contains(candidate) && !choices.looks_into(class.index()) {
            mixed.remove(candidate);
            undecided.insert(candidate);
        }
    }
    let budget = &job.context.budget;
    let mut sorter = Sorter::new("certificates of a candidate class", nodes, COLUMNS, budget, job.scratch)?;
    let mut components = ArrayPlan::of(job, "undecided pairs").one(lookup(columns::EQUAL_COMPONENT))?;
    let mut candidates = ColumnReader::open(job.scratch, columns::EQUAL_CANDIDATE)?;
    let mut certificates = ColumnReader::open(job.scratch, columns::EQUAL_CERTIFICATE)?;
    for node in 0..nodes as u32 {
        let (candidate, certificate) = (candidates.next()?, certificates.next()?);
        if certificate.0 == node && mixed.contains(candidate.index()) {
            let from_last_component = u32::MAX - components.get(candidate.index())?;
            sorter.push(Pair { from_last_component, candidate: candidate.0, node })?;
        }
    }
    drop(components);
    sorter.finish()
}

fn mixed(nodes: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let mut mixed = Bitset::new(&job.context.budget, "candidate classes with several certificates", nodes)?;
    let mut certificate_of = ArrayPlan::of(job, "undecided pairs").one(lookup(columns::EQUAL_CERTIFICATE))?;
    let mut candidates = ColumnReader::open(job.scratch, columns::EQUAL_CANDIDATE)?;
    let mut certificates = ColumnReader::open(job.scratch, columns::EQUAL_CERTIFICATE)?;
    for _ in 0..nodes {
        let (candidate, certificate) = (candidates.next()?, certificates.next()?);
        if certificate_of.get(candidate.index())? != certificate {
            mixed.insert(candidate.index());
        }
    }
    Ok(mixed)
}
