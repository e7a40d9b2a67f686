//! Table `allocation_functions`.

use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "allocation_functions",
    file: "allocation_functions.parquet",
    row: "function on the stack of an allocation",
    order: "`inclusive_bytes` descending, `function_id`",
    runs: Runs::Both,
    condition: Some("for traces and V8 snapshots with allocation stacks"),
    notes: &[
        "Inclusive: allocated while the function was on the stack, once per stack if recursive. Exclusive: allocated \
         by the function itself. Counts and bytes cover all allocations (of a snapshot, since tracking began), \
         whatever `--sample-interval` is; `_samples` count the sampled ones.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("function_id", Type::UInt32, "Function number in this run"),
    required("function", Type::Utf8, "Name; `Namespace.Type::Method` for .NET"),
    optional("method_signature", Type::Utf8, "Distinguishes overloads; null if unknown"),
    optional("module", Type::Utf8, "Module; null too"),
    optional("file", Type::Utf8, "Source file or script URL; null too"),
    optional("line", Type::UInt32, "First line of the function, from 1; null too"),
    optional("column", Type::UInt32, "Its column, from 1; null too"),
    optional("script_id", Type::UInt32, "Script that is `file`; null in traces"),
    optional(
        "line_from",
        Type::Utf8,
        "Source of both: `trace`, or `pdb` (first statement of a .NET method); null without a line",
    ),
    optional("original_file", Type::Utf8, "Original file, from the source map; null without one"),
    optional("original_line", Type::UInt32, "Line there, from 1; null too"),
    optional("original_column", Type::UInt32, "Column there, from 1; null too"),
    optional("original_name", Type::Utf8, "Name there; null too, or if not in the map"),
    required("inclusive_count", Type::Int64, "Objects, inclusive"),
    required("inclusive_bytes", Type::Int64, "Their bytes"),
    required("exclusive_count", Type::Int64, "Objects, exclusive"),
    required("exclusive_bytes", Type::Int64, "Their bytes"),
    required("inclusive_samples", Type::Int64, "Sampled stacks with the function"),
    required("exclusive_samples", Type::Int64, "Sampled stacks where it is innermost"),
    optional("inclusive_live_count", Type::Int64, "Live objects, inclusive; null in traces"),
    optional("inclusive_live_bytes", Type::Int64, "Their shallow sizes; null too"),
    optional("exclusive_live_count", Type::Int64, "Live objects, exclusive; null too"),
    optional("exclusive_live_bytes", Type::Int64, "Their shallow sizes; null too"),
    SIGNATURE,
    FINGERPRINT,
];

/// The Arrow schema.
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Values of `line_from`.
pub const LINE_FROM: [&str; 2] = ["trace", "pdb"];
/// Position of `trace` in [`LINE_FROM`].
pub const FROM_TRACE: u32 = 0;
/// Position of `pdb` in [`LINE_FROM`].
pub const FROM_PDB: u32 = 1;

/// A row as the replay writes it. Texts are ids of [`STRINGS`](crate::replay::STRINGS), `u32::MAX` for null;
/// [`ABSENT`](crate::replay::ABSENT) means null in optional numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct FunctionRow {
    /// Function number.
    pub function_id: u32,
    /// Its name.
    pub name: u32,
    /// Distinguishes overloads.
    pub method_signature: u32,
    /// Its module.
    pub module: u32,
    /// Source file.
    pub file: u32,
    /// Line; `u32::MAX` for none.
    pub line: u32,
    /// Column; `u32::MAX` for none.
    pub column: u32,
    /// Script number; `u32::MAX` for none.
    pub script: u32,
    /// Padding; 0.
    pub reserved: u32,
    /// Position in [`LINE_FROM`]; `u32::MAX` for none.
    pub line_from: u32,
    /// Original file, from the source map.
    pub original_file: u32,
    /// Line there; `u32::MAX` for none.
    pub original_line: u32,
    /// Column there; `u32::MAX` for none.
    pub original_column: u32,
    /// Name there.
    pub original_name: u32,
    /// Objects allocated with the function on the stack.
    pub inclusive_count: u64,
    /// Their bytes.
    pub inclusive_bytes: u64,
    /// Objects allocated by the function itself.
    pub exclusive_count: u64,
    /// Their bytes.
    pub exclusive_bytes: u64,
    /// Sampled stacks that have the function.
    pub inclusive_samples: u64,
    /// Sampled stacks where it is innermost.
    pub exclusive_samples: u64,
    /// Live objects allocated with it on the stack; optional, like the next three.
    pub inclusive_live_count: u64,
    /// Their bytes.
    pub inclusive_live_bytes: u64,
    /// Live objects allocated by itself.
    pub exclusive_live_count: u64,
    /// Their bytes.
    pub exclusive_live_bytes: u64,
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
