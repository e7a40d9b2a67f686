//! Data of a run's page, as read by its script.

use crate::alive::{self, Alive};
use crate::allocations::{self, Allocations};
use crate::findings::{self, Finding, Possible};
use crate::holders;
use crate::old_objects::{self, OldObject};
use crate::tables::{self, Chain, Class, Node, Owner, Set, Shown, Stage, shown_id};
use crate::texts::Texts;
use crate::tree::{self, Above, Folded, Group, NONE, OTHERS};
use heaplake_kit::{Context, Scratch, StageError};
use heaplake_lake::captured;
use heaplake_schemas::replay::Metadata;
use heaplake_schemas::run::{LargeObject, Run, Step};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum bytes of groups and their index.
const GROUPS: u64 = 48 << 20;
/// Maximum groups shown.
const SHOWN: usize = 3000;

/// All data of the page.
#[derive(Serialize)]
pub(crate) struct Document {
    run: Brief,
    texts: Vec<String>,
    stages: Option<Vec<Stage>>,
    /// From the root down.
    groups: Option<Shown<Row>>,
    nodes: BTreeMap<u32, Node>,
    /// Dominators of the nodes of findings and of large objects.
    above: Vec<Above>,
    classes: Option<Shown<Class>>,
    chains: Option<Shown<Chain>>,
    /// Holder trees of big classes.
    holders: Option<Shown<holders::Tree>>,
    owners: Option<Shown<Owner>>,
    duplicates: Option<Shown<Set>>,
    findings: Option<Shown<Finding>>,
    /// Classes with possible duplicates.
    possible: Option<Shown<Possible>>,
    objects: Vec<Object>,
    /// Facts of a replayed trace; a page without it shows a snapshot.
    trace: Option<Metadata>,
    allocations: Option<Allocations>,
    /// Live allocations that a snapshot tracked.
    alive: Option<Alive>,
    /// Objects that a Java recording sampled.
    old_objects: Option<Shown<OldObject>>,
}

/// Contents of `run.json` that the page does not show elsewhere.
#[derive(Serialize)]
struct Brief {
    snapshot: u32,
    release: u32,
    source: u32,
    format: u32,
    version: u32,
    labels: Vec<(u32, u32)>,
    partial: Option<u32>,
    remarks: Vec<u32>,
    /// Run folder as the user named it, for commands.
    place: u32,
    /// Milliseconds since 1970.
    captured: Option<i64>,
    input_bytes: u64,
    nodes: u64,
    edges: u64,
    classes: u64,
    strings: u64,
    shallow: u64,
    native: Option<u64>,
    unreachable: u64,
    unreachable_bytes: u64,
    detached: u64,
    seconds: f64,
    peak: Option<u64>,
    tables: Vec<(u32, u64, u64)>,
}

/// A group: parent index, class (null for others), objects, bytes, total, example.
type Row = (u32, Option<u32>, u64, u64, u64, Option<u32>);

/// Groups shown, and dominators of selected nodes.
type Tree = (Shown<Row>, Vec<Above>);

/// A large object and its dominators from the root down.
#[derive(Serialize)]
struct Object {
    node: u32,
    id: Option<String>,
    class: u32,
    name: u32,
    shallow: u64,
    retained: u64,
    left_out: u64,
    path: Vec<u32>,
}

impl Document {
    /// Reads the tables of the run in `folder`.
    pub(crate) fn read(run: &Run, folder: &Path, scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let mut texts = Texts::default();
        // Tables read first get the longest texts.
        let brief = brief(run, folder, &mut texts)?;
        let (findings, possible) = findings::read(folder, &mut texts)?.unzip();
        let stages = tables::stages(folder, &mut texts)?;
        let allocations = allocations::read(folder, &mut texts)?;
        let alive = alive::read(folder, &mut texts, context)?;
        let old_objects = old_objects::read(folder, &mut texts)?;
        let mut asked: Vec<u32> = findings.iter().flat_map(|found| &found.rows).flat_map(Finding::nodes).collect();
        asked.extend(run.summary.objects.iter().map(|object| object.object.node));
        let mut named_classes = Vec::new();
        for class in findings.iter().flat_map(|found| &found.rows).filter_map(Finding::class) {
            if !named_classes.contains(&class) {
                named_classes.push(class);
            }
        }
        asked.sort_unstable();
        asked.dedup();
        let (groups, above) = groups(folder, &asked, scratch, context)?.unzip();
        let examples = groups.iter().flat_map(|groups: &Shown<Row>| &groups.rows).filter_map(|group| group.5);
        let mut wanted: Vec<u32> = examples.collect();
        let above: Vec<Above> = above.unwrap_or_default();
        wanted.extend(above.iter().flat_map(|above| above.dominators.iter().chain([&above.node])));
        wanted.sort_unstable();
        wanted.dedup();
        let nodes = tables::some_nodes(folder, &wanted, &mut texts)?;
        let objects = run.summary.objects.iter().map(|object| describe(object, &mut texts)).collect();
        Ok(Self {
            run: brief,
            stages,
            groups: groups.map(|groups| named(groups, &nodes)),
            nodes: nodes.into_iter().collect(),
            above,
            classes: tables::classes(folder, &mut texts)?,
            chains: tables::chains(folder, &mut texts)?,
            holders: holders::read(folder, &named_classes, &mut texts)?,
            owners: tables::owners(folder, &mut texts)?,
            duplicates: tables::duplicates(folder, &mut texts)?,
            findings,
            possible,
            objects,
            trace: run.replay.as_ref().map(|replay| replay.metadata.clone()),
            allocations,
            alive,
            old_objects,
            texts: texts.into_list(),
        })
    }

    /// Name of the run.
    pub(crate) fn title(&self) -> &str {
        self.texts.get(self.run.snapshot as usize).map_or("", String::as_str)
    }

    /// Whether it has a dominator tree to draw.
    pub(crate) fn has_tree(&self) -> bool {
        self.groups.is_some()
    }
}

fn brief(run: &Run, folder: &Path, texts: &mut Texts) -> Result<Brief, StageError> {
    let summary = &run.summary;
    Ok(Brief {
        snapshot: texts.add(&run.snapshot),
        release: texts.add(&run.release),
        source: texts.add(&run.source),
        format: texts.add(&summary.format),
        version: texts.add(&run.heaplake_version),
        labels: run.options.labels().iter().map(|(key, value)| (texts.add(key), texts.add(value))).collect(),
        partial: summary.partial.as_ref().map(|partial| texts.add_within(partial, 1000)),
        remarks: summary.remarks.iter().map(|remark| texts.add_within(remark, 1000)).collect(),
        place: texts.add_within(&folder.display().to_string(), 1000),
        captured: captured::of_run(folder, run)?.map(|micros| micros.div_euclid(1000)),
        input_bytes: run.input_bytes,
        nodes: summary.node_count,
        edges: summary.edge_count,
        classes: summary.class_count,
        strings: summary.string_count,
        shallow: summary.shallow_bytes,
        native: summary.native_bytes,
        unreachable: summary.unreachable_count,
        unreachable_bytes: summary.unreachable_bytes,
        detached: summary.detached_count,
        seconds: summary.wall_seconds,
        peak: summary.peak_rss_bytes,
        tables: run.tables.iter().map(|table| (texts.add(&table.file), table.rows, table.bytes)).collect(),
    })
}

/// The folded dominator tree, with class ids, and the dominators of the `asked` nodes.
fn groups(folder: &Path, asked: &[u32], scratch: &Scratch, context: &Context<'_>) -> Result<Option<Tree>, StageError> {
    let _reserved = context.budget.reserve("groups of the dominator tree", GROUPS)?;
    let Some(Folded { groups: all, above }) = tree::fold(folder, asked, scratch, context)? else { return Ok(None) };
    let row = |group: &Group| {
        let class = (group.class != OTHERS).then_some(group.class);
        let example = (group.example != NONE).then_some(group.example);
        (group.parent, class, group.count, group.bytes, group.total, example)
    };
    let shown = Shown { of: all.len() as u64, rows: tree::prune(&all, SHOWN).iter().map(row).collect() };
    Ok(Some((shown, above)))
}

/// Replaces class ids of groups by class names, taken from the examples.
fn named(mut groups: Shown<Row>, nodes: &FxHashMap<u32, Node>) -> Shown<Row> {
    for group in &mut groups.rows {
        let class = group.5.and_then(|example| nodes.get(&example)).map(Node::class);
        group.1 = group.1.and(class);
    }
    groups
}

fn describe(object: &LargeObject, texts: &mut Texts) -> Object {
    let step = &object.object;
    let shorter = |step: &Step| if step.name.is_empty() { step.class.clone() } else { step.name.clone() };
    Object {
        node: step.node,
        id: shown_id(step.id),
        class: texts.add(&step.class),
        name: texts.add(&step.name),
        shallow: step.shallow_bytes,
        retained: step.retained_bytes,
        left_out: object.path_left_out,
        path: object.path.iter().map(|step| texts.add_within(&shorter(step), 60)).collect(),
    }
}
