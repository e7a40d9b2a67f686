//! The texts of a run, and the fields, properties and keys whose names tell that their values are secrets.
//!
//! * Passes: one over the names of nodes, one over the edges, and reads of the rows that are candidates.
//! * Resident memory: four bits per node; 16 bytes per candidate, 8 per piece of a string; the texts of candidates, up
//!   to [`MOST_TEXT`] bytes each.
//! * Values are judged by the text that the run has: V8's is whole up to a megabyte, Java's 256 characters.

use crate::hits::{Hit, Hits, Tagger};
use crate::java::Texts;
use crate::matching::{Marks, Matcher};
use crate::pieces::Pieces;
use crate::recent::Recent;
use crate::rules::Check;
use heaplake_kit::{Bitset, Budget, BudgetVec, Context, StageError};
use heaplake_lake::reader::{Batch, Reader, value};
use rustc_hash::FxHashMap;
use std::path::Path;

/// Bytes of a value that is judged.
const MOST_TEXT: usize = 4 << 10;

/// Longest name that may tell.
const MOST_NAME: usize = 128;

/// Entries of the table of known names of fields.
const KNOWN: usize = 1 << 16;

/// Kinds of nodes of V8 whose name is a text, and the kind of strings in pieces.
const V8_TEXTS: [&str; 3] = ["string", "concatenated string", "sliced string"];
const V8_PIECES: &str = "concatenated string";

/// Kinds of edges of V8 that programs name.
const V8_NAMED: [&str; 2] = ["property", "context"];

/// The tables of a run to search.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// The table of nodes.
    pub nodes: &'a Path,
    /// The table of edges, if the run has one.
    pub edges: Option<&'a Path>,
    /// Whether it is a heap of V8.
    pub is_v8: bool,
    /// The rules.
    pub matcher: &'a Matcher,
}

/// How a secret is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// As a text; a shortest path leads to it.
    Text,
    /// As the value of a field, property or key of this object, with a label.
    Field(u32, u32),
    /// As the name of a property of the object.
    Key,
}

/// A secret of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The node.
    pub node: u32,
    /// The secret.
    pub rule: u16,
    /// How it is held.
    pub held: Held,
    /// Bytes of the secret.
    pub length: u32,
    /// Tag of the secret.
    pub tag: u64,
}

impl Row {
    /// A row of a hit in a text.
    #[must_use]
    pub fn of(hit: &Hit, held: Held) -> Option<Self> {
        let node = u32::try_from(hit.object).ok()?;
        Some(Self { node, rule: hit.rule, held, length: hit.length, tag: hit.tag })
    }
}

/// The nodes of a run that have texts.
pub struct Nodes {
    /// Nodes with texts, arrays of bytes and characters, strings in pieces, and lists of the program.
    texts: Bitset,
    arrays: Bitset,
    pieces: Bitset,
    lists: Bitset,
    /// Texts that tell, as keys of maps: rule and label.
    telling: FxHashMap<u32, (u16, u32)>,
    labels: Vec<String>,
    /// Number of nodes with texts.
    count: u64,
}

/// Values that may be secrets, and the pieces of strings.
pub struct Candidates {
    rows: BudgetVec<Candidate>,
    /// Names by label.
    pub labels: Vec<String>,
    /// Pieces of strings.
    pub pieces: Pieces,
}

#[derive(Clone, Copy)]
struct Candidate {
    from: u32,
    to: u32,
    label: u32,
    rule: u16,
    /// Whether only its place behind a key tells, so that it must look like no word.
    is_listed: bool,
}

/// Reads the names of all nodes, and searches them if there are hits to fill.
///
/// # Errors
/// [`StageError`] if a table is damaged, or memory does not suffice.
pub fn nodes(tables: &Tables<'_>, mut hits: Option<&mut Hits<'_>>, context: &Context<'_>) -> Result<Nodes, StageError> {
    let reader = Reader::open(tables.nodes)?;
    let count = reader.rows() as usize;
    context.progress.begin("names", count as u64);
    let set = |who| Bitset::new(&context.budget, who, count);
    let (texts, arrays, pieces, lists) = (set("texts")?, set("arrays")?, set("strings in pieces")?, set("lists")?);
    let mut nodes = Nodes { texts, arrays, pieces, lists, telling: FxHashMap::default(), labels: Vec::new(), count: 0 };
    let (mut recent, mut marks) = (Recent::new(), Marks::default());
    let mut batches = reader.columns(&["kind", "class", "name"])?;
    while let Some(batch) = batches.batch()? {
        let (kinds, classes, names) = (batch.texts("kind")?, batch.texts("class")?, batch.texts("name")?);
        for row in 0..batch.len() {
            let node = batch.first_row() as usize + row;
            let is_text = nodes.note(tables, node, kinds.value(row), classes.value(row));
            let Some(name) = value(names, row) else { continue };
            let Some((place, mark)) = recent.place(name) else { continue };
            let rule = Some(name).filter(|name| name.len() <= MOST_NAME).and_then(|name| tables.matcher.field(name));
            let mut matters = rule.is_some();
            if let Some(rule) = rule.filter(|_| is_text) {
                nodes.tell(node as u32, rule, name);
            }
            if let Some(hits) = hits.as_deref_mut() {
                let found = tables.matcher.find(name.as_bytes(), &mut marks);
                matters |= !found.is_empty();
                found.iter().for_each(|one| hits.add(node as u64, one.rule, &name.as_bytes()[one.secret.clone()]));
                hits.check()?;
            }
            if !matters {
                recent.set(place, mark);
            }
        }
        context.step(batch.len() as u64)?;
    }
    context.progress.end();
    Ok(nodes)
}

impl Nodes {
    /// Notes the kind of a node; returns whether it has a text.
    fn note(&mut self, tables: &Tables<'_>, node: usize, kind: &str, class: &str) -> bool {
        let is_text = match tables.is_v8 {
            true => V8_TEXTS.contains(&kind),
            false => class == "java.lang.String" || class == "System.String",
        };
        if is_text {
            self.count += 1;
            self.texts.insert(node);
        } else if !tables.is_v8 && (class == "char[]" || class == "byte[]") {
            self.arrays.insert(node);
        }
        let is_list = if tables.is_v8 { ["object", "array"].contains(&kind) } else { class.ends_with("[]") };
        if is_list {
            self.lists.insert(node);
        }
        if tables.is_v8 && kind == V8_PIECES {
            self.pieces.insert(node);
        }
        is_text
    }

    /// Notes a text that tells.
    fn tell(&mut self, node: u32, rule: u16, name: &str) {
        self.labels.push(format!("[\"{name}\"]"));
        self.telling.insert(node, (rule, self.labels.len() as u32 - 1));
    }

    /// Number of nodes with texts.
    #[must_use]
    pub fn texts(&self) -> u64 {
        self.count
    }

    fn has_value(&self, node: u32) -> bool {
        self.texts.contains(node as usize) || self.arrays.contains(node as usize)
    }
}

/// Finds the values of fields, properties and keys whose names tell, and the pieces of strings. Names of properties of
/// V8 are searched, too, if there are hits to fill: hits are of the object that has the property.
///
/// # Errors
/// As those of [`nodes`].
pub fn edges(
    tables: &Tables<'_>,
    mut nodes: Nodes,
    keys: &mut Hits<'_>,
    context: &Context<'_>,
) -> Result<(Nodes, Candidates), StageError> {
    let mut candidates = Candidates {
        rows: context.budget.growing("values of telling fields"),
        labels: std::mem::take(&mut nodes.labels),
        pieces: Pieces::new(&context.budget),
    };
    let Some(table) = tables.edges else { return Ok((nodes, candidates)) };
    let reader = Reader::open(table)?;
    context.progress.begin("fields", reader.rows());
    let mut walk = Walk { tables, nodes: &nodes, known: FxHashMap::default(), object: Object::default() };
    let (mut recent, mut marks) = (Recent::new(), Marks::default());
    let mut batches = reader.columns(&["from", "to", "kind", "name", "index"])?;
    while let Some(batch) = batches.batch()? {
        walk.batch(&batch, &mut candidates)?;
        if tables.is_v8 {
            let (from, kinds, names) = (batch.u32s("from")?, batch.texts("kind")?, batch.texts("name")?);
            for row in (0..batch.len()).filter(|&row| kinds.value(row) == "property") {
                let Some(name) = value(names, row) else { continue };
                let Some((place, mark)) = recent.place(name) else { continue };
                let found = tables.matcher.find(name.as_bytes(), &mut marks);
                if found.is_empty() {
                    recent.set(place, mark);
                }
                let from = u64::from(from.value(row));
                found.iter().for_each(|one| keys.add(from, one.rule, &name.as_bytes()[one.secret.clone()]));
            }
            keys.check()?;
        }
        context.step(batch.len() as u64)?;
    }
    context.progress.end();
    Ok((nodes, candidates))
}

/// Walk over the edges, object by object.
struct Walk<'a> {
    tables: &'a Tables<'a>,
    nodes: &'a Nodes,
    /// Rule and label of names of fields.
    known: FxHashMap<String, Option<(u16, u32)>>,
    object: Object,
}

/// The object whose edges are read.
#[derive(Default)]
struct Object {
    node: u32,
    /// Key and value of an entry of a map of Java.
    key: Option<(u16, u32)>,
    value: Option<u32>,
    /// The last element, if it tells: its index, rule and label.
    element: Option<(u32, u16, u32)>,
}

impl Walk<'_> {
    fn batch(&mut self, batch: &Batch, candidates: &mut Candidates) -> Result<(), StageError> {
        let (from, to) = (batch.u32s("from")?, batch.u32s("to")?);
        let (kinds, names, indices) = (batch.texts("kind")?, batch.texts("name")?, batch.u32s("index")?);
        for row in 0..batch.len() {
            let (from, to, kind) = (from.value(row), to.value(row), kinds.value(row));
            if from != self.object.node {
                self.object = Object { node: from, ..Object::default() };
            }
            let name = value(names, row);
            let index = value(indices, row).or_else(|| name.and_then(number));
            if let Some(index) = index {
                self.element(index, to, candidates)?;
            } else if let Some(name) = name {
                self.named(name, kind, to, candidates)?;
            }
        }
        Ok(())
    }

    fn named(&mut self, name: &str, kind: &str, to: u32, candidates: &mut Candidates) -> Result<(), StageError> {
        let Self { tables, nodes, .. } = *self;
        if tables.is_v8 {
            if kind == "internal" && (name == "first" || name == "second") {
                let is_piece = nodes.pieces.contains(self.object.node as usize);
                return if is_piece { candidates.pieces.add(self.object.node, to) } else { Ok(()) };
            }
            if !V8_NAMED.contains(&kind) {
                return Ok(());
            }
        } else {
            self.entry(name, to, candidates)?;
        }
        if !nodes.has_value(to) {
            return Ok(());
        }
        let Some((rule, label)) = self.rule(name, candidates) else { return Ok(()) };
        candidates.rows.push(Candidate { from: self.object.node, to, label, rule, is_listed: false })
    }

    /// An entry of a map of Java: `key` and `value`, or `val`.
    fn entry(&mut self, name: &str, to: u32, candidates: &mut Candidates) -> Result<(), StageError> {
        let object = &mut self.object;
        match name {
            "key" => object.key = self.nodes.telling.get(&to).copied(),
            "value" | "val" => object.value = Some(to).filter(|&to| self.nodes.has_value(to)),
            _ => return Ok(()),
        }
        match (object.key, object.value) {
            (Some((rule, label)), Some(to)) => {
                candidates.rows.push(Candidate { from: object.node, to, label, rule, is_listed: false })
            }
            _ => Ok(()),
        }
    }

    /// An element behind one that tells: maps of V8 and lists of headers have keys and values in turn.
    fn element(&mut self, index: u32, to: u32, candidates: &mut Candidates) -> Result<(), StageError> {
        let before = self.object.element.take();
        if !self.nodes.lists.contains(self.object.node as usize) {
            return Ok(());
        }
        self.object.element = self.nodes.telling.get(&to).map(|&(rule, label)| (index, rule, label));
        match before {
            Some((last, rule, label)) if last.checked_add(1) == Some(index) && self.nodes.has_value(to) => {
                candidates.rows.push(Candidate { from: self.object.node, to, label, rule, is_listed: true })
            }
            _ => Ok(()),
        }
    }

    /// The rule and label of a name, if it tells.
    fn rule(&mut self, name: &str, candidates: &mut Candidates) -> Option<(u16, u32)> {
        if name.len() > MOST_NAME {
            return None;
        }
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        if self.known.len() == KNOWN {
            self.known.clear();
        }
        let found = self.tables.matcher.field(name).map(|rule| {
            candidates.labels.push(format!(".{name}"));
            (rule, candidates.labels.len() as u32 - 1)
        });
        self.known.insert(name.to_owned(), found);
        found
    }
}

/// The number that a name is.
fn number(name: &str) -> Option<u32> {
    name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.parse().ok())?
}

/// Ids of the arrays among the candidates, whose texts only the file has.
///
/// # Errors
/// As those of [`nodes`].
pub fn arrays(tables: &Tables<'_>, nodes: &Nodes, candidates: &Candidates) -> Result<Texts, StageError> {
    let wanted = wanted(candidates, |to| nodes.arrays.contains(to as usize));
    let mut ids = Texts::default();
    let mut batches = Reader::open(tables.nodes)?.only(&wanted)?.columns(&["id"])?;
    while let Some(batch) = batches.batch()? {
        ids.extend(batch.u64s("id")?.iter().flatten().map(|id| (id, Vec::new())));
    }
    Ok(ids)
}

fn wanted(candidates: &Candidates, keep: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut wanted: Vec<u32> = candidates.rows.iter().map(|row| row.to).filter(|&to| keep(to)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Judges the values of the candidates; `arrays` has the texts of arrays by their ids.
///
/// # Errors
/// As those of [`nodes`].
pub fn values(
    tables: &Tables<'_>,
    candidates: &Candidates,
    arrays: &Texts,
    tagger: &Tagger,
    budget: &Budget,
) -> Result<BudgetVec<Row>, StageError> {
    let wanted = wanted(candidates, |_| true);
    let mut held = budget.reserve("values of telling fields", wanted.len() as u64 * 64)?;
    let mut texts: FxHashMap<u32, Vec<u8>> = FxHashMap::default();
    let mut batches = Reader::open(tables.nodes)?.only(&wanted)?.columns(&["node", "id", "name"])?;
    while let Some(batch) = batches.batch()? {
        let (nodes, ids, names) = (batch.u32s("node")?, batch.u64s("id")?, batch.texts("name")?);
        for row in 0..batch.len() {
            let node = nodes.value(row);
            let of_array = value(ids, row).and_then(|id| arrays.get(&id)).map(Vec::as_slice);
            let whole = candidates.pieces.text(node);
            let name = value(names, row).map(str::as_bytes);
            let Some(text) = whole.as_deref().or(of_array).or(name) else { continue };
            held.grow(text.len().min(MOST_TEXT) as u64)?;
            texts.insert(node, text[..text.len().min(MOST_TEXT)].to_vec());
        }
    }
    let mut rows = budget.growing("values of telling fields");
    for Candidate { from, to, label, rule, is_listed } in candidates.rows.iter().copied() {
        let Some(text) = texts.get(&to) else { continue };
        if is_listed && !Check::Mixed.accepts(text) {
            continue;
        }
        if let Some(secret) = tables.matcher.value(rule, text) {
            let length = u32::try_from(secret.len()).unwrap_or(u32::MAX);
            let tag = tagger.tag(&text[secret]);
            rows.push(Row { node: to, rule, held: Held::Field(from, label), length, tag })?;
        }
    }
    Ok(rows)
}

/// Replaces ids of objects by the nodes that have them.
///
/// # Errors
/// As those of [`nodes`].
pub fn by_ids(tables: &Tables<'_>, hits: &mut [Hit], budget: &Budget) -> Result<BudgetVec<Hit>, StageError> {
    hits.sort_unstable();
    let mut found = budget.growing("nodes with secrets");
    let mut batches = Reader::open(tables.nodes)?.columns(&["id"])?;
    while let Some(batch) = batches.batch()? {
        for (row, id) in (batch.first_row()..).zip(batch.u64s("id")?.iter()) {
            let Some(id) = id else { continue };
            let first = hits.partition_point(|hit| hit.object < id);
            for hit in hits[first..].iter().take_while(|hit| hit.object == id) {
                found.push(Hit { object: row, ..*hit })?;
            }
        }
    }
    Ok(found)
}
