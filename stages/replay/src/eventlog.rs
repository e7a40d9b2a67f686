//! The event log of heaplake's recorders (`docs/event-log.md`).
//!
//! The recorder has counted all objects and chosen those with size and stack, so `--sample-interval` and the other
//! options of sampling change nothing. [`recorded`](crate::recorded) applies the records.
//!
//! A log that ends inside a frame is read up to that frame. Any other damage is an error.
//!
//! Resident memory: a frame as stored and decompressed; 4 bytes per stack and method; 40 bytes per tracked object.

use crate::events::Clock;
use crate::recorded::{Recorded, Settings};
use crate::replay::Replay;
use heaplake_eventlog::Bad;
use heaplake_eventlog::frame::{FrameHeader, HEADER, Unpacker};
use heaplake_eventlog::header::{self, FIXED, Header, VERSION};
use heaplake_input::bytes::Bytes;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};

pub(crate) use heaplake_eventlog::header::MAGIC;

/// Bytes of zstd's state while it decompresses a frame in memory.
const ZSTD: u64 = 256 << 10;

/// Result of reading a log, besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Version of the format.
    pub version: Option<String>,
    /// Left-out part of an incomplete log.
    pub left_out: Option<String>,
    /// Stacks without their outermost frames.
    pub cut_stacks: u64,
}

/// Whether the log with this beginning is of a Java virtual machine.
pub(crate) fn is_of_java(beginning: &[u8]) -> bool {
    let property = b"\x07runtime\x04java";
    beginning.get(FIXED..).is_some_and(|rest| rest.starts_with(property))
}

/// Reads a log.
pub(crate) fn read(bytes: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Outcome, StageError> {
    let header = read_header(bytes)?;
    let started = header.number(header::STARTED_US).and_then(|us| i64::try_from(us).ok());
    replay.clock = Clock { frequency: 1e6, origin_us: started.unwrap_or(0), origin: 0 };
    let settings = Settings {
        interval: header.number(header::INTERVAL).and_then(|interval| u32::try_from(interval).ok()).unwrap_or(1),
        deaths: header.get(header::MODE) == Some("lifetimes"),
    };
    let mut recorded = Recorded::new(replay, settings, budget)?;
    let left_out = frames(bytes, &mut recorded, budget)?;
    let (complete, cut_stacks) = recorded.finish()?;
    replay.anomalies.without_end += u64::from(!complete);
    Ok(Outcome { version: Some(VERSION.to_string()), left_out, cut_stacks })
}

fn read_header(bytes: &mut Bytes<'_>) -> Result<Header, StageError> {
    let fixed = bytes.array::<FIXED>("the header of an event log")?;
    let rest = Header::rest(&fixed).map_err(|bad| failed(bytes, bad))?;
    let mut whole = fixed.to_vec();
    if bytes.append_to(&mut whole, rest)? < rest {
        return Err(bytes.error(whole.len() as u64, "the header of an event log", "the end of the log"));
    }
    Header::decode(&whole).map_err(|bad| failed(bytes, bad))
}

fn failed(bytes: &Bytes<'_>, bad: Bad) -> StageError {
    bytes.error(bad.at, bad.expected, bad.found)
}

/// Reads frames to the end of the log; describes an incomplete one.
fn frames(bytes: &mut Bytes<'_>, recorded: &mut Recorded<'_>, budget: &Budget) -> Result<Option<String>, StageError> {
    let mut account = MemoryAccount::new(budget, "a frame of the event log")?;
    account.add(ZSTD)?;
    let zstd = |error| bytes_error(&error);
    let mut unpacker = Unpacker::new().map_err(zstd)?;
    let (mut stored, mut held) = (Vec::new(), 0);
    loop {
        let offset = bytes.offset();
        stored.clear();
        let found = bytes.append_to(&mut stored, HEADER)?;
        let Ok(header) = <[u8; HEADER]>::try_from(&stored[..]) else {
            return Ok((found > 0).then(|| cut(offset)));
        };
        let header = FrameHeader::decode(&header, offset).map_err(|bad| failed(bytes, bad))?;
        let more = (header.stored + header.plain).saturating_sub(held);
        account.add(more as u64)?;
        held += more;
        stored.clear();
        stored.reserve_exact(header.stored);
        if bytes.append_to(&mut stored, header.stored)? < header.stored {
            return Ok(Some(cut(offset)));
        }
        let content = unpacker.unpack(header, &stored, offset).map_err(|bad| failed(bytes, bad))?;
        for (number, record) in (0_u32..).zip(content.records()) {
            if number % (1 << 14) == 0 {
                bytes.check()?;
            }
            let apply = record.map_err(|bad| bad.to_string()).and_then(|record| match recorded.apply(record) {
                Ok(Ok(())) => Ok(Ok(())),
                Ok(Err(expected)) => Err(format!("expected {expected}, found another one")),
                Err(error) => Ok(Err(error)),
            });
            match apply {
                Ok(result) => result?,
                Err(text) => {
                    return Err(bytes.error(offset, "a frame of valid records", format!("record {number}: {text}")));
                }
            }
        }
    }
}

fn bytes_error(error: &std::io::Error) -> StageError {
    StageError::io(std::path::Path::new("zstd"), "prepare", std::io::Error::other(error.to_string()))
}

fn cut(offset: u64) -> String {
    format!("the log ends early, in the frame at byte {offset}, which this leaves out")
}
