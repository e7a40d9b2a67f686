//! A rollup as one HTML page: the fleet at a glance.
//!
//! * Computes: nothing; everything is in `rollup.json`.
//! * Resident memory: that file, and the rows and runs that are shown, a few megabytes.
//! * Passes over disk: that file once.
//! * Worst case: linear in the runs of the lake.
//! * Fails when: the file is damaged or of an older version, the disk is full.
//! * Determinism: same rollup, same runs with pages, same bytes.
//! * Reference: none needed.

use crate::contents;
use crate::nights::{self, Line};
use crate::page;
use crate::sides::median;
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::rollup::{self, Brief, Cluster, Conditions, Group, RolledRun, Rollup, TABLES};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Default file name of the page inside a rollup.
pub const FILE: &str = "fleet.html";

/// Maximum memory for making the page, besides `rollup.json`: its texts, rows and runs are bounded.
const BYTES: u64 = 16 << 20;
/// Bytes of memory per byte of `rollup.json`.
const READ: u64 = 3;

/// Maximum runs shown, the largest first.
const RUNS: usize = 1000;
/// Maximum clusters shown, and runs of each.
const CLUSTERS: usize = 100;
/// Maximum hosts named per cluster.
const HOSTS: usize = 200;
/// Maximum rows shown per table.
const ROWS: usize = 200;
/// File name of a run's page.
const PAGE: &str = crate::FILE;

/// Makes the page of the rollup in `folder`, in the file `to`, from `rollup.json`. On error there is no page.
pub fn write(folder: &Path, to: &Path, context: &Context<'_>) -> Result<(), StageError> {
    let path = folder.join(rollup::FILE);
    let size = std::fs::metadata(&path).map_err(|error| StageError::io(&path, "read", error))?.len();
    let _bytes = context.budget.reserve("the page of a fleet", BYTES + READ * size)?;
    let rollup: Rollup = contents::description(&path, |of: &Rollup| (of.schema_version, &of.heaplake_version))?;
    let document = Document::of(&rollup, folder, to);
    let title = format!("Fleet of {} runs", document.fleet.runs);
    contents::write(&document, folder, to, |json| page::of_fleet(&title, json), context)
}

/// All data of the page.
#[derive(Serialize)]
struct Document {
    fleet: Fleet,
    texts: Vec<String>,
    groups: Vec<OneGroup>,
    clusters: Vec<OneCluster>,
    lines: Vec<Line>,
    tables: Vec<Table>,
    runs: Vec<OneRun>,
}

/// Totals.
#[derive(Serialize)]
struct Fleet {
    by: u32,
    version: u32,
    runs: usize,
    hosts: usize,
    clusters: usize,
    /// Total number of lines.
    lines: usize,
    /// The last night: day, runs, hosts.
    night: Option<(u32, usize, usize)>,
    /// Conditions on the runs.
    conditions: Vec<u32>,
    remarks: Vec<u32>,
}

#[derive(Serialize)]
struct OneGroup {
    format: u32,
    release: Option<u32>,
    labels: u32,
    runs: usize,
    hosts: usize,
    /// Median and largest heap.
    bytes: [u64; 2],
    /// Number of runs with a finding of high severity.
    high: usize,
    /// Earliest capture time in milliseconds since 1970.
    captured_at: Option<i64>,
}

#[derive(Serialize)]
struct OneCluster {
    signature: u32,
    format: u32,
    releases: Vec<u32>,
    hosts: Vec<u32>,
    /// Total numbers of hosts and runs.
    of_hosts: usize,
    of_runs: usize,
    /// Runs with the largest values, as name and link.
    runs: Vec<(u32, Option<u32>)>,
    median: i64,
    max: i64,
    /// First and last capture time in milliseconds since 1970.
    seen: Option<[i64; 2]>,
    /// Whether it is new in the last night, and its runs of that night.
    is_new: Option<bool>,
    night_runs: usize,
    /// Hosts that came in the last night, that went, and that have no run of it; and their total numbers.
    hosts_come: Vec<u32>,
    hosts_gone: Vec<u32>,
    hosts_unseen: Vec<u32>,
    of_changes: [usize; 3],
}

#[derive(Serialize)]
struct Table {
    name: &'static str,
    measure: u32,
    /// Total number of rows.
    of: u64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    signature: u32,
    group: usize,
    with: i64,
    of: i64,
    hosts: Option<i64>,
    sum: i64,
    p50: i64,
    max: i64,
    worst: u32,
    link: Option<u32>,
}

#[derive(Serialize)]
struct OneRun {
    group: usize,
    release: u32,
    name: u32,
    host: Option<u32>,
    bytes: u64,
    findings: [u64; 3],
    captured_at: Option<i64>,
    link: Option<u32>,
}

/// Location of the lake, seen from the page.
struct Links<'a> {
    /// The lake itself.
    lake: PathBuf,
    /// Link prefix; `None` if the page is outside the rollup's folder and the lake's path is relative.
    begin: Option<&'a str>,
}

impl Links<'_> {
    /// Link to the page of a run, if it exists.
    fn to(&self, run: &str, texts: &mut Texts) -> Option<u32> {
        let begin = self.begin?;
        let there = self.lake.join(run).join(PAGE).is_file();
        there.then(|| texts.add_within(&encoded(&format!("{begin}/{run}/{PAGE}")), 4000))
    }
}

/// Percent-encodes a path, except the usual characters of run paths.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(one).collect()
}

impl Document {
    /// Data of the rollup in `folder`, for a page `to`.
    fn of(rollup: &Rollup, folder: &Path, to: &Path) -> Self {
        let mut texts = Texts::default();
        let beside = to.parent() == Some(folder);
        let links = Links {
            lake: folder.join(&rollup.lake),
            begin: (beside || rollup.lake.starts_with('/')).then_some(&*rollup.lake),
        };
        let clusters = rollup.clusters.iter().take(CLUSTERS).map(|of| cluster(of, &links, &mut texts)).collect();
        let tables = TABLES.iter().filter_map(|of| table(of.table.name, rollup, &links, &mut texts)).collect();
        let groups = rollup.groups.iter().map(|of| group(of, &mut texts)).collect();
        let runs = runs(rollup, &links, &mut texts);
        let (lines, of_lines) = nights::lines(rollup, &mut texts);
        let night = rollup.last_night.as_ref().map(|night| (texts.add(&night.day), night.runs, night.hosts));
        let fleet = Fleet {
            by: texts.add(&rollup.by.join(", ")),
            version: texts.add(&rollup.heaplake_version),
            runs: rollup.groups.iter().map(|group| group.runs.len()).sum(),
            hosts: hosts(rollup.groups.iter().flat_map(|group| &group.runs)),
            clusters: rollup.clusters.len(),
            lines: of_lines,
            night,
            conditions: conditions(&rollup.conditions).iter().map(|text| texts.add_within(text, 300)).collect(),
            remarks: contents::remarks(&rollup.remarks, &mut texts),
        };
        Self { fleet, texts: texts.into_list(), groups, clusters, lines, tables, runs }
    }
}

/// The conditions on the runs, in words.
fn conditions(of: &Conditions) -> Vec<String> {
    let times = [("since", &of.since), ("before", &of.before)];
    let times = times.into_iter().filter_map(|(word, time)| Some(format!("{word} {}", time.as_ref()?)));
    let releases = of.releases.iter().map(|release| format!("release {release}"));
    times.chain(releases).chain(of.labels.iter().map(|label| format!("label {label}"))).collect()
}

fn hosts<'a>(runs: impl Iterator<Item = &'a RolledRun>) -> usize {
    runs.filter_map(|run| run.host.as_deref()).collect::<BTreeSet<&str>>().len()
}

/// Milliseconds, the unit of time in scripts.
fn milliseconds(run: &RolledRun) -> Option<i64> {
    run.captured_at_us.map(|time| time / 1000)
}

fn group(of: &Group, texts: &mut Texts) -> OneGroup {
    let bytes = || of.runs.iter().map(|run| run.bytes);
    let labels: Vec<String> = of.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    OneGroup {
        format: texts.add(&of.format),
        release: of.release.as_deref().map(|release| texts.add(release)),
        labels: texts.add(&labels.join(", ")),
        runs: of.runs.len(),
        hosts: hosts(of.runs.iter()),
        bytes: [median(bytes()), bytes().max().unwrap_or(0)],
        high: of.runs.iter().filter(|run| run.findings[0] > 0).count(),
        captured_at: of.runs.iter().filter_map(milliseconds).min(),
    }
}

fn cluster(of: &Cluster, links: &Links<'_>, texts: &mut Texts) -> OneCluster {
    let mut some = |hosts: &[String]| hosts.iter().take(HOSTS).map(|host| texts.add(host)).collect();
    let (hosts_come, hosts_gone) = (some(&of.hosts_come), some(&of.hosts_gone));
    let hosts_unseen = some(&of.hosts_unseen);
    let run = |path: &String, texts: &mut Texts| (texts.add_within(path, 300), links.to(path, texts));
    OneCluster {
        signature: texts.add_within(&of.signature, 600),
        format: texts.add(&of.format),
        releases: of.releases.iter().map(|release| texts.add(release)).collect(),
        hosts: of.hosts.iter().take(HOSTS).map(|host| texts.add(host)).collect(),
        of_hosts: of.hosts.len(),
        of_runs: of.runs.len(),
        runs: of.runs.iter().take(10).map(|path| run(path, texts)).collect(),
        median: of.median_bytes,
        max: of.max_bytes,
        seen: of.captured_at_us.map(|seen| seen.map(|time| time / 1000)),
        is_new: of.is_new,
        night_runs: of.last_night_runs,
        hosts_come,
        hosts_gone,
        hosts_unseen,
        of_changes: [&of.hosts_come, &of.hosts_gone, &of.hosts_unseen].map(Vec::len),
    }
}

/// Rows of a table with the largest sums, over all groups.
fn table(name: &'static str, rollup: &Rollup, links: &Links<'_>, texts: &mut Texts) -> Option<Table> {
    let briefs = || {
        let all =
            rollup.groups.iter().enumerate().flat_map(|(at, group)| group.brief.iter().map(move |brief| (at, brief)));
        all.filter(|(_, brief)| brief.table == name)
    };
    let (_, first) = briefs().next()?;
    let mut rows: Vec<_> = briefs().flat_map(|(at, brief)| brief.top.iter().map(move |row| (at, brief, row))).collect();
    rows.sort_by(|(at, _, a), (other, _, b)| {
        (b.sum, b.max, &a.signature, at).cmp(&(a.sum, a.max, &b.signature, other))
    });
    rows.truncate(ROWS);
    let row = |(at, brief, row): (usize, &Brief, &rollup::TopRow)| {
        let worst = rollup.groups[at].runs.get(row.worst);
        Row {
            signature: texts.add_within(&row.signature, 600),
            group: at,
            with: row.runs_with,
            of: brief.runs,
            hosts: row.hosts_with,
            sum: row.sum,
            p50: row.p50,
            max: row.max,
            worst: texts.add(worst.map_or("", |run| &run.snapshot)),
            link: worst.and_then(|run| links.to(&run.path, texts)),
        }
    };
    let rows = rows.into_iter().map(row).collect();
    let of = briefs().map(|(_, brief)| brief.rows).sum();
    Some(Table { name: name.trim_start_matches("rollup_"), measure: texts.add(&first.measure), of, rows })
}

/// The largest runs.
fn runs(rollup: &Rollup, links: &Links<'_>, texts: &mut Texts) -> Vec<OneRun> {
    let groups = rollup.groups.iter().enumerate();
    let mut runs: Vec<(usize, &RolledRun)> =
        groups.flat_map(|(at, group)| group.runs.iter().map(move |run| (at, run))).collect();
    runs.sort_by(|(_, a), (_, b)| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    runs.truncate(RUNS);
    let run = |(group, run): (usize, &RolledRun)| OneRun {
        group,
        release: texts.add(&run.release),
        name: texts.add(&run.snapshot),
        host: run.host.as_deref().map(|host| texts.add(host)),
        bytes: run.bytes,
        findings: run.findings,
        captured_at: milliseconds(run),
        link: links.to(&run.path, texts),
    };
    runs.into_iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn links_are_escaped() {
        assert_eq!(encoded("../release=7.1/snapshot=a b"), "../release=7.1/snapshot=a%20b");
        assert_eq!(encoded("javascript:alert(1)?#\"<"), "javascript%3Aalert%281%29%3F%23%22%3C");
    }
}
