//! Duplicate instances: objects that could be one object, the memory that merging them would save, and duplicates that
//! are only parts of other duplicates.
//!
//! Two nodes are duplicates if the parts of the equality graph that they reach are isomorphic: a one-to-one map takes
//! one part to the other and respects values and slots. The reader of a format writes the equality graph
//! (`equal.{value,degree,to}`, the last only if references are compared); the stages of this crate do not depend on a
//! format.
//!
//! | stage | task |
//! |---|---|
//! | [`trivial`] | groups nodes with equal values if references are not compared; else the next four stages run |
//! | [`components`] | orders the nodes such that targets come first and cycles stay together |
//! | [`candidates`] | computes candidate classes: nodes in different candidate classes are never duplicates |
//! | [`certificates`] | computes certificates: nodes with the same certificate are always duplicates |
//! | [`resolve`] | compares nodes of one candidate class with several certificates, within the allowed work |
//! | [`sets`] | computes members, sizes and additional bytes of the sets |
//! | [`set_graph`] | builds the graph of essential edges in which first members dominate their sets |
//! | [`holders`] | computes the dominators between sets, from the dominators of that graph |
//! | [`additional`] | lists the nodes that merging each set would remove |
//!
//! Candidate classes only separate, and certificates only join. Pairs between them that the allowed work does not
//! decide are undecided, and the table says so. An exact set is exact with any amount of work.

pub mod additional;
pub mod candidates;
pub mod certificates;
pub mod components;
mod cycle;
#[cfg(test)]
mod examples;
#[cfg(test)]
#[path = "../../../tests/support/fast_folder.rs"]
mod fast_folder;
mod first_members;
pub mod holders;
mod known;
mod lockstep;
mod marks;
mod matching;
mod nodes;
mod options;
mod pairs;
#[cfg(test)]
mod properties;
pub mod resolve;
pub mod set_graph;
pub mod sets;
mod shape;
mod slots;

pub mod trivial;
