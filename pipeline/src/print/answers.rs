//! Text of answers about a run.

use super::terminal::{Look, shown_id};
use heaplake_kit::text::{count, shorten, size, visible};
use heaplake_query::holders::Holder;
use heaplake_query::rows::NodeRow;
use heaplake_query::top::Top;
use heaplake_query::track::TrackedObject;
use heaplake_query::tree::Branch;
use heaplake_query::why::{Shown, Why};

/// Characters before the text of a line: three columns of numbers.
const NUMBERS: usize = 42;

/// Builder of lines of objects, with sizes in columns.
struct Objects<'a> {
    text: String,
    look: &'a Look,
}

impl<'a> Objects<'a> {
    /// Starts with the heading.
    fn new(look: &'a Look) -> Self {
        Self { text: format!("  {:>12} {:>12} {:>12}  object\n", "retained", "shallow", "node"), look }
    }

    /// Adds an object, with the edge that leads to it if known.
    fn object(&mut self, row: &NodeRow, edge: Option<&str>, depth: usize) {
        let (retained, shallow) = (size(row.retained_bytes), size(row.shallow_bytes));
        let edge = edge.map_or_else(String::new, |edge| format!("{} → ", shorten(edge, 40)));
        let indent = self.look.indent(depth);
        let text = self.look.fit(&format!("{edge}{}", label(row)), NUMBERS + indent.len(), LONGEST);
        self.text += &format!("  {retained:>12} {shallow:>12} {:>12}  {indent}{text}\n", row.node);
    }

    /// Adds a remark below an object.
    fn remark(&mut self, text: &str, depth: usize) {
        let indent = self.look.indent(depth);
        let text = self.look.fit(text, NUMBERS + indent.len(), LONGEST);
        self.text += &format!("  {:>38}  {indent}{text}\n", "");
    }
}

/// Maximum characters of a remark in a line of any length.
const LONGEST: usize = 400;

/// `Class @id "name"`.
fn label(row: &NodeRow) -> String {
    let class = shorten(&row.class, 60);
    let name = row.name.as_ref().map_or_else(String::new, |name| format!(" {:?}", shorten(name, 40)));
    format!("{class}{}{name}", shown_id(row.id))
}

/// Text of the objects that retain most, each with its dominators.
pub fn top(top: &Top, look: &Look) -> String {
    let mut out = Objects::new(look);
    for object in &top.objects {
        out.object(&object.node, None, 0);
        let names = object.dominators.iter().map(|row| shorten(row.name.as_ref().unwrap_or(&row.class), 40));
        let names: Vec<String> = names.collect();
        let above = match object.dominators_left_out {
            0 => String::new(),
            more => format!("… {} more … › ", count(more as u64)),
        };
        if !names.is_empty() {
            out.remark(&format!("in {above}{}", names.join(" › ")), 1);
        }
    }
    let notes: String = top.notes.iter().map(|note| format!("\n{note}")).collect();
    if notes.is_empty() { out.text } else { format!("{}{notes}\n", out.text) }
}

/// Text of the objects that an object dominates.
pub fn dominators(branch: &Branch, look: &Look) -> String {
    let mut out = Objects::new(look);
    write_branch(branch, 0, &mut out);
    out.text
}

/// Recursion is as deep as the answer, which the user bounds.
fn write_branch(branch: &Branch, depth: usize, out: &mut Objects<'_>) {
    out.object(&branch.node, None, depth);
    branch.children.iter().for_each(|child| write_branch(child, depth + 1, out));
    if branch.others > 0 {
        let (more, retained) = (count(branch.others), size(branch.others_retained_bytes));
        out.remark(&format!("… {more} more that retain {retained}"), depth + 1);
    }
}

/// Text of the paths that keep an object alive.
pub fn why(why: &Why, look: &Look) -> String {
    let mut text = String::new();
    if let Some(shortest) = &why.shortest_path {
        text += &format!("Shortest path from a root\n\n{}\n", path(shortest, look));
    }
    if let Some(stored) = &why.stored_path {
        let steps = shorten(&stored.steps.join(" → "), LONGEST);
        let end = stored.ends_at.map_or_else(String::new, |node| format!(", to node {node} below it"));
        text += &format!("Path from a root, as the finding about it has it{end}\n\n  {steps}\n\n");
    }
    for (at, shown) in why.paths.iter().enumerate() {
        text += &format!("Path {} of {}\n\n{}\n", at + 1, why.paths.len(), path(shown, look));
    }
    if let Some(holders) = &why.holders {
        text += &format!("All holders, each level held by the next\n\n{}\n", tree(holders, look));
    }
    text += &format!("Dominators: each alone keeps what is below it alive\n\n{}", path(&why.dominators, look));
    if let Some(note) = &why.note {
        text += &format!("\n{note}\n");
    }
    text
}

/// All holders, indented by level.
fn tree(holders: &[Holder], look: &Look) -> String {
    let mut text = format!("  {:>12} {:>12}  holder\n", "holders", "node");
    for holder in holders {
        let indent = look.indent(holder.level as usize - 1);
        let name = match (&holder.class, holder.kind) {
            (_, "root") => "(root)".to_owned(),
            (Some(class), _) => shorten(class, 60),
            (None, _) => "others".to_owned(),
        };
        let edge = match holder.edge.as_deref() {
            None => String::new(),
            Some(mark) if mark.starts_with(['[', '(']) => shorten(mark, 40),
            Some(edge) => format!(".{}", shorten(edge, 40)),
        };
        let alone = if holder.alone { ", alone" } else { "" };
        let cut = if holder.is_cut { ", and more" } else { "" };
        let line = look.fit(&format!("{name}{edge}{alone}{cut}"), NUMBERS + indent.len(), LONGEST);
        text += &format!("  {:>12} {:>12}  {indent}{line}\n", count(holder.holders), holder.node);
    }
    text
}

/// A whole path is indented step by step; one with a gap is not.
fn path(shown: &Shown, look: &Look) -> String {
    let mut out = Objects::new(look);
    let gap = (shown.left_out > 0).then_some(shown.steps.len() / 2);
    for (at, step) in shown.steps.iter().enumerate() {
        if gap == Some(at) {
            out.remark(&format!("… {} more …", count(shown.left_out as u64)), 0);
        }
        out.object(&step.node, step.edge.as_deref(), if gap.is_some() { 0 } else { at });
    }
    out.text
}

/// Text about the object at an address, and its fate.
pub fn track(found: &TrackedObject, _look: &Look) -> String {
    let TrackedObject { object, type_name, bytes, allocated_at_gc, first_address, address, moves, .. } = found;
    let fate = match (found.died_at_gc, &found.died_in_generation, found.last_address) {
        (Some(gc), Some(generation), Some(last)) => {
            format!("died in collection {gc}, in generation {generation}, at {last:x}")
        }
        (_, _, Some(last)) => format!("lives at the end, at {last:x}"),
        _ => "was lost: see the anomalies of the run".to_owned(),
    };
    format!(
        "object {object}: {}, {}\n  allocated after collection {allocated_at_gc} at {first_address:x}\n  \
         then at {address:x}, moved {moves} times in all\n  {fate}\n",
        visible(type_name),
        size(*bytes)
    )
}
