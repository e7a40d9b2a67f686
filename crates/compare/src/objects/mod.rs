//! Compares two snapshots of one process object by object.
//!
//! * Computes: new, deleted and kept objects by class; with a third snapshot, leak candidates.
//! * Resident memory: some 200 bytes per class, class texts twice; a sixth of the rest of the budget for sorting; 48
//!   MiB for the writer of a table.
//! * Passes over disk: the nodes of each snapshot once, sorted by id in scratch; for V8 with tables of edges, also the
//!   edges of both, and nodes once more. Differences are sorted and written once.
//! * Worst case: sorting, n log n.
//! * Fails when: a table is missing or damaged, objects have no identity, the budget does not hold the classes, the
//!   disk is full.
//! * Determinism: total orders; classes are numbered in the order of their tables.
//! * Reference: the comparison view of Chrome DevTools (`HeapSnapshot.calculateSnapshotDiff`), memlab
//!   (`HeapAnalyzer.diffSnapshots`).

mod candidates;
mod chains;
mod class_list;
mod class_sums;
mod comparison;
mod interfaces;
mod join;
#[cfg(test)]
mod made;
mod node_rows;
mod object_rows;
mod plain_objects;
#[cfg(test)]
mod properties;
pub mod question;
#[cfg(test)]
mod refusals;
mod side;
mod slices;
mod tracked;

pub use comparison::compare;
pub use question::{Answer, CandidateGroup, Candidates, Change, ClassChange, MOST_CLASSES, Question};
