//! Which stages a run has, in which order, and whether its budget can carry them.

use heaplake_graph::{distances, dominators, preorder, retained, retainers};
use heaplake_ingest::Format;
use heaplake_ingest::jvm::{link, scan, texts};
use heaplake_ingest::v8::{classes, detached, holds, intern, owners, read};
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_publish::{classes as class_table, edges, nodes, threads};
use heaplake_schemas::scratch as columns;
use heaplake_summarise::{classes as class_rows, largest};

/// A stage between the reading of the input and the writing of tables.
#[derive(Clone, Copy)]
pub struct Step {
    /// What it says of itself.
    pub info: &'static StageInfo,
    /// Its entry function.
    pub run: fn(&Scratch, &Context<'_>) -> Result<Stats, StageError>,
    /// Whether it appends to columns that other stages wrote.
    pub appends: bool,
    /// Columns that nobody reads any more once it is done.
    pub releases: &'static [&'static str],
}

const fn step(info: &'static StageInfo, run: fn(&Scratch, &Context<'_>) -> Result<Stats, StageError>) -> Step {
    Step { info, run, appends: false, releases: &[] }
}

/// Stages that must run one after the other.
pub type Lane = &'static [Step];

/// Phases run one after the other, the lanes of a phase side by side where threads and memory allow.
pub type Phases = &'static [&'static [Lane]];

/// The steps between the reading of an input and the first table.
#[must_use]
pub fn phases(format: Format) -> Phases {
    match format {
        Format::V8 => V8,
        Format::Jvm => JVM,
    }
}

const JVM: Phases = &[
    &[&[Step { appends: true, ..step(&link::STAGE, link::run) }]],
    &[
        &[
            step(&preorder::STAGE, preorder::run),
            step(&retainers::STAGE, retainers::run),
            Step {
                releases: &[
                    columns::RETAINERS_DEGREE.name,
                    columns::RETAINERS_FROM.name,
                    columns::PREORDER_PARENT.name,
                ],
                ..step(&dominators::STAGE, dominators::run)
            },
        ],
        &[Step { appends: true, ..step(&texts::STAGE, texts::run) }, step(&distances::STAGE, distances::run)],
    ],
    &[&[Step {
        // Both lanes of the phase before read them.
        releases: &[columns::HOLDS_DEGREE.name, columns::HOLDS_TO.name, columns::HOLDS_ORPHAN.name],
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
                releases: &[columns::HOLDS_DEGREE.name, columns::HOLDS_TO.name, columns::HOLDS_ORPHAN.name],
                ..step(&retainers::STAGE, retainers::run)
            },
            Step {
                releases: &[
                    columns::RETAINERS_DEGREE.name,
                    columns::RETAINERS_FROM.name,
                    columns::PREORDER_PARENT.name,
                ],
                ..step(&dominators::STAGE, dominators::run)
            },
        ],
        &[
            step(&owners::STAGE, owners::run),
            Step { appends: true, ..step(&classes::STAGE, classes::run) },
            Step {
                releases: &[columns::PAIRED_EDGE.name, columns::PAIRED_PAIR.name],
                ..step(&distances::STAGE, distances::run)
            },
        ],
    ],
    &[&[step(&retained::STAGE, retained::run)]],
];

/// What the table of nodes does not wait for.
pub const BESIDE_NODES: Lane = &[
    Step {
        releases: &[columns::PREORDER_NODE.name, columns::PREORDER_DOMINATOR.name],
        ..step(&class_rows::STAGE, class_rows::run)
    },
    step(&largest::STAGE, largest::run),
];

/// The stages that write tables.
fn tables(format: Format) -> &'static [&'static StageInfo] {
    match format {
        Format::V8 => &[&nodes::STAGE, &edges::STAGE, &class_table::STAGE],
        Format::Jvm => &[&nodes::STAGE, &edges::STAGE, &class_table::STAGE, &threads::STAGE],
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

/// All stages of an analysis, in the order in which one thread runs them.
pub fn stages(format: Format) -> impl Iterator<Item = &'static StageInfo> {
    let lanes = phases(format).iter().copied().flatten().copied().chain([BESIDE_NODES]);
    std::iter::once(reader(format)).chain(lanes.flatten().map(|step| step.info)).chain(tables(format).iter().copied())
}

/// Bytes of budget with which no stage of a lane pages.
#[must_use]
pub fn resident_bytes(lane: Lane, nodes: u64, edges: u64) -> u64 {
    lane.iter().map(|step| step.info.resident_bytes(nodes, edges)).max().unwrap_or(0)
}

/// The budget below which no input at all can be analysed, bytes.
#[must_use]
pub fn smallest_budget() -> u64 {
    Format::ALL.into_iter().flat_map(stages).map(|stage| stage.least_bytes(0)).max().unwrap_or(0) + FIXED_OVERHEAD
}

/// Refuses an input before the work on it starts, when some stage could not hold what it must. Whether the table of
/// `edges` is written, the user decides.
///
/// # Errors
/// [`StageError::Plan`] with the stage that needs most and what would suffice.
pub fn admit(format: Format, memory: u64, nodes: u64, edges: bool) -> Result<(), StageError> {
    let need = |stage: &StageInfo| stage.least_bytes(nodes).saturating_add(FIXED_OVERHEAD);
    let runs = |stage: &&StageInfo| edges || stage.name != edges::STAGE.name;
    match stages(format).filter(runs).max_by_key(|stage| need(stage)) {
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
        let Err(StageError::Plan { suffices, .. }) = admit(Format::V8, 64 << 20, 1_000_000_000, true) else {
            panic!("a billion nodes in 64 MiB");
        };
        assert!(admit(Format::V8, suffices, 1_000_000_000, true).is_ok());
        assert!(admit(Format::V8, suffices - 1, 1_000_000_000, true).is_err());
    }

    #[test]
    fn every_stage_is_planned_once() {
        for format in Format::ALL {
            let mut names: Vec<_> = stages(format).map(|stage| stage.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
