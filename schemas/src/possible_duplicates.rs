//! Classes with possible duplicates, as the stage that adds them up hands them on.

use crate::ids::{ClassId, SetId};
use crate::scratch::Column;

/// The classes, by bytes in descending order, then by class.
pub const POSSIBLE_CLASS: Column<PossibleRow> = Column::new("class.possible");

/// A class that has a set of which it is not known whether its members are duplicates. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PossibleRow {
    /// Sizes of all members but one of each such set, without what they refer to.
    pub bytes: u64,
    /// Members of sets whose references were not compared to the end.
    pub uncompared: u64,
    /// Members of sets that the input does not tell apart.
    pub untold: u64,
    /// The class.
    pub class: ClassId,
    /// Such sets of the class.
    pub sets: u32,
    /// The one with the most of the bytes.
    pub largest: SetId,
    /// 0.
    pub unused: u32,
}

/// Rule of the findings about such classes.
pub const RULE: &str = "possible-duplicates-of-class";
