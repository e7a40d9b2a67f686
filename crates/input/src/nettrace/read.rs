//! `.nettrace`, as written by .NET's EventPipe: the container and its blocks.
//!
//! Versions 4 and 5: after the magic a sequence of objects, each with a name. `Trace` comes first, with pointer size
//! and clock. `MetadataBlock` describes events, `StackBlock` has stacks, `EventBlock` has events of one or several
//! threads, and `SPBlock` is a sequence point: everything after it is younger than everything before, and stack numbers
//! start anew. Other objects are skipped. Version 6 has another container and is refused by name.

use super::cursor::Cursor;
use super::header::{Form, Header};
use super::kinds::Kinds;
use super::sequence::Sequences;
use super::span::{Around, Short, Span, Stacks};
use crate::bytes::Bytes;
use heaplake_kit::{Budget, StageError};

/// Magic of a trace.
pub const MAGIC: &[u8] = b"Nettrace";

/// Form of versions 4 and 5, after the magic.
const SERIALIZATION: &[u8] = b"!FastSerialization.1";

/// Newest supported version of the container.
const NEWEST: u32 = 5;

/// Maximum bytes of a block: positions inside have 32 bits.
const LARGEST: u32 = i32::MAX as u32;

/// Tags of the container.
mod tag {
    pub(super) const NONE: u8 = 1;
    pub(super) const BEGIN: u8 = 5;
    pub(super) const END: u8 = 6;
}

/// Metadata of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Version of the container.
    pub version: u32,
    /// True if pointers of the process have eight bytes.
    pub wide: bool,
    /// Ticks per second.
    pub frequency: u64,
    /// Start of the trace, ticks.
    pub origin: u64,
    /// Start of the trace, microseconds since 1970.
    pub origin_us: i64,
}

/// Result of reading a trace, besides its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Version of the container; 0 if unknown.
    pub version: u32,
    /// Number of stacks that events refer to but the trace lacks.
    pub unknown_stacks: u64,
    /// Events dropped by the recorder because its buffers were full.
    pub lost_events: u64,
}

/// Receives the events of a trace, sorted by time.
pub trait Events {
    /// Kind of events received.
    type Kind: Copy;

    /// Returns the kind of a provider's event with this number and version; `None` to skip it.
    fn kind(provider: &str, event: u32, version: u32) -> Option<Self::Kind>;

    /// Receives the metadata of the trace.
    fn trace(&mut self, trace: &Trace);

    /// Receives the number of events that the recorder dropped up to the end of the next batch.
    fn lost(&mut self, _events: u64) {}

    /// Receives an event. Returns false if its payload ends too early.
    fn event(
        &mut self,
        kind: Self::Kind,
        payload: &[u8],
        around: Around,
        stacks: &mut Stacks<'_>,
    ) -> Result<bool, StageError>;
}

/// Reads a trace from its magic to its end.
///
/// # Errors
/// [`StageError::Input`] for a violation of the format.
pub fn read<E: Events>(bytes: &mut Bytes<'_>, events: &mut E, budget: &Budget) -> Result<Outcome, StageError> {
    begin(bytes)?;
    let mut reader = Reader {
        version: 0,
        wide: true,
        kinds: Kinds::new(budget)?,
        span: Span::new(budget)?,
        sequences: Sequences::new(budget)?,
        events,
    };
    while let Some((name, version)) = object(bytes)? {
        match name.as_slice() {
            b"Trace" => reader.trace(version, bytes)?,
            b"EventBlock" => reader.events(bytes)?,
            b"MetadataBlock" => reader.metadata(bytes)?,
            b"StackBlock" => reader.stacks(bytes)?,
            b"SPBlock" => reader.sequence_point(bytes)?,
            _ => pass_over(bytes)?,
        }
        let at = bytes.offset();
        let [end] = bytes.array("the end of an object")?;
        if end != tag::END {
            return Err(bytes.error(at, "the end of an object (06)", format!("{end:02x}")));
        }
    }
    reader.release(bytes)?;
    Ok(Outcome {
        version: reader.version,
        unknown_stacks: reader.span.unknown_stacks,
        lost_events: reader.sequences.lost,
    })
}

/// Checks magic and version of the container.
fn begin(bytes: &mut Bytes<'_>) -> Result<(), StageError> {
    bytes.array::<8>("the magic of a .nettrace")?;
    let length = u32::from_le_bytes(bytes.array("the form of a .nettrace")?);
    if length == 0 {
        let major = u32::from_le_bytes(bytes.array("the version of a .nettrace")?);
        let minor = u32::from_le_bytes(bytes.array("the version of a .nettrace")?);
        return Err(bytes.error(12, "a .nettrace of version 4 or 5", format!("version {major}.{minor}")));
    }
    let mut form = Vec::new();
    if length as usize == SERIALIZATION.len() {
        bytes.append_to(&mut form, SERIALIZATION.len())?;
    }
    if form != SERIALIZATION {
        return Err(bytes.error(8, "a .nettrace of version 4 or 5", "another form"));
    }
    Ok(())
}

/// Reads the beginning of an object: name and version; `None` at the end of the trace.
fn object(bytes: &mut Bytes<'_>) -> Result<Option<(Vec<u8>, u32)>, StageError> {
    const WHAT: &str = "the next object";
    const LONGEST: u32 = 64;
    let at = bytes.offset();
    let [first] = bytes.array(WHAT)?;
    if first == tag::NONE {
        return Ok(None);
    }
    let rest: [u8; 2] = bytes.array(WHAT)?;
    if [first, rest[0], rest[1]] != [tag::BEGIN, tag::BEGIN, tag::NONE] {
        let found = format!("{first:02x} {:02x} {:02x}", rest[0], rest[1]);
        return Err(bytes.error(at, "the beginning of an object (05 05 01)", found));
    }
    let version = u32::from_le_bytes(bytes.array(WHAT)?);
    let least_reader = u32::from_le_bytes(bytes.array(WHAT)?);
    let length = u32::from_le_bytes(bytes.array(WHAT)?);
    if length > LONGEST {
        return Err(bytes.error(at, format!("a name of at most {LONGEST} bytes"), format!("{length} bytes")));
    }
    let mut name = Vec::new();
    bytes.append_to(&mut name, length as usize)?;
    let [end] = bytes.array(WHAT)?;
    if end != tag::END {
        return Err(bytes.error(at, "the name of an object", format!("{end:02x} behind it")));
    }
    if least_reader > NEWEST {
        let found = format!("{:?} for readers of version {least_reader}", String::from_utf8_lossy(&name));
        return Err(bytes.error(at, format!("objects for readers of version {NEWEST}"), found));
    }
    Ok(Some((name, version)))
}

/// Reads the size of a block, and the padding before its content.
fn size(bytes: &mut Bytes<'_>) -> Result<u32, StageError> {
    let at = bytes.offset();
    let size = u32::from_le_bytes(bytes.array("the size of a block")?);
    if size > LARGEST {
        return Err(bytes.error(at, "the size of a block", format!("{size} bytes")));
    }
    while !bytes.offset().is_multiple_of(4) {
        bytes.array::<1>("a block")?;
    }
    Ok(size)
}

/// Fails if a block is shorter than its size; `at` is the offset of the size.
fn whole(bytes: &Bytes<'_>, at: u64, size: u32, found: usize) -> Result<(), StageError> {
    if found == size as usize {
        return Ok(());
    }
    Err(bytes.error(at, format!("a block of {size} bytes"), format!("the end of the trace after {found}")))
}

/// Reads the content of a block; returns its offset, too.
fn block<K: Copy>(bytes: &mut Bytes<'_>, span: &mut Span<K>) -> Result<(Vec<u8>, u64), StageError> {
    let at = bytes.offset();
    let size = size(bytes)?;
    let start = bytes.offset();
    let block = span.read(bytes, size as usize)?;
    whole(bytes, at, size, block.len())?;
    Ok((block, start))
}

/// Skips a block.
fn pass_over(bytes: &mut Bytes<'_>) -> Result<(), StageError> {
    let at = bytes.offset();
    let size = size(bytes)?;
    let found = bytes.skip_up_to(size.into())?;
    whole(bytes, at, size, found as usize)
}

struct Reader<'a, E: Events> {
    version: u32,
    wide: bool,
    kinds: Kinds<E::Kind>,
    span: Span<E::Kind>,
    sequences: Sequences,
    events: &'a mut E,
}

impl<E: Events> Reader<'_, E> {
    fn trace(&mut self, version: u32, bytes: &mut Bytes<'_>) -> Result<(), StageError> {
        let at = bytes.offset();
        let body: [u8; 48] = bytes.array("the description of the trace")?;
        let mut fields = Cursor(&body);
        let mut part = || u64::from(fields.u16().unwrap_or_default());
        let (year, month, _, day) = (part(), part(), part(), part());
        let (hour, minute, second, milli) = (part(), part(), part(), part());
        let origin = fields.u64().unwrap_or_default();
        let frequency = fields.u64().unwrap_or_default();
        let pointer = fields.u32().unwrap_or_default();
        if !matches!(pointer, 4 | 8) {
            return Err(bytes.error(at + 32, "pointers of 4 or 8 bytes", format!("{pointer} bytes")));
        }
        self.version = version;
        self.wide = pointer == 8;
        let origin_us = since_1970(year, month, day, hour * 3_600_000 + minute * 60_000 + second * 1000 + milli);
        self.events.trace(&Trace { version, wide: self.wide, frequency, origin, origin_us });
        Ok(())
    }

    /// Parses the header of a block whose entries have event headers: its length, and their encoding.
    fn headed(block: &[u8]) -> Option<(usize, Form)> {
        let mut fields = Cursor(block);
        let header = usize::from(fields.u16()?);
        let form = if fields.u16()? & 1 == 1 { Form::Compressed } else { Form::Plain };
        (header >= 4 && header <= block.len()).then_some((header, form))
    }

    fn metadata(&mut self, bytes: &mut Bytes<'_>) -> Result<(), StageError> {
        let (block, start) = block(bytes, &mut self.span)?;
        let Some((from, form)) = Self::headed(&block) else {
            return Err(bytes.error(start, "the header of a block", "less than it says"));
        };
        let mut rest = Cursor(&block[from..]);
        let mut header = Header::default();
        while !rest.0.is_empty() {
            let at = start + (block.len() - rest.0.len()) as u64;
            let whole = match header.next(form, &mut rest) {
                Some(payload) => self.kinds.define(payload, E::kind)?,
                None => false,
            };
            if !whole {
                return Err(bytes.error(at, "the description of an event", "the end of its block"));
            }
        }
        self.span.give_back(block);
        Ok(())
    }

    fn events(&mut self, bytes: &mut Bytes<'_>) -> Result<(), StageError> {
        let (block, start) = block(bytes, &mut self.span)?;
        let Some((from, form)) = Self::headed(&block) else {
            return Err(bytes.error(start, "the header of a block", "less than it says"));
        };
        let mut rest = Cursor(&block[from..]);
        let mut header = Header::default();
        let number = self.span.next_block();
        while !rest.0.is_empty() {
            let at = start + (block.len() - rest.0.len()) as u64;
            let Some(payload) = header.next(form, &mut rest) else {
                return Err(bytes.error(at, "an event", "the end of its block"));
            };
            let Some(kind) = self.kinds.get(header.metadata) else {
                let expected = "an event that was described before";
                return Err(bytes.error(at, expected, format!("one of description {}", header.metadata)));
            };
            self.sequences.event(header.capture_thread, header.sequence)?;
            if let Some(kind) = kind {
                // The payload may be followed by padding.
                let begin = payload.as_ptr().addr() - block.as_ptr().addr();
                self.span.hold((kind, header.time, header.stack), (number, begin, payload.len()))?;
            }
        }
        self.span.keep(block, start);
        Ok(())
    }

    fn stacks(&mut self, bytes: &mut Bytes<'_>) -> Result<(), StageError> {
        let (block, start) = block(bytes, &mut self.span)?;
        let mut rest = Cursor(&block);
        let (Some(first), Some(count)) = (rest.u32(), rest.u32()) else {
            return Err(bytes.error(start, "numbers of stacks", "the end of their block"));
        };
        let number = self.span.next_block();
        for stack in 0..count {
            let at = start + (block.len() - rest.0.len()) as u64;
            let Some(length) = rest.u32() else {
                return Err(bytes.error(
                    at,
                    format!("{count} stacks"),
                    format!("the end of their block after {stack}"),
                ));
            };
            let begin = block.len() - rest.0.len();
            if rest.take(length as usize).is_none() {
                return Err(bytes.error(at, format!("a stack of {length} bytes"), "the end of its block"));
            }
            self.span.stack(first.wrapping_add(stack), (number, begin, length as usize))?;
        }
        self.span.keep(block, start);
        Ok(())
    }

    fn sequence_point(&mut self, bytes: &mut Bytes<'_>) -> Result<(), StageError> {
        let (block, start) = block(bytes, &mut self.span)?;
        if !self.sequences.point(&block)? {
            return Err(bytes.error(start, "a sequence point", "the end of its block"));
        }
        self.release(bytes)?;
        self.span.give_back(block);
        Ok(())
    }

    fn release(&mut self, bytes: &Bytes<'_>) -> Result<(), StageError> {
        let events = &mut *self.events;
        events.lost(self.sequences.lost);
        let event = |kind, payload: &[u8], around, stacks: &mut Stacks<'_>| {
            bytes.check()?;
            events.event(kind, payload, around, stacks)
        };
        match self.span.release(self.wide, event)? {
            Ok(()) => Ok(()),
            Err(Short(at)) => Err(bytes.error(at, "the fields of an event", "the end of its payload")),
        }
    }
}

/// Converts a date and its milliseconds into microseconds since 1970.
fn since_1970(year: u64, month: u64, day: u64, millis: u64) -> i64 {
    // Days from civil (Hinnant): years begin in March, so that leap days are last.
    let year = year as i64 - i64::from(month <= 2);
    let shifted = (month as i64 + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day as i64 - 1;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    (days * 86_400_000 + millis as i64) * 1000
}
