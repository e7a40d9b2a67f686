//! Duplicate instances: which objects could be one object, what that would save, and which duplicates are only parts of
//! other ones.
//!
//! Two nodes are duplicates if what they reach in the equality graph is the same but for the identity of the nodes: there
//! is a one-to-one map of the one part to the other that respects values and slots. Readers of formats write that graph
//! (`equal.{value,degree,to}`, the last only where references are looked into); the stages of this crate know no format.
//!
//! | stage | what it does |
//! |---|---|
//! | [`trivial`] | groups nodes of one value, where references are not looked into; the next four where they are |
//! | [`components`] | orders the nodes such that targets come first and cycles stay together |
//! | [`candidates`] | makes candidate classes: nodes in different candidate classes are never duplicates |
//! | [`certificates`] | makes certificates: nodes with the same certificate are always duplicates |
//! | [`resolve`] | compares pairs of nodes with one candidate class and several certificates, within the allowed work |
//! | [`sets`] | members, sizes and additional bytes of the sets |
//! | [`set_graph`] | the graph of essential edges in which the members of a set are dominated by the first one |
//! | [`holders`] | which set holds which, by the dominators of that graph |
//!
//! Candidate classes only separate and certificates only join. What lies between them when the work is used up is
//! undecided, and the table says so: an exact set is exact with any amount of work.

pub mod candidates;
pub mod certificates;
pub mod components;
mod cycle;
#[cfg(test)]
mod examples;
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
mod sorter;
pub mod trivial;
