//! Stage `signatures`: the stable name of each class, for the tables that name classes.
//!
//! * Computes: the signature of each class, from its key and the URL of the script in the key, if the input has URLs.
//!   With source maps, from the name and the file that the class had before it was minified.
//! * Resident memory: one signature. With source maps 8 times the largest map of a script of the input, and some 500
//!   bytes per class that they describe.
//! * Passes over disk: one over the keys of classes, two with source maps.
//! * Worst case: linear in the texts.
//! * Fails when: the disk is full, or a source map has changed or is damaged.
//! * Determinism: order of classes.
//! * Reference: [`heaplake_names`].

use crate::originals::Originals;
use crate::script_urls::Scripts;
use crate::signature_columns::{names, write_signatures};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{Job, Stage, StageError, Stats, StringTable};
use heaplake_schemas::scratch::{CLASS_KEYS, CLASS_SIGNATURES, SCRIPT_ID, SCRIPT_URL, STRINGS, documents};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "signatures",
    when: |setting| setting.class_signatures(),
    reads: &[
        document(documents::METADATA),
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
    let names = names(job, &job.metadata()?.format);
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
