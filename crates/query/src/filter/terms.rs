//! The terms of filters that are columns of the table of nodes.

use super::error::Wrong;
use crate::names::nearest;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Type of a term's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TermKind")]
pub enum Kind {
    /// A count, an id or a position.
    Number,
    /// A number of bytes.
    Bytes,
    /// A text.
    Text,
    /// True or false.
    Flag,
}

/// How a term's values come from its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They are the column's.
    Column,
    /// Characters of the text.
    Length,
    /// Code 2 is true, 1 is false, 0 is null.
    Detached,
    /// Null where the value is the row itself: the root's dominator.
    Above,
}

/// Cost of a term, cheapest first: terms of a later stage are read only where the earlier ones do not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Numbers and flags.
    Numbers,
    /// Texts with few distinct values.
    Names,
    /// Texts of objects.
    Texts,
    /// Answers that need neighbours, paths or fields.
    Neighbours,
}

/// Description of a term.
#[derive(Debug)]
pub struct Description {
    /// Name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Column of the table of nodes.
    pub column: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Meaning, in a few words.
    pub meaning: &'static str,
    pub(crate) from: Origin,
    pub(crate) stage: Stage,
}

const fn term(name: &'static str, column: &'static str, kind: Kind, meaning: &'static str) -> Description {
    let stage = if matches!(kind, Kind::Text) { Stage::Names } else { Stage::Numbers };
    Description { name, aliases: &[], column, kind, meaning, from: Origin::Column, stage }
}

impl Description {
    const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn of(self, from: Origin) -> Self {
        Self { from, ..self }
    }

    const fn late(self) -> Self {
        Self { stage: Stage::Texts, ..self }
    }
}

/// All terms, in the order of `--terms`.
pub static TERMS: [Description; 31] = [
    term("class", "class", Kind::Text, "class name"),
    term("name", "name", Kind::Text, "own name of the object; the content of a string").or(&["text", "value"]).late(),
    term("length", "name", Kind::Number, "characters of name, as far as the run holds it").of(Origin::Length).late(),
    term("kind", "kind", Kind::Text, "type of the node, as the format names it").or(&["type"]),
    term("node", "node", Kind::Number, "number of the object in the run"),
    term("id", "id", Kind::Number, "id or address in the snapshot").or(&["address"]),
    term("shallow", "shallow_bytes", Kind::Bytes, "shallow size, with the parts that it owns").or(&["shallow_bytes"]),
    term("self", "self_bytes", Kind::Bytes, "size as the snapshot states it").or(&["self_bytes", "self_size", "size"]),
    term("retained", "retained_bytes", Kind::Bytes, "retained size").or(&["retained_bytes", "retained_size"]),
    term("native", "native_bytes", Kind::Bytes, "memory outside the managed heap").or(&["native_bytes"]),
    term("retained_native", "retained_native_bytes", Kind::Bytes, "native memory that it retains")
        .or(&["retained_native_bytes"]),
    term("distance", "distance", Kind::Number, "references on a shortest path from a root").or(&["depth"]),
    term("references", "edge_count", Kind::Number, "references that leave it, of every kind")
        .or(&["edge_count", "edges"]),
    term("referrers", "retainer_count", Kind::Number, "references that lead to it, of every kind")
        .or(&["retainer_count", "retainers"]),
    term("reachable", "reachable", Kind::Flag, "whether a root reaches it"),
    term("weakly_reachable", "weakly_reachable", Kind::Flag, "whether only weak, soft or final references reach it")
        .or(&["weak"]),
    term("detached", "detachedness", Kind::Flag, "DOM nodes: whether it is detached; null for others")
        .of(Origin::Detached),
    term("dominator", "dominator", Kind::Number, "node of its immediate dominator").of(Origin::Above),
    term("owner", "owner", Kind::Text, "owner that its bytes count for: a package, or a name from the rules"),
    term("package", "package", Kind::Text, "package of its own code"),
    term("duplicates", "duplicate_set", Kind::Number, "its set of duplicates").or(&["duplicate_set"]),
    term("class_id", "class_id", Kind::Number, "number of its class"),
    term("trace", "trace_node", Kind::Number, "its allocation stack, with allocation tracking").or(&["trace_node"]),
    term("script", "script", Kind::Text, "URL or path of its script"),
    term("script_id", "script_id", Kind::Number, "number of its script"),
    term("line", "line", Kind::Number, "line in its script, from 0"),
    term("column", "column", Kind::Number, "column in its script, from 0"),
    term("file", "original_file", Kind::Text, "original file, from a source map").or(&["original_file"]),
    term("original_line", "original_line", Kind::Number, "line there, from 0"),
    term("original_column", "original_column", Kind::Number, "column there, from 0"),
    term("original_name", "original_name", Kind::Text, "name there").late(),
];

/// A term: its place in [`TERMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u8);

impl Term {
    /// Finds a term by a name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let is = |term: &Description| {
            term.name.eq_ignore_ascii_case(name) || term.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
        };
        TERMS.iter().position(is).map(|at| Self(at as u8))
    }

    /// All terms.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TERMS.len() as u8).map(Self)
    }

    /// Its description.
    pub fn described(self) -> &'static Description {
        &TERMS[usize::from(self.0)]
    }

    /// Whether its values are numbers.
    pub fn is_number(self) -> bool {
        matches!(self.described().kind, Kind::Number | Kind::Bytes)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.described().name)
    }
}

/// Terms that are no columns of the table of nodes.
pub(crate) const OTHERS: [&str; 8] = [
    "path",
    "field",
    "dominated by",
    "dominates any",
    "dominator of any",
    "references any",
    "referenced by any",
    "instance of",
];

/// The error for a word that is no term, with the nearest one.
pub(crate) fn unknown(column: usize, word: &str) -> Wrong {
    let names = TERMS.iter().flat_map(|term| std::iter::once(term.name).chain(term.aliases.iter().copied()));
    let near = nearest(names.chain(OTHERS), word);
    let near = near.first().map_or_else(String::new, |name| format!("; the nearest: {name}"));
    Wrong::new(column, format!("expected a term, found {word:?}{near}"))
}
