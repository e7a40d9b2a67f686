//! Which stages a run has, in which order, and whether its budget can carry them.

use heaplake_duplicates::{classes as equal_classes, components, holders, proofs, resolve, sets, trivial};
use heaplake_graph::{distances, dominators, preorder, retained, retainers, shortest_paths};
use heaplake_ingest::Format;
use heaplake_ingest::dotnet::{join, walk};
use heaplake_ingest::jvm::{equality as object_equality, link, previews as object_previews, scan, texts};
use heaplake_ingest::v8::{classes, containers, detached, equality, holds, intern, owners, previews, read, scripts};
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_publish::{
    chains as chain_table, classes as class_table, duplicate_members, duplicate_sets, edges, findings as finding_table,
    nodes, owners as owner_table, threads, totals,
};
use heaplake_schemas::run::{Options, TableName};
use heaplake_schemas::scratch::{self as columns, Column};
use heaplake_summarise::{big, chains, classes as class_rows, findings, largest, owners as owner_rows};

/// When a stage is a part of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Always.
    Always,
    /// Where a table is wanted.
    Table(TableName),
    /// Where chains are wanted, in their table or in findings.
    Chains,
    /// Where what the table of nodes adds up must be added up without it.
    Totals,
    /// Where duplicates are looked for.
    Duplicates,
    /// Where references are looked into for that.
    References,
    /// Where they are not.
    Values,
}

impl Need {
    /// Whether the options ask for it.
    #[must_use]
    pub fn is_met(self, options: &Options) -> bool {
        match self {
            Self::Always => true,
            Self::Table(TableName::DuplicateSets | TableName::DuplicateMembers) if !options.finds_duplicates() => false,
            Self::Table(table) => options.tables.has(table),
            Self::Chains => options.tables.has(TableName::Chains) || options.tables.has(TableName::Findings),
            Self::Totals => !options.tables.has(TableName::Nodes),
            Self::Duplicates => options.finds_duplicates(),
            Self::References => options.looks_into_references(),
            Self::Values => options.finds_duplicates() && !options.looks_into_references(),
        }
    }
}

/// A stage between the reading of the input and the writing of tables.
#[derive(Clone, Copy)]
pub struct Step {
    /// What it says of itself.
    pub info: &'static StageInfo,
    /// Its entry function.
    pub run: fn(&Scratch, &Context<'_>) -> Result<Stats, StageError>,
    /// When it is run.
    pub need: Need,
    /// Whether it appends to columns that other stages wrote.
    pub appends: bool,
    /// Columns that no stage reads any more once it is done; the tables may still.
    pub releases: &'static [Release],
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
    Step { info, run, need: Need::Always, appends: false, releases: &[] }
}

/// The stages that find duplicates, once there is an equality graph.
const DUPLICATES: Lane = &[
    Step { need: Need::Values, ..step(&trivial::STAGE, trivial::run) },
    Step { need: Need::References, ..step(&components::STAGE, components::run) },
    Step { need: Need::References, ..step(&equal_classes::STAGE, equal_classes::run) },
    Step { need: Need::References, ..step(&proofs::STAGE, proofs::run) },
    Step { need: Need::References, ..step(&resolve::STAGE, resolve::run) },
    Step {
        need: Need::Duplicates,
        releases: &[
            per_node(columns::EQUAL_VALUE),
            per_node(columns::EQUAL_DEGREE),
            per_edge(columns::EQUAL_TO),
            per_node(columns::EQUAL_LIMITS),
            per_node(columns::EQUAL_ORDER),
            per_node(columns::EQUAL_COMPONENT),
            per_node(columns::EQUAL_COMPONENT_SIZE),
            per_node(columns::EQUAL_CANDIDATE),
            per_node(columns::EQUAL_CERTIFICATE),
            per_node(columns::EQUAL_GROUP),
            small(columns::EQUAL_UNDECIDED),
            small(columns::EQUAL_UNDECIDED_REASON),
        ],
        ..step(&sets::STAGE, sets::run)
    },
    Step {
        need: Need::References,
        releases: &[
            per_node(columns::ESSENTIAL_DEGREE),
            per_edge(columns::ESSENTIAL_TO),
            small(columns::ESSENTIAL_ORPHAN),
        ],
        ..step(&holders::STAGE, |scratch, context| holders::run(dominate, scratch, context))
    },
];

/// The stages of the graph of essential edges on a graph of its own.
fn dominate(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let stages = [preorder::run, retainers::run, dominators::run];
    stages.into_iter().try_fold(Stats::default(), |sum, run| {
        let stats = run(scratch, context)?;
        Ok(Stats { rows: stats.rows, spilled_bytes: sum.spilled_bytes + stats.spilled_bytes })
    })
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
        Format::Dotnet => DOTNET,
    }
}

/// Columns whose sizes their stage counts.
const fn named<const N: usize>(columns: [&'static str; N]) -> [Release; N] {
    let mut releases = [small(columns::ESSENTIAL_ORPHAN); N];
    let mut at = 0;
    while at < N {
        releases[at].column = columns[at];
        at += 1;
    }
    releases
}

/// What [`texts`] releases.
const TEXTS: [Release; texts::RELEASES.len()] = named(texts::RELEASES);

/// What [`join`] releases.
const WALK: [Release; join::RELEASES.len()] = named(join::RELEASES);

const SHORTEST_PATHS: Step = Step { need: Need::Chains, ..step(&shortest_paths::STAGE, shortest_paths::run) };

/// What [`object_previews`] releases.
const OBJECT_PREVIEWS: [Release; 2] = [
    Release { column: object_previews::RELEASES[0], ..small(columns::ESSENTIAL_ORPHAN) },
    Release { column: object_previews::RELEASES[1], per_node: 8, per_edge: 0 },
];

/// The same along essential edges that have names.
const NAMED_PATHS: Step =
    Step { releases: &[per_edge(columns::ESSENTIAL_LABEL), small(columns::ESSENTIAL_NAME)], ..SHORTEST_PATHS };

const DOMINATORS: Step = Step {
    releases: &[
        per_node(columns::RETAINERS_DEGREE),
        per_edge(columns::RETAINERS_FROM),
        per_node(columns::PREORDER_PARENT),
    ],
    ..step(&dominators::STAGE, dominators::run)
};

const RETAINED: Step = Step {
    // Both lanes of the phase before read them.
    releases: &[per_node(columns::ESSENTIAL_DEGREE), per_edge(columns::ESSENTIAL_TO), small(columns::ESSENTIAL_ORPHAN)],
    ..step(&retained::STAGE, retained::run)
};

/// To whom the memory belongs, beside the retained sizes.
const OWNER_ROWS: Lane = &[Step {
    need: Need::Table(TableName::Owners),
    releases: &[
        per_node(columns::ESSENTIAL_DEGREE),
        per_edge(columns::ESSENTIAL_TO),
        small(columns::ESSENTIAL_ORPHAN),
        small(columns::ORIGIN_NODE),
        small(columns::ORIGIN_OF_NODE),
    ],
    ..step(&owner_rows::STAGE, owner_rows::run)
}];

const JVM: Phases = &[
    &[&[Step { appends: true, ..step(&link::STAGE, link::run) }]],
    &[
        &[step(&preorder::STAGE, preorder::run), step(&retainers::STAGE, retainers::run), DOMINATORS],
        &[
            Step { appends: true, releases: &TEXTS, ..step(&texts::STAGE, texts::run) },
            step(&distances::STAGE, distances::run),
            NAMED_PATHS,
        ],
    ],
    &[&[RETAINED], OWNER_ROWS],
    &[&[Step { need: Need::Duplicates, ..step(&object_equality::STAGE, object_equality::run) }]],
    &[DUPLICATES],
    &[&[Step {
        need: Need::Duplicates,
        releases: &OBJECT_PREVIEWS,
        ..step(&object_previews::STAGE, object_previews::run)
    }]],
];

const DOTNET: Phases = &[
    &[&[Step { appends: true, releases: &WALK, ..step(&join::STAGE, join::run) }]],
    &[
        &[step(&preorder::STAGE, preorder::run), step(&retainers::STAGE, retainers::run), DOMINATORS],
        &[step(&distances::STAGE, distances::run), NAMED_PATHS],
    ],
    &[&[RETAINED], OWNER_ROWS],
];

/// What distances need of edges, and the shortest paths after them.
const EDGE_COLUMNS: [Release; 6] = [
    small(columns::PAIRED_EDGE),
    small(columns::PAIRED_PAIR),
    per_edge(columns::EDGE_KIND),
    per_edge(columns::EDGE_NAME),
    per_edge(columns::EDGE_TO),
    per_edge(columns::EDGE_FLAGS),
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
                releases: &[
                    per_node(columns::ESSENTIAL_DEGREE),
                    per_edge(columns::ESSENTIAL_TO),
                    small(columns::ESSENTIAL_ORPHAN),
                ],
                ..step(&retainers::STAGE, retainers::run)
            },
            DOMINATORS,
        ],
        &[
            step(&owners::STAGE, owners::run),
            Step { appends: true, ..step(&classes::STAGE, classes::run) },
            Step { need: Need::Table(TableName::Owners), appends: true, ..step(&scripts::STAGE, scripts::run) },
            Step { need: Need::Duplicates, ..step(&equality::STAGE, equality::run) },
            Step { need: Need::Table(TableName::Findings), ..step(&containers::STAGE, containers::run) },
            Step { releases: &EDGE_COLUMNS, ..step(&distances::STAGE, distances::run) },
            Step { releases: &EDGE_COLUMNS, ..SHORTEST_PATHS },
        ],
    ],
    &[&[step(&retained::STAGE, retained::run)], OWNER_ROWS],
    &[DUPLICATES],
    &[&[Step {
        need: Need::Duplicates,
        releases: &[per_edge(columns::EDGE_KIND), per_edge(columns::EDGE_NAME), per_edge(columns::EDGE_TO)],
        ..step(&previews::STAGE, previews::run)
    }]],
];

/// What the table of nodes does not wait for.
pub const BESIDE_NODES: Lane = &[
    Step {
        releases: &[per_node(columns::PREORDER_NODE), per_node(columns::PREORDER_DOMINATOR)],
        ..step(&class_rows::STAGE, class_rows::run)
    },
    step(&big::STAGE, big::run),
    Step {
        need: Need::Chains,
        releases: &[per_node(columns::PATH_PARENT), per_node(columns::PATH_LABEL), per_node(columns::NODE_OUTERMOST)],
        ..step(&chains::STAGE, chains::run)
    },
    step(&largest::STAGE, largest::run),
    Step { need: Need::Table(TableName::Findings), ..step(&findings::STAGE, findings::run) },
];

/// The stages that write tables.
fn tables(format: Format) -> &'static [(&'static StageInfo, Need)] {
    const ALL: [(&StageInfo, Need); 10] = [
        // The table of nodes adds up on the way.
        (&totals::STAGE, Need::Totals),
        (&nodes::STAGE, Need::Table(TableName::Nodes)),
        (&edges::STAGE, Need::Table(TableName::Edges)),
        (&class_table::STAGE, Need::Table(TableName::Classes)),
        (&chain_table::STAGE, Need::Table(TableName::Chains)),
        (&duplicate_sets::STAGE, Need::Table(TableName::DuplicateSets)),
        (&duplicate_members::STAGE, Need::Table(TableName::DuplicateMembers)),
        (&finding_table::STAGE, Need::Table(TableName::Findings)),
        (&owner_table::STAGE, Need::Table(TableName::Owners)),
        (&threads::STAGE, Need::Table(TableName::Threads)),
    ];
    match format {
        Format::V8 | Format::Dotnet => &ALL[..9],
        Format::Jvm => &ALL,
    }
}

/// The stage that reads an input.
#[must_use]
pub fn reader(format: Format) -> &'static StageInfo {
    match format {
        Format::V8 => &read::STAGE,
        Format::Jvm => &scan::STAGE,
        Format::Dotnet => &walk::STAGE,
    }
}

/// The steps in the order in which one thread runs them.
pub fn steps(format: Format) -> impl Iterator<Item = &'static Step> {
    phases(format).iter().flat_map(|lanes| lanes.iter().rev()).copied().chain([BESIDE_NODES]).flatten()
}

/// All stages that an analysis can have, in the order in which one thread runs them.
pub fn every_stage(format: Format) -> impl Iterator<Item = &'static StageInfo> {
    all(format).map(|(stage, _)| stage)
}

/// Those of an analysis with these options.
pub fn stages(format: Format, options: &Options) -> impl Iterator<Item = &'static StageInfo> {
    all(format).filter(|(_, need)| need.is_met(options)).map(|(stage, _)| stage)
}

fn all(format: Format) -> impl Iterator<Item = (&'static StageInfo, Need)> {
    std::iter::once((reader(format), Need::Always))
        .chain(steps(format).map(|step| (step.info, step.need)))
        .chain(tables(format).iter().copied())
}

/// Bytes of scratch when it is at its fullest, strings apart, where one thread runs all.
#[must_use]
pub fn fullest_scratch(format: Format, nodes: u64, edges: u64, options: &Options) -> u64 {
    let mut now = reader(format).scratch_bytes(nodes, edges);
    let mut most = now;
    for step in steps(format).filter(|step| step.need.is_met(options)) {
        now = now.saturating_add(step.info.scratch_bytes(nodes, edges));
        most = most.max(now);
        for release in step.releases.iter().filter(|release| is_released(release.column, step, options)) {
            let bytes = release.per_node.saturating_mul(nodes).saturating_add(release.per_edge.saturating_mul(edges));
            now = now.saturating_sub(bytes);
        }
    }
    most
}

/// Whether a column goes when a step has done with it: not if a table wants it, or a step that not every run has.
#[must_use]
pub fn is_released(column: &str, by: &Step, options: &Options) -> bool {
    // In the order in which they come.
    let later: [(Need, &[&str], &StageInfo); 5] = [
        (Need::Table(TableName::Owners), &owner_rows::READS, &owner_rows::STAGE),
        (Need::References, &holders::READS, &holders::STAGE),
        (Need::References, &previews::READS, &previews::STAGE),
        (Need::Duplicates, &object_previews::READS, &object_previews::STAGE),
        (Need::Table(TableName::Edges), &edges::READS, &edges::STAGE),
    ];
    let next = later.iter().position(|(.., stage)| by.info.name == stage.name).map_or(0, |at| at + 1);
    // Shortest paths come right after the distances.
    let paths = by.info.name == distances::STAGE.name && SHORTEST_PATHS.need.is_met(options);
    let for_paths = paths && shortest_paths::READS.contains(&column);
    !for_paths && !later[next..].iter().any(|(need, reads, _)| need.is_met(options) && reads.contains(&column))
}

/// Bytes of budget with which no stage of a lane pages.
#[must_use]
pub fn resident_bytes(lane: Lane, nodes: u64, edges: u64, options: &Options) -> u64 {
    lane.iter()
        .filter(|step| step.need.is_met(options))
        .map(|step| step.info.resident_bytes(nodes, edges))
        .max()
        .unwrap_or(0)
}

/// The budget below which no input at all can be analysed, bytes.
#[must_use]
pub fn smallest_budget() -> u64 {
    let stages = Format::ALL.into_iter().flat_map(every_stage);
    stages.map(|stage| stage.least_bytes(0)).max().unwrap_or(0) + FIXED_OVERHEAD
}

/// Refuses an input before the work on it starts, when some stage that the options ask for could not hold what it must.
///
/// # Errors
/// [`StageError::Plan`] with the stage that needs most and what would suffice.
pub fn admit(format: Format, memory: u64, nodes: u64, options: &Options) -> Result<(), StageError> {
    let need = |stage: &StageInfo| stage.least_bytes(nodes).saturating_add(FIXED_OVERHEAD);
    match stages(format, options).max_by_key(|stage| need(stage)) {
        Some(stage) if need(stage) > memory => {
            Err(StageError::Plan { stage: stage.name, limit: memory, suffices: need(stage) })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::run::Tables;

    #[test]
    fn refusals_name_what_would_suffice() {
        let options = &Options { tables: Tables::all(), ..Options::default() };
        let Err(StageError::Plan { suffices, .. }) = admit(Format::V8, 64 << 20, 1_000_000_000, options) else {
            panic!("a billion nodes in 64 MiB");
        };
        assert!(admit(Format::V8, suffices, 1_000_000_000, options).is_ok());
        assert!(admit(Format::V8, suffices - 1, 1_000_000_000, options).is_err());
    }

    #[test]
    fn every_stage_is_planned_once() {
        for format in Format::ALL {
            let mut names: Vec<_> = every_stage(format).map(|stage| stage.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
