//! `heaplake why`: finds paths that keep an object alive.
//!
//! Its dominators, each of which alone keeps it alive, come from the table of nodes. A shortest path from a root needs
//! the table of edges ([`crate::shortest`]). At most [`SHOWN`] steps of each path are shown.

use crate::asked::{Asked, Subject};
use crate::error::QueryError;
use crate::graph::Graph;
use crate::holders::{self, Holder};
use crate::rows::{self, NodeRow, fetch};
use crate::shortest::{Labels, labels, predecessors, up};
use crate::stored_paths::{StoredPath, stored_path};
use heaplake_kit::StageError;
use heaplake_schemas::scratch::SYSTEM_DISTANCE;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Steps shown per path, half at each end.
const SHOWN: usize = 60;

/// Paths and holders of an object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Why {
    /// From a root to the object; `None` without the table of edges, or if the object is unreachable.
    pub shortest_path: Option<Shown>,
    /// Without the table of edges: the path of a finding about the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_path: Option<StoredPath>,
    /// Several shortest paths from a root over essential edges, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Shown>,
    /// All holders, merged by class and edge label, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holders: Option<Vec<Holder>>,
    /// Dominators, from the root to the object.
    pub dominators: Shown,
    /// How to obtain missing parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Why {
    /// An answer with dominators only.
    fn of(dominators: Shown) -> Self {
        Self { shortest_path: None, stored_path: None, paths: Vec::new(), holders: None, dominators, note: None }
    }
}

/// A path, from its start.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// Steps.
    pub steps: Vec<Step>,
    /// Number of steps omitted in the middle.
    pub left_out: usize,
}

/// A step of a path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Step {
    /// Object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// Edge that leads here, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
}

/// Optional parts of the answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Number of shortest paths.
    pub paths: Option<usize>,
    /// Whether to build the tree of all holders.
    pub all: bool,
}

/// Finds the paths to an object.
pub fn ask(asked: &Asked, subject: Subject, wanted: Wanted) -> Result<Why, QueryError> {
    let node = asked.find(subject)?;
    let nodes = asked.nodes();
    let dominators = shown(&[dominators(node, &nodes)?], &nodes, &FxHashMap::default())?.remove(0);
    let Some(edges) = asked.edges() else {
        let stored_path = stored_path(asked, node)?;
        let what = if stored_path.is_some() { "A path with its objects" } else { "A shortest path" };
        let note = format!("{what} needs the table of edges:\n  {}", asked.command_for_edges());
        return Ok(Why { stored_path, note: Some(note), ..Why::of(dominators) });
    };
    let (paths, holders, unfinished) = more(node, (&nodes, &edges), &asked.run.summary.part_kinds, wanted)?;
    let path: Vec<u32> = up(&predecessors(&nodes, &edges)?, node).collect();
    if path.len() == 1 && fetch(&nodes, [node])?.values().all(|row| row.distance.is_none()) {
        let note = "No search from a root reaches it: only weak references lead to it, or none.".to_owned();
        return Ok(Why { paths, holders, note: Some(note), ..Why::of(dominators) });
    }
    let path = [Steps::of(path)];
    let shortest_path = shown(&path, &nodes, &names(&path, &edges)?)?.pop();
    let end = shortest_path.as_ref().and_then(|path| path.steps.last());
    let system = end.is_some_and(|end| end.node.distance.is_some_and(|distance| distance >= SYSTEM_DISTANCE));
    let note = if unfinished {
        Some("There may be more paths: the search has come to its limit.".to_owned())
    } else {
        system.then(|| "Only the runtime leads to it: its distance is \"system\".".to_owned())
    };
    Ok(Why { shortest_path, paths, holders, note, ..Why::of(dominators) })
}

/// Returns the dominators of a node.
fn dominators(node: u32, nodes: &Path) -> Result<Steps, StageError> {
    let dominators = rows::dominators(nodes)?;
    let up = |&at: &u32| Some(dominators[at as usize]).filter(|&above| above != at);
    // Ends also in a damaged table with a cycle.
    Ok(Steps::of(std::iter::successors(Some(node), up).take(dominators.len())))
}

/// Several paths, the tree of holders, and whether the path search ended early.
type More = (Vec<Shown>, Option<Vec<Holder>>, bool);

fn more(node: u32, (nodes, edges): (&Path, &Path), part_kinds: &[String], wanted: Wanted) -> Result<More, StageError> {
    if wanted.paths.is_none() && !wanted.all {
        return Ok((Vec::new(), None, false));
    }
    let mut graph = Graph::read(nodes, edges, part_kinds)?;
    let (found, is_done) = wanted.paths.map_or((Vec::new(), true), |most| crate::paths::paths(&graph, node, most));
    // From the end, like all paths here.
    let found: Vec<Steps> = found.into_iter().map(|path| Steps::of(path.into_iter().rev())).collect();
    let paths = if found.is_empty() { Vec::new() } else { shown(&found, nodes, &names(&found, edges)?)? };
    let holders = if wanted.all { Some(holders::tree(&mut graph, node)?) } else { None };
    Ok((paths, holders, !is_done))
}

/// A path from its start, without the middle if it is long.
struct Steps {
    /// Predecessor and node; the first node has no predecessor.
    steps: Vec<(Option<u32>, u32)>,
    left_out: usize,
}

impl Steps {
    /// Creates it from a path given from its end.
    fn of(path: impl IntoIterator<Item = u32>) -> Self {
        let mut path: Vec<u32> = path.into_iter().collect();
        path.reverse();
        let before = std::iter::once(None).chain(path.iter().copied().map(Some));
        let mut steps: Vec<(Option<u32>, u32)> = before.zip(path.iter().copied()).collect();
        let left_out = steps.len().saturating_sub(SHOWN);
        if left_out > 0 {
            steps.drain(SHOWN / 2..SHOWN / 2 + left_out);
        }
        Self { steps, left_out }
    }
}

/// Reads the rows of all path nodes at once.
fn shown(paths: &[Steps], nodes: &Path, names: &Labels) -> Result<Vec<Shown>, StageError> {
    let rows = fetch(nodes, paths.iter().flat_map(|path| path.steps.iter().map(|step| step.1)))?;
    let step = |&(before, node): &(Option<u32>, u32)| {
        let edge = before.and_then(|before| names.get(&(before, node)).cloned());
        Some(Step { node: rows.get(&node)?.clone(), edge })
    };
    let shown = |path: &Steps| Shown { steps: path.steps.iter().filter_map(step).collect(), left_out: path.left_out };
    Ok(paths.iter().map(shown).collect())
}

/// Shortest paths to nodes as texts, `Class.label → Class[index] → Class`; `None` without a path. `before` is that of
/// [`predecessors`].
pub(crate) fn path_texts(
    asked: &Asked,
    edges: &Path,
    before: &[u32],
    nodes: &[u32],
) -> Result<Vec<Option<String>>, StageError> {
    let table = asked.nodes();
    let paths: Vec<Steps> = nodes.iter().map(|&node| Steps::of(up(before, node))).collect();
    let paths = shown(&paths, &table, &names(&paths, edges)?)?;
    let text = |path: Shown| {
        let is_without = path.steps.len() == 1 && path.steps[0].node.distance.is_none();
        (!is_without).then(|| text_of(&path))
    };
    Ok(paths.into_iter().map(text).collect())
}

fn text_of(path: &Shown) -> String {
    let gap = (path.left_out > 0).then_some(path.steps.len() / 2);
    let mut text = String::new();
    for (at, step) in path.steps.iter().enumerate() {
        if at > 0 {
            text += step.edge.as_deref().filter(|_| gap != Some(at)).unwrap_or_default();
            text += " → ";
        }
        if gap == Some(at) {
            text += &format!("… {} more … → ", path.left_out);
        }
        text += &step.node.class;
    }
    text
}

/// Reads the labels of edges along all paths in one pass.
fn names(paths: &[Steps], edges: &Path) -> Result<Labels, StageError> {
    let steps = paths.iter().flat_map(|path| &path.steps);
    labels(steps.filter_map(|&(before, node)| Some((before?, node))), edges)
}
