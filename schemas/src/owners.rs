//! Table `owners`.

use crate::column;
use crate::row::rows;
use crate::scratch_column::Column;
use crate::table::{TableSchema, table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The table.
pub const TABLE: TableSchema = TableSchema {
    row: "owner: a package, or a name from the rules",
    order: "`retained_bytes` descending, `owner`",
    notes: &[
        "The owner of an object is, in this order:",
        "1. That of the first rule of `--owners` that matches its class, script, package and class loader.\n2. The \
         package of its code. V8: functions and objects with a JavaScript constructor belong to the script's package: \
         the innermost `node_modules/NAME` of its path, `node` for scripts of Node, `(application)` for others, none \
         for unnamed scripts. Java: the package of the class (arrays: of their elements; class objects: of that \
         class). .NET: the module that defines the type.",
        "Plain objects, arrays, strings and parts of the runtime have no owner of their own.",
        "Each byte of `retained_bytes` counts for one owner: the object's own, or that of its nearest dominator with \
         a stronger one. Rules are stronger than packages, and packages of the program stronger than those of the \
         Java platform, so a `java.util.HashMap` counts for the package that retains it. `(none)` has objects without \
         an owner, `(unreachable)` garbage; `count`, `shallow_bytes` and `retained_bytes` sum to the whole heap.",
    ],
    columns: OwnerRow::SCHEMAS,
    ..table!("owners")
};

/// Objects without an owner.
pub const NONE: &str = "(none)";
/// Garbage, in inputs that keep it.
pub const UNREACHABLE: &str = "(unreachable)";
/// Scripts outside packages.
pub const APPLICATION: &str = "(application)";
/// Scripts of Node itself.
pub const NODE: &str = "node";
/// Java classes outside packages.
pub const UNNAMED: &str = "(unnamed package)";

rows! {
    TABLE from Column::new("owner.row");
    /// A row as the stage that finds owners writes it.
    #[derive(Eq)]
    pub struct OwnerRow {
        count: u64
            => computed(column::text("owner", "Name; in parentheses if not a package"))
            | count("Its objects, counted as in `classes`");
        shallow_bytes: u64 => bytes("Their sizes");
        retained_bytes: u64
            => bytes("Shallow sizes of its objects without a stronger dominating owner, and of the ownerless objects \
                 that it \
         dominates");
        freed_bytes: u64
            => bytes("Shallow sizes of objects reachable only through its objects; null except for the 252 largest \
                 named owners").or_null();
        allocated_bytes: u64
            => bytes("Bytes allocated by its functions: those of the innermost function of each stack with an owner \
                 of the \
         strongest kind; null without allocation tracking").or_null()
            | computed(column::SIGNATURE)
            | computed(column::FINGERPRINT);
    }
}

/// Origin of code, as the reader of a format finds it. `u32::MAX` means null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Origin {
    /// String id of the path of the script.
    pub script: u32,
    /// String id of the name of the package.
    pub package: u32,
    /// String id of the name of the class of the class loader.
    pub loader: u32,
    /// 1 if it is part of the platform, which every program uses: its package owns only objects that no other package
    /// retains.
    pub platform: u32,
}

/// Owner rules: the owner of the first matching rule, else, if the user wants it, the package of the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerRules {
    /// Whether an object that matches no rule belongs to its package.
    pub packages: bool,
    /// The rules, in order.
    pub rules: Vec<OwnerRule>,
}

/// A rule matches an object if one pattern of each given kind matches. Patterns are globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
