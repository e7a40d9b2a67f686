//! Findings on the page. Texts are indices into [`Texts`]. Classes with possible duplicates are a separate list: there
//! can be many.

use crate::tables::Shown;
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_schemas::findings::FILE;
use heaplake_schemas::possible_duplicates;
use serde::Serialize;
use std::path::Path;

/// Maximum findings shown.
const FINDINGS: usize = 200;
/// Maximum classes with possible duplicates shown.
const CLASSES: usize = 1000;
/// Maximum bytes of a finding's sentence.
const SENTENCE: usize = 1000;

/// A finding.
#[derive(Serialize)]
pub(crate) struct Finding {
    rule: u32,
    severity: u32,
    subject: u32,
    class: Option<u32>,
    set: Option<u32>,
    node: Option<u32>,
    /// The object at which the bytes accumulate.
    holder: Option<u32>,
    #[serde(rename = "type")]
    type_id: Option<u32>,
    function: Option<u32>,
    count: u64,
    bytes: u64,
    message: u32,
    next: u32,
    /// Steps from a root; empty if the message suffices.
    path: Vec<u32>,
    owner: Option<u32>,
    /// Source location.
    place: Option<u32>,
}

impl Finding {
    /// Class of the subject.
    pub(crate) fn class(&self) -> Option<u32> {
        self.class
    }

    /// Nodes that it names.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.node.into_iter().chain(self.holder)
    }
}

/// Columns present in the table that older versions lack.
struct Optional {
    names: Vec<&'static str>,
}

impl Optional {
    const ALL: [&str; 6] = ["type_id", "function_id", "path", "holder_node", "owner", "place"];

    fn of(folder: &Path) -> Result<Self, StageError> {
        let reader = Reader::open_if_present(&folder.join(FILE))?;
        let has = |name: &&str| reader.as_ref().is_some_and(|reader| reader.has(name));
        Ok(Self { names: Self::ALL.into_iter().filter(has).collect() })
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    fn number(&self, rows: &Batch, name: &str, at: usize) -> Result<Option<u32>, StageError> {
        if self.has(name) { Ok(value(rows.u32s(name)?, at)) } else { Ok(None) }
    }

    fn text(&self, rows: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Option<u32>, StageError> {
        if self.has(name) { Ok(value(rows.texts(name)?, at).map(|text| texts.add(text))) } else { Ok(None) }
    }

    fn list(&self, rows: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Vec<u32>, StageError> {
        let list = if self.has(name) { rows.list_of_texts(name, at)? } else { Vec::new() };
        Ok(list.iter().map(|text| texts.add(text)).collect())
    }
}

/// A class with possible duplicates.
#[derive(Serialize)]
pub(crate) struct Possible {
    class: Option<u32>,
    name: u32,
    set: Option<u32>,
    members: u64,
    bytes: u64,
    message: u32,
    next: u32,
}

/// Findings, and classes with possible duplicates; `None` if the run has no table of findings. Older runs list these
/// classes among their findings.
pub(crate) type Found = Option<(Shown<Finding>, Shown<Possible>)>;

/// Reads the findings.
pub(crate) fn read(folder: &Path, texts: &mut Texts) -> Result<Found, StageError> {
    let optional = Optional::of(folder)?;
    let Some(reader) = Reader::open_if_present(&folder.join(FILE))? else { return Ok(None) };
    let mut columns =
        vec!["rule", "severity", "subject", "class_id", "set", "node", "count", "bytes", "message", "next_step"];
    columns.extend(&optional.names);
    let (mut findings, mut classes) = (Shown { of: 0, rows: Vec::new() }, Shown { of: 0, rows: Vec::new() });
    let mut batches = reader.columns(&columns)?;
    while let Some(rows) = batches.batch()? {
        for at in 0..rows.len() {
            if rows.texts("rule")?.value(at) == possible_duplicates::RULE {
                add_possible(&mut classes, &rows, "subject", at, texts)?;
            } else {
                findings.of += 1;
                if findings.rows.len() < FINDINGS {
                    findings.rows.push(finding(&rows, at, &optional, texts)?);
                }
            }
        }
    }
    add_table_of_possible(&mut classes, folder, texts)?;
    Ok(Some((findings, classes)))
}

/// Adds the rows of the table of classes with possible duplicates.
fn add_table_of_possible(classes: &mut Shown<Possible>, folder: &Path, texts: &mut Texts) -> Result<(), StageError> {
    let file = folder.join(possible_duplicates::FILE);
    let Some(reader) = Reader::open_if_present(&file)? else { return Ok(()) };
    let mut batches = reader.columns(&["class_id", "class", "set", "count", "bytes", "message", "next_step"])?;
    while let Some(rows) = batches.batch()? {
        (0..rows.len()).try_for_each(|at| add_possible(classes, &rows, "class", at, texts))?;
    }
    Ok(())
}

/// Adds a class named in column `name`, unless the page is full.
fn add_possible(
    classes: &mut Shown<Possible>,
    rows: &Batch,
    name: &str,
    at: usize,
    texts: &mut Texts,
) -> Result<(), StageError> {
    classes.of += 1;
    if classes.rows.len() < CLASSES {
        classes.rows.push(possible(rows, name, at, texts)?);
    }
    Ok(())
}

fn possible(rows: &Batch, name: &str, at: usize, texts: &mut Texts) -> Result<Possible, StageError> {
    Ok(Possible {
        class: value(rows.u32s("class_id")?, at),
        name: texts.add(rows.texts(name)?.value(at)),
        set: value(rows.u32s("set")?, at),
        members: rows.sizes("count")?.value(at),
        bytes: rows.sizes("bytes")?.value(at),
        message: texts.add_within(rows.texts("message")?.value(at), SENTENCE),
        next: texts.add_within(rows.texts("next_step")?.value(at), SENTENCE),
    })
}

fn finding(rows: &Batch, at: usize, optional: &Optional, texts: &mut Texts) -> Result<Finding, StageError> {
    Ok(Finding {
        rule: texts.add(rows.texts("rule")?.value(at)),
        severity: texts.add(rows.texts("severity")?.value(at)),
        subject: texts.add(rows.texts("subject")?.value(at)),
        class: value(rows.u32s("class_id")?, at),
        set: value(rows.u32s("set")?, at),
        node: value(rows.u32s("node")?, at),
        holder: optional.number(rows, "holder_node", at)?,
        type_id: optional.number(rows, "type_id", at)?,
        function: optional.number(rows, "function_id", at)?,
        count: rows.sizes("count")?.value(at),
        bytes: rows.sizes("bytes")?.value(at),
        message: texts.add_within(rows.texts("message")?.value(at), SENTENCE),
        next: texts.add_within(rows.texts("next_step")?.value(at), SENTENCE),
        path: optional.list(rows, "path", at, texts)?,
        owner: optional.text(rows, "owner", at, texts)?,
        place: optional.text(rows, "place", at, texts)?,
    })
}
