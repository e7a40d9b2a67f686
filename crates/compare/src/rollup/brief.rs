//! Summarises the tables of a group by their top rows.

use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::rollup::{Brief, Group, RollupTable, TABLES, TopRow};
use std::cmp::Reverse;
use std::path::Path;

/// Maximum rows shown per table.
const TOP: usize = 20;

/// Summarises the tables of a group, stored in `folder`.
pub(super) fn of(group: &Group, folder: &Path) -> Result<Vec<Brief>, StageError> {
    let listed = |table: &&RollupTable| group.tables.iter().any(|listed| listed.file == table.table.file);
    TABLES.iter().filter(listed).map(|table| brief(table, group, folder)).collect()
}

fn brief(table: &RollupTable, group: &Group, folder: &Path) -> Result<Brief, StageError> {
    let path = folder.join(table.table.file);
    let measure = table.rows.measures[0];
    let mut brief = Brief {
        table: table.table.name.to_owned(),
        measure: measure.to_owned(),
        rows: Reader::open(&path)?.rows() / table.rows.measures.len() as u64,
        ..Brief::default()
    };
    let columns =
        ["signature", "runs", "runs_with", "hosts_with", "sum", "median", "max", "worst_release", "worst_snapshot"];
    let mut batches = Reader::open(&path)?.only(&largest(&path, measure)?)?.columns(&columns)?;
    while let Some(batch) = batches.batch()? {
        for row in 0..batch.len() {
            let text = |name: &str| Ok::<_, StageError>(batch.texts(name)?.value(row));
            let number = |name: &str| Ok::<_, StageError>(value(batch.i64s(name)?, row));
            let (release, snapshot) = (text("worst_release")?, text("worst_snapshot")?);
            let worst = group.runs.iter().position(|run| (&*run.release, &*run.snapshot) == (release, snapshot));
            brief.runs = number("runs")?.unwrap_or(0);
            brief.top.push(TopRow {
                signature: text("signature")?.to_owned(),
                runs_with: number("runs_with")?.unwrap_or(0),
                hosts_with: number("hosts_with")?,
                sum: number("sum")?.unwrap_or(0),
                p50: number("median")?.unwrap_or(0),
                max: number("max")?.unwrap_or(0),
                worst: worst.unwrap_or(0),
            });
        }
    }
    brief.top.sort_by(|a, b| b.sum.cmp(&a.sum).then(b.max.cmp(&a.max)).then_with(|| a.signature.cmp(&b.signature)));
    Ok(brief)
}

/// Row numbers of the largest sums of a measure over all runs, ascending.
fn largest(path: &Path, measure: &str) -> Result<Vec<u32>, StageError> {
    let mut largest: Vec<(Option<i64>, u32)> = Vec::new();
    let mut batches = Reader::open(path)?.columns(&["measure", "sum"])?;
    while let Some(batch) = batches.batch()? {
        let (measures, sums) = (batch.texts("measure")?, batch.i64s("sum")?);
        let of_measure = (0..batch.len()).filter(|&at| measures.value(at) == measure);
        largest.extend(of_measure.map(|at| (value(sums, at), (batch.first_row() + at as u64) as u32)));
        largest.sort_unstable_by_key(|&(sum, row)| (Reverse(sum), row));
        largest.truncate(TOP);
    }
    let mut rows: Vec<u32> = largest.into_iter().map(|(_, row)| row).collect();
    rows.sort_unstable();
    Ok(rows)
}
