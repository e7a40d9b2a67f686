//! Walks of the heap in a profiler log.
//!
//! A walk consists of the objects that the log reports inside one garbage collection, with their references, and the
//! roots of the same collection. It lacks sizes: these come from the allocations of the log ([`sizes`](super::sizes));
//! older objects get the size of their type, if all known objects of the type have one size.

use super::document::{self, FIRST, LOG, ROOT, Walk, Walks};
use super::recorder::{Recorder, Root, root_kind};
use super::sizes::{Sizes, Survivor};
use super::types::{Types, node_kind};
use crate::format::Estimate;
use crate::names::NameWriter;
use heaplake_input::bytes::Bytes;
use heaplake_input::nettrace::payload::{self, Type};
use heaplake_input::profiler_log::{self, Bad, Failure, Fields, VERSION};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, Context, Scratch, StageError};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::Metadata;
use rustc_hash::FxHashMap;

/// Advice of errors about missing walks.
const RECORD: &str = "let the agent write O lines at a collection, or name the log to heaplake replay";

/// Limit of concurrent garbage collections.
const MOST_OPEN: usize = 16;

/// Bytes of an entry of the table of sizes by type, free slots included.
const ENTRY: u64 = 64;

/// A garbage collection in progress.
struct Open {
    number: u32,
    condemned: u32,
    beside: bool,
    /// Condemned ranges: first address and end.
    ranges: Vec<(u64, u64)>,
    survivors: Vec<Survivor>,
    /// Whether it has reported survivors, or has been applied.
    reported: bool,
    done: bool,
    roots: Vec<Root>,
    /// Its walk, once that has begun.
    walk: Option<u32>,
    account: MemoryAccount,
}

/// A completed walk.
struct Taken {
    number: u32,
    offset: u64,
    objects: u64,
    unit: u32,
    /// Number of objects of unknown size.
    unknown: u64,
}

/// Reads one walk of a log.
struct Walker<'a> {
    walks: Walks,
    scratch: &'a Scratch,
    budget: &'a Budget,
    types: Types,
    /// Size of the objects of each type; `None` if they differ.
    of_type: FxHashMap<u64, Option<u64>>,
    account: MemoryAccount,
    sizes: Sizes,
    open: Vec<Open>,
    /// The wanted walk in progress, and its offset.
    recorder: Option<(Recorder, u64)>,
    unknown: u64,
    taken: Option<Taken>,
}

/// Reads a log into the columns of a walk: the one with the number `wanted`, or the last.
///
/// # Errors
/// [`StageError::Input`] if the log is damaged, or has no such walk.
pub(crate) fn read(
    bytes: &mut Bytes<'_>,
    wanted: Option<u32>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(Walk, Metadata), StageError> {
    let budget = &context.budget;
    let mut walker = Walker {
        walks: Walks { input: "log", record: RECORD, wanted, count: 0 },
        scratch,
        budget,
        types: Types::new(budget)?,
        of_type: FxHashMap::default(),
        account: MemoryAccount::new(budget, "the sizes of types")?,
        sizes: Sizes::new(budget)?,
        open: Vec::new(),
        recorder: None,
        unknown: 0,
        taken: None,
    };
    let complete = profiler_log::read(bytes, |letter, fields, offset| walker.line(letter, fields, offset))?;
    walker.finish(bytes, complete)
}

impl Walker<'_> {
    fn line(&mut self, letter: u8, fields: &mut Fields<'_>, offset: u64) -> Result<(), Failure> {
        // The report of a background garbage collection ends with the next other line.
        if letter != b'V' {
            let reported = |open: &Open| open.beside && open.reported && !open.done;
            while let Some(at) = self.open.iter().position(reported) {
                self.take_effect(at)?;
            }
        }
        match letter {
            b'A' => self.allocation(fields),
            b'T' => self.of_name(fields),
            b'G' => self.start(fields),
            b'B' => self.range(fields),
            b'M' | b'V' => self.survives(letter, fields),
            b'R' => self.root(fields),
            b'O' => self.object(fields, offset),
            b'E' => self.end(fields),
            b'F' | b'S' | b'Q' | b'H' | b'h' | b'#' => Ok(()),
            _ => Err("an event of a profiler log (a line that begins with one of ABEFGHMOQRSTVh#)".into()),
        }
    }

    fn allocation(&mut self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "A thread address type size stack";
        fields.hex(LINE)?;
        let (address, of_type, bytes) = (fields.hex(LINE)?, fields.decimal(LINE)?, fields.decimal(LINE)?);
        match self.of_type.get_mut(&of_type) {
            Some(size) => *size = size.filter(|&size| size == bytes),
            None => {
                self.account.add(ENTRY)?;
                self.of_type.insert(of_type, Some(bytes));
            }
        }
        Ok(self.sizes.put(address, bytes)?)
    }

    fn of_name(&mut self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "T type name";
        let id = fields.decimal(LINE)?;
        let name = String::from_utf8_lossy(fields.rest(LINE)?).into_owned();
        let kind = match name.as_str() {
            "System.String" => node_kind::STRING,
            name if name.ends_with(']') && (name.ends_with("[]") || name.ends_with(",]")) => node_kind::ARRAY,
            _ => node_kind::OBJECT,
        };
        Ok(self.types.declare(Type::named(id, 0, name), kind)?)
    }

    fn start(&mut self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "G number condemned reason [beside]";
        let (number, condemned) = (fields.small(LINE)?, fields.flags(LINE)?);
        fields.small(LINE)?;
        let beside = !fields.is_done() && fields.small(LINE)? == 1;
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(Open {
            number,
            condemned,
            beside,
            ranges: Vec::new(),
            survivors: Vec::new(),
            reported: false,
            done: false,
            roots: Vec::new(),
            walk: None,
            account: MemoryAccount::new(self.budget, "the ranges of a collection")?,
        });
        Ok(())
    }

    fn range(&mut self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "B generation start used reserved";
        let (generation, start, used) = (fields.generation(LINE)?, fields.hex(LINE)?, fields.hex(LINE)?);
        let Some(open) = self.open.last_mut().filter(|open| !open.reported && used > 0) else { return Ok(()) };
        if open.beside || open.condemned >> generation & 1 == 1 {
            open.account.make_room(&mut open.ranges, 1)?;
            open.ranges.push((start, start.saturating_add(used)));
        }
        Ok(())
    }

    fn survives(&mut self, letter: u8, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "M old new length, or V start length";
        let from = fields.hex(LINE)?;
        let to = if letter == b'M' { fields.hex(LINE)? } else { from };
        let length = fields.hex(LINE)?;
        fields.end(LINE)?;
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        open.reported = true;
        open.account.make_room(&mut open.survivors, 1)?;
        open.survivors.push((from, from.saturating_add(length), to));
        Ok(())
    }

    fn root(&mut self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "R address kind flags id";
        let (object, kind) = (fields.hex(LINE)?, fields.small(LINE)?);
        let flags = if fields.is_done() { 0 } else { fields.small(LINE)? };
        let kind = match kind {
            1 => 0,
            2 => 1,
            3 if flags & payload::Root::COUNTED != 0 => root_kind::COUNTED,
            3 if flags & payload::Root::PINNED != 0 => root_kind::PINNED,
            3 => root_kind::HANDLE,
            _ => root_kind::OTHER,
        };
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        if object == 0 || flags & payload::Root::WEAK != 0 {
            return Ok(());
        }
        open.account.make_room(&mut open.roots, 1)?;
        open.roots.push(Root { object, kind, field: StringId::NONE });
        Ok(())
    }

    fn object(&mut self, fields: &mut Fields<'_>, offset: u64) -> Result<(), Failure> {
        const LINE: Bad = "O address type reference...";
        let (address, of_type) = (fields.hex(LINE)?, fields.decimal(LINE)?);
        let Some(at) = self.open.len().checked_sub(1) else { return Ok(()) };
        if self.open[at].walk.is_none() {
            // Objects are at their addresses after the collection.
            if self.open[at].reported {
                self.take_effect(at)?;
            }
            self.walks.count += 1;
            self.open[at].walk = Some(self.walks.count);
            if self.walks.wants(self.walks.count) {
                (self.taken, self.unknown) = (None, 0);
                self.recorder = Some((Recorder::create(self.scratch, self.budget)?, offset));
            }
        }
        let is_wanted = self.open[at].walk == Some(self.walks.read());
        let Some((recorder, _)) = self.recorder.as_mut().filter(|_| is_wanted) else { return Ok(()) };
        let mut references = 0;
        while !fields.is_done() {
            let to = fields.hex(LINE)?;
            if to != 0 {
                recorder.targets.push(to)?;
                references += 1;
            }
        }
        let known = self.sizes.get(address).or_else(|| self.of_type.get(&of_type).copied().flatten());
        self.unknown += u64::from(known.is_none());
        Ok(recorder.object(address, known.unwrap_or(0), self.types.position(of_type)?, references)?)
    }

    fn end(&mut self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        const LINE: Bad = "E number";
        let number = fields.small(LINE)?;
        fields.end(LINE)?;
        let Some(at) = self.open.iter().rposition(|open| open.number == number) else { return Ok(()) };
        if !self.open[at].beside {
            self.take_effect(at)?;
        }
        let open = self.open.remove(at);
        let is_wanted = open.walk == Some(self.walks.read());
        if let Some((mut recorder, offset)) = self.recorder.take_if(|_| is_wanted) {
            open.roots.iter().try_for_each(|&root| recorder.roots.push(root))?;
            let recorded = recorder.finish(self.scratch, self.budget)?;
            let (objects, unit, unknown) = (recorded.objects, recorded.unit, self.unknown);
            self.taken = Some(Taken { number: open.walk.unwrap_or(0), offset, objects, unit, unknown });
        }
        Ok(())
    }

    /// Applies a garbage collection: moves survivors, and forgets condemned objects without a report.
    fn take_effect(&mut self, at: usize) -> Result<(), StageError> {
        let open = &mut self.open[at];
        if std::mem::replace(&mut open.done, true) {
            return Ok(());
        }
        open.reported = true;
        let Open { ranges, survivors, account, .. } = open;
        account.sort_by_key(ranges, |range| *range)?;
        account.sort_by_key(survivors, |survivor| *survivor)?;
        self.sizes.collect(ranges, survivors)?;
        (*ranges, *survivors) = (Vec::new(), Vec::new());
        Ok(())
    }

    /// Completes the log: returns the wanted walk, and writes names and keys of classes.
    fn finish(mut self, bytes: &Bytes<'_>, complete: bool) -> Result<(Walk, Metadata), StageError> {
        let Some(taken) = self.taken.take() else { return Err(self.missing(bytes)) };
        let mut names = NameWriter::create(self.budget, self.scratch)?;
        let undefined = self.types.write(&mut names, self.scratch, self.budget)?;
        names.finish()?;
        let mut remarks: Vec<String> = self.walks.remarks(taken.number, undefined).collect();
        if taken.unknown > 0 {
            let unknown = taken.unknown;
            remarks.push(format!(
                "the log has no allocation of {unknown} objects: their sizes are unknown, and count as 0"
            ));
        }
        if !complete {
            remarks.push("the log ends before it says that it does".to_owned());
        }
        let nodes = taken.objects + u64::from(FIRST);
        let metadata = document::metadata(LOG, VERSION.to_owned(), nodes, ROOT);
        let class_count = u64::from(self.types.count()) + 1;
        let (name, offset, unit) = (bytes.name().to_owned(), taken.offset, taken.unit);
        Ok((Walk { name, offset, unit, by_address: true, class_count, remarks }, metadata))
    }

    /// Returns the error for a log without the wanted walk.
    fn missing(&self, bytes: &Bytes<'_>) -> StageError {
        match self.recorder {
            Some(_) => bytes.error(bytes.offset(), "the end of the collection with the walk", "that of the log"),
            None => self.walks.missing(bytes.name(), bytes.offset()),
        }
    }
}

/// Estimates the size of the largest walk of a log, which it reads to its end.
pub(crate) fn estimate(bytes: &mut Bytes<'_>) -> Result<Estimate, StageError> {
    let (mut now, mut most) = ((0_u64, 0_u64), (0, 0));
    profiler_log::read(bytes, |letter, fields, _| {
        match letter {
            b'O' => {
                let references = fields.0.iter().filter(|&&byte| byte == b' ').count().saturating_sub(2);
                now = (now.0 + 1, now.1 + references as u64);
            }
            b'R' => now.1 += 1,
            b'E' => most = most.max(std::mem::take(&mut now)),
            _ => {}
        }
        Ok(())
    })?;
    let (objects, edges) = most.max(now);
    Ok(Estimate { nodes: objects + u64::from(FIRST), edges, exact: true })
}
