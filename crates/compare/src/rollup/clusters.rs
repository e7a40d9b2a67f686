//! Clusters of runs dominated by the same finding.
//!
//! Findings are equal across runs if rule, class and holding path are equal. A finding's usual size is the 10 %
//! quantile over all runs of a format (0 for a run without it) and is subtracted; that of a finding which nearly all
//! runs of each release have is larger ([`Ordinary`]). Findings of heap-wide waste are ignored. A run is dominated by the finding with the most bytes left, if these are at least 1 / [`SHARE`] of its
//! heap. Runs dominated by the same finding form a cluster.

use super::nights;
use super::ordinary::Ordinary;
use crate::statistics::{median, quantile};
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::rollup::{Cluster, FINDINGS, Group, RolledRun};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A finding dominates if its excess is at least this fraction (1 / `SHARE`) of the heap.
const SHARE: i64 = 20;
/// Quantile of the runs, in percent, that is the usual size.
const USUAL: u8 = 10;
/// Minimum number of runs in a cluster.
const FEWEST: usize = 2;
/// Bytes of memory per finding of a run.
const OF_FINDING: u64 = 48;
/// Rules of heap-wide waste: they name no holder.
pub const OF_WASTE: [&str; 11] = [
    "boxed-numbers",
    "collection-slack",
    "duplicate-arrays",
    "duplicate-strings",
    "duplicate-waste",
    "empty-collections",
    "one-entry-collections",
    "possible-duplicates",
    "possible-duplicates-of-class",
    "unreachable",
    "unrooted-objects",
];

/// Findings of the runs of a format.
#[derive(Default)]
struct Format<'a> {
    /// Runs with a table of findings.
    runs: Vec<&'a RolledRun>,
    /// By fingerprint: index into `runs`, and bytes.
    findings: BTreeMap<u64, Vec<(usize, i64)>>,
    /// Signatures of findings that name a holder.
    signatures: FxHashMap<u64, String>,
}

/// Finds the clusters; `folder` returns the folder of a group.
pub(super) fn find(
    groups: &[Group],
    folder: impl Fn(&Group) -> PathBuf,
    context: &Context<'_>,
) -> Result<Vec<Cluster>, StageError> {
    let mut formats: BTreeMap<&str, Format<'_>> = BTreeMap::new();
    let rows = |group: &Group| group.tables.iter().find(|table| table.file == FINDINGS.kept).map(|of| of.rows);
    let total: u64 = groups.iter().filter_map(rows).sum();
    let _room = context.budget.reserve("clusters: findings of all runs", total * OF_FINDING)?;
    for group in groups.iter().filter(|group| rows(group).is_some()) {
        formats.entry(&group.format).or_default().read(group, &folder(group))?;
    }
    let (begin, mut clusters) = (nights::begin(groups), Vec::new());
    for (format, of) in &formats {
        clusters.extend(of.clusters(format, begin));
    }
    clusters.sort_by_key(|cluster: &Cluster| (std::cmp::Reverse(cluster.runs.len()), cluster.fingerprint.clone()));
    Ok(clusters)
}

impl<'a> Format<'a> {
    fn read(&mut self, group: &'a Group, folder: &Path) -> Result<(), StageError> {
        let first = self.runs.len();
        self.runs.extend(&group.runs);
        let mut batches = Reader::open(&folder.join(FINDINGS.kept))?.columns(&["fingerprint", "run", "bytes"])?;
        while let Some(batch) = batches.batch()? {
            let (prints, runs, bytes) = (batch.u64s("fingerprint")?, batch.u32s("run")?, batch.i64s("bytes")?);
            for row in 0..batch.len() {
                let found = (first + runs.value(row) as usize, value(bytes, row).unwrap_or(0));
                self.findings.entry(prints.value(row)).or_default().push(found);
            }
        }
        let mut batches = Reader::open(&folder.join(FINDINGS.table.file))?.columns(&["fingerprint", "signature"])?;
        while let Some(batch) = batches.batch()? {
            let (prints, texts) = (batch.u64s("fingerprint")?, batch.texts("signature")?);
            for row in 0..batch.len() {
                let rule = texts.value(row).split(' ').next().unwrap_or_default();
                if !OF_WASTE.contains(&rule) {
                    self.signatures.insert(prints.value(row), texts.value(row).to_owned());
                }
            }
        }
        Ok(())
    }

    /// The clusters; `begin` is when the last night began.
    fn clusters(&self, format: &str, begin: Option<i64>) -> Vec<Cluster> {
        let mut members: BTreeMap<u64, Vec<(i64, usize)>> = BTreeMap::new();
        for (run, leader) in self.leaders().into_iter().enumerate() {
            let Some((print, bytes)) = leader else { continue };
            members.entry(print).or_default().push((bytes, run));
        }
        members.retain(|_, runs| runs.len() >= FEWEST);
        members.into_iter().map(|(print, runs)| self.cluster((format, begin), print, runs)).collect()
    }

    /// The finding that dominates each run: fingerprint and bytes.
    fn leaders(&self) -> Vec<Option<(u64, i64)>> {
        let mut leaders: Vec<Option<(i64, u64, i64)>> = vec![None; self.runs.len()];
        for (&print, found) in self.findings.iter().filter(|(print, _)| self.signatures.contains_key(print)) {
            let mut all: Vec<i64> = vec![0; self.runs.len() - found.len().min(self.runs.len())];
            all.extend(found.iter().map(|(_, bytes)| *bytes));
            all.sort_unstable();
            let usual = quantile(&all, USUAL);
            let ordinary = Ordinary::of(&self.runs, found);
            for &(run, bytes) in found {
                let heap = i64::try_from(self.runs[run].bytes).unwrap_or(i64::MAX);
                let excess = bytes - usual.max(ordinary.map_or(0, |ordinary| ordinary.most(heap)));
                if excess > 0 && excess >= heap / SHARE && leaders[run].is_none_or(|(most, ..)| excess > most) {
                    leaders[run] = Some((excess, print, bytes));
                }
            }
        }
        leaders.into_iter().map(|leader| leader.map(|(_, print, bytes)| (print, bytes))).collect()
    }

    fn cluster(&self, (format, begin): (&str, Option<i64>), print: u64, mut members: Vec<(i64, usize)>) -> Cluster {
        members.sort_unstable_by_key(|&(bytes, run)| (std::cmp::Reverse(bytes), run));
        let runs: Vec<&RolledRun> = members.iter().map(|(_, run)| self.runs[*run]).collect();
        let mut bytes: Vec<i64> = members.iter().map(|(bytes, _)| *bytes).collect();
        bytes.sort_unstable();
        let times = || runs.iter().filter_map(|run| run.captured_at_us);
        let texts = |of: &dyn Fn(&RolledRun) -> Option<String>| {
            let mut texts: Vec<String> = runs.iter().filter_map(|run| of(run)).collect();
            texts.sort();
            texts.dedup();
            texts
        };
        let mut cluster = Cluster {
            format: format.to_owned(),
            signature: self.signatures.get(&print).cloned().unwrap_or_default(),
            fingerprint: format!("{print:016x}"),
            releases: texts(&|run| Some(run.release.clone())),
            hosts: texts(&|run| run.host.clone()),
            runs: runs.iter().map(|run| run.path.clone()).collect(),
            median_bytes: median(&bytes),
            max_bytes: bytes.last().copied().unwrap_or(0),
            captured_at_us: times().min().zip(times().max()).map(|(first, last)| [first, last]),
            ..Cluster::default()
        };
        nights::describe(&mut cluster, &runs, &self.runs, begin);
        cluster
    }
}
