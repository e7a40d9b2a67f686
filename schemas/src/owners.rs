//! Table `owners`.

use crate::table::{ColumnSchema, FINGERPRINT, Runs, SIGNATURE, TableSchema, Type, optional, required};
use arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

/// File name inside a run.
pub const FILE: &str = TABLE.file;

/// The table.
pub const TABLE: TableSchema = TableSchema {
    name: "owners",
    file: "owners.parquet",
    row: "owner: a package, or a name from the rules",
    order: "`retained_bytes` descending, then `owner`",
    runs: Runs::Analyze,
    condition: None,
    notes: &[
        "The first of these that applies to an object names its owner:",
        "1. The rules of `--owners`: the first rule that matches its class, script, package and class loader.\n\
         2. The package of its code. V8: functions, and objects whose constructor is written in JavaScript, belong to the \
         package of the script: the innermost `node_modules/NAME` of its path, `node` for scripts of Node itself, \
         `(application)` for others; a script without a name has no package. Java: the package of the class, for an array \
         that of its elements; an object that represents a class belongs to that class. .NET: the module that defines the \
         type.",
        "Other objects (plain objects, arrays, strings, parts of the runtime) have no owner of their own.",
        "Each byte goes to one owner for `retained_bytes`: to the object's own, or to that of its nearest dominator with a \
         stronger owner. Rules are stronger than packages, and packages of the program are stronger than packages of the \
         Java platform, so a `java.util.HashMap` counts for the package that holds it. `(none)` takes what has no owner, \
         `(unreachable)` takes garbage; `count`, `shallow_bytes` and `retained_bytes` each sum to the whole heap.",
    ],
    names_run: true,
    columns: COLUMNS,
};

const COLUMNS: &[ColumnSchema] = &[
    required("owner", Type::Utf8, "Name; one in parentheses is not a package"),
    required("count", Type::Int64, "Objects of the owner, counted as in `classes`"),
    required("shallow_bytes", Type::Int64, "Sum of their `shallow_bytes`"),
    required(
        "retained_bytes",
        Type::Int64,
        "Shallow sizes of all objects that count for the owner: its own, unless a stronger owner dominates them, and those without an owner that it dominates",
    ),
    optional(
        "freed_bytes",
        Type::Int64,
        "Shallow sizes of all objects that no root would reach if the owner's objects were gone; computed for the 252 largest owners, null for others, `(none)` and `(unreachable)`",
    ),
    optional(
        "allocated_bytes",
        Type::Int64,
        "Bytes that the owner's functions allocated: each allocation counts for the innermost function of its stack that has an owner, the strongest kind of owner first; null if allocations were not tracked",
    ),
    SIGNATURE,
    FINGERPRINT,
];

/// The columns, as Arrow knows them.
#[must_use]
pub fn schema() -> SchemaRef {
    TABLE.schema()
}

/// Objects without an owner.
pub const NONE: &str = "(none)";
/// Garbage, where the input has some.
pub const UNREACHABLE: &str = "(unreachable)";
/// Scripts that are in no package.
pub const APPLICATION: &str = "(application)";
/// Scripts of Node itself.
pub const NODE: &str = "node";
/// Java classes that are in no package.
pub const UNNAMED: &str = "(unnamed package)";

/// One row, as the stage that finds owners hands it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OwnerRow {
    /// Its own objects.
    pub count: u64,
    /// Sum of their shallow sizes, bytes.
    pub shallow_bytes: u64,
    /// Sum of the shallow sizes of all that counts for it, bytes.
    pub retained_bytes: u64,
    /// Bytes that would become garbage if its objects did, or [`ABSENT`](crate::replay::ABSENT).
    pub freed_bytes: u64,
    /// What its functions allocated, bytes, or [`ABSENT`](crate::replay::ABSENT).
    pub allocated_bytes: u64,
}

/// A place from which code comes, as a reader of a format leaves it. What the format does not have is `u32::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Origin {
    /// String id of the path of the script.
    pub script: u32,
    /// String id of the name of the package.
    pub package: u32,
    /// String id of the name of the class of the class loader.
    pub loader: u32,
    /// 1 where it is a part of the platform, which every program uses: its package owns only what no other package
    /// retains.
    pub platform: u32,
}

/// Who owns an object: the owner of the first rule that fits, else, where the user wants that, the package of its
/// code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRules {
    /// Whether an object that fits no rule belongs to its package.
    pub packages: bool,
    /// The rules, in order.
    pub rules: Vec<OwnerRule>,
}

/// A rule fits an object if, of each kind of pattern that it has, one fits. The patterns are globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRule {
    /// The owner.
    pub name: String,
    /// Names of classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<String>,
    /// Paths of scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<String>,
    /// Names of packages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub package: Vec<String>,
    /// Names of classes of class loaders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loader: Vec<String>,
}
