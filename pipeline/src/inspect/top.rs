//! `heaplake top`: the objects that retain most, of all or of some classes, each with what holds it.

use super::rows::{self, Lines, NodeRow, fetch};
use super::{Asked, Line, Unanswered, table};
use crate::summary::{count, shorten};
use glob::Pattern;
use serde::Serialize;
use std::cmp::Reverse;

/// Dominators that are shown of each object, the nearest.
const HOLDERS: usize = 5;

/// The answer.
#[derive(Debug, Serialize)]
pub struct Top {
    /// The objects, largest first.
    pub objects: Vec<Object>,
}

/// An object, and what holds it.
#[derive(Debug, Serialize)]
pub struct Object {
    /// The object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// Its nearest dominators, the nearest last.
    pub dominators: Vec<NodeRow>,
    /// How many more are above them.
    pub dominators_left_out: usize,
}

impl Top {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<Line> = self
            .objects
            .iter()
            .map(|object| {
                let above = match object.dominators_left_out {
                    0 => String::new(),
                    more => format!("… {} more … › ", count(more as u64)),
                };
                let names = object.dominators.iter().map(|row| shorten(row.name.as_ref().unwrap_or(&row.class), 40));
                let names: Vec<String> = names.collect();
                let more = Some((1, format!("in {above}{}", names.join(" › ")))).filter(|_| !names.is_empty());
                let more = more.into_iter().collect();
                Line { more, ..object.node.clone().line(0) }
            })
            .collect();
        table(&lines)
    }
}

/// Answers: the `most` largest objects of classes that fit one of the patterns, or of all.
///
/// # Errors
/// [`Unanswered`].
pub fn ask(asked: &Asked, patterns: &[Pattern], most: usize) -> Result<Top, Unanswered> {
    let nodes = asked.nodes();
    let mut best: Vec<(Reverse<u64>, u32)> = Vec::new();
    Lines::open(&nodes, &["kind", "class", "retained_bytes"])?.each(|batch, first| {
        let retained = rows::u64s(batch, 2)?;
        for (row, &bytes) in retained.iter().enumerate() {
            let entry = (Reverse(bytes), first + row as u32);
            if best.len() == most && best.last().is_none_or(|last| entry >= *last) {
                continue;
            }
            let class = rows::text(batch, 1, row)?.unwrap_or_default();
            let kind = rows::text(batch, 0, row)?.unwrap_or_default();
            let fits = patterns.iter().any(|pattern| pattern.matches(class));
            // What the runtime is made of is nobody's object, unless it is asked for.
            if fits || (patterns.is_empty() && !["synthetic", "root"].contains(&kind)) {
                let at = best.partition_point(|other| *other < entry);
                best.insert(at, entry);
                best.truncate(most);
            }
        }
        Ok(true)
    })?;
    let dominators = rows::dominators(&nodes)?;
    let up = |at: u32| Some(dominators[at as usize]).filter(|&above| above != at);
    let above: Vec<(u32, Vec<u32>, usize)> = best
        .iter()
        .map(|&(_, node)| {
            // A damaged table may have a ring of dominators.
            let mut path = std::iter::successors(up(node), |&at| up(at)).take(dominators.len());
            let mut near: Vec<u32> = path.by_ref().take(HOLDERS).collect();
            near.reverse();
            (node, near, path.count())
        })
        .collect();
    let rows = fetch(&nodes, above.iter().flat_map(|(node, near, _)| near.iter().chain([node])).copied())?;
    let objects = above.iter().filter_map(|(node, near, left_out)| {
        Some(Object {
            node: rows.get(node)?.clone(),
            dominators: near.iter().filter_map(|node| rows.get(node).cloned()).collect(),
            dominators_left_out: *left_out,
        })
    });
    Ok(Top { objects: objects.collect() })
}
