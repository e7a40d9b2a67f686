//! `.jfr`: recordings of Java Flight Recorder, versions 1 and 2 of the format (JDK 9 and newer).
//!
//! A recording is a sequence of self-contained chunks: events, the constants that they refer to, and metadata of the
//! classes of both. Recordings may be joined by concatenation. A chunk is read whole ([`chunk`]), since metadata comes
//! after the events; [`metadata`] has its classes, [`constants`] finds constants, [`fields`] reads values, with
//! [`cursor`]. [`reader`] passes on the events of a chunk: allocations as weighted ticks ([`weights`](crate::weights)),
//! [`collections`], [`old_objects`]. [`names`] and [`strings`] resolve names, [`recording`] is the state kept from
//! chunk to chunk.
//!
//! A recording that ends inside a chunk is read up to that chunk, and the rest is reported as left out. Damage inside a
//! whole chunk is an error.
//!
//! Resident memory: a chunk, or a piece of one in scratch; some 100 bytes per class, field and constant of it; the
//! names of classes and methods.

pub(crate) mod chunk;
pub(crate) mod collections;
pub(crate) mod constants;
pub(crate) mod cursor;
pub(crate) mod fields;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod old_objects;
pub(crate) mod reader;
pub(crate) mod recording;
pub(crate) mod strings;

use crate::events::Clock;
use crate::replay::Replay;
use chunk::{Bad, Chunk, Failure, HEADER, Header};
use heaplake_input::bytes::Bytes;
use heaplake_kit::text::count;
use heaplake_kit::{Context, Scratch, StageError};
use recording::{Kept, Recording};

pub(crate) use chunk::MAGIC;

/// Result of reading a recording, besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Version of the format.
    pub version: Option<String>,
    /// Totals of the recording.
    pub kept: Kept,
    /// Left-out part of a truncated recording.
    pub left_out: Option<String>,
}

/// What follows at the start of a chunk.
enum Next {
    Chunk(Box<Chunk>),
    /// End of the content.
    End,
    /// An incomplete chunk, described for errors.
    Tail(String),
}

/// Reads a recording.
pub(crate) fn read(
    bytes: &mut Bytes<'_>,
    replay: &mut Replay,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Outcome, StageError> {
    let budget = &context.budget;
    let mut outcome = Outcome::default();
    let mut recording = Recording::new(replay, scratch, budget)?;
    loop {
        let start = bytes.offset();
        let chunk = match next(bytes, scratch, context)? {
            Next::Chunk(chunk) => chunk,
            Next::End => break,
            Next::Tail(found) if outcome.version.is_none() => {
                return Err(bytes.error(start, "a whole chunk", found));
            }
            Next::Tail(found) => {
                recording.replay.anomalies.without_end += 1;
                outcome.left_out =
                    Some(format!("the recording ends early; this leaves out what follows byte {start}: {found}"));
                break;
            }
        };
        let header = chunk.header;
        if outcome.version.is_none() {
            outcome.version = Some(format!("{}.{}", header.version.0, header.version.1));
            let origin = u64::try_from(header.start_nanos).unwrap_or(0);
            let origin_us = header.start_nanos.div_euclid(1000);
            recording.replay.clock = Clock { frequency: 1e9, origin_us, origin };
        }
        reader::read(&chunk, bytes, budget, &mut recording).map_err(|failure| failed(bytes, start, failure))?;
    }
    outcome.kept = recording.finish()?;
    Ok(outcome)
}

fn failed(bytes: &Bytes<'_>, start: u64, failure: Failure) -> StageError {
    match failure {
        Failure::Bad(Bad { at, expected, found }) => bytes.error(start.saturating_add(at), expected, found),
        Failure::Stage(error) => error,
    }
}

/// Reads the chunk that begins here.
fn next(bytes: &mut Bytes<'_>, scratch: &Scratch, context: &Context<'_>) -> Result<Next, StageError> {
    let start = bytes.offset();
    let mut beginning = Vec::with_capacity(HEADER);
    let found = bytes.append_to(&mut beginning, HEADER)?;
    if found == 0 {
        return Ok(Next::End);
    }
    if start > 0 && !beginning.starts_with(&MAGIC[..found.min(MAGIC.len())]) {
        return Ok(Next::Tail("no chunk begins there".to_owned()));
    }
    let Ok(beginning) = <[u8; HEADER]>::try_from(beginning) else {
        return Ok(Next::Tail(format!("{found} bytes of the header of a chunk")));
    };
    let header = Header::read(&beginning).map_err(|bad| failed(bytes, start, Failure::Bad(bad)))?;
    if !header.is_written() {
        return Ok(Next::Tail("a chunk that was never finished".to_owned()));
    }
    Ok(match Chunk::read(bytes, &beginning, header, (scratch, &context.budget))? {
        Ok(chunk) => Next::Chunk(Box::new(chunk)),
        Err(there) => Next::Tail(format!("{} of {} bytes of a chunk", count(there), count(header.size))),
    })
}
