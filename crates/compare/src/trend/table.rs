//! Follows one table of a series: rows on disk, ranking keys in memory.

use super::row::{Measure, Row, width};
use crate::cells::{Cell, column};
use crate::diff::Rules;
use crate::diff::parts::{self, Grown};
use crate::diff::row::NO_ONE;
use crate::diff::untold;
use crate::rows::texts::{self, Texts};
use crate::rows::{self, Gathered};
use crate::run_metadata;
use crate::sides::Sides;
use arrow::array::ArrayRef;
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_lake::table::Table;
use heaplake_schemas::run;
use heaplake_schemas::trend::TrendTable;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Approximate rows per row group.
const BATCH: usize = 1 << 14;
/// Maximum slopes that a thread holds.
const MOST_SLOPES: u64 = 1 << 20;

/// A followed table.
pub(super) struct Followed {
    table: &'static TrendTable,
    /// Number of runs and hosts with the table, per step.
    steps: Vec<(usize, Option<usize>)>,
    /// Name of each run's host, or of the run.
    names: Vec<String>,
    /// Row numbers by rank.
    order: Vec<u32>,
    ranks: Vec<Rank>,
    texts: Texts,
    folder: PathBuf,
    file: File,
    _room: Reservation,
}

/// By class fingerprint: text of the reference chain that grows fastest, and its growth per step.
pub(super) type Paths = FxHashMap<u64, (String, f64)>;

/// Follows a table; `None` if no run has it.
pub(super) fn follow(
    sides: &Sides,
    table: &'static TrendTable,
    rules: Rules<'_>,
    context: &Context<'_>,
) -> Result<Option<Followed>, StageError> {
    let source = rows::source(sides, table.rows, rules.names, rules.own_names)?;
    let mut gathered = rows::gather(sides, table.rows, source, false, rules.scratch, context)?;
    if gathered.runs.is_empty() {
        return Ok(None);
    }
    if table.rows.compared.name == "chains" {
        gathered.untold = untold::find(&gathered, &gathered.subjects.classes, context)?;
    }
    let count = gathered.subjects.count() as u64;
    let runs = gathered.runs.len() as u64;
    let slopes = context.threads as u64 * (runs * runs / 2).min(MOST_SLOPES) * 8;
    let _slopes = context.budget.reserve("trend: slopes", slopes)?;
    let room = context.budget.reserve("trend: ranks of rows", count * 40)?;
    ranked(&gathered, (table, sides.sides.len()), rules.scratch, room, context).map(Some)
}

/// Computes the rows and ranks them.
fn ranked(
    gathered: &Gathered<'_>,
    (table, steps): (&'static TrendTable, usize),
    scratch: &Path,
    room: Reservation,
    context: &Context<'_>,
) -> Result<Followed, StageError> {
    let failed = |error| StageError::io(scratch, "write to", error);
    let file = tempfile::tempfile_in(scratch).map_err(failed)?;
    let mut out = BufWriter::with_capacity(256 << 10, &file);
    let (mut ranks, mut examples, mut words) = (Vec::new(), Vec::new(), Vec::new());
    gathered.each(
        context,
        |group| Row::of(group, table.rows.measures.len(), steps),
        |row: Row| {
            words.clear();
            row.to_words(&mut words);
            out.write_all(bytemuck::cast_slice(&words)).map_err(failed)?;
            ranks.push(Rank::of(&row));
            examples.push(row.head.example.into());
            Ok(())
        },
    )?;
    out.flush().map_err(failed)?;
    drop(out);
    let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| ranks[a as usize].order(&ranks[b as usize]));
    let texts = texts::read(gathered, &examples, scratch, context)?;
    let steps = (0..steps).map(|step| (gathered.runs_of(step), gathered.hosts_of(step))).collect();
    let names = gathered.runs.iter().map(|run| run.name.clone()).collect();
    Ok(Followed { table, steps, names, order, ranks, texts, folder: scratch.to_owned(), file, _room: room })
}

/// Ranking key of a subject.
#[derive(Clone, Copy)]
struct Rank {
    grows: bool,
    /// Growth per step, summed over the runs of the last step that has any.
    slope: f64,
    fingerprint: u64,
}

impl Rank {
    fn of(row: &Row) -> Self {
        let measure = &row.measures[0];
        let runs = measure.steps.iter().rev().map(|step| step.told).find(|&told| told > 0).unwrap_or(0) as f64;
        let slope = measure.series.slope().map_or(f64::NEG_INFINITY, |of| of.slope * runs.max(1.0));
        Self { grows: measure.series.shape().grows(), slope, fingerprint: row.head.fingerprint }
    }

    /// Growing subjects first, then by slope.
    fn order(&self, other: &Self) -> Ordering {
        let by_slope = other.grows.cmp(&self.grows).then(other.slope.total_cmp(&self.slope));
        by_slope.then(self.fingerprint.cmp(&other.fingerprint))
    }
}

/// A table followed for the runs of one format.
pub(super) struct OfFormat<'a> {
    /// Format.
    pub format: &'a str,
    /// Table.
    pub followed: Followed,
    /// Chains that locate the growth of classes.
    pub paths: &'a Paths,
}

/// Merges the ranked subjects of several formats, as (format, number); the order within a format is kept.
fn merged(formats: &[OfFormat<'_>], orders: &[Vec<u32>]) -> Vec<(usize, u32)> {
    let mut merged = Vec::with_capacity(orders.iter().map(Vec::len).sum());
    let mut next = vec![0; orders.len()];
    let rank = |at: usize, number: u32| formats[at].followed.ranks[number as usize];
    loop {
        let heads = orders.iter().enumerate().filter_map(|(at, order)| Some((at, *order.get(next[at])?)));
        let first = heads.min_by(|&(at, number), &(other, another)| rank(at, number).order(&rank(other, another)));
        let Some((at, number)) = first else { return merged };
        next[at] += 1;
        merged.push((at, number));
    }
}

/// Writes a table of one or more formats into the folder of `output`. `take` receives each subject in order, with its
/// format's number, its texts, and whether it is a part of an earlier one.
pub(super) fn write(
    of: &TrendTable,
    formats: &[OfFormat<'_>],
    output: &Output,
    context: &Context<'_>,
    mut take: impl FnMut(usize, &Row, &[Option<String>], Option<String>, bool),
) -> Result<run::Table, StageError> {
    let schema = of.table.schema();
    let mut table = Table::create(output, of.table.file, schema.clone())?;
    let (mut orders, mut parts, mut steps) = (Vec::new(), Vec::new(), 1);
    for OfFormat { followed, paths, .. } in formats {
        let (order, part) = followed.folded(paths)?;
        orders.push(order);
        parts.push(part);
        steps = followed.steps.len().max(steps);
    }
    let subjects = (BATCH / (steps * of.rows.measures.len())).max(1);
    for subjects in merged(formats, &orders).chunks(subjects) {
        context.check()?;
        let mut rows = Vec::with_capacity(BATCH);
        for &(at, number) in subjects {
            let OfFormat { format, followed, .. } = &formats[at];
            let (row, texts) = (followed.row(number)?, followed.texts.of(number as usize)?);
            let part_of = parts[at].get(&row.head.fingerprint).copied();
            let names = run_metadata::names_of(&row.head.named, &followed.names);
            take(at, &row, &texts, names.clone(), part_of.is_some());
            followed.cells(&row, (&texts, format), (names, part_of), &mut rows);
        }
        let columns: Vec<ArrayRef> =
            (0..schema.fields().len()).map(|at| column(&rows, at, schema.field(at).data_type())).collect();
        table.write(&columns)?;
    }
    table.finish()
}

impl Followed {
    /// Reads a row.
    fn row(&self, number: u32) -> Result<Row, StageError> {
        let mut words = vec![0_u64; width(self.table.rows.measures.len(), self.steps.len())];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let start = u64::from(number) * bytes.len() as u64;
        self.file.read_exact_at(bytes, start).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        Ok(Row::from_words(&words, self.steps.len()))
    }

    /// For the table of chains: the reference chain with the fastest growth of each class.
    pub(super) fn paths(&self) -> Result<Paths, StageError> {
        let mut paths = Paths::default();
        for &number in self.order.iter().take(10 * parts::MOST) {
            let row = self.row(number)?;
            let Some(slope) = row.measures[0].series.slope().filter(|slope| slope.slope > 0.0) else { continue };
            let texts = self.texts.of(number as usize)?;
            let text = |at: usize| texts.get(at).cloned().flatten().unwrap_or_default();
            if text(0) == "reference" && paths.get(&row.head.class).is_none_or(|(_, most)| *most < slope.slope) {
                paths.insert(row.head.class, (text(2), slope.slope));
            }
        }
        Ok(paths)
    }

    /// Folds growth: returns the order of subjects, and the representative of each part.
    fn folded(&self, paths: &Paths) -> Result<(Vec<u32>, FxHashMap<u64, u64>), StageError> {
        let name = self.table.rows.compared.name;
        let count = self.table.rows.measures.iter().position(|measure| *measure == "count");
        let mut grown = Vec::new();
        for &number in self.order.iter().take(parts::MOST) {
            let (row, texts) = (self.row(number)?, self.texts.of(number as usize)?);
            let series = &row.measures[0].series;
            let slope = |of: &Measure| of.series.slope().map_or(0.0, |slope| slope.slope);
            // Growth ranks first.
            if !series.shape().grows() {
                break;
            }
            let text = |at: usize| texts.get(at).cloned().flatten().filter(|_| name == "chains");
            let (path, class) = match name {
                "classes" => (paths.get(&row.head.fingerprint).map(|(path, _)| path.clone()), row.head.fingerprint),
                _ => (text(2), row.head.class),
            };
            grown.push(Grown {
                fingerprint: row.head.fingerprint,
                class,
                path: path.unwrap_or_default(),
                by_reference: text(0).is_none_or(|kind| kind == "reference"),
                delta: slope(&row.measures[0]),
                instances: count.map_or(0.0, |count| slope(&row.measures[count])),
            });
        }
        let (parts, places) = parts::fold(&grown);
        let mut order: Vec<u32> = places.iter().map(|&place| self.order[place]).collect();
        order.extend_from_slice(&self.order[grown.len()..]);
        Ok((order, parts))
    }

    /// Appends the rows of a subject, one per measure and step; cells follow the schema.
    fn cells(
        &self,
        row: &Row,
        (texts, format): (&[Option<String>], &str),
        (names, part_of): (Option<String>, Option<u64>),
        rows: &mut Vec<Vec<Cell>>,
    ) {
        let nullable = |at: usize| self.table.table.columns[at].nullable;
        // Old tables lack texts that are mandatory now.
        let text =
            |(at, text): (usize, &Option<String>)| Cell::Text(text.clone().or((!nullable(at)).then(String::new)));
        let number = |number: usize| Cell::Number(Some(number as i64));
        let class = Some(row.head.class).filter(|_| self.table.rows.compared.name == "chains");
        let grows = row.measures[0].series.shape().grows();
        for (measure, name) in row.measures.iter().zip(self.table.rows.measures) {
            let of_series = of_series(measure);
            for (step, amounts) in measure.steps.iter().enumerate() {
                let (runs, hosts) = self.steps[step];
                let [runs_with, hosts_with] = row.with[step];
                let mut cells: Vec<Cell> = texts.iter().enumerate().map(text).collect();
                cells.push(Cell::Print(Some(row.head.fingerprint)));
                cells.extend([*name, format].map(|text| Cell::Text(Some(text.to_owned()))));
                cells.extend([number(step), number(runs), number(runs_with as usize)]);
                cells.push(Cell::Number(hosts.map(|hosts| hosts as i64)));
                cells.push(Cell::Number(Some(hosts_with).filter(|&hosts| hosts != NO_ONE).map(i64::from)));
                cells.extend(amounts.cells());
                cells.extend(of_series.clone());
                cells.push(Cell::Number(grows.then_some(row.head.grown_on.into())));
                cells.push(Cell::Text(names.clone().filter(|_| grows)));
                cells.extend([Cell::Print(class), Cell::Print(part_of)]);
                rows.push(cells);
            }
        }
    }
}

/// Cells of shape, slope with interval, and first growth.
fn of_series(measure: &Measure) -> [Cell; 5] {
    let series = &measure.series;
    let slope = series.slope().map_or([None; 3], |of| [of.slope, of.low, of.high].map(Some));
    let [slope, low, high] = slope.map(Cell::Statistic);
    let first = series.first_growth().map(|step| step as i64);
    [Cell::Text(Some(series.shape().name().to_owned())), slope, low, high, Cell::Number(first)]
}
