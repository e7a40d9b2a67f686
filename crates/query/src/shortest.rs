//! Shortest paths from a root to all nodes, as one predecessor of each.

use crate::asked::Asked;
use crate::error::QueryError;
use crate::rows::dominators;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// Kinds of strong edges, in the order of their formats; others rank last.
const KINDS: [&str; 14] = [
    "context",
    "element",
    "property",
    "internal",
    "hidden",
    "shortcut",
    "root",
    "class",
    "field",
    "static",
    "superclass",
    "loader",
    "local",
    "referent",
];

/// Column for nodes that only weak, soft, phantom or final referents hold. A path to any other node has none of these.
const WEAKLY: &str = "weakly_reachable";

/// Predecessor of a node without one.
const NONE: u32 = u32::MAX;

/// Rank of an edge among those to the same node, the best least; `None` for weak edges.
pub(crate) fn rank(kind: &str, essential: bool) -> Option<u8> {
    let place = KINDS.iter().position(|&other| other == kind).unwrap_or(KINDS.len());
    (kind != "weak").then_some((if essential { place } else { place + KINDS.len() + 1 }) as u8)
}

/// Finds for every node a predecessor on a shortest path; `u32::MAX` without one. Of parallel edges it prefers essential
/// ones, then the first kind in the order of the format, then the smallest node. One pass over each table; 9 bytes per
/// node meanwhile, 4 behind.
pub(crate) fn predecessors(nodes: &Path, edges: &Path) -> Result<Vec<u32>, StageError> {
    let mut distances = Vec::new();
    let mut weakly = Vec::new();
    let reader = Reader::open(nodes)?;
    // Older lakes lack it.
    let columns = if reader.has(WEAKLY) { &["distance", WEAKLY][..] } else { &["distance"] };
    let mut batches = reader.columns(columns)?;
    while let Some(batch) = batches.batch()? {
        distances.extend(batch.i32s("distance")?.iter().map(|distance| distance.unwrap_or(i32::MIN)));
        if columns.contains(&WEAKLY) {
            weakly.extend(batch.flags(WEAKLY)?.iter().map(Option::unwrap_or_default));
        }
    }
    let weakly = |node: usize| weakly.get(node).copied().unwrap_or(false);
    // Best rank of an edge to each node, and its source.
    let mut best = vec![u8::MAX; distances.len()];
    let mut before = vec![NONE; distances.len()];
    let mut batches = Reader::open(edges)?.columns(&["from", "to", "kind", "essential"])?;
    while let Some(batch) = batches.batch()? {
        let (from, to) = (batch.u32s("from")?, batch.u32s("to")?);
        let (kinds, essential) = (batch.texts("kind")?, batch.flags("essential")?);
        for row in 0..batch.len() {
            let (source, target) = (from.value(row) as usize, to.value(row) as usize);
            let far = distances.get(source).copied().unwrap_or(i32::MIN);
            if far == i32::MIN || distances.get(target).is_none_or(|&other| Some(other) != far.checked_add(1)) {
                continue;
            }
            if weakly(source) && !weakly(target) {
                continue;
            }
            let rank = rank(kinds.value(row), essential.value(row));
            if let Some(rank) = rank.filter(|&rank| rank < best[target]) {
                (best[target], before[target]) = (rank, source as u32);
            }
        }
    }
    Ok(before)
}

/// The path to a node, from its end. Distances decrease with every step, so this terminates.
pub(crate) fn up(before: &[u32], node: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(node), |&at| before.get(at as usize).copied().filter(|&above| above != NONE))
}

/// Labels of edges, by source and target.
pub(crate) type Labels = FxHashMap<(u32, u32), String>;

/// Reads the labels of some edges: `.name` or `[index]`. A first pass finds their rows, so texts are read of these only.
pub(crate) fn labels(steps: impl Iterator<Item = (u32, u32)>, edges: &Path) -> Result<Labels, StageError> {
    let mut names: FxHashMap<(u32, u32), (u8, String)> = steps.map(|step| (step, (u8::MAX, String::new()))).collect();
    let rows = between(edges, |from, to| names.contains_key(&(from, to)))?;
    let columns = ["from", "to", "kind", "name", "index", "essential"];
    let mut batches = Reader::open(edges)?.only(&rows)?.columns(&columns)?;
    while let Some(batch) = batches.batch()? {
        let (from, to) = (batch.u32s("from")?, batch.u32s("to")?);
        let (kinds, labels, indices) = (batch.texts("kind")?, batch.texts("name")?, batch.u32s("index")?);
        let essential = batch.flags("essential")?;
        for row in 0..batch.len() {
            let Some((best, name)) = names.get_mut(&(from.value(row), to.value(row))) else { continue };
            let rank = rank(kinds.value(row), essential.value(row));
            let Some(rank) = rank.filter(|rank| rank < best) else { continue };
            *best = rank;
            *name = match value(labels, row) {
                Some(label) => format!(".{label}"),
                None => label_text(None, indices.value(row), &mut String::new()).to_owned(),
            };
        }
    }
    let named = names.into_iter().filter(|(_, (rank, _))| *rank != u8::MAX);
    Ok(named.map(|(step, (_, name))| (step, name)).collect())
}

/// Rows of the edges between such ends: one pass over two columns.
fn between(edges: &Path, is_step: impl Fn(u32, u32) -> bool) -> Result<Vec<u32>, StageError> {
    let mut rows = Vec::new();
    let mut batches = Reader::open(edges)?.columns(&["from", "to"])?;
    while let Some(batch) = batches.batch()? {
        let ends = batch.u32s("from")?.values().iter().zip(batch.u32s("to")?.values());
        let found = (batch.first_row()..).zip(ends).filter(|(_, (from, to))| is_step(**from, **to));
        rows.extend(found.filter_map(|(row, _)| u32::try_from(row).ok()));
    }
    Ok(rows)
}

/// Text of an edge: its name, or its index in brackets.
pub(crate) fn label_text<'a>(name: Option<&'a str>, index: u32, buffer: &'a mut String) -> &'a str {
    name.unwrap_or_else(|| {
        *buffer = format!("[{index}]");
        buffer
    })
}

/// Shortest paths to nodes of a run. Without the table of edges, the dominators of a node, which are on all its paths.
pub struct Paths<'a> {
    asked: &'a Asked,
    before: Vec<u32>,
}

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The object.
    pub node: u32,
    /// Its class.
    pub class: &'a str,
    /// Its kind, as the format names it.
    pub kind: &'a str,
    /// The edge that leads here, as `.name` or `[index]`, if known.
    pub edge: Option<&'a str>,
}

impl<'a> Paths<'a> {
    /// Finds the paths to all nodes: 9 bytes per node meanwhile, 4 behind.
    ///
    /// # Errors
    /// [`QueryError`] if a table is damaged.
    pub fn read(asked: &'a Asked) -> Result<Self, QueryError> {
        let before = match asked.edges() {
            Some(edges) => predecessors(&asked.nodes(), &edges)?,
            None => {
                let mut before = dominators(&asked.nodes())?;
                (0..).zip(&mut before).filter(|(node, above)| *node == **above).for_each(|(_, above)| *above = NONE);
                before
            }
        };
        Ok(Self { asked, before })
    }

    /// Reads the last `most` steps of the paths to some nodes. Resident memory: about 100 bytes per different step.
    ///
    /// # Errors
    /// [`QueryError`] if a table is damaged.
    pub fn steps(&self, nodes: &[u32], most: usize) -> Result<Steps<'_>, QueryError> {
        let is_whole = most >= self.before.len();
        let mut objects = FxHashSet::default();
        let mut steps: FxHashSet<(u32, u32)> = FxHashSet::default();
        for &node in nodes {
            let mut below = None;
            // Ends also where a damaged table has a circle.
            for at in up(&self.before, node).take(most.min(self.before.len())) {
                if let Some(below) = below {
                    steps.insert((at, below));
                }
                // Of paths that meet, the rest is known.
                if !objects.insert(at) && is_whole {
                    break;
                }
                below = Some(at);
            }
        }
        let labels = match self.asked.edges() {
            Some(table) => labels(steps.into_iter(), &table)?,
            None => Labels::default(),
        };
        Ok(Steps { before: &self.before, labels, texts: Texts::read(self.asked, &objects)? })
    }
}

/// Steps of paths.
pub struct Steps<'p> {
    before: &'p [u32],
    labels: Labels,
    texts: Texts,
}

impl Steps<'_> {
    /// The path to a node as far as it was read, from its end.
    pub fn up(&self, node: u32) -> impl Iterator<Item = Step<'_>> {
        let at = move |node| self.texts.of.get(&node).map(|&(class, kind)| (node, class, kind));
        up(self.before, node).map_while(at).map(move |(node, class, kind)| {
            let above = self.before.get(node as usize).copied();
            let edge = above.and_then(|above| self.edge(above, node));
            Step { node, class: &self.texts.names[class as usize], kind: &self.texts.names[kind as usize], edge }
        })
    }

    /// Label of an edge on a path.
    fn edge(&self, from: u32, to: u32) -> Option<&str> {
        self.labels.get(&(from, to)).map(String::as_str)
    }

    /// Class of a node.
    #[must_use]
    pub fn class(&self, node: u32) -> Option<&str> {
        self.texts.of.get(&node).map(|&(class, _)| self.texts.names[class as usize].as_str())
    }
}

/// Classes and kinds of nodes.
#[derive(Default)]
struct Texts {
    names: Vec<String>,
    /// Class and kind of each node, as positions in `names`.
    of: FxHashMap<u32, (u32, u32)>,
}

impl Texts {
    fn read(asked: &Asked, nodes: &FxHashSet<u32>) -> Result<Self, StageError> {
        let mut wanted: Vec<u32> = nodes.iter().copied().collect();
        wanted.sort_unstable();
        let mut texts = Self::default();
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut batches = Reader::open(&asked.nodes())?.only(&wanted)?.columns(&["node", "class", "kind"])?;
        while let Some(batch) = batches.batch()? {
            let (nodes, classes, kinds) = (batch.u32s("node")?, batch.texts("class")?, batch.texts("kind")?);
            for row in 0..batch.len() {
                let [class, kind] = [classes, kinds].map(|column| {
                    let name = column.value(row);
                    numbers.get(name).copied().unwrap_or_else(|| {
                        texts.names.push(name.to_owned());
                        numbers.insert(name.to_owned(), texts.names.len() as u32 - 1);
                        texts.names.len() as u32 - 1
                    })
                });
                texts.of.insert(nodes.value(row), (class, kind));
            }
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn essential_edges_go_before_others_of_any_kind() {
        assert!(rank("context", true) < rank("property", true));
        assert!(rank("property", true) < rank("context", false));
        assert!(rank("of another format", true) < rank("context", false));
        assert_eq!(rank("weak", true), None);
    }

    #[test]
    fn paths_end_at_a_node_without_predecessor() {
        assert_eq!(up(&[NONE, 0, 1, NONE], 2).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(up(&[NONE, 0, 1, NONE], 3).collect::<Vec<_>>(), [3]);
    }
}
