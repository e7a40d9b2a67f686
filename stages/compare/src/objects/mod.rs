//! Two snapshots of one process, object by object.

pub mod question;

pub use question::{Answer, CandidateGroup, Candidates, Change, ClassChange, MOST_CLASSES, Question};
