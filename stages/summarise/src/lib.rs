//! From numbers per node to what people look at first: classes, the chains that lead to the big ones, and the largest
//! objects; of replayed traces, what is worth a look.

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
