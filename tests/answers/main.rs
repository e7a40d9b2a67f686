//! Correct answers: tables of snapshots against other programs, a naive oracle, and answers known by construction.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod budgets;
mod choice_of_tables;
mod dialects;
mod diff;
mod diff_objects;
mod differential;
mod duplicate_sets;
mod duplicates;
mod duplicates_by_class;
mod duplicates_later;
mod duplicates_of_dupfix;
mod engines;
mod equal_values;
mod findings;
mod findings_rules;
mod golden;
mod kinds;
mod live_allocations;
mod notebooks;
mod old_lakes;
mod original_places;
mod owners;
mod owners_by_script;
mod pairs;
mod planted_answers;
mod properties;
mod retainer_trees;
mod same_holders;
mod schemas;
mod signatures;
mod trend;
mod values;
mod what_if;
