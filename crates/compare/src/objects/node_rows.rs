//! Reads the nodes of a snapshot, sorted by identity.

use super::class_list::{ClassList, ClassesOfRun, UNLISTED};
use super::interfaces::Interfaces;
use super::join::Node;
use super::plain_objects::{PlainClasses, Properties};
use super::side::{Format, Side};
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::{Context, Reservation, Scratch, StageError};
use heaplake_lake::reader::{Batch, damaged, value};
use heaplake_schemas::ids::NO_ID;
use heaplake_schemas::nodes;
use heaplake_schemas::scratch::Column;
use rustc_hash::FxHashMap;

/// Bytes of table reader buffers.
const READERS: u64 = 8 << 20;

/// Maximum number of distinct node kinds.
const MOST_KINDS: usize = 1 << 16;

/// Kind names by number.
#[derive(Default)]
pub(super) struct Kinds {
    /// Names.
    pub names: Vec<String>,
    numbers: FxHashMap<Box<str>, u32>,
    last: u32,
}

impl Kinds {
    #[inline]
    fn number(&mut self, name: &str) -> Option<u32> {
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return Some(self.last);
        }
        if let Some(&known) = self.numbers.get(name) {
            self.last = known;
        } else if self.names.len() < MOST_KINDS {
            self.last = self.names.len() as u32;
            self.names.push(name.to_owned());
            self.numbers.insert(name.into(), self.last);
        } else {
            return None;
        }
        Some(self.last)
    }
}

/// Shared context for reading the nodes of snapshots.
pub(super) struct Reading<'r, 'a> {
    /// Scratch for sorting.
    pub scratch: &'a Scratch,
    /// Budget, progress, cancellation.
    pub context: &'a Context<'a>,
    /// Classes of all snapshots.
    pub classes: &'r mut ClassList,
    /// Kinds of all snapshots.
    pub kinds: &'r mut Kinds,
}

/// A snapshot to read.
pub(super) struct Snapshot<'a> {
    /// Run.
    pub side: &'a Side,
    /// Classes of the run.
    pub classes: ClassesOfRun,
    /// Interfaces of another snapshot, for classifying its plain objects.
    pub interfaces: Option<Interfaces>,
}

/// Column names of a sorter.
pub(super) type Columns = [Column<Node>; 2];

/// Reads a snapshot whose ids identify its objects.
pub(super) fn read<'a>(
    snapshot: &mut Snapshot<'_>,
    columns: Columns,
    reading: &mut Reading<'_, 'a>,
) -> Result<Sorted<'a, Node>, StageError> {
    let readers = reading.context.budget.reserve("readers of tables", READERS)?;
    let reader = snapshot.side.reader(nodes::TABLE.file)?;
    let mut sorter = Sorter::new(
        "nodes by id",
        usize::try_from(reader.rows()).unwrap_or(usize::MAX),
        columns,
        &reading.context.budget,
        reading.scratch,
    )?;
    let mut again = Again::of(snapshot, reading.context)?;
    let v8 = snapshot.side.format() == Format::V8;
    let mut wanted = vec!["node", "id", "kind", "class_id", "shallow_bytes", "retained_bytes", "reachable"];
    wanted.extend(again.iter().flat_map(|_| ["script_id", "line", "column"]));
    let mut batches = reader.columns(&wanted)?;
    while let Some(batch) = batches.batch()? {
        read_batch(&batch, v8, snapshot, &mut again, reading, &mut sorter)?;
        reading.context.step(batch.len() as u64)?;
    }
    drop((again, readers));
    sorter.finish()
}

fn read_batch(
    batch: &Batch,
    v8: bool,
    snapshot: &mut Snapshot<'_>,
    again: &mut Option<Again>,
    reading: &mut Reading<'_, '_>,
    sorter: &mut Sorter<'_, Node>,
) -> Result<(), StageError> {
    let (ordinals, ids, kinds) = (batch.u32s("node")?, batch.u64s("id")?, batch.texts("kind")?);
    let (class_ids, reachable) = (batch.u32s("class_id")?, batch.flags("reachable")?);
    let (shallow, retained) = (batch.sizes("shallow_bytes")?, batch.sizes("retained_bytes")?);
    for row in 0..batch.len() {
        let (node, class_id, kind) = (ordinals.value(row), class_ids.value(row), kinds.value(row));
        let expected = batch.first_row() + row as u64;
        if u64::from(node) != expected {
            return Err(of_nodes(snapshot.side, format!("expected node {expected}, found {node}")));
        }
        let mut class = snapshot.classes.number(class_id);
        if let Some(again) = again
            && again.plain.has(kind, class_id)
        {
            class = again.class(snapshot, batch, row, node, reading)?;
        }
        let hidden = if v8 { shallow.value(row) == 0 } else { !reachable.value(row) };
        if class == UNLISTED && !hidden {
            let problem = format!("node {node} has class_id {class_id}, which the table classes does not have");
            return Err(of_nodes(snapshot.side, problem));
        }
        let kind = reading.kinds.number(kind);
        let kind = kind.ok_or_else(|| of_nodes(snapshot.side, format!("more than {MOST_KINDS} kinds")))?;
        let (shallow, retained) = (shallow.value(row), retained.value(row));
        let id = value(ids, row).unwrap_or(NO_ID);
        sorter.push(Node { id, class, hidden: u32::from(hidden), node, kind, shallow, retained })?;
    }
    Ok(())
}

/// Error for a damaged table of nodes.
fn of_nodes(side: &Side, problem: String) -> StageError {
    damaged(&side.found.place().join(nodes::TABLE.file), problem)
}

/// Reclassifies plain objects by the interfaces of another snapshot.
struct Again {
    plain: PlainClasses,
    properties: Properties,
    /// Class numbers by source location and interface.
    numbers: FxHashMap<(Option<[u32; 3]>, Option<usize>), u32>,
    held: Reservation,
}

/// Bytes per map entry.
const NUMBER_BYTES: u64 = 64;

impl Again {
    fn of(snapshot: &Snapshot<'_>, context: &Context<'_>) -> Result<Option<Self>, StageError> {
        if snapshot.interfaces.is_none() {
            return Ok(None);
        }
        let plain = PlainClasses::of(snapshot.side)?;
        let held = context.budget.reserve("classes of plain objects", 0)?;
        let properties = Properties::of(snapshot.side)?;
        Ok(properties.map(|properties| Self { plain, properties, numbers: FxHashMap::default(), held }))
    }

    /// Returns the class of a plain object.
    fn class(
        &mut self,
        snapshot: &mut Snapshot<'_>,
        batch: &Batch,
        row: usize,
        node: u32,
        reading: &mut Reading<'_, '_>,
    ) -> Result<u32, StageError> {
        let Snapshot { side, classes, interfaces } = snapshot;
        let Some(interfaces) = interfaces else { return Ok(UNLISTED) };
        interfaces.begin();
        self.properties.read(node, |name| interfaces.property(name))?;
        let best = interfaces.best();
        let part = |name: &str| batch.u32s(name).map(|column| value(column, row));
        let place = match part("script_id")? {
            Some(script) => Some([script, part("line")?.unwrap_or(0), part("column")?.unwrap_or(0)]),
            None => None,
        };
        if let Some(&number) = self.numbers.get(&(place, best)) {
            return Ok(number);
        }
        let name = best.map_or("Object", |best| interfaces.name(best));
        let key = match place {
            Some([script, line, column]) => format!("{script},{line},{column},{name}"),
            None => format!(",{name}"),
        };
        let number = reading.classes.number(&key, name, || classes.signature(side, &key))?;
        self.held.grow(NUMBER_BYTES)?;
        self.numbers.insert((place, best), number);
        Ok(number)
    }
}

/// Lists the classes that the table of classes omits because none of their instances counts.
pub(super) fn list_unlisted(snapshot: &mut Snapshot<'_>, reading: &mut Reading<'_, '_>) -> Result<(), StageError> {
    let mut examples = reading.context.budget.growing("examples of classes");
    let mut batches = snapshot.side.reader(nodes::TABLE.file)?.columns(&["class_id"])?;
    while let Some(batch) = batches.batch()? {
        let class_ids = batch.u32s("class_id")?;
        for row in 0..batch.len() {
            let class_id = class_ids.value(row);
            if snapshot.classes.number(class_id) == UNLISTED {
                // Placeholder until the name is read.
                snapshot.classes.list(class_id, 0)?;
                examples.push((batch.first_row() + row as u64) as u32)?;
            }
        }
        reading.context.check()?;
    }
    let v8 = snapshot.side.format() == Format::V8;
    let mut batches = snapshot.side.reader(nodes::TABLE.file)?.only(&examples)?.columns(&["class_id", "class"])?;
    while let Some(batch) = batches.batch()? {
        let (class_ids, names) = (batch.u32s("class_id")?, batch.texts("class")?);
        for row in 0..batch.len() {
            let name = names.value(row);
            let key = if v8 { format!(",{name}") } else { name.to_owned() };
            let signature = || snapshot.classes.signature(snapshot.side, &key);
            let number = reading.classes.number(&key, name, signature)?;
            snapshot.classes.list(class_ids.value(row), number)?;
        }
    }
    Ok(())
}
