//! Duplicate instances: which objects could be one object, what that would save, and which duplicates are only parts of
//! other ones.
//!
//! Two nodes are duplicates if what they reach in the equality graph is the same but for the identity of the nodes: there
//! is a one-to-one map of the one part to the other that respects values and slots. Readers of formats write that graph
//! (`equal.{value,degree,to}`, the last only where references are looked into); the stages of this crate know no format.
//!
//! | stage | what it does |
//! |---|---|
//! | [`trivial`] | groups of one value, where no references are to be looked into; the next four where they are |
//! | [`components`] | brings the nodes into an order in which targets come first, cycles as one |
//! | [`classes`] | separates what cannot be duplicates: nodes of different classes are none |
//! | [`proofs`] | joins what is shown to be duplicates, by its own parts and by whom it shares the others with |
//! | [`resolve`] | compares pair by pair where classes and proofs differ, as far as the allowed work goes |
//! | [`sets`] | members, sizes and additional bytes of the sets |
//! | [`holders`] | which set holds which |
//!
//! Classes only separate and proofs only join, so whatever is left in between when the work is used up is possible and
//! nothing more: an exact set is exact with any amount of work.

pub mod classes;
pub mod components;
mod cycle;
#[cfg(test)]
mod examples;
pub mod holders;
mod lockstep;
pub mod options;
pub mod proofs;
#[cfg(test)]
mod properties;
pub mod resolve;
pub mod sets;
mod slots;
pub mod trivial;
