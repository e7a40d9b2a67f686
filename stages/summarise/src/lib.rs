//! Summaries of the numbers per node: classes, the chains to the big ones, the largest objects, and findings; of
//! replayed traces, findings.

/// Declares the modules of rules and lists their constants `RULE`: one line for each rule.
macro_rules! rules {
    ($rule:ident: $($name:ident,)+) => {
        $(mod $name;)+

        /// All rules, in the order in which they report.
        const RULES: &[$rule] = &[$($name::RULE),+];
    };
}

pub mod allocations;
pub mod big;
pub mod chains;
pub mod class_rows;
pub mod findings;
mod fold;
pub mod largest;
mod nodes;
pub mod owners;
mod trie;
