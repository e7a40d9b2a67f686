//! Table `allocation_functions`.

use crate::column;
use crate::row::rows;
use crate::scratch_column::{Column, FUNCTION_STRINGS};
use crate::table::{Runs, TableSchema, table};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "function on the stack of an allocation",
    order: "`inclusive_bytes` descending, `function_id`",
    runs: Runs::Both,
    condition: Some("for traces and V8 snapshots with allocation stacks"),
    notes: &[
        "Inclusive: allocated while the function was on the stack, once per stack if recursive. Exclusive: allocated \
         by the function itself. Counts and bytes cover all allocations (of a snapshot, since tracking began), \
         whatever `--sample-interval` is; `_samples` count the sampled ones.",
    ],
    columns: FunctionRow::SCHEMAS,
    ..table!("allocation_functions")
};

/// Values of `line_from`.
pub const LINE_FROM: [&str; 2] = ["trace", "pdb"];
/// Position of `trace` in [`LINE_FROM`].
pub const FROM_TRACE: u32 = 0;
/// Position of `pdb` in [`LINE_FROM`].
pub const FROM_PDB: u32 = 1;

rows! {
    TABLE from Column::new("replay.function");
    /// A row as the replay writes it. Texts are ids of the string table of functions, `u32::MAX` for null;
    /// [`ABSENT`](crate::replay::ABSENT) means null in optional numbers.
    #[derive(Eq)]
    pub struct FunctionRow {
        function_id: u32 => id("Function number in this run");
        name: u32 => text(FUNCTION_STRINGS, "Name; `Namespace.Type::Method` for .NET").named("function");
        method_signature: u32 => text(FUNCTION_STRINGS, "Distinguishes overloads; null if unknown").or_null();
        module: u32 => text(FUNCTION_STRINGS, "Module; null too").or_null();
        file: u32 => text(FUNCTION_STRINGS, "Source file or script URL; null too").or_null();
        line: u32 => from_one("First line of the function, from 1; null too").or_null();
        column: u32 => from_one("Its column, from 1; null too").or_null();
        script: u32 => id("Script that is `file`; null in traces").named("script_id").or_null();
        line_from: u32
            => name(&LINE_FROM, "Source of both: `trace`, or `pdb` (first statement of a .NET method); null without a \
                 line").or_null();
        original_file: u32 => text(FUNCTION_STRINGS, "Original file, from the source map; null without one").or_null();
        original_line: u32 => from_one("Line there, from 1; null too").or_null();
        original_column: u32 => from_one("Column there, from 1; null too").or_null();
        original_name: u32 => text(FUNCTION_STRINGS, "Name there; null too, or if not in the map").or_null();
        reserved: u32;
        inclusive_count: u64 => count("Objects, inclusive");
        inclusive_bytes: u64 => bytes("Their bytes");
        exclusive_count: u64 => count("Objects, exclusive");
        exclusive_bytes: u64 => bytes("Their bytes");
        inclusive_samples: u64 => count("Sampled stacks with the function");
        exclusive_samples: u64 => count("Sampled stacks where it is innermost");
        inclusive_live_count: u64 => count("Live objects, inclusive; null in traces").or_null();
        inclusive_live_bytes: u64 => bytes("Their shallow sizes; null too").or_null();
        exclusive_live_count: u64 => count("Live objects, exclusive; null too").or_null();
        exclusive_live_bytes: u64
            => bytes("Their shallow sizes; null too").or_null()
            | computed(column::SIGNATURE)
            | computed(column::FINGERPRINT);
    }
}

impl FunctionRow {
    /// The original name if a source map has it, else the script's.
    pub fn told_name(&self) -> u32 {
        if self.original_name == u32::MAX { self.name } else { self.original_name }
    }

    /// The original file and line if a source map has them, else the script's.
    pub fn told_place(&self) -> Option<(u32, u32)> {
        let places = [(self.original_file, self.original_line), (self.file, self.line)];
        places.into_iter().find(|&(file, line)| file != u32::MAX && line != u32::MAX)
    }
}
