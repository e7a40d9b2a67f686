//! `heaplake object`: shows the contents of objects side by side.
//!
//! The table of values has the fields and elements of every node, in node order. It is scanned up to the last requested
//! object. Fields of equal name are one line of the answer. Two references are equal if they lead to the same object,
//! or to members of one set of duplicates.

use crate::asked::{Asked, Subject};
use crate::error::QueryError;
use crate::rows::{NodeRow, fetch};
use heaplake_kit::StageError;
use heaplake_kit::text::quoted;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::options::{Options, TableName};
use heaplake_schemas::{duplicate_members, values};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Objects to show.
#[derive(Clone, Debug)]
pub enum Which {
    /// Given objects.
    Subjects(Vec<Subject>),
    /// The first members of a set of duplicates, and their maximum number.
    Set(u32, usize),
}

/// Contents of objects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Objects {
    /// Objects.
    pub objects: Vec<NodeRow>,
    /// Number of further members of the set, if a set was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<u64>,
    /// Fields and elements, in order of first appearance.
    pub fields: Vec<Field>,
}

/// A field or element.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Field {
    /// Name, or index in brackets; `length`, `text` and the like for unnamed values.
    pub name: String,
    /// Whether all objects have it with equal values.
    pub same: bool,
    /// Value in each object; null if missing.
    pub values: Vec<Option<Value>>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Value {
    /// Kind, as in the table of values.
    pub kind: String,
    /// Value as text, if the input has it.
    pub value: Option<String>,
    /// Target of a reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Class of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Duplicate set of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<u32>,
}

impl Value {
    /// Whether two values are equal.
    fn is_like(&self, other: &Self) -> bool {
        let same_target = self.to == other.to || (self.set.is_some() && self.set == other.set);
        self.kind == other.kind && self.value == other.value && same_target
    }
}

/// Shows the contents of objects.
///
/// # Errors
/// [`QueryError`] also if the run has no table of values.
pub fn ask(asked: &Asked, which: &Which) -> Result<Objects, QueryError> {
    if !asked.has(values::TABLE.file) {
        return Err(no_values(asked));
    }
    let (wanted, others) = match which {
        Which::Subjects(subjects) => {
            (subjects.iter().map(|&subject| asked.find(subject)).collect::<Result<Vec<_>, _>>()?, None)
        }
        Which::Set(set, most) => {
            let (members, others) = members(asked, *set, *most)?;
            (members, Some(others))
        }
    };
    let rows = fetch(&asked.nodes(), wanted.iter().copied())?;
    let contents = contents(&asked.folder.join(values::TABLE.file), &wanted)?;
    let targets: Vec<u32> = contents.values().flatten().filter_map(|(_, value)| value.to).collect();
    let (classes, sets) = (fetch(&asked.nodes(), targets.iter().copied())?, sets_of(&asked.nodes(), targets)?);
    let named = |mut value: Value| {
        value.class = value.to.and_then(|to| Some(classes.get(&to)?.class.clone()));
        value.set = value.to.and_then(|to| sets.get(&to).copied());
        value
    };
    let objects = wanted.iter().filter_map(|node| rows.get(node).cloned()).collect();
    let of_each = wanted.iter().map(|node| contents.get(node).cloned().unwrap_or_default());
    let of_each = of_each.map(|list| list.into_iter().map(|(name, value)| (name, named(value))).collect());
    Ok(Objects { objects, others, fields: aligned(of_each.collect()) })
}

/// Explains a missing table of values.
pub(crate) fn no_values(asked: &Asked) -> QueryError {
    let folder = asked.folder.display().to_string();
    let Options::Analysis(options) = &asked.run.options else {
        return QueryError::usage(format!("{folder}: the replay of a trace"), "name the analysis of a snapshot");
    };
    let cause = format!("{folder}: this run has no table of values");
    if options.tables.has(TableName::Values) {
        return QueryError::usage(cause, "its format has no values of objects");
    }
    let mut words = vec!["heaplake", "duplicates", &folder, "--duplicates", options.duplicates.name()];
    options.duplicates_of.iter().for_each(|pattern| words.extend(["--duplicates-of", pattern]));
    words.push("--values");
    let command: Vec<String> = words.into_iter().map(quoted).collect();
    QueryError::usage(cause, &format!("this reads its input again and adds it: {}", command.join(" ")))
}

/// Returns the first members of a set, and the number of further ones.
fn members(asked: &Asked, set: u32, most: usize) -> Result<(Vec<u32>, u64), QueryError> {
    if !asked.has(duplicate_members::TABLE.file) {
        let cause = format!("{}: this run has no table of members of sets", asked.folder.display());
        return Err(QueryError::usage(cause, "look for duplicates first: heaplake duplicates RUN"));
    }
    let mut batches = Reader::open(&asked.folder.join(duplicate_members::TABLE.file))?.columns(&["set", "node"])?;
    let (mut members, mut others) = (Vec::new(), 0);
    while let Some(batch) = batches.batch()? {
        let (sets, nodes) = (batch.u32s("set")?, batch.u32s("node")?);
        for row in (0..batch.len()).filter(|&row| sets.value(row) == set) {
            if members.len() < most { members.push(nodes.value(row)) } else { others += 1 }
        }
    }
    if members.is_empty() {
        let cause = format!("{}: there is no set {set}", asked.folder.display());
        return Err(QueryError::usage(cause, "take a number from the column set of duplicate_sets"));
    }
    Ok((members, others))
}

/// Named values of an object.
type Content = Vec<(String, Value)>;

/// Reads the contents of nodes.
fn contents(table: &Path, wanted: &[u32]) -> Result<BTreeMap<u32, Content>, StageError> {
    let mut contents: BTreeMap<u32, Content> = wanted.iter().map(|&node| (node, Content::new())).collect();
    let last = wanted.iter().copied().max().unwrap_or(0);
    let mut rows = Vec::new();
    let mut batches = Reader::open(table)?.columns(&["node"])?;
    'all: while let Some(batch) = batches.batch()? {
        for (row, &node) in (batch.first_row()..).zip(batch.u32s("node")?.values()) {
            if node > last {
                break 'all;
            }
            if contents.contains_key(&node) {
                rows.push(row as u32);
            }
        }
    }
    let columns = ["node", "name", "index", "kind", "value", "to"];
    let mut batches = Reader::open(table)?.only(&rows)?.columns(&columns)?;
    while let Some(batch) = batches.batch()? {
        let (nodes, indexes, to) = (batch.u32s("node")?, batch.u32s("index")?, batch.u32s("to")?);
        let (names, kinds, texts) = (batch.texts("name")?, batch.texts("kind")?, batch.texts("value")?);
        for row in 0..batch.len() {
            let kind = kinds.value(row).to_owned();
            let name = match (value(names, row), value(indexes, row)) {
                (Some(name), _) => name.to_owned(),
                (None, Some(index)) => format!("[{index}]"),
                (None, None) => kind.clone(),
            };
            let text = value(texts, row).map(str::to_owned);
            let found = Value { kind, value: text, to: value(to, row), class: None, set: None };
            if let Some(content) = contents.get_mut(&nodes.value(row)) {
                content.push((name, found));
            }
        }
    }
    Ok(contents)
}

/// Texts of a field of nodes: its value, or the class and the number of the object that it refers to. Nodes without the
/// field, or with null, have none.
///
/// # Errors
/// [`QueryError`] also if the run has no table of values.
pub(crate) fn fields(asked: &Asked, name: &str, nodes: &[u32]) -> Result<BTreeMap<u32, String>, QueryError> {
    if !asked.has(values::TABLE.file) {
        return Err(no_values(asked));
    }
    let contents = contents(&asked.folder.join(values::TABLE.file), nodes)?;
    let of_name = |content: Content| content.into_iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let found: Vec<(u32, Value)> =
        contents.into_iter().filter_map(|(node, content)| Some((node, of_name(content)?))).collect();
    let targets = fetch(&asked.nodes(), found.iter().filter_map(|(_, value)| value.to))?;
    let text = |value: Value| match (value.value, value.to) {
        (Some(text), _) => Some(text),
        (None, Some(to)) => targets.get(&to).map(|row| format!("{} (node {to})", row.class)),
        (None, None) => None,
    };
    Ok(found.into_iter().filter_map(|(node, value)| Some((node, text(value)?))).collect())
}

/// Duplicate sets of nodes.
fn sets_of(table: &Path, mut wanted: Vec<u32>) -> Result<BTreeMap<u32, u32>, StageError> {
    const COLUMN: &str = "duplicate_set";
    wanted.sort_unstable();
    wanted.dedup();
    let mut batches = Reader::open(table)?.only(&wanted)?.columns(&["node", COLUMN])?;
    let mut sets = BTreeMap::new();
    while let Some(batch) = batches.batch()? {
        let (nodes, of) = (batch.u32s("node")?, batch.u32s(COLUMN)?);
        sets.extend((0..batch.len()).filter_map(|row| Some((nodes.value(row), value(of, row)?))));
    }
    Ok(sets)
}

/// Aligns the fields of several objects, in order of first appearance. A name that an object has n times is n fields.
fn aligned(contents: Vec<Content>) -> Vec<Field> {
    let count = contents.len();
    let mut fields: Vec<Field> = Vec::new();
    let mut places: BTreeMap<(String, usize), usize> = BTreeMap::new();
    for (object, content) in contents.into_iter().enumerate() {
        let mut met: BTreeMap<String, usize> = BTreeMap::new();
        for (name, value) in content {
            let time = met.entry(name.clone()).or_insert(0);
            let place = *places.entry((name.clone(), *time)).or_insert_with(|| {
                fields.push(Field { name, same: false, values: vec![None; count] });
                fields.len() - 1
            });
            *time += 1;
            fields[place].values[object] = Some(value);
        }
    }
    for field in &mut fields {
        let first = field.values[0].as_ref();
        let is_like = |other: &Option<Value>| other.as_ref().zip(first).is_some_and(|(a, b)| a.is_like(b));
        field.same = field.values.iter().all(is_like);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Value {
        Value { kind: "int".to_owned(), value: Some(text.to_owned()), to: None, class: None, set: None }
    }

    fn reference(to: u32, set: Option<u32>) -> Value {
        Value { kind: "reference".to_owned(), value: None, to: Some(to), class: None, set }
    }

    #[test]
    fn fields_of_one_name_are_one_line() {
        let of = |x: &str, to, set| {
            vec![("x".to_owned(), number(x)), ("next".to_owned(), reference(to, set)), ("x".to_owned(), number("9"))]
        };
        let mut other = of("2", 8, Some(3));
        other.insert(0, ("z".to_owned(), number("0")));
        let fields = aligned(vec![of("1", 7, Some(3)), other]);
        let shown: Vec<(&str, bool)> = fields.iter().map(|field| (&*field.name, field.same)).collect();
        // The second `x` is hidden by the first, as a field of a superclass.
        assert_eq!(shown, [("x", false), ("next", true), ("x", true), ("z", false)]);
        assert_eq!(fields[3].values, [None, Some(number("0"))]);
        assert!(!reference(7, None).is_like(&reference(8, None)) && reference(7, None).is_like(&reference(7, None)));
    }
}
