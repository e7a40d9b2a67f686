//! Findings on the page. Texts are indices into [`Texts`]. Classes with possible duplicates are a separate list: there
//! can be many.

use crate::tables::Shown;
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::findings::Findings;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::{findings, possible_duplicates};
use serde::Serialize;
use std::path::Path;

/// Maximum findings shown.
const FINDINGS: usize = 200;
/// Maximum classes with possible duplicates shown.
const CLASSES: usize = 1000;
/// Maximum bytes of a finding's sentence.
const SENTENCE: usize = 1000;

/// A finding as the page has it.
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
    fn of(finding: &findings::Finding, texts: &mut Texts) -> Self {
        Self {
            rule: texts.add(&finding.rule),
            severity: texts.add(finding.severity.name()),
            subject: texts.add(&finding.subject),
            class: finding.class_id,
            set: finding.set,
            node: finding.node,
            holder: finding.holder_node,
            type_id: finding.type_id,
            function: finding.function_id,
            count: finding.count,
            bytes: finding.bytes,
            message: texts.add_within(&finding.message, SENTENCE),
            next: texts.add_within(&finding.next_step, SENTENCE),
            path: finding.path.iter().map(|step| texts.add(step)).collect(),
            owner: finding.owner.as_ref().map(|owner| texts.add(owner)),
            place: finding.place.as_ref().map(|place| texts.add(place)),
        }
    }

    /// Class of the subject.
    pub(crate) fn class(&self) -> Option<u32> {
        self.class
    }

    /// Nodes that it names.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.node.into_iter().chain(self.holder)
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

impl Possible {
    /// The class of a finding of an older run.
    fn of(finding: &findings::Finding, texts: &mut Texts) -> Self {
        Self {
            class: finding.class_id,
            name: texts.add(&finding.subject),
            set: finding.set,
            members: finding.count,
            bytes: finding.bytes,
            message: texts.add_within(&finding.message, SENTENCE),
            next: texts.add_within(&finding.next_step, SENTENCE),
        }
    }
}

/// Findings, and classes with possible duplicates; `None` if the run has no table of findings. Older runs list these
/// classes among their findings.
pub(crate) type Found = Option<(Shown<Finding>, Shown<Possible>)>;

/// Reads the findings.
pub(crate) fn read(folder: &Path, texts: &mut Texts) -> Result<Found, StageError> {
    let Some(mut table) = Findings::open(folder)? else { return Ok(None) };
    let (mut findings, mut classes) = (Shown { of: 0, rows: Vec::new() }, Shown { of: 0, rows: Vec::new() });
    while let Some(rows) = table.batch()? {
        for finding in rows {
            if finding.rule == possible_duplicates::RULE {
                add(&mut classes, CLASSES, || Possible::of(&finding, texts));
            } else {
                add(&mut findings, FINDINGS, || Finding::of(&finding, texts));
            }
        }
    }
    add_table_of_possible(&mut classes, folder, texts)?;
    Ok(Some((findings, classes)))
}

/// Adds a row, unless the page has `most`.
fn add<T>(shown: &mut Shown<T>, most: usize, row: impl FnOnce() -> T) {
    shown.of += 1;
    if shown.rows.len() < most {
        shown.rows.push(row());
    }
}

/// Adds the rows of the table of classes with possible duplicates.
fn add_table_of_possible(classes: &mut Shown<Possible>, folder: &Path, texts: &mut Texts) -> Result<(), StageError> {
    let file = folder.join(possible_duplicates::TABLE.file);
    let Some(reader) = Reader::open_if_present(&file)? else { return Ok(()) };
    let mut batches = reader.columns(&["class_id", "class", "set", "count", "bytes", "message", "next_step"])?;
    while let Some(rows) = batches.batch()? {
        let (ids, names, sets) = (rows.u32s("class_id")?, rows.texts("class")?, rows.u32s("set")?);
        let (counts, bytes) = (rows.sizes("count")?, rows.sizes("bytes")?);
        let (messages, steps) = (rows.texts("message")?, rows.texts("next_step")?);
        for at in 0..rows.len() {
            add(classes, CLASSES, || Possible {
                class: value(ids, at),
                name: texts.add(names.value(at)),
                set: value(sets, at),
                members: counts.value(at),
                bytes: bytes.value(at),
                message: texts.add_within(messages.value(at), SENTENCE),
                next: texts.add_within(steps.value(at), SENTENCE),
            });
        }
    }
    Ok(())
}
