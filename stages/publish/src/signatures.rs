//! Stage `signatures`: what each class is called in every run, for the tables that name classes.
//!
//! * Computes: the signature of each class, from its key and the URL of the script that the key names, where the input
//!   tells URLs. With source maps, from the name and the file that the class had before it was minified.
//! * Resident memory: one signature. With source maps 8 times the largest map of a script of the input, and some 500
//!   bytes per class that they describe.
//! * Passes over disk: one over the keys of classes, two with source maps.
//! * Worst case: linear in the texts.
//! * Fails when: the disk is full, or a source map has changed or is damaged.
//! * Determinism: order of classes.
//! * Reference: [`heaplake_names`].

use crate::originals::Originals;
use crate::signed::{names, write_signatures};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnMap, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{CLASS_KEYS, CLASS_SIGNATURES, SCRIPT_ID, SCRIPT_URL, STRINGS, documents};
use std::borrow::Cow;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "signatures",
    when: |setting| setting.class_signatures(),
    reads: &[
        document(documents::FACTS),
        texts(CLASS_KEYS),
        column(SCRIPT_ID).if_any(),
        column(SCRIPT_URL).if_any(),
        texts(STRINGS),
    ],
    writes: &[texts(CLASS_SIGNATURES)],
    fixed: 8 << 20,
    passes: "keys of classes once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let names = names(job, &job.facts()?.format);
    let keys = StringTable::open(scratch, CLASS_KEYS)?;
    let scripts = Scripts::open(scratch)?;
    let written = match (&job.analysis().source_maps, &scripts) {
        (Some(maps), Some(scripts)) => Originals::of(maps, &keys, scripts, job)?,
        _ => Originals::default(),
    };
    context.progress.begin(STAGE.name, keys.len() as u64);
    let rows = write_signatures(job, CLASS_SIGNATURES, keys.len() as u64, |class| {
        context.progress.advance(1);
        let key = keys.text(class);
        let script = scripts.as_ref().and_then(|scripts| scripts.of_class(&key));
        Ok(match written.of_class(class as u32) {
            Some((key, source)) => names.class(key, source.as_deref().or(script.as_deref())),
            None => names.class(&key, script.as_deref()),
        })
    })?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// URLs of scripts by their numbers.
pub(crate) struct Scripts {
    numbers: ColumnMap<u32>,
    urls: ColumnMap<StringId>,
    strings: StringTable,
}

impl Scripts {
    /// Opens the columns, where the input has scripts.
    fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(SCRIPT_ID) {
            return Ok(None);
        }
        Ok(Some(Self {
            numbers: ColumnMap::uncounted(scratch, SCRIPT_ID)?,
            urls: ColumnMap::uncounted(scratch, SCRIPT_URL)?,
            strings: StringTable::open(scratch, STRINGS)?,
        }))
    }

    /// The URL of the script that a class key begins with, if it does and the script has one.
    fn of_class(&self, key: &str) -> Option<Cow<'_, str>> {
        let (number, _) = key.split_once(',')?;
        self.url(number.parse().ok()?)
    }

    /// The URL of a script, if it has one.
    pub(crate) fn url(&self, number: u32) -> Option<Cow<'_, str>> {
        let row = self.numbers.binary_search(&number).ok()?;
        Some(self.strings.text(self.urls[row].get()? as usize)).filter(|url| !url.is_empty())
    }
}
