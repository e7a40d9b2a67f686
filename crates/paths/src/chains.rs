//! Paths of classes as text.

use heaplake_kit::{ColumnMap, Scratch, StageError, StringTable};
use heaplake_schemas::chains::{Element, label};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, STRINGS};
use std::borrow::Cow;

/// Maximum characters of a name.
const MOST_NAME: usize = 120;

/// The elements of paths with their names.
pub struct Chains {
    strings: StringTable,
    classes: ColumnMap<StringId>,
    elements: ColumnMap<Element>,
}

impl Chains {
    /// Opens the columns.
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            classes: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            elements: ColumnMap::uncounted(scratch, columns::CHAIN_ELEMENT)?,
        })
    }

    /// Returns the name of a class.
    pub fn class(&self, class: u32) -> Cow<'_, str> {
        self.classes[class as usize].get().map_or(Cow::Borrowed(""), |name| self.strings.text(name as usize))
    }

    /// Returns the label of the edge to an element, as in the column `edge`.
    pub fn edge(&self, element: &Element) -> Option<Cow<'_, str>> {
        edge(&self.strings, element.label)
    }

    /// Returns the path to an element, from its first element.
    pub fn path(&self, last: u32) -> Vec<&Element> {
        let last = self.elements.get(last as usize);
        let mut path: Vec<&Element> =
            std::iter::successors(last, |element| self.elements.get(element.parent as usize)).collect();
        path.reverse();
        path
    }

    /// Formats the path to an element; a long path shows `ends` elements at either end.
    pub fn text(&self, last: u32, ends: usize) -> String {
        let path = self.path(last);
        if path.len() <= 2 * ends {
            return self.words(&path);
        }
        let (head, tail) = (&path[..ends], &path[path.len() - ends..]);
        format!(
            "{} → … {} more … → {}",
            self.words(head),
            path.len() - 2 * ends,
            self.words(tail).trim_start_matches('.')
        )
    }

    fn words(&self, path: &[&Element]) -> String {
        let names: Vec<_> =
            path.iter().map(|element| (self.edge(element).map(cut), cut(self.class(element.class)))).collect();
        words(
            names
                .iter()
                .zip(path)
                .map(|((edge, class), element)| (edge.as_deref(), element.label, class.as_ref(), element.repeats != 0)),
        )
    }
}

/// Formats an edge label as in the column `edge`.
pub fn edge(strings: &StringTable, label: u32) -> Option<Cow<'_, str>> {
    Some(match label {
        label::NONE => return None,
        label::INDEX => Cow::Borrowed("[]"),
        label::ENTRY => Cow::Borrowed("(entry)"),
        label::ANY => Cow::Borrowed("(any)"),
        label::CUT => Cow::Borrowed("…"),
        label::NO_PATH => Cow::Borrowed("(no path)"),
        name => strings.text(name as usize),
    })
}

/// Truncates a name: it may be a megabyte long and occurs in every path through its class.
pub fn cut(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.char_indices().nth(MOST_NAME) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => name,
    }
}

/// Formats a path of (edge name, label, class, repeats): classes with edge labels between them, as in `Server.sessions
/// → Map.table → Array[] → Session.next* → Session`. A star marks a repeated element.
pub fn words<'a>(path: impl IntoIterator<Item = (Option<&'a str>, u32, &'a str, bool)>) -> String {
    let mut text = String::new();
    for (edge, label, class, repeats) in path {
        let first = text.is_empty();
        let star = if repeats { "*" } else { "" };
        match edge {
            None => text.push_str(if first { "" } else { " → " }),
            // These labels describe a gap before the element, not an edge.
            Some(edge) if label == label::NO_PATH || label == label::CUT => {
                text.push_str(if first { "" } else { " → " });
                text.push_str(edge);
                text.push_str(" → ");
            }
            Some(edge) => {
                // Index and entry marks take no dot.
                let dot = if label >= label::NO_PATH { "" } else { "." };
                text.push_str(dot);
                text.push_str(edge);
                text.push_str(star);
                text.push_str(" → ");
            }
        }
        text.push_str(class);
        if edge.is_none() {
            text.push_str(star);
        }
    }
    text
}

/// Entries of the label cache, a power of two.
const RECENT: usize = 1 << 14;

/// Detects numeric edge names: positions in a structure of the runtime, possibly as numerous as objects.
#[derive(Clone)]
pub struct NumericNames {
    strings: StringTable,
    /// A cache of labels and their replacements.
    recent: Vec<(u32, u32)>,
}

impl NumericNames {
    /// Opens the names.
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let strings = StringTable::open(scratch, STRINGS)?;
        Ok(Self { strings, recent: vec![(label::NONE, label::NONE); RECENT] })
    }

    /// Replaces a numeric name by [`label::INDEX`]; returns other labels unchanged.
    #[inline]
    pub fn label(&mut self, name: u32) -> u32 {
        let recent = &mut self.recent[name as usize % RECENT];
        if recent.0 != name {
            let is_name = (name as usize) < self.strings.len();
            let text = if is_name { self.strings.get(name as usize) } else { b"" };
            let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            *recent = (name, if is_number { label::INDEX } else { name });
        }
        recent.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_words() {
        let path = [
            (None, label::NONE, "Server", false),
            (Some("sessions"), 7, "Map", false),
            (Some("[]"), label::INDEX, "Session", false),
            (Some("next"), 9, "Session", true),
        ];
        assert_eq!(words(path), "Server.sessions → Map[] → Session.next* → Session");
        let unnamed = [(None, label::NONE, "A", false), (None, label::NONE, "B", true)];
        assert_eq!(words(unnamed), "A → B*");
        let lost = [(Some("(no path)"), label::NO_PATH, "A", false), (Some("…"), label::CUT, "B", false)];
        assert_eq!(words(lost), "(no path) → A → … → B");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("short".into()), "short");
        assert_eq!(cut("ü".repeat(MOST_NAME + 1).into()), format!("{}…", "ü".repeat(MOST_NAME)));
    }
}
