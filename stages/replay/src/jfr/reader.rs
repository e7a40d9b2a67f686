//! Passes on the events of a chunk.
//!
//! Three passes over a chunk: one for the offsets of its events and the number of each kind; one over the constants;
//! one over the events that a replay uses. Allocation samples and TLAB events describe the same allocations: if a chunk
//! has the latter, which are more, samples are skipped.

use super::chunk::{Chunk, Failure, HEADER, Window, bad};
use super::collections;
use super::cursor::Cursor;
use super::fields::{Plan, Value};
use super::metadata::Types;
use super::names::Names;
use super::old_objects::{self, Chains};
use super::recording::Recording;
use crate::stacks::At;
use heaplake_input::bytes::Bytes;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Class id of the metadata event.
const METADATA: i64 = 0;
/// Class id of checkpoint events.
const CHECKPOINT: i64 = 1;

/// Names of these in `jfr summary`; before JDK 21 it wrote `CheckPoint`.
const NAMES: [(i64, &str); 2] = [(METADATA, "jdk.Metadata"), (CHECKPOINT, "jdk.Checkpoint")];

/// Most bytes before the fields of an event.
const HEAD: u64 = 18;

/// Bytes per kind of event, and per checkpoint, table growth included.
const ENTRY: u64 = 64;

/// Events between two checks for cancellation.
const CHECKED: u64 = 1 << 12;

/// An event that a replay uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sample,
    NewTlab,
    OutsideTlab,
    OldObject,
    Collection,
    Pause,
    Summary,
    Count { after_gc: bool },
    Loss,
}

/// Fields of allocations: stack, class, weight, size.
const ALLOCATION: [&str; 4] = ["stackTrace", "objectClass", "weight", "allocationSize"];
/// Fields of a new TLAB, likewise.
const TLAB: [&str; 4] = ["stackTrace", "objectClass", "tlabSize", "allocationSize"];

/// The events that are read, with their fields.
const EVENTS: [(&str, Kind, &[&str]); 10] = [
    ("jdk.ObjectAllocationSample", Kind::Sample, &ALLOCATION),
    ("jdk.ObjectAllocationInNewTLAB", Kind::NewTlab, &TLAB),
    ("jdk.ObjectAllocationOutsideTLAB", Kind::OutsideTlab, &ALLOCATION),
    ("jdk.OldObjectSample", Kind::OldObject, &old_objects::SAMPLE),
    ("jdk.GarbageCollection", Kind::Collection, &collections::COLLECTION),
    ("jdk.GCPhasePause", Kind::Pause, &collections::PAUSE),
    ("jdk.GCHeapSummary", Kind::Summary, &collections::SUMMARY),
    ("jdk.ObjectCount", Kind::Count { after_gc: false }, &collections::COUNT),
    ("jdk.ObjectCountAfterGC", Kind::Count { after_gc: true }, &collections::COUNT),
    ("jdk.DataLoss", Kind::Loss, &["amount"]),
];

/// Offsets and counts of events.
struct Survey {
    /// By class: number and bytes of events.
    counts: FxHashMap<i64, (u64, u64)>,
    /// Offsets and sizes of checkpoints.
    checkpoints: Vec<(u64, u64)>,
    /// Offset and size of the metadata.
    metadata: Option<(u64, u64)>,
    _charge: MemoryAccount,
}

/// Reads size and class of an event.
fn head(chunk: &Chunk, window: &mut Window, at: u64) -> Result<(u64, i64), Failure> {
    let left = chunk.size() - at;
    let mut fields = Cursor::new(window.view(chunk, at, left.min(HEAD))?, chunk.header.compressed);
    let size = fields.int().ok_or_else(|| bad(at, "the size of an event", "the end of the chunk"))?;
    let fits = u64::try_from(size).ok().filter(|&size| size <= left && size > 0);
    let size = fits.ok_or_else(|| bad(at, "the size of an event inside the chunk", format!("{size} bytes")))?;
    let class = fields.long().filter(|_| fields.at() as u64 <= size);
    Ok((size, class.ok_or_else(|| bad(at, "the class of an event", "the end of it"))?))
}

/// Visits the events of a chunk: offset, size and class of each.
fn each_event(
    chunk: &Chunk,
    window: &mut Window,
    bytes: &Bytes<'_>,
    mut visit: impl FnMut(&mut Window, u64, u64, i64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut at, mut number) = (HEADER as u64, 0_u64);
    while at < chunk.size() {
        if number.is_multiple_of(CHECKED) {
            bytes.check()?;
        }
        number += 1;
        let (size, class) = head(chunk, window, at)?;
        visit(window, at, size, class)?;
        at += size;
    }
    Ok(())
}

fn survey(chunk: &Chunk, window: &mut Window, bytes: &Bytes<'_>, budget: &Budget) -> Result<Survey, Failure> {
    let mut account = MemoryAccount::new(budget, "the events of a chunk")?;
    let (mut counts, mut checkpoints, mut metadata) = (FxHashMap::default(), Vec::new(), None);
    each_event(chunk, window, bytes, |_, at, size, class| {
        let sums: &mut (u64, u64) = match counts.entry(class) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                account.add(ENTRY)?;
                entry.insert((0, 0))
            }
        };
        *sums = (sums.0 + 1, sums.1 + size);
        if class == CHECKPOINT {
            account.add(ENTRY)?;
            checkpoints.push((at, size));
        }
        if class == METADATA && at <= chunk.header.metadata {
            metadata = Some((at, size));
        }
        Ok(())
    })?;
    check(chunk, &checkpoints, metadata)?;
    Ok(Survey { counts, checkpoints, metadata, _charge: account })
}

/// Checks the offsets in the header against the events.
fn check(chunk: &Chunk, checkpoints: &[(u64, u64)], metadata: Option<(u64, u64)>) -> Result<(), Failure> {
    let header = &chunk.header;
    if metadata.is_none_or(|(at, _)| at != header.metadata) {
        return Err(bad(24, "the place of metadata", format!("{}", header.metadata)).into());
    }
    if header.constants != 0 && checkpoints.binary_search_by_key(&header.constants, |&(at, _)| at).is_err() {
        return Err(bad(16, "the place of constants", format!("{}", header.constants)).into());
    }
    Ok(())
}

/// Reads a chunk.
pub(crate) fn read(chunk: &Chunk, bytes: &Bytes<'_>, budget: &Budget, to: &mut Recording<'_>) -> Result<(), Failure> {
    let mut window = Window::new(budget)?;
    let survey = survey(chunk, &mut window, bytes, budget)?;
    let (at, size) = survey.metadata.unwrap_or_default();
    let types = Types::read(window.view(chunk, at, size)?, chunk.header.compressed, at, budget)?;
    let mut names = Names::new(chunk, &types, to, budget)?;
    for &(at, size) in &survey.checkpoints {
        bytes.check()?;
        names.constants.add(window.view(chunk, at, size)?, at)?;
    }
    let kinds = kinds(&survey, &types, names.to)?;
    let takes_samples = !kinds.values().any(|(kind, _)| matches!(kind, Kind::NewTlab | Kind::OutsideTlab));
    let mut events = Events { names, chains: Chains::new(&types), takes_samples };
    each_event(chunk, &mut window, bytes, |window, at, size, class| {
        let Some((kind, plan)) = kinds.get(&class) else { return Ok(()) };
        events.event(*kind, plan, window.view(chunk, at, size)?, at)
    })?;
    Ok(events.names.to.end_of_chunk(chunk.header.last)?)
}

/// Maps the events of a chunk to their kinds, by class; counts all of them.
fn kinds(survey: &Survey, types: &Types, to: &mut Recording<'_>) -> Result<FxHashMap<i64, (Kind, Plan)>, StageError> {
    let mut kinds = FxHashMap::default();
    let mut classes: Vec<_> = survey.counts.iter().map(|(&class, &sums)| (class, sums)).collect();
    classes.sort_unstable();
    for (class, sums) in classes {
        let number = types.number(class);
        let own = NAMES.iter().find(|(of, _)| *of == class).map(|(_, name)| (*name).to_owned());
        let name = own.or_else(|| number.map(|number| types.classes[number as usize].name.to_string()));
        let name = name.unwrap_or_else(|| format!("[event {class}]"));
        let read = number.zip(EVENTS.iter().find(|(event, ..)| *event == name));
        if let Some((number, (_, kind, fields))) = read {
            kinds.insert(class, (*kind, Plan::new(types, number, fields)));
        }
        to.count(&name, read.is_some() || class == METADATA || class == CHECKPOINT, sums)?;
    }
    Ok(kinds)
}

/// Passes on events.
struct Events<'a, 'r> {
    names: Names<'a, 'r>,
    chains: Chains,
    takes_samples: bool,
}

impl Events<'_, '_> {
    fn event(&mut self, kind: Kind, plan: &Plan, event: &[u8], start: u64) -> Result<(), Failure> {
        let mut fields = Cursor::new(event, self.names.constants.chunk.header.compressed);
        let _ = fields.int().and_then(|_| fields.long());
        let body = fields.at();
        self.apply(kind, plan, &mut fields).unwrap_or_else(|| {
            let at = start + fields.at().max(body) as u64;
            Err(bad(at, "the fields of an event", "the end of it").into())
        })
    }

    /// Passes on an event; `None` if its fields end too early.
    fn apply(&mut self, kind: Kind, plan: &Plan, fields: &mut Cursor<'_>) -> Option<Result<(), Failure>> {
        let types = self.names.constants.types;
        let names = &mut self.names;
        Some(match kind {
            Kind::Sample | Kind::NewTlab | Kind::OutsideTlab => self.allocation(kind, plan.read(types, fields)?),
            Kind::OldObject => self.chains.sample(plan.read(types, fields)?, names),
            Kind::Collection => collections::collection(plan.read(types, fields)?, names),
            Kind::Pause => collections::pause(plan.read(types, fields)?, names.to),
            Kind::Summary => collections::summary(plan.read(types, fields)?, fields, names),
            Kind::Count { after_gc } => collections::count(plan.read(types, fields)?, after_gc, names),
            Kind::Loss => {
                let [amount] = plan.read(types, fields)?;
                names.to.kept.lost_bytes = names.to.kept.lost_bytes.saturating_add(amount.amount().unwrap_or(0));
                Ok(())
            }
        })
    }

    fn allocation(&mut self, kind: Kind, [stack, class, weight, size]: [Value; 4]) -> Result<(), Failure> {
        if kind == Kind::Sample && !self.takes_samples {
            return Ok(());
        }
        let class = self.names.class(&class)?;
        let node = self.names.stack(&stack)?;
        let to = &mut *self.names.to;
        let size = size.amount().unwrap_or(0);
        let weight = if kind == Kind::OutsideTlab {
            to.weights.add_certain(class.type_id, size)?;
            size
        } else {
            let weight = weight.amount().unwrap_or(0);
            to.weights.add(class.type_id, weight, size)?;
            weight
        };
        Ok(to.replay.tick(class.handle, weight, 0, &mut At(node))?)
    }
}
