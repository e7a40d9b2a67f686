//! `heaplake dominators`: what an object alone keeps alive, as a tree.

use super::rows::{self, Lines, NodeRow, fetch};
use super::{Asked, Line, Subject, Unanswered, table};
use crate::summary::{count, size};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A node of the answer.
#[derive(Debug, Serialize)]
pub struct Branch {
    /// The object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// The largest of those that it dominates immediately.
    pub children: Vec<Branch>,
    /// How many more it dominates immediately.
    pub others: u64,
    /// What those retain.
    pub others_retained_bytes: u64,
}

impl Branch {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        self.lines(0, &mut lines);
        table(&lines)
    }

    /// As deep as the answer, which the user bounds.
    fn lines(&self, depth: usize, lines: &mut Vec<Line>) {
        lines.push(self.node.clone().line(depth));
        self.children.iter().for_each(|child| child.lines(depth + 1, lines));
        if let (true, Some(last)) = (self.others > 0, lines.last_mut()) {
            let retained = size(self.others_retained_bytes);
            last.more.push((depth + 1, format!("… {} more that retain {retained}", count(self.others))));
        }
    }
}

/// The immediately dominated nodes of one, the largest by themselves.
#[derive(Default)]
struct Children {
    largest: Vec<(Reverse<u64>, u32)>,
    others: u64,
    others_bytes: u64,
}

/// Answers: the tree under a node, or under the root, so many levels deep, with so many children of each node.
///
/// # Errors
/// [`Unanswered`].
pub fn ask(asked: &Asked, subject: Option<Subject>, depth: usize, most: usize) -> Result<Branch, Unanswered> {
    let nodes = asked.nodes();
    let top = match subject {
        Some(subject) => asked.find(subject)?,
        None => root(asked)?,
    };
    let mut found: BTreeMap<u32, Children> = BTreeMap::new();
    let mut frontier = BTreeSet::from([top]);
    for _ in 0..depth {
        if frontier.is_empty() {
            break;
        }
        let mut level: BTreeMap<u32, Children> = frontier.iter().map(|&node| (node, Children::default())).collect();
        Lines::open(&nodes, &["retained_bytes", "dominator"])?.each(|batch, first| {
            let (retained, dominators) = (rows::u64s(batch, 0)?, rows::u32s(batch, 1)?);
            for row in 0..batch.num_rows() {
                let node = first + row as u32;
                if let Some(children) = level.get_mut(&dominators[row]).filter(|_| dominators[row] != node) {
                    children.add(node, retained[row], most);
                }
            }
            Ok(true)
        })?;
        frontier = level.values().flat_map(|children| children.largest.iter().map(|entry| entry.1)).collect();
        found.append(&mut level);
    }
    let shown = found.values().flat_map(|children| children.largest.iter().map(|entry| entry.1));
    let rows = fetch(&nodes, shown.chain([top]))?;
    branch(top, &found, &rows).ok_or_else(|| Unanswered::damaged(&nodes, format!("node {top} is missing")))
}

impl Children {
    fn add(&mut self, node: u32, retained: u64, most: usize) {
        let entry = (Reverse(retained), node);
        let at = self.largest.partition_point(|other| *other < entry);
        self.largest.insert(at, entry);
        if self.largest.len() > most
            && let Some((Reverse(bytes), _)) = self.largest.pop()
        {
            self.others += 1;
            self.others_bytes = self.others_bytes.saturating_add(bytes);
        }
    }
}

/// As deep as the answer, which the user bounds.
fn branch(node: u32, found: &BTreeMap<u32, Children>, rows: &BTreeMap<u32, NodeRow>) -> Option<Branch> {
    let none = Children::default();
    let children = found.get(&node).unwrap_or(&none);
    Some(Branch {
        node: rows.get(&node)?.clone(),
        children: children.largest.iter().filter_map(|&(_, child)| branch(child, found, rows)).collect(),
        others: children.others,
        others_retained_bytes: children.others_bytes,
    })
}

/// The node that is its own dominator.
fn root(asked: &Asked) -> Result<u32, Unanswered> {
    let mut root = None;
    Lines::open(&asked.nodes(), &["dominator"])?.each(|batch, first| {
        let own = |(at, &dominator): (usize, &u32)| (dominator == first + at as u32).then_some(dominator);
        root = rows::u32s(batch, 0)?.iter().enumerate().find_map(own);
        Ok(root.is_none())
    })?;
    root.ok_or_else(|| Unanswered::damaged(&asked.nodes(), "no node is its own dominator"))
}
