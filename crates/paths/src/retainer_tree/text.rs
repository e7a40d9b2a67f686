//! Branches as text.

use crate::chains::{cut, edge, words};
use heaplake_kit::{ColumnMap, Scratch, StageError, StringTable};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::retainer_trees::{KINDS, ROWS as RETAINER_TREES, TreeRow};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use std::borrow::Cow;

/// The rows of the stage, with names.
pub struct Trees {
    strings: StringTable,
    classes: ColumnMap<StringId>,
    rows: ColumnMap<TreeRow>,
}

/// Index of the root in [`KINDS`].
pub const ROOT: u32 = 1;

/// Index of the rest in [`KINDS`].
pub const REST: u32 = KINDS.len() as u32 - 1;

impl Trees {
    /// Opens the columns.
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            classes: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            rows: ColumnMap::uncounted(scratch, RETAINER_TREES)?,
        })
    }

    /// All rows.
    pub fn rows(&self) -> &[TreeRow] {
        &self.rows
    }

    /// Returns the tree of a class, and the position of its first row.
    pub fn of_class(&self, class: u32) -> (usize, &[TreeRow]) {
        let first = self.rows.iter().position(|row| row.class_id == class).unwrap_or(self.rows.len());
        let count = self.rows[first..].iter().take_while(|row| row.class_id == class).count();
        (first, &self.rows[first..first + count])
    }

    /// Returns the name of a class.
    pub fn class(&self, class: u32) -> Cow<'_, str> {
        self.classes[class as usize].get().map_or(Cow::Borrowed(""), |name| self.strings.text(name as usize))
    }

    /// Returns the label of the edges from the retainers of a branch.
    pub fn edge(&self, row: &TreeRow) -> Option<Cow<'_, str>> {
        edge(&self.strings, row.label)
    }

    /// Formats the path from the retainers of a branch to the instances.
    pub fn text(&self, at: usize) -> String {
        self.chain(at)
    }

    /// Formats the longest path through a branch to the instances that keeps all instances of the branch: the name of
    /// the branch for people.
    pub fn long_text(&self, at: usize) -> String {
        let mut top = at;
        let behind = |top: usize| {
            let rows = self.rows[top + 1..].iter().zip(top + 1..).take_while(move |(row, _)| row.level > 1);
            rows.filter(move |(row, _)| row.parent == top as u32 && row.kind == 0)
        };
        while let Some((_, above)) = behind(top).find(|(row, _)| row.count == self.rows[at].count) {
            top = above;
        }
        self.chain(top)
    }

    /// Formats the path from a branch down.
    fn chain(&self, first: usize) -> String {
        let mut path: Vec<(Option<String>, u32, String)> = Vec::new();
        // The edge to an element is that of the preceding branch.
        let mut before: Option<&TreeRow> = None;
        let mut at = self.rows.get(first);
        while let Some(row) = at {
            let class = match row.kind {
                REST => "(rest)".to_owned(),
                ROOT => "(root)".to_owned(),
                _ => cut(self.class(row.holder_class)).into_owned(),
            };
            path.push(self.step(before, class));
            (before, at) = (Some(row), self.rows.get(row.parent as usize));
        }
        if let Some(last) = before {
            path.push(self.step(before, cut(self.class(last.class_id)).into_owned()));
        }
        words(path.iter().map(|(edge, label, class)| (edge.as_deref(), *label, class.as_str(), false)))
    }

    fn step(&self, before: Option<&TreeRow>, class: String) -> (Option<String>, u32, String) {
        let label = before.map_or(heaplake_schemas::chains::label::NONE, |row| row.label);
        (edge(&self.strings, label).map(|edge| cut(edge).into_owned()), label, class)
    }
}

/// Maximum retainers of a class named in a line.
const NAMED: usize = 4;

impl Trees {
    /// Returns up to four branches of level 1 that each retain at least 10 % of the examined instances, heaviest first.
    /// Empty if one of them alone retains all, or if there is only one.
    pub fn shared(&self, class: u32) -> Vec<usize> {
        let (first, rows) = self.of_class(class);
        let holds = |row: &TreeRow| row.level == 1 && row.kind != REST && row.count >= row.looked_at.div_ceil(10);
        let holding = rows.iter().enumerate().filter(|(_, row)| holds(row));
        let mut found: Vec<usize> = holding.map(|(at, _)| first + at).collect();
        let all_by_one = found.iter().any(|&at| self.rows[at].exclusive_count == self.rows[at].looked_at);
        found.truncate(if found.len() < 2 || all_by_one { 0 } else { NAMED });
        found
    }

    /// True if a node is the nearest retainer of a branch, or of one above it.
    pub fn leads_through(&self, at: usize, node: u32) -> bool {
        let behind = self.rows[at + 1..].iter().take_while(|row| row.level > 1);
        std::iter::once(&self.rows[at]).chain(behind).any(|row| row.kind != REST && row.example_node == node)
    }
}
