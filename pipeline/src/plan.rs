//! Which stages a run has, in which order, and whether its budget can carry them.

use heaplake_graph::{distances, dominators, preorder, retained, retainers, shortest_paths};
use heaplake_ingest::Format;
use heaplake_ingest::jvm::{link, scan, texts};
use heaplake_ingest::v8::{classes, detached, holds, intern, owners, read};
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_publish::{chains as chain_table, classes as class_table, edges, nodes, threads, totals};
use heaplake_schemas::run::{TableName, Tables};
use heaplake_schemas::scratch::{self as columns, Column};
use heaplake_summarise::{big, chains, classes as class_rows, largest};

/// A stage between the reading of the input and the writing of tables.
#[derive(Clone, Copy)]
pub struct Step {
    /// What it says of itself.
    pub info: &'static StageInfo,
    /// Its entry function.
    pub run: fn(&Scratch, &Context<'_>) -> Result<Stats, StageError>,
    /// Whether it appends to columns that other stages wrote.
    pub appends: bool,
    /// The table that it is for, if only one wants it. What it releases goes in any case.
    pub wanted_by: Option<TableName>,
    /// Columns that no stage reads any more once it is done; the tables may still.
    pub releases: &'static [Release],
}

impl Step {
    /// Whether an analysis that writes these tables has this step.
    #[must_use]
    pub fn is_wanted(&self, tables: &Tables) -> bool {
        self.wanted_by.is_none_or(|table| tables.has(table))
    }
}

/// A column that is no longer needed.
#[derive(Clone, Copy)]
pub struct Release {
    /// Its name.
    pub column: &'static str,
    /// Its bytes per node.
    pub per_node: u64,
    /// Its bytes per edge.
    pub per_edge: u64,
}

const fn per_node<T>(column: Column<T>) -> Release {
    Release { column: column.name, per_node: size_of::<T>() as u64, per_edge: 0 }
}

const fn per_edge<T>(column: Column<T>) -> Release {
    Release { column: column.name, per_node: 0, per_edge: size_of::<T>() as u64 }
}

/// A column of few elements.
const fn small<T>(column: Column<T>) -> Release {
    Release { column: column.name, per_node: 0, per_edge: 0 }
}

const fn step(info: &'static StageInfo, run: fn(&Scratch, &Context<'_>) -> Result<Stats, StageError>) -> Step {
    Step { info, run, appends: false, wanted_by: None, releases: &[] }
}

/// Stages that must run one after the other.
pub type Lane = &'static [Step];

/// Phases run one after the other, the lanes of a phase side by side where threads and memory allow, otherwise the last
/// one first: what it releases makes room on disk for the pairs of the first.
pub type Phases = &'static [&'static [Lane]];

/// The steps between the reading of an input and the first table.
#[must_use]
pub fn phases(format: Format) -> Phases {
    match format {
        Format::V8 => V8,
        Format::Jvm => JVM,
    }
}

/// What [`texts`] releases. How large it is, its stage counts.
const TEXTS: [Release; texts::RELEASES.len()] = {
    let mut releases = [small(columns::HOLDS_ORPHAN); texts::RELEASES.len()];
    let mut at = 0;
    while at < releases.len() {
        releases[at].column = texts::RELEASES[at];
        at += 1;
    }
    releases
};

const SHORTEST_PATHS: Step =
    Step { wanted_by: Some(TableName::Chains), ..step(&shortest_paths::STAGE, shortest_paths::run) };

const JVM: Phases = &[
    &[&[Step { appends: true, ..step(&link::STAGE, link::run) }]],
    &[
        &[
            step(&preorder::STAGE, preorder::run),
            step(&retainers::STAGE, retainers::run),
            Step {
                releases: &[
                    per_node(columns::RETAINERS_DEGREE),
                    per_edge(columns::RETAINERS_FROM),
                    per_node(columns::PREORDER_PARENT),
                ],
                ..step(&dominators::STAGE, dominators::run)
            },
        ],
        &[
            Step { appends: true, releases: &TEXTS, ..step(&texts::STAGE, texts::run) },
            step(&distances::STAGE, distances::run),
            SHORTEST_PATHS,
        ],
    ],
    &[&[Step {
        // Both lanes of the phase before read them.
        releases: &[per_node(columns::HOLDS_DEGREE), per_edge(columns::HOLDS_TO), small(columns::HOLDS_ORPHAN)],
        ..step(&retained::STAGE, retained::run)
    }]],
];

const V8: Phases = &[
    &[&[
        step(&intern::STAGE, intern::run),
        Step { appends: true, ..step(&detached::STAGE, detached::run) },
        step(&holds::STAGE, holds::run),
    ]],
    &[
        &[
            step(&preorder::STAGE, preorder::run),
            Step {
                releases: &[per_node(columns::HOLDS_DEGREE), per_edge(columns::HOLDS_TO), small(columns::HOLDS_ORPHAN)],
                ..step(&retainers::STAGE, retainers::run)
            },
            Step {
                releases: &[
                    per_node(columns::RETAINERS_DEGREE),
                    per_edge(columns::RETAINERS_FROM),
                    per_node(columns::PREORDER_PARENT),
                ],
                ..step(&dominators::STAGE, dominators::run)
            },
        ],
        &[
            step(&owners::STAGE, owners::run),
            Step { appends: true, ..step(&classes::STAGE, classes::run) },
            step(&distances::STAGE, distances::run),
            Step {
                releases: &[
                    small(columns::PAIRED_EDGE),
                    small(columns::PAIRED_PAIR),
                    per_edge(columns::EDGE_KIND),
                    per_edge(columns::EDGE_NAME),
                    per_edge(columns::EDGE_TO),
                    per_edge(columns::EDGE_FLAGS),
                ],
                ..SHORTEST_PATHS
            },
        ],
    ],
    &[&[step(&retained::STAGE, retained::run)]],
];

/// What the table of nodes does not wait for.
pub const BESIDE_NODES: Lane = &[
    Step {
        releases: &[per_node(columns::PREORDER_NODE), per_node(columns::PREORDER_DOMINATOR)],
        ..step(&class_rows::STAGE, class_rows::run)
    },
    step(&big::STAGE, big::run),
    Step {
        wanted_by: Some(TableName::Chains),
        releases: &[per_node(columns::PATH_PARENT), per_node(columns::PATH_LABEL), per_node(columns::NODE_OUTERMOST)],
        ..step(&chains::STAGE, chains::run)
    },
    step(&largest::STAGE, largest::run),
];

/// The stages that write tables, and those tables.
fn writers(format: Format) -> &'static [(TableName, &'static StageInfo)] {
    const ALL: [(TableName, &StageInfo); 5] = [
        (TableName::Nodes, &nodes::STAGE),
        (TableName::Edges, &edges::STAGE),
        (TableName::Classes, &class_table::STAGE),
        (TableName::Chains, &chain_table::STAGE),
        (TableName::Threads, &threads::STAGE),
    ];
    match format {
        Format::V8 => &ALL[..4],
        Format::Jvm => &ALL,
    }
}

/// The stage that reads an input.
#[must_use]
pub fn reader(format: Format) -> &'static StageInfo {
    match format {
        Format::V8 => &read::STAGE,
        Format::Jvm => &scan::STAGE,
    }
}

/// The steps in the order in which one thread runs them.
pub fn steps(format: Format) -> impl Iterator<Item = &'static Step> {
    phases(format).iter().flat_map(|lanes| lanes.iter().rev()).copied().chain([BESIDE_NODES]).flatten()
}

/// All stages of an analysis that writes these tables, in the order in which one thread runs them.
pub fn stages(format: Format, tables: &Tables) -> impl Iterator<Item = &'static StageInfo> {
    let writers = writers(format).iter().filter(|(table, _)| tables.has(*table)).map(|&(_, stage)| stage);
    let wanted = steps(format).filter(|step| step.is_wanted(tables));
    // The table of nodes adds up on the way.
    let totals = (!tables.has(TableName::Nodes)).then_some(&totals::STAGE);
    std::iter::once(reader(format)).chain(wanted.map(|step| step.info)).chain(totals).chain(writers)
}

/// Bytes of scratch when it is at its fullest, strings apart, where one thread runs all.
#[must_use]
pub fn fullest_scratch(format: Format, nodes: u64, edges: u64, tables: &Tables) -> u64 {
    let mut now = reader(format).scratch_bytes(nodes, edges);
    let mut most = now;
    for step in steps(format) {
        let bytes = if step.is_wanted(tables) { step.info.scratch_bytes(nodes, edges) } else { 0 };
        now = now.saturating_add(bytes);
        most = most.max(now);
        for release in step.releases.iter().filter(|release| is_released(release.column, tables)) {
            let bytes = release.per_node.saturating_mul(nodes).saturating_add(release.per_edge.saturating_mul(edges));
            now = now.saturating_sub(bytes);
        }
    }
    most
}

/// Whether a column goes when the stages have done with it: not if a table wants it.
#[must_use]
pub fn is_released(column: &str, tables: &Tables) -> bool {
    !(tables.has(TableName::Edges) && edges::READS.contains(&column))
}

/// Bytes of budget with which no stage of a lane pages.
#[must_use]
pub fn resident_bytes(lane: Lane, nodes: u64, edges: u64) -> u64 {
    lane.iter().map(|step| step.info.resident_bytes(nodes, edges)).max().unwrap_or(0)
}

/// The budget below which no input at all can be analysed, bytes.
#[must_use]
pub fn smallest_budget() -> u64 {
    let tables = &Tables::all();
    let stages = Format::ALL.into_iter().flat_map(|format| stages(format, tables));
    stages.map(|stage| stage.least_bytes(0)).max().unwrap_or(0) + FIXED_OVERHEAD
}

/// Refuses an input before the work on it starts, when some stage that these tables need could not hold what it must.
///
/// # Errors
/// [`StageError::Plan`] with the stage that needs most and what would suffice.
pub fn admit(format: Format, memory: u64, nodes: u64, tables: &Tables) -> Result<(), StageError> {
    let need = |stage: &StageInfo| stage.least_bytes(nodes).saturating_add(FIXED_OVERHEAD);
    match stages(format, tables).max_by_key(|stage| need(stage)) {
        Some(stage) if need(stage) > memory => {
            Err(StageError::Plan { stage: stage.name, limit: memory, suffices: need(stage) })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_what_would_suffice() {
        let admit = |memory| admit(Format::V8, memory, 1_000_000_000, &Tables::all());
        let Err(StageError::Plan { suffices, .. }) = admit(64 << 20) else {
            panic!("a billion nodes in 64 MiB");
        };
        assert!(admit(suffices).is_ok());
        assert!(admit(suffices - 1).is_err());
    }

    #[test]
    fn every_stage_is_planned_once() {
        for (format, tables) in
            Format::ALL.into_iter().flat_map(|format| [(format, Tables::all()), (format, Tables::from_iter([]))])
        {
            let mut names: Vec<_> = stages(format, &tables).map(|stage| stage.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
