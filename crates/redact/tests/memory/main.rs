//! The memory of a redaction does not grow with the input. A binary of its own: the peak is that of the process.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

use heaplake_input::source::Input;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_redact::{Choice, Content, Key, Options, Sink, Summary, Texts};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Limit of the whole process, bytes.
const MOST: u64 = 64 << 20;

/// Writes a snapshot of about `bytes` bytes: strings, some of which are names, too.
fn snapshot(bytes: u64, out: &mut impl Write) {
    let count = bytes / 120;
    write!(
        out,
        "{{\"snapshot\":{{\"meta\":{{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\"],\
         \"node_types\":[[\"object\",\"string\"],\"string\"],\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\
         \"edge_types\":[[\"property\",\"element\"],\"string_or_number\"]}},\"node_count\":{count},\"edge_count\":{count}}},\n\"nodes\":["
    )
    .unwrap();
    for at in 0..count {
        let comma = if at == 0 { "" } else { "\n," };
        write!(out, "{comma}{},{at},{},{},1", u8::from(at > 0), 2 * at + 1, 16 + at % 64).unwrap();
    }
    write!(out, "],\n\"edges\":[").unwrap();
    for at in 0..count {
        let comma = if at == 0 { "" } else { "\n," };
        write!(out, "{comma}0,{},{}", at % 20_000, at * 5).unwrap();
    }
    write!(out, "],\n\"strings\":[").unwrap();
    for at in 0..count {
        let comma = if at == 0 { "" } else { ",\n" };
        write!(out, "{comma}\"a text of a program, number {at}, for customer{at}@example.com\"").unwrap();
    }
    write!(out, "]}}").unwrap();
}

/// Writes a dump of about `bytes` bytes: arrays of bytes, and one long array.
fn dump(bytes: u64, out: &mut impl Write) {
    out.write_all(b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0").unwrap();
    let head =
        |id: u64, length: u64| [&[0x23][..], &id.to_be_bytes(), &[0; 4], &(length as u32).to_be_bytes(), &[8]].concat();
    let (each, long) = (84, bytes / 2);
    for at in 0..bytes / 2 / 1_050_000 {
        out.write_all(&[0x1c, 0, 0, 0, 0]).unwrap();
        out.write_all(&(12_500u32 * each).to_be_bytes()).unwrap();
        for number in 0..12_500 {
            let id = (at * 12_500 + number + 1) * 8;
            out.write_all(&head(id, u64::from(each) - 18)).unwrap();
            out.write_all(format!("{id:066}").as_bytes()).unwrap();
        }
    }
    out.write_all(&[0x1c, 0, 0, 0, 0]).unwrap();
    out.write_all(&(long as u32 + 18).to_be_bytes()).unwrap();
    out.write_all(&head(7, long)).unwrap();
    for at in 0..long / 8 {
        out.write_all(&at.to_be_bytes()).unwrap();
    }
    out.write_all(&vec![1; (long % 8) as usize]).unwrap();
    out.write_all(&[0x2c, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
}

/// Peak of the memory of this process, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn redacted(path: &Path, texts: Texts) -> Summary {
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(MOST / 2), threads: 1, progress: &Silent, cancel: &cancel };
    let mut content = Content::open(Input::File(path.to_owned()), &std::env::temp_dir(), false, &context).unwrap();
    let options = Options { texts, numbers: Choice::Mask, thread_names: Choice::Mask, key: Key::random() };
    let mut out = std::io::sink();
    heaplake_redact::redact(&mut content, &options, &mut Sink::new(&mut out, path), &context).unwrap()
}

fn stays_small(bytes: u64) {
    type Out = BufWriter<std::fs::File>;
    let makers: [fn(u64, &mut Out); 2] = [snapshot, dump];
    for write in makers {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut out = BufWriter::new(file.reopen().unwrap());
        write(bytes, &mut out);
        out.flush().unwrap();
        let length = file.as_file().metadata().unwrap().len();
        assert!(length.abs_diff(bytes) * 3 < bytes, "{length}");
        let start = std::time::Instant::now();
        let summary = redacted(file.path(), Texts::Hash);
        let rate = length as f64 / 1e6 / start.elapsed().as_secs_f64();
        eprintln!("{} of {length} bytes: {rate:.0} MB/s, peak {} bytes", summary.format, peak());
        assert!(summary.all().count > bytes / 300, "{summary:?}");
        assert!(peak() < MOST, "{} bytes", peak());
    }
}

#[test]
fn memory_does_not_grow_with_the_input() {
    stays_small(30 << 20);
}

#[test]
#[ignore = "long"]
fn memory_does_not_grow_with_a_large_input() {
    stays_small(500_000_000);
}
