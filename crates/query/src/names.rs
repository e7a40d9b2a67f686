//! Resolves patterns of classes and owners, and suggests names for a pattern without match.

use crate::asked::Asked;
use crate::error::QueryError;
use glob::{MatchOptions, Pattern};
use heaplake_kit::StageError;
use heaplake_lake::reader::Reader;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::{classes, nodes, owners};
use std::collections::BTreeSet;
use strsim::generic_levenshtein;

/// Maximum number of suggestions.
const PROPOSED: usize = 3;
/// Maximum characters of a name to compare.
const COMPARED: usize = 64;

/// A column of the table of nodes that patterns select by.
pub(crate) struct Key {
    pub(crate) column: &'static str,
    /// Table with each name once.
    table: &'static TableSchema,
    /// Advice where no name matches.
    advice: &'static str,
}

pub(crate) const CLASS: Key = Key {
    column: "class",
    table: &classes::TABLE,
    advice: "the table of classes has all names; * in a pattern is any text",
};
/// Also classes of nodes that the table of classes counts with others: parts.
pub(crate) const NODE_CLASS: Key = Key { table: &nodes::TABLE, ..CLASS };
pub(crate) const OWNER: Key = Key {
    column: "owner",
    table: &owners::TABLE,
    advice: "the table of owners has all names; * in a pattern is any text",
};

/// Names selected by patterns.
pub(crate) struct Wanted {
    names: BTreeSet<String>,
    /// Remarks on the patterns, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl Wanted {
    /// Selects the names of a run that match any pattern; `None` without patterns. A pattern without match is retried
    /// ignoring case.
    ///
    /// # Errors
    /// [`QueryError`] if no name matches any pattern, with the nearest names.
    pub(crate) fn of(asked: &Asked, key: &Key, patterns: &[Pattern]) -> Result<Option<Self>, QueryError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        Self::among(&all_names(asked, key)?, asked, key, patterns).map(Some)
    }

    /// As [`Self::of`], among names that were read.
    pub(crate) fn among(
        all: &BTreeSet<String>,
        asked: &Asked,
        key: &Key,
        patterns: &[Pattern],
    ) -> Result<Self, QueryError> {
        let mut wanted = Self { names: BTreeSet::new(), notes: Vec::new() };
        let mut missing = Vec::new();
        for pattern in patterns {
            let exact = matching(all, pattern, true);
            let found = if exact.is_empty() { matching(all, pattern, false) } else { exact.clone() };
            match (exact.is_empty(), found.is_empty()) {
                (true, true) => {
                    missing.push(format!("no {} matches {:?}{}", key.column, pattern.as_str(), meant(all, pattern)));
                }
                (true, false) => {
                    wanted.notes.push(format!("{:?} matches only without regard to case", pattern.as_str()));
                }
                _ => {}
            }
            wanted.names.extend(found.into_iter().cloned());
        }
        if wanted.names.is_empty() && !missing.is_empty() {
            let cause = format!("{}: {}", asked.folder.display(), missing.join("; "));
            return Err(QueryError::usage(cause, key.advice));
        }
        wanted.notes.extend(missing);
        Ok(wanted)
    }

    /// Whether a name is selected.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

fn matching<'a>(all: &'a BTreeSet<String>, pattern: &Pattern, case_sensitive: bool) -> Vec<&'a String> {
    let options = MatchOptions { case_sensitive, ..MatchOptions::default() };
    all.iter().filter(|name| pattern.matches_with(name, options)).collect()
}

pub(crate) fn all_names(asked: &Asked, key: &Key) -> Result<BTreeSet<String>, StageError> {
    let file = key.table.file;
    let table = if asked.has(file) { asked.folder.join(file) } else { asked.nodes() };
    let mut names = BTreeSet::new();
    let mut batches = Reader::open(&table)?.columns(&[key.column])?;
    while let Some(batch) = batches.batch()? {
        for name in batch.texts(key.column)?.iter().flatten() {
            if !names.contains(name) {
                names.insert(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// Suggestions for a pattern without match, as the end of a sentence.
fn meant(all: &BTreeSet<String>, pattern: &Pattern) -> String {
    let near = nearest(all.iter().map(String::as_str), pattern.as_str());
    let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
    if near.is_empty() { String::new() } else { format!("; the nearest: {}", near.join(", ")) }
}

/// Names nearest to the typed text: those that contain it first, then those with a small edit distance, in full or
/// without their package.
pub(crate) fn nearest<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Vec<&'a str> {
    let typed = plain(typed);
    if typed.is_empty() {
        return Vec::new();
    }
    let allowed = (typed.len() / 3).max(1);
    let word: String = typed.iter().collect();
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let whole = plain(name);
            let simple = plain(name.rsplit(['.', '$', '/']).next().unwrap_or(name));
            let holds = whole.iter().collect::<String>().contains(&word);
            let far =
                if holds { 0 } else { generic_levenshtein(&whole, &typed).min(generic_levenshtein(&simple, &typed)) };
            (far <= allowed).then_some((far, name))
        })
        .collect();
    near.sort_by_key(|&(far, name)| (far, name.len(), name));
    near.into_iter().map(|(_, name)| name).take(PROPOSED).collect()
}

/// The first characters of a text, in lower case, without pattern characters.
fn plain(text: &str) -> Vec<char> {
    text.chars().filter(|c| !"*?[]".contains(*c)).flat_map(char::to_lowercase).take(COMPARED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names() {
        let names = ["java.util.HashMap", "java.util.HashMap$Node", "Session", "SessionCache", "Object", "(string)"];
        let nearest = |typed| nearest(names.into_iter(), typed);
        assert_eq!(nearest("Hashmpa"), ["java.util.HashMap"]);
        assert_eq!(nearest("Sesion*"), ["Session"]);
        assert_eq!(nearest("cache"), ["SessionCache"]);
        assert_eq!(nearest("Quaternion"), Vec::<&str>::new());
        assert_eq!(nearest("*"), Vec::<&str>::new());
    }
}
