//! Writes a compared table.

use super::class::OfClass;
use super::holders::Holders;
use super::parts::{self, Grown};
use super::row::{Head, Measure, NO_ONE, Row};
use super::sides::{BASE, TARGET};
use super::status::{self, Verdict};
use super::table::{Compared, POSSIBLE};
use crate::cells::{Cell, column};
use arrow::array::ArrayRef;
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError};
use heaplake_lake::table::Table;
use heaplake_schemas::diff::Status;
use heaplake_schemas::run;
use heaplake_schemas::table::TableSchema;
use rustc_hash::FxHashMap;

/// Rows per row group.
const BATCH: usize = 1 << 14;

/// Context for rows of classes and chains.
#[derive(Default)]
pub(super) struct Around {
    /// Growth of chains, by class.
    pub holders: Holders,
    /// Classes in the base, by fingerprint.
    pub classes: FxHashMap<u64, OfClass>,
}

/// A subject with texts and status.
pub struct Told {
    /// Numbers.
    pub row: Row,
    /// Texts: table keys, then signature.
    pub texts: Vec<Option<String>>,
    /// Status.
    pub verdict: Verdict,
    /// q per measure.
    pub q: Vec<Option<f64>>,
    /// The subject that represents this growth (see `parts`).
    pub part_of: Option<u64>,
}

/// Reads a subject of a compared table and decides its status.
pub(super) fn told(compared: &Compared<'_>, number: u32, around: &Around) -> Result<Told, StageError> {
    let row = compared.row(number)?;
    let Head { fingerprint, class, .. } = row.head;
    let verdict = match compared.table.compared.name {
        "classes" => status::of_class(compared, number, &row, around.holders.through(fingerprint)),
        "chains" => status::of_chain(compared, number, &row, around.classes.get(&class)),
        _ => status::of(compared, number, &row),
    };
    let texts = compared.texts.of(number as usize)?;
    let q = (0..row.measures.len()).map(|measure| compared.q(number, measure, &row)).collect();
    Ok(Told { row, texts, verdict, q, part_of: None })
}

impl Told {
    /// Whether it is only a possible duplicate.
    pub fn is_possible(&self, table: &str) -> bool {
        let rule = self.texts.first().and_then(Option::as_deref).unwrap_or_default();
        let signature = self.texts.last().and_then(Option::as_deref).unwrap_or_default();
        match table {
            "findings" => rule.starts_with(POSSIBLE),
            "duplicate_sets" => signature.starts_with("possible "),
            _ => false,
        }
    }
}

/// Folds growth: returns the order of subjects, and the representative of each part.
fn folded(compared: &Compared<'_>, around: &Around) -> Result<(Vec<u32>, FxHashMap<u64, u64>), StageError> {
    let mut grown = Vec::new();
    for &number in compared.order.iter().take(parts::MOST) {
        let told = told(compared, number, around)?;
        // Growth ranks first.
        if !told.verdict.status.is_growth() {
            break;
        }
        grown.push(of_growth(compared, &told, around));
    }
    let (parts, places) = parts::fold(&grown);
    let mut order: Vec<u32> = places.iter().map(|&place| compared.order[place]).collect();
    order.extend_from_slice(&compared.order[grown.len()..]);
    Ok((order, parts))
}

/// Input of the folding for a subject that grew.
fn of_growth(compared: &Compared<'_>, told: &Told, around: &Around) -> Grown {
    let Head { fingerprint, class, changed_on, .. } = told.row.head;
    let text = |at: usize| told.texts.get(at).cloned().flatten();
    let (path, class, by_reference) = match compared.table.compared.name {
        "chains" => (text(2), class, text(0).is_none_or(|kind| kind == "reference")),
        "classes" => (around.holders.path(fingerprint).map(str::to_owned), fingerprint, true),
        _ => (None, 0, true),
    };
    let count = compared.table.measures.iter().position(|measure| *measure == "count");
    let more = count.and_then(|count| told.row.measures[count].delta_sum()).unwrap_or(0);
    Grown {
        fingerprint,
        class,
        path: path.unwrap_or_default(),
        by_reference,
        delta: told.row.measures[0].delta_sum().unwrap_or(0) as f64,
        instances: more as f64 / f64::from(changed_on.max(1)),
    }
}

/// A table compared for the runs of one format.
pub(super) struct OfFormat<'a> {
    /// Format.
    pub format: &'a str,
    /// Table.
    pub compared: Compared<'a>,
    /// Classes and chains of the format.
    pub around: &'a Around,
}

/// Merges the ranked subjects of several formats, as (format, number); the order within a format is kept.
fn merged(formats: &[OfFormat<'_>], orders: &[Vec<u32>]) -> Vec<(usize, u32)> {
    let mut merged = Vec::with_capacity(orders.iter().map(Vec::len).sum());
    let mut next = vec![0; orders.len()];
    loop {
        let mut first: Option<(usize, u32)> = None;
        for (at, order) in orders.iter().enumerate() {
            let Some(&number) = order.get(next[at]) else { continue };
            let is_first =
                |(best, other): (usize, u32)| formats[at].compared.is_before(number, &formats[best].compared, other);
            if first.is_none_or(is_first) {
                first = Some((at, number));
            }
        }
        let Some((at, number)) = first else { return merged };
        next[at] += 1;
        merged.push((at, number));
    }
}

/// Writes a table of one or more formats into the folder of `output`. `take` receives each subject in order, with its
/// format's number.
pub(super) fn write(
    table: &TableSchema,
    formats: &[OfFormat<'_>],
    output: &Output,
    context: &Context<'_>,
    mut take: impl FnMut(usize, &Told),
) -> Result<run::Table, StageError> {
    let schema = table.schema();
    let mut table = Table::create(output, table.file, schema.clone())?;
    let (mut orders, mut parts) = (Vec::new(), Vec::new());
    for OfFormat { compared, around, .. } in formats {
        let (order, part) = folded(compared, around)?;
        orders.push(order);
        parts.push(part);
    }
    for subjects in merged(formats, &orders).chunks(BATCH) {
        context.check()?;
        let mut rows = Vec::with_capacity(subjects.len());
        for &(at, number) in subjects {
            let OfFormat { format, compared, around } = &formats[at];
            let mut told = told(compared, number, around)?;
            told.part_of = parts[at].get(&told.row.head.fingerprint).copied();
            take(at, &told);
            cells(compared, &told, (around, format), &mut rows);
        }
        let columns: Vec<ArrayRef> =
            (0..schema.fields().len()).map(|at| column(&rows, at, schema.field(at).data_type())).collect();
        table.write(&columns)?;
    }
    table.finish()
}

/// Appends the rows of a subject, one per measure; cells follow the schema.
fn cells(compared: &Compared<'_>, told: &Told, (around, format): (&Around, &str), rows: &mut Vec<Vec<Cell>>) {
    let Told { row, texts, verdict, q, part_of } = told;
    let Head { fingerprint, runs_with, hosts_with, .. } = row.head;
    let (keys, signature) = texts.split_at(compared.table.keys.len());
    let key = |(at, text): (usize, &Option<String>)| {
        // Old tables lack texts that are mandatory now.
        let lacks = text.is_none() && !compared.table.table.columns[at].nullable;
        Cell::Text(if lacks { Some(String::new()) } else { text.clone() })
    };
    let changed = !matches!(verdict.status, Status::Same | Status::WithinNoise);
    for ((measure, name), q) in row.measures.iter().zip(compared.table.measures).zip(q) {
        let mut cells: Vec<Cell> = keys.iter().enumerate().map(key).collect();
        cells.push(Cell::Text(Some(signature.first().cloned().flatten().unwrap_or_default())));
        cells.push(Cell::Print(Some(fingerprint)));
        cells.extend(
            [name, format, verdict.status.name(), verdict.evidence.name()]
                .map(|text| Cell::Text(Some(text.to_owned()))),
        );
        cells.push(Cell::Print(*part_of));
        for side in [BASE, TARGET] {
            let with = Some(hosts_with[side]).filter(|&hosts| hosts != NO_ONE);
            cells.push(Cell::Number(Some(compared.runs[side] as i64)));
            cells.push(Cell::Number(Some(runs_with[side].into())));
            cells.push(Cell::Number(compared.hosts[side].map(|hosts| hosts as i64)));
            cells.push(Cell::Number(with.map(i64::from)));
            cells.extend(measure.sides[side].cells());
        }
        statistics(measure, *q, &mut cells);
        cells.push(Cell::Number(changed.then_some(row.head.changed_on.into())));
        cells.push(Cell::Text(compared.changed_on(row).filter(|_| changed)));
        of_chain_or_class(compared.table.compared.name, told, around, &mut cells);
        rows.push(cells);
    }
}

/// Appends differences, intervals and tests.
fn statistics(measure: &Measure, q: Option<f64>, cells: &mut Vec<Cell>) {
    let tests = &measure.tests;
    let statistic = |number: f64| Cell::Statistic(Some(number));
    cells.push(Cell::Number(measure.delta_sum()));
    cells.extend(tests.sum_interval.map(statistic));
    cells.push(Cell::Percent(measure.percent_sum()));
    cells.extend([measure.delta_mean(), measure.delta_median()].map(Cell::Number));
    cells.push(Cell::Percent(measure.percent_median()));
    let [low, high] = tests.shift_interval;
    let of_shift = [tests.shift, low, high];
    let p = [tests.p_shift, tests.p_presence, tests.p_tail, tests.p_paired, tests.p];
    cells.extend(of_shift.into_iter().chain(p).map(statistic));
    cells.push(Cell::Statistic(q));
    cells.push(Cell::Number((tests.pairs > 0).then_some(tests.pairs as i64)));
    cells.extend([tests.smallest_effect, tests.smallest_on_tenth].map(statistic));
}

/// Appends the columns specific to chains and classes.
fn of_chain_or_class(table: &str, told: &Told, around: &Around, cells: &mut Vec<Cell>) {
    let delta = told.row.measures[0].delta_mean();
    let (mut class, mut share, mut through) = (None, None, None);
    match table {
        "chains" => {
            let kind = told.texts.first().and_then(Option::as_deref).unwrap_or_default();
            class = Some(told.row.head.class);
            share = around.holders.share(told.row.head.class, kind, delta);
        }
        "classes" if delta.is_some_and(|delta| delta > 0) => {
            through = around.holders.through(told.row.head.fingerprint);
        }
        _ => {}
    }
    cells.push(Cell::Print(class));
    cells.push(Cell::Statistic(share));
    cells.push(Cell::Text(through.map(|through| through.signature.clone())));
    cells.push(Cell::Text(through.map(|through| through.text.clone())));
    cells.push(Cell::Number(through.map(|through| through.bytes)));
    cells.push(Cell::Flag(through.map(|through| through.new)));
}

/// Returns the classes of the base, by fingerprint.
pub(super) fn classes_of_base(classes: &Compared<'_>) -> Result<FxHashMap<u64, OfClass>, StageError> {
    let mut of_base: FxHashMap<u64, OfClass> = FxHashMap::default();
    for &number in &classes.order {
        let row = classes.row(number)?;
        let class = of_base.entry(row.head.fingerprint).or_default();
        class.retained += row.measures[0].sides[BASE].mean;
        class.in_base |= row.head.runs_with[BASE] > 0;
    }
    Ok(of_base)
}
