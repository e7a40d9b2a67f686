//! Table `owners`: one row per owner (a package, a team), sorted by `retained_bytes` descending, then by name.
//!
//! Who owns an object, the first of these says:
//!
//! 1. The user's rules (`--owners`): the first that fits its class, its script, its package and its class loader.
//! 2. The package that its code is in. Java: that of its class; of an array, that of its elements; an object that stands for
//!    a class belongs to that class. V8: a function, and an object with a constructor that is written in JavaScript, belong
//!    to the package of the script: the innermost `node_modules/NAME` of its path, [`NODE`] for scripts of Node itself,
//!    [`APPLICATION`] for others. Scripts without a name have no package. .NET: the module that defines its type.
//!
//! What is left (plain objects, arrays, strings, parts of the runtime) has no owner of its own. For `retained_bytes`, each
//! byte goes to one owner: to that of the object itself, or, where a dominator of it has a stronger one, to that of the
//! nearest such. Rules are stronger than packages, and those are stronger than packages of the Java platform, so that a
//! `java.util.HashMap` counts for who holds it. Bytes that nobody gets are those of [`NONE`], garbage is
//! [`UNREACHABLE`]; so `count`, `shallow_bytes` and `retained_bytes` each sum to the whole heap.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// File name inside a run.
pub const FILE: &str = "owners.parquet";

/// What belongs to nobody.
pub const NONE: &str = "(none)";
/// Garbage, where the input has some.
pub const UNREACHABLE: &str = "(unreachable)";
/// Scripts that are in no package.
pub const APPLICATION: &str = "(application)";
/// Scripts of Node itself.
pub const NODE: &str = "node";
/// Java classes that are in no package.
pub const UNNAMED: &str = "(unnamed package)";

/// The columns.
///
/// | column | unit and meaning |
/// |---|---|
/// | `owner` | name; those in parentheses are no packages |
/// | `count` | its own objects, as `classes` counts them |
/// | `shallow_bytes` | sum of their sizes |
/// | `retained_bytes` | sum of the sizes of all that counts for it: its own objects unless somebody stronger dominates them, and what has no owner of its own and is dominated by them |
/// | `freed_bytes` | sum of the sizes of all that no root would reach any more if its own objects were not there; null beyond the owners that are looked at, and for `(none)` and `(unreachable)` |
/// | `allocated_bytes` | bytes allocated while allocations were tracked, by the innermost owned function of the stack, the strongest kind of owner first; null where they were not |
#[must_use]
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("owner", DataType::Utf8, false),
        Field::new("count", DataType::UInt64, false),
        Field::new("shallow_bytes", DataType::UInt64, false),
        Field::new("retained_bytes", DataType::UInt64, false),
        Field::new("freed_bytes", DataType::UInt64, true),
        Field::new("allocated_bytes", DataType::UInt64, true),
    ]))
}

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
    /// What would go if its objects went, bytes, or [`ABSENT`](crate::replay::ABSENT).
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
    /// 1 where it is a part of the platform, which every program uses: its package owns only what no other package holds.
    pub platform: u32,
}
