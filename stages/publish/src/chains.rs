//! Stage `chains table`: the chains as a table, with their paths as text.
//!
//! * Computes: the text of each path: classes with the names of the edges between them, as in `Server.sessions →
//!   Map.table → Array[] → Session.next* → Session`. A star marks a repeated step.
//! * Resident memory: the paths of `ELEMENTS` elements; of each name the first characters.
//! * Passes over disk: one over the rows.
//! * Worst case: linear in the lengths of all paths.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::chains`].

use crate::signature_columns::{names, signed_rows};
use crate::writer;
use arrow::array::{ArrayRef, BooleanArray, ListArray, StringBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{array, sizes};
use heaplake_names::Normaliser;
use heaplake_paths::chains::{Chains, cut, words};
use heaplake_schemas::chains::{ChainRow, Element, KINDS, TABLE, element, element_fields};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, CLASS_SIGNATURES, STRINGS, documents};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "chains table",
    version: 3,
    when: |setting| setting.has(TableName::Chains),
    reads: &[
        document(documents::METADATA),
        column(columns::CHAIN_ROW),
        column(columns::CHAIN_ELEMENT),
        column(columns::CLASS_NAME),
        texts(CLASS_SIGNATURES),
        texts(STRINGS),
    ],
    fixed: 40 << 20,
    passes: "chains once",
    run,
    ..Stage::NEW
};

/// Path elements after which a row group ends.
const ELEMENTS: usize = 1 << 15;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut chains = ColumnReader::open(scratch, columns::CHAIN_ROW)?;
    context.progress.begin(STAGE.name, chains.remaining());
    let _rows = context.budget.reserve("chains table: paths", 32 << 20)?;
    let paths = Chains::open(scratch)?;
    let signer =
        Signer { names: names(job, &job.metadata()?.format), classes: StringTable::open(scratch, CLASS_SIGNATURES)? };
    let mut table = writer::create(job, &TABLE)?;
    let mut rows = Rows::default();
    let mut number = 0;
    while chains.remaining() > 0 {
        rows.push(number, chains.next()?, &paths, &signer);
        number += 1;
        if rows.edges.len() >= ELEMENTS || chains.remaining() == 0 {
            context.step(rows.chains.len() as u64)?;
            table.write(&std::mem::take(&mut rows).finish(&paths))?;
        }
    }
    writer::finish(job, table)
}

/// Computes the stable signatures of chains.
struct Signer {
    names: Normaliser,
    classes: StringTable,
}

impl Signer {
    fn signature(&self, kind: &str, path: &[&Element], edges: &[Option<String>]) -> String {
        let classes: Vec<_> = path.iter().map(|element| cut(self.classes.text(element.class as usize))).collect();
        let steps = path.iter().zip(edges).zip(&classes);
        self.names.chain(kind, steps.map(|((element, edge), class)| (edge.as_deref(), &**class, element.repeats != 0)))
    }
}

/// Rows of a row group.
#[derive(Default)]
struct Rows {
    first: u32,
    chains: Vec<ChainRow>,
    /// Number of elements of each row.
    lengths: Vec<usize>,
    edges: Vec<Option<String>>,
    classes: Vec<String>,
    repeats: Vec<bool>,
    texts: Vec<String>,
    signatures: Vec<String>,
}

impl Rows {
    fn push(&mut self, number: u32, chain: ChainRow, names: &Chains, signer: &Signer) {
        if self.chains.is_empty() {
            self.first = number;
        }
        let path = names.path(chain.element);
        let start = self.edges.len();
        for element in &path {
            self.edges.push(names.edge(element).map(|edge| cut(edge).into_owned()));
            self.classes.push(cut(names.class(element.class)).into_owned());
            self.repeats.push(element.repeats != 0);
        }
        let steps = path.iter().enumerate().map(|(at, element)| {
            let at = start + at;
            (self.edges[at].as_deref(), element.label, self.classes[at].as_str(), self.repeats[at])
        });
        self.texts.push(words(steps));
        self.signatures.push(signer.signature(KINDS[chain.kind as usize], &path, &self.edges[start..]));
        self.lengths.push(path.len());
        self.chains.push(chain);
    }

    fn finish(self, names: &Chains) -> [ArrayRef; 13] {
        let numbers = |of: fn(&ChainRow) -> u32| array::<UInt32Type>(self.chains.iter().map(of).collect());
        let bytes = |of: fn(&ChainRow) -> u64| sizes(self.chains.iter().map(of).collect());
        let kinds = strings(self.chains.iter().map(|chain| Some(KINDS[chain.kind as usize])));
        let classes: Vec<_> = self.chains.iter().map(|chain| names.class(chain.class_id)).collect();
        let depths = self.lengths.iter().map(|&length| length as u32).collect();
        let elements = StructArray::new(
            element_fields(),
            vec![
                strings(self.edges.iter().map(Option::as_deref)),
                strings(self.classes.iter().map(|class| Some(class.as_str()))),
                Arc::new(BooleanArray::from(self.repeats)),
            ],
            None,
        );
        let [signatures, fingerprints] = signed_rows(&self.signatures);
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        [
            array::<UInt32Type>((self.first..self.first + self.chains.len() as u32).collect()),
            kinds,
            numbers(|chain| chain.class_id),
            strings(classes.iter().map(|class| Some(class.as_ref()))),
            array::<UInt32Type>(depths),
            Arc::new(ListArray::new(Arc::new(element()), offsets, Arc::new(elements), None)),
            strings(self.texts.iter().map(|text| Some(text.as_str()))),
            bytes(|chain| chain.count),
            bytes(|chain| chain.shallow_bytes),
            bytes(|chain| chain.retained_bytes),
            numbers(|chain| chain.example_node),
            signatures,
            fingerprints,
        ]
    }
}

fn strings<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    texts.for_each(|text| builder.append_option(text));
    Arc::new(builder.finish())
}
