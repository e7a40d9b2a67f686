//! Who holds a secret: class and field, and a path from a root.
//!
//! Parts of a value are passed over: the array inside a string of Java, the pieces and slices of V8's strings. So are
//! containers, and objects without a class: the holder is the object that has them, as in `Service.sessions[]` and
//! `Shop.settings.database.password`.

use heaplake_query::QueryError;
use heaplake_query::shortest::{Paths, Step, Steps};
use heaplake_schemas::findings::Severity;
use heaplake_secrets::report::Finding;
use heaplake_secrets::tables::{Held, Row};
use std::collections::HashMap;
use std::iter::Peekable;

/// Steps above a secret among which its holder is looked for.
const NEAR: usize = 24;

/// Findings that get a path, the first ones.
const WITH_PATHS: usize = 1000;

/// Containers of JavaScript.
const V8_CONTAINERS: [&str; 5] = ["Array", "Map", "Set", "WeakMap", "(object elements)"];

/// Labels in the name of a holder.
const MOST_LABELS: usize = 5;

/// Steps shown of a path, half at each end.
const SHOWN: usize = 24;

/// Masks a name that is a secret itself.
type Mask<'a> = &'a mut dyn FnMut(&str) -> String;

/// Holders of the rows of a search.
pub(super) struct Holders<'a> {
    paths: &'a Paths<'a>,
    near: Steps<'a>,
    is_v8: bool,
}

impl<'a> Holders<'a> {
    /// Reads the steps above all rows: about 100 bytes each.
    pub(super) fn read(paths: &'a Paths<'a>, rows: &[Row], is_v8: bool) -> Result<Self, QueryError> {
        let node = |row: &Row| match row.held {
            Held::Field(from, _) => from,
            Held::Key | Held::Text => row.node,
        };
        let mut nodes: Vec<u32> = rows.iter().map(node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Self { paths, near: paths.steps(&nodes, NEAR)?, is_v8 })
    }

    /// Whether a node is the value of a string that it is a part of.
    fn is_inside(&self, above: &Step<'_>) -> bool {
        match self.is_v8 {
            true => above.kind == "concatenated string" || above.kind == "sliced string",
            false => above.class == "java.lang.String",
        }
    }

    /// Whether a node is a container, or a part of one: its labels say nothing, but `[]`.
    fn is_container(&self, step: &Step<'_>) -> bool {
        match self.is_v8 {
            true => ["array", "hidden"].contains(&step.kind) || V8_CONTAINERS.contains(&step.class),
            false => step.class.ends_with("[]") || step.class.starts_with("java.util."),
        }
    }

    /// Whether a node is an object without a class of its own, whose labels say more than it.
    fn is_plain(&self, step: &Step<'_>) -> bool {
        self.is_v8 && step.class == "Object"
    }

    /// The node that a program sees: the string, for the array inside.
    fn value(&self, node: u32) -> u32 {
        let mut up = self.near.up(node);
        let _ = up.next();
        match up.next() {
            Some(above) if !self.is_v8 && self.is_inside(&above) => above.node,
            _ => node,
        }
    }

    /// Removes values of telling fields that a rule of texts has found, too, if its severity is not lower.
    pub(super) fn settle(&self, rows: &mut Vec<Row>, rank: impl Fn(&Row) -> Severity) {
        let mut best = HashMap::<u32, Severity>::new();
        for row in rows.iter().filter(|row| row.held == Held::Text) {
            for node in [row.node, self.value(row.node)] {
                let known = best.entry(node).or_insert(Severity::Low);
                *known = (*known).min(rank(row));
            }
        }
        rows.retain(|row| {
            !matches!(row.held, Held::Field(..)) || best.get(&row.node).is_none_or(|best| *best > rank(row))
        });
    }

    /// Class and field that hold a secret.
    pub(super) fn holder(&self, row: &Row, labels: &[String], mask: Mask<'_>) -> String {
        match row.held {
            Held::Key => {
                let class = self.near.class(row.node).map_or_else(|| "(unknown)".to_owned(), &mut *mask);
                format!("{class} (name of a property)")
            }
            Held::Field(from, label) => {
                let label = labels.get(label as usize).map_or_else(String::new, |label| mask(label));
                self.climb(self.near.up(from).peekable(), label, mask)
            }
            Held::Text => {
                let mut steps = self.near.up(row.node).peekable();
                let mut edge = None;
                while let Some(step) = steps.next() {
                    edge = step.edge;
                    if steps.peek().is_none_or(|above| !self.is_inside(above)) {
                        break;
                    }
                }
                let field = edge.map_or_else(String::new, |edge| label(edge, mask));
                self.climb(steps, field, mask)
            }
        }
    }

    /// The first object on a path upwards that is no container and has a class, with the labels passed.
    fn climb<'s>(&self, mut steps: Peekable<impl Iterator<Item = Step<'s>>>, field: String, mask: Mask<'_>) -> String {
        let mut labels = vec![field];
        while let Some(step) = steps.next() {
            let (is_container, is_plain) = (self.is_container(&step), self.is_plain(&step));
            if steps.peek().is_none() || labels.len() > MOST_LABELS || !(is_container || is_plain) {
                return format!("{}{}", mask(step.class), labels.iter().rev().map(String::as_str).collect::<String>());
            }
            if is_container && labels.last().is_some_and(|last| !last.starts_with("[\"")) {
                labels.pop();
                if labels.last().is_none_or(|below| !below.starts_with('[')) {
                    labels.push("[]".to_owned());
                }
            }
            labels.push(step.edge.map_or_else(String::new, |edge| label(edge, mask)));
        }
        format!("(no path){}", labels.iter().rev().map(String::as_str).collect::<String>())
    }

    /// Adds the paths of the first findings.
    pub(super) fn add_paths(&self, findings: &mut [Finding], mask: Mask<'_>) -> Result<(), QueryError> {
        let count = WITH_PATHS.min(findings.len());
        let some = &mut findings[..count];
        let nodes: Vec<u32> = some.iter().map(|finding| finding.node).collect();
        let whole = self.paths.steps(&nodes, usize::MAX)?;
        for finding in some {
            let steps: Vec<Step<'_>> = whole.up(finding.node).collect();
            let mut path: Vec<String> = steps
                .windows(2)
                .map(|pair| format!("{}{}", mask(pair[1].class), pair[0].edge.map_or_else(String::new, &mut *mask)))
                .collect();
            path.reverse();
            if path.len() > SHOWN {
                let left_out = path.len() - SHOWN;
                path.splice(SHOWN / 2..SHOWN / 2 + left_out, [format!("({left_out} steps)")]);
            }
            finding.path = path;
        }
        Ok(())
    }
}

/// The label of an edge in the name of a holder: any index is `[]`.
fn label(edge: &str, mask: Mask<'_>) -> String {
    let bare = edge.strip_prefix('.').unwrap_or(edge);
    let is_index = edge.starts_with('[') || bare.bytes().all(|byte| byte.is_ascii_digit());
    if is_index { "[]".to_owned() } else { mask(edge) }
}
