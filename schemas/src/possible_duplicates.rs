//! Table `possible_duplicates`: classes with possible duplicates.

use crate::column;
use crate::ids::{ClassId, SetId};
use crate::row::rows;
use crate::scratch_column::{CLASS_KEYS, Column};
use crate::table::{TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "class with possible duplicates",
    order: "`bytes` descending, `class_id`",
    condition: Some("with `findings`, if duplicates were searched"),
    notes: &["Sums over `duplicate_sets` with status `possible`."],
    columns: PossibleRow::SCHEMAS,
    ..table!("possible_duplicates")
};

/// The classes, by bytes in descending order, then by class.
pub const POSSIBLE_CLASS: Column<PossibleRow> = PossibleRow::ROWS;

rows! {
    TABLE from Column::new("class.possible");
    /// A class with possible sets of duplicates. Sizes are bytes.
    #[derive(Eq)]
    pub struct PossibleRow {
        class: ClassId
            => also(id("class_id", |row: &PossibleRow| row.class.0, "Class"))
            | computed(column::text("class", "Name"))
            | also(text("class_key", |row: &PossibleRow| row.class.0, CLASS_KEYS, "Its `class_key`"));
        sets: u32 => count_u32("Possible sets of the class");
        largest: SetId => also(id("set", |row: &PossibleRow| row.largest.0, "The one with most of `bytes`"));
        unused: u32;
        /// Members of sets whose references were not fully compared.
        uncompared: u64 => also(count("count", PossibleRow::members, "Their members"));
        /// Members of sets that the input cannot distinguish.
        untold: u64
            => count("Of `count`, those that the input cannot distinguish; references of the rest were not compared");
        bytes: u64
            => bytes("Sizes of all members but one per set, without referenced objects: the most that merging saves")
            | computed(column::text("message", "Why they are only possible, a sentence"))
            | computed(column::text("next_step", "Command that compares them; empty if the input lacks the data"));
    }
}

impl PossibleRow {
    /// Members of such sets.
    pub fn members(&self) -> u64 {
        self.uncompared + self.untold
    }
}

/// Rule of findings about these classes in runs of older versions, which have no such table.
pub const RULE: &str = "possible-duplicates-of-class";
