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
    order: "`inclusive_bytes` descending, then `function_id`",
    runs: Runs::Both,
    condition: Some("for traces, and for snapshots of V8 with allocation stacks"),
    notes: &[
        "Inclusive: allocated while the function was on the stack; a recursive function counts once per stack. Exclusive: \
         allocated by the function itself. Counts and bytes are those of all allocations of the \
         trace, whatever `--sample-interval` is; the columns `_samples` count those that were sampled. A snapshot with allocation stacks counts every allocation since the tracking began.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("function_id", Type::UInt32, "Number of the function in this run"),
    required("function", Type::Utf8, "Name; of a managed function `Namespace.Type::Method`"),
    optional("method_signature", Type::Utf8, "What tells overloads apart; null if the trace does not have it"),
    optional("module", Type::Utf8, "Module; null likewise"),
    optional("file", Type::Utf8, "Source file, or URL of the script; null likewise"),
    optional("line", Type::UInt32, "Line in the file at which the function begins, from 1; null likewise"),
    optional("column", Type::UInt32, "Column in the line, from 1; null likewise"),
    optional("script_id", Type::UInt32, "Number of the script that is `file`, as in `scripts`; null in traces"),
    optional(
        "line_from",
        Type::Utf8,
        "Who says file and line: `trace`, or `pdb` for the first statement of a .NET method; null without a line",
    ),
    optional(
        "original_file",
        Type::Utf8,
        "File from which a source map says that the script was made; null without one",
    ),
    optional("original_line", Type::UInt32, "Line in that file, from 1; null likewise"),
    optional("original_column", Type::UInt32, "Column in the line, from 1; null likewise"),
    optional("original_name", Type::Utf8, "Name of the function there; null likewise, or if the map does not tell"),
    required("inclusive_count", Type::Int64, "Objects, inclusive"),
    required("inclusive_bytes", Type::Int64, "Their bytes"),
    required("exclusive_count", Type::Int64, "Objects, exclusive"),
    required("exclusive_bytes", Type::Int64, "Their bytes"),
    required("inclusive_samples", Type::Int64, "Sampled stacks with the function on them"),
    required("exclusive_samples", Type::Int64, "Sampled stacks with the function innermost"),
    optional("inclusive_live_count", Type::Int64, "Objects still alive, inclusive; null in traces"),
    optional("inclusive_live_bytes", Type::Int64, "Sum of their `shallow_bytes`; null likewise"),
    optional("exclusive_live_count", Type::Int64, "Objects still alive, exclusive; null likewise"),
    optional("exclusive_live_bytes", Type::Int64, "Sum of their `shallow_bytes`; null likewise"),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Values of `line_from`.
pub const LINE_FROM: [&str; 2] = ["trace", "pdb"];
/// Position of `trace` in it.
pub const FROM_TRACE: u32 = 0;
/// Position of `pdb` in it.
pub const FROM_PDB: u32 = 1;

/// One row, as the stage that replays a trace hands it on. Texts are numbers of [`STRINGS`](crate::replay::STRINGS),
/// `u32::MAX` for none; in optional numbers, [`ABSENT`](crate::replay::ABSENT) means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct FunctionRow {
    /// Number of the function.
    pub function_id: u32,
    /// Its name.
    pub name: u32,
    /// What tells it from others of that name.
    pub method_signature: u32,
    /// Its module.
    pub module: u32,
    /// Source file.
    pub file: u32,
    /// Line in it; `u32::MAX` for none.
    pub line: u32,
    /// Column in the line; `u32::MAX` for none.
    pub column: u32,
    /// Number of the script; `u32::MAX` for none.
    pub script: u32,
    /// Room that keeps what follows aligned; 0.
    pub reserved: u32,
    /// Position in [`LINE_FROM`]; `u32::MAX` for none.
    pub line_from: u32,
    /// File from which the script was made.
    pub original_file: u32,
    /// Line in it; `u32::MAX` for none.
    pub original_line: u32,
    /// Column in the line; `u32::MAX` for none.
    pub original_column: u32,
    /// The name there.
    pub original_name: u32,
    /// Objects allocated with it on the stack.
    pub inclusive_count: u64,
    /// Their bytes.
    pub inclusive_bytes: u64,
    /// Objects that it allocated itself.
    pub exclusive_count: u64,
    /// Their bytes.
    pub exclusive_bytes: u64,
    /// Sampled stacks that it is on.
    pub inclusive_samples: u64,
    /// Sampled stacks that it is at the top of.
    pub exclusive_samples: u64,
    /// Objects that are alive of those allocated with it on the stack; optional, as the next three.
    pub inclusive_live_count: u64,
    /// Their bytes.
    pub inclusive_live_bytes: u64,
    /// Objects that are alive of those that it allocated itself.
    pub exclusive_live_count: u64,
    /// Their bytes.
    pub exclusive_live_bytes: u64,
}

impl FunctionRow {
    /// Its name, before its script was made where a source map tells.
    #[must_use]
    pub fn told_name(&self) -> u32 {
        if self.original_name == u32::MAX { self.name } else { self.original_name }
    }

    /// Its file and line, before its script was made where a source map tells.
    #[must_use]
    pub fn told_place(&self) -> Option<(u32, u32)> {
        let places = [(self.original_file, self.original_line), (self.file, self.line)];
        places.into_iter().find(|&(file, line)| file != u32::MAX && line != u32::MAX)
    }
}
