//! Any log that is written is read again; any damaged one is an error or ends early, and never more.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use heaplake_eventlog::encode::{Encoder, MethodRecord};
use heaplake_eventlog::frame::FrameWriter;
use heaplake_eventlog::header::Header;
use heaplake_eventlog::reader::{Failure, Log};
use heaplake_eventlog::record::{FrameOfStack, Note, Record, Records, Sample};
use proptest::prelude::*;

/// A record of each kind, with its fields.
#[derive(Clone, Debug, PartialEq)]
enum Any {
    Class(u32, Vec<u8>),
    Thread(u32, Vec<u8>),
    Method(u32, [Vec<u8>; 4], Vec<(u32, u32)>),
    Stack(u32, bool, Vec<(u32, Option<u32>)>),
    Counts(Vec<(u32, u64, u64)>),
    Sample(Sample),
    Deaths(Vec<u32>),
    Start(u32),
    End(u32),
    Time(u64),
    Dropped(u64),
    Forget,
    Note(u64),
    Last,
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..12)
}

fn frames() -> impl Strategy<Value = Vec<(u32, Option<u32>)>> {
    proptest::collection::vec((any::<u32>(), proptest::option::of(0..u32::MAX)), 0..6)
}

fn any_sample() -> impl Strategy<Value = Sample> {
    (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>())
        .prop_map(|(class, size, weight, stack, thread, tag)| Sample { class, size, weight, stack, thread, tag })
}

fn any_record() -> impl Strategy<Value = Any> {
    prop_oneof![
        (any::<u32>(), text()).prop_map(|(id, name)| Any::Class(id, name)),
        (any::<u32>(), text()).prop_map(|(id, name)| Any::Thread(id, name)),
        (any::<u32>(), [text(), text(), text(), text()], proptest::collection::vec(any::<(u32, u32)>(), 0..5))
            .prop_map(|(id, texts, lines)| Any::Method(id, texts, lines)),
        (any::<u32>(), any::<bool>(), frames()).prop_map(|(id, cut, frames)| Any::Stack(id, cut, frames)),
        proptest::collection::vec(any::<(u32, u64, u64)>(), 0..5).prop_map(Any::Counts),
        any_sample().prop_map(Any::Sample),
        proptest::collection::vec(any::<u32>(), 0..9).prop_map(Any::Deaths),
        any::<u32>().prop_map(Any::Start),
        any::<u32>().prop_map(Any::End),
        any::<u64>().prop_map(Any::Time),
        any::<u64>().prop_map(Any::Dropped),
        Just(Any::Forget),
        any::<u64>().prop_map(Any::Note),
        Just(Any::Last),
    ]
}

fn write(record: &Any, to: &mut Encoder) {
    match record {
        Any::Class(id, name) => to.class(*id, name),
        Any::Thread(id, name) => to.thread(*id, name),
        Any::Method(id, [class, name, signature, file], lines) => {
            let method = MethodRecord { id: *id, class, name, signature, file, lines };
            let before = to.bytes().len();
            to.method(&method);
            assert!(to.bytes().len() - before <= method.bound());
        }
        Any::Stack(id, cut, frames) => {
            let before = to.bytes().len();
            to.stack(*id, *cut, frames.iter().map(|&(method, position)| FrameOfStack { method, position }));
            assert!(to.bytes().len() - before <= Encoder::bound_of_stack(frames.len()));
        }
        Any::Counts(counts) => to.counts(counts.iter().copied()),
        Any::Sample(sample) => to.sample(sample),
        Any::Deaths(tags) => to.deaths(tags),
        Any::Start(number) => to.collection_start(*number),
        Any::End(number) => to.collection_end(*number),
        Any::Time(passed) => to.time(*passed),
        Any::Dropped(samples) => to.dropped(*samples),
        Any::Forget => to.forget_stacks(),
        Any::Note(count) => to.note(Note::Untracked, *count),
        Any::Last => to.end(),
    }
}

fn read(record: Record<'_>) -> Any {
    match record {
        Record::Class { id, name } => Any::Class(id, name.to_vec()),
        Record::Thread { id, name } => Any::Thread(id, name.to_vec()),
        Record::Method { id, texts, lines } => Any::Method(id, texts.map(<[u8]>::to_vec), lines.collect()),
        Record::Stack { id, cut, frames } => {
            Any::Stack(id, cut, frames.map(|frame| (frame.method, frame.position)).collect())
        }
        Record::Counts(counts) => Any::Counts(counts.map(|of| (of.class, of.objects, of.bytes)).collect()),
        Record::Sample(sample) => Any::Sample(sample),
        Record::Deaths(tags) => Any::Deaths(tags.collect()),
        Record::CollectionStart(number) => Any::Start(number),
        Record::CollectionEnd(number) => Any::End(number),
        Record::Time(passed) => Any::Time(passed),
        Record::Dropped(samples) => Any::Dropped(samples),
        Record::ForgetStacks => Any::Forget,
        Record::Note(_, count) => Any::Note(count),
        Record::End => Any::Last,
    }
}

/// Writes a log with a frame for each list of records.
fn log(frames: &[Vec<Any>]) -> Vec<u8> {
    let header = Header::new([("runtime", "java"), ("started_us", "17")]);
    let mut writer = FrameWriter::new(Vec::new(), &header).unwrap();
    let mut records = Encoder::default();
    for frame in frames {
        records.clear();
        frame.iter().for_each(|record| write(record, &mut records));
        writer.write(&records).unwrap();
    }
    let written = writer.written();
    let bytes = writer.into_inner();
    assert_eq!(written, bytes.len() as u64);
    bytes
}

/// Reads a log: its records, and the offset of an incomplete frame.
fn all(log: &[u8]) -> Result<(Vec<Any>, Option<u64>), Failure> {
    let mut log = Log::open(log)?;
    let mut found = Vec::new();
    while let Some(frame) = log.frame()? {
        let before = found.len();
        for record in frame.records() {
            found.push(read(record?));
        }
        assert_eq!(found.len() - before, frame.header.records as usize);
    }
    Ok((found, log.left_out()))
}

fn logs() -> impl Strategy<Value = Vec<Vec<Any>>> {
    proptest::collection::vec(proptest::collection::vec(any_record(), 1..12), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn logs_are_read_as_written(frames in logs()) {
        let (found, left_out) = all(&log(&frames)).unwrap();
        prop_assert_eq!(found, frames.concat());
        prop_assert_eq!(left_out, None);
    }

    #[test]
    fn a_log_cut_anywhere_has_its_whole_frames(frames in logs()) {
        let bytes = log(&frames);
        let whole = frames.concat();
        for length in 0..bytes.len() {
            match all(&bytes[..length]) {
                Ok((found, _)) => prop_assert!(whole.starts_with(&found) && found.len() <= whole.len()),
                Err(Failure::Bad(bad)) => prop_assert!(bad.at <= length as u64 && length < 64, "{bad} of {length}"),
                Err(Failure::Read(error)) => prop_assert!(false, "{error}"),
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_an_error_with_its_place(frames in logs(), places in proptest::collection::vec(any::<(usize, u8)>(), 1..64)) {
        let bytes = log(&frames);
        for (place, bit) in places {
            let mut damaged = bytes.clone();
            let place = place % damaged.len();
            damaged[place] ^= 1 << (bit % 8);
            match all(&damaged) {
                Err(Failure::Bad(bad)) => prop_assert!(bad.at <= bytes.len() as u64),
                other => prop_assert!(false, "byte {place}: {other:?}"),
            }
        }
    }

    #[test]
    fn any_bytes_are_records_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for record in Records::new(&bytes) {
            match record {
                Ok(record) => drop(read(record)),
                Err(bad) => prop_assert!(bad.at < bytes.len() as u64),
            }
        }
    }
}
