//! Runs an object comparison, from question to answer.

use super::candidates;
use super::chains::Chains;
use super::class_list::ClassList;
use super::class_sums::ClassSums;
use super::join::{self, Node};
use super::node_rows::{Columns, Kinds, Reading, Snapshot, list_unlisted, read};
use super::object_rows::ObjectRows;
use super::plain_objects::{Properties, interfaces};
use super::question::{Answer, Question};
use super::side::{Format, Side, check_identity};
use super::tracked::{Tracks, identify};
use heaplake_kit::sorter::Sorted;
use heaplake_kit::stage::Output;
use heaplake_kit::text::count;
use heaplake_kit::{ColumnReader, ColumnWriter, Context, Scratch, StageError};
use heaplake_schemas::diff_objects::Status;
use heaplake_schemas::nodes;
use heaplake_schemas::scratch::Column;
use std::path::Path;

/// Scratch folder inside the folder of tables.
const SCRATCH: &str = ".heaplake-objects";

/// Columns of the snapshots' sorters, by address and by identity.
const BASE: [Columns; 2] =
    columns(["objects.base", "objects.base_merged", "objects.base_known", "objects.base_known_merged"]);
const TARGET: [Columns; 2] =
    columns(["objects.target", "objects.target_merged", "objects.target_known", "objects.target_known_merged"]);
const LAST: [Columns; 2] =
    columns(["objects.last", "objects.last_merged", "objects.last_known", "objects.last_known_merged"]);

const fn columns([address, merged, known, known_merged]: [&'static str; 4]) -> [Columns; 2] {
    [[Column::new(address), Column::new(merged)], [Column::new(known), Column::new(known_merged)]]
}

/// Ids that the target has and the base lacks.
const FRESH: Column<u64> = Column::new("objects.fresh");

/// Answers the question; writes the tables into `folder`, which exists.
///
/// # Errors
/// [`StageError::Refused`] if the runs cannot be compared by object.
pub fn compare(question: &Question<'_>, folder: &Path, context: &Context<'_>) -> Result<Answer, StageError> {
    let sides = Sides::open(question)?;
    let scratch = OwnScratch(Scratch::create(&folder.join(SCRATCH))?);
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let comparison = Comparison {
        sides: &sides,
        kept: question.kept,
        scratch: &scratch.0,
        output: &output,
        context,
        classes: ClassList::new(&context.budget)?,
        kinds: Kinds::default(),
        answer: Answer::default(),
    };
    comparison.run()
}

/// Scratch folder, removed on drop.
struct OwnScratch(Scratch);

impl Drop for OwnScratch {
    fn drop(&mut self) {
        // Best effort: a leftover only takes disk space.
        let _ = self.0.clone().remove();
    }
}

struct Sides {
    base: Side,
    target: Side,
    last: Option<Side>,
    tracks: Option<Tracks>,
}

impl Sides {
    fn open(question: &Question<'_>) -> Result<Self, StageError> {
        let (base, target) = (Side::open(question.base)?, Side::open(question.target)?);
        let last = question.last.map(Side::open).transpose()?;
        let all: Vec<&Side> = [&base, &target].into_iter().chain(&last).collect();
        check_identity(&all, question.stable_ids, question.tracks.is_some())?;
        let tracked = question.tracks.filter(|_| base.format() == Format::Walk);
        let tracks = tracked.map(Tracks::open).transpose()?;
        Ok(Self { base, target, last, tracks })
    }
}

struct Comparison<'a> {
    sides: &'a Sides,
    kept: bool,
    scratch: &'a Scratch,
    output: &'a Output,
    context: &'a Context<'a>,
    classes: ClassList,
    kinds: Kinds,
    answer: Answer,
}

impl<'a> Comparison<'a> {
    fn run(mut self) -> Result<Answer, StageError> {
        let Sides { base, target, last, .. } = self.sides;
        self.context.progress.begin("objects", 0);
        let mut new = self.snapshot(target)?;
        let mut old = self.snapshot(base)?;
        old.interfaces = self.interfaces()?;
        let old = self.nodes(&mut old, BASE)?;
        let new = self.nodes(&mut new, TARGET)?;
        let mut later = None;
        if let Some(last) = last {
            let mut snapshot = self.snapshot(last)?;
            list_unlisted(&mut snapshot, &mut self.reading())?;
            let nodes = self.nodes(&mut snapshot, LAST)?;
            later = Some((snapshot, nodes));
        }
        self.join(old, new)?;
        if let Some((snapshot, nodes)) = later {
            self.candidates(&snapshot, nodes)?;
        }
        self.context.progress.end();
        Ok(self.answer)
    }

    fn reading(&mut self) -> Reading<'_, 'a> {
        let Self { scratch, context, classes, kinds, .. } = self;
        Reading { scratch, context, classes, kinds }
    }

    /// Lists the classes of a run.
    fn snapshot(&mut self, side: &'a Side) -> Result<Snapshot<'a>, StageError> {
        let classes = self.classes.add(side, &self.context.budget)?;
        Ok(Snapshot { side, classes, interfaces: None })
    }

    /// Interfaces of the target, if the base can be classified by them.
    fn interfaces(&mut self) -> Result<Option<super::interfaces::Interfaces>, StageError> {
        let Sides { base, target, .. } = self.sides;
        if base.format() != Format::V8 {
            return Ok(None);
        }
        if Properties::of(base)?.is_some()
            && let Some(interfaces) = interfaces(target, self.context)?
        {
            return Ok(Some(interfaces));
        }
        self.answer.remarks.push(
            "plain objects of the base have the base's own interfaces: those of the target can be given to them only if \
             both runs have the table edges."
                .to_owned(),
        );
        Ok(None)
    }

    /// Reads the nodes of a snapshot, sorted by identity.
    fn nodes(&mut self, snapshot: &mut Snapshot<'_>, columns: [Columns; 2]) -> Result<Sorted<'a, Node>, StageError> {
        let (context, scratch, sides) = (self.context, self.scratch, self.sides);
        let nodes = read(snapshot, columns[0], &mut self.reading())?;
        let Some(tracks) = &sides.tracks else { return Ok(nodes) };
        let gc = tracks.walk_of(snapshot.side)?;
        let (nodes, unknown) = identify(nodes, tracks, gc, columns[1], context, scratch)?;
        if unknown > 0 {
            self.answer.remarks.push(format!(
                "{}: {} objects are left out: the trace has no allocation of them, so they have no identity.",
                snapshot.side.found.place().display(),
                count(unknown)
            ));
        }
        Ok(nodes)
    }

    /// Compares base and target, and writes their tables.
    fn join(&mut self, base: Sorted<'_, Node>, target: Sorted<'_, Node>) -> Result<(), StageError> {
        let (context, scratch) = (self.context, self.scratch);
        let mut sums = ClassSums::new(&self.classes, &context.budget)?;
        let mut rows = ObjectRows::new(base.count() + target.count(), &context.budget, scratch)?;
        let mut fresh = ColumnWriter::create(scratch, FRESH)?;
        let (mut last_fresh, mut steps) = (None, 0u32);
        join::join(base, target, |found| {
            if let Some(status) = sums.add(&found)?
                && (self.kept || status != Status::Kept)
            {
                rows.push(status, &found)?;
            }
            if let Some(id) = found.target.map(|node| node.id).filter(|&id| !found.in_both && Some(id) != last_fresh) {
                last_fresh = Some(id);
                fresh.push(id)?;
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1 << 16) { context.check() } else { Ok(()) }
        })?;
        fresh.finish()?;
        let objects = rows.write(&self.classes, &self.kinds.names, self.output, context)?;
        let (classes, grown) = sums.write(&self.classes, self.output, context)?;
        self.answer.tables.extend([classes, objects]);
        (self.answer.total, self.answer.grown) = (sums.total, grown);
        if sums.reclassified > sums.total.kept_count / 4 {
            self.answer.remarks.push(format!(
                "{} objects have an id that an object of another class has in the base: these may be snapshots of two processes.",
                count(sums.reclassified)
            ));
        }
        Ok(())
    }

    /// Finds leak candidates, and writes their table.
    fn candidates(&mut self, last: &Snapshot<'_>, nodes: Sorted<'_, Node>) -> Result<(), StageError> {
        let (context, scratch) = (self.context, self.scratch);
        let fresh = ColumnReader::open(scratch, FRESH)?;
        let node_count = last.side.reader(nodes::TABLE.file)?.rows();
        let mut found = candidates::find(fresh, nodes, (&self.classes, node_count), &context.budget, scratch)?;
        found.find_heads(last, context)?;
        let has = |class| found.has(class);
        let chains = Chains::of_run(last.side, &last.classes, has, &context.budget)?;
        let (table, brief) = found.write(&chains, (&self.classes, &self.kinds.names), self.output, context)?;
        self.answer.tables.push(table);
        self.answer.candidates = Some(brief);
        Ok(())
    }
}
