//! Property tests: random filters print and parse to themselves, and find in random tables what a naive evaluator finds.

mod language;
mod naive;
mod random;
mod table;
