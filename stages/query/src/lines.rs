//! Lines of answers.

use crate::rows::NodeRow;
use heaplake_kit::text::{shorten, size};
use serde::Serialize;

/// One line of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// The edge that leads here, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// How far it is indented.
    #[serde(skip)]
    pub depth: usize,
    /// Remarks below the line, and how far each is indented.
    #[serde(skip)]
    pub more: Vec<(usize, String)>,
}

impl Line {
    /// An object by itself, so far from the margin.
    pub(crate) fn of(node: NodeRow, depth: usize) -> Self {
        Self { node, edge: None, depth, more: Vec::new() }
    }
}

/// Lines with sizes in columns.
pub(crate) fn table(lines: &[Line]) -> String {
    let mut text = format!("  {:>12} {:>12} {:>12}  object\n", "retained", "shallow", "node");
    let indent = |depth: usize| "  ".repeat(depth.min(60));
    for Line { node, edge, depth, more } in lines {
        let (retained, shallow) = (size(node.retained_bytes), size(node.shallow_bytes));
        let edge = edge.as_ref().map_or_else(String::new, |edge| format!("{} → ", shorten(edge, 40)));
        let indent_here = indent(*depth);
        let label = node.label();
        text += &format!("  {retained:>12} {shallow:>12} {:>12}  {indent_here}{edge}{label}\n", node.node);
        for (depth, more) in more {
            text += &format!("  {:>12} {:>12} {:>12}  {}{more}\n", "", "", "", indent(*depth));
        }
    }
    text
}
