//! Inputs with a valid outer form and arbitrary content: records, rows, events and lines made from bytes.

mod nettrace;

use crate::analysis::{analyze, everything, replay};
use crate::mutate;
use crate::subject::Target;
use arbitrary::{Result, Unstructured};
use heaplake_oracle::SplitMix64;
use heaplake_oracle::jvm::write::{header, id, record, u4};
use heaplake_schemas::options::AnalysisOptions;
use std::fmt::Write;

/// Java dumps of arbitrary records.
pub(super) const HPROF_RECORDS: Target = Target { name: "hprof_records", run: hprof_records, seeds: noise, words: &[] };

/// V8 snapshots of arbitrary fields and rows.
pub(super) const HEAPSNAPSHOT_ROWS: Target =
    Target { name: "heapsnapshot_rows", run: heapsnapshot_rows, seeds: noise, words: &[] };

/// The same, damaged, in salvage mode.
pub(super) const HEAPSNAPSHOT_SALVAGE: Target =
    Target { name: "heapsnapshot_salvage", run: heapsnapshot_salvage, seeds: noise, words: &[] };

/// .NET traces of arbitrary events.
pub(super) const NETTRACE_EVENTS: Target =
    Target { name: "nettrace_events", run: nettrace_events, seeds: noise, words: &[] };

/// Profiler logs of arbitrary lines.
pub(super) const LOG_LINES: Target = Target { name: "log_lines", run: log_lines, seeds: noise, words: &[] };

/// Random bytes that decide everything.
fn noise() -> Vec<Vec<u8>> {
    let bytes = |seed: u64| {
        let rng = &mut SplitMix64::new(seed);
        (0..200 + 300 * seed).map(|_| rng.next_u64() as u8).collect()
    };
    (0..8).map(bytes).collect()
}

/// False once the bytes are used up, which ends the input.
fn goes_on(u: &Unstructured<'_>) -> bool {
    !u.is_empty()
}

fn hprof_records(data: &[u8]) -> String {
    let file = hprof(&mut Unstructured::new(data)).unwrap_or_default();
    analyze("heap.hprof", &file, AnalysisOptions { salvage: !data.len().is_multiple_of(4), ..everything() })
}

/// Names with a meaning, and one without.
const NAMES: [&str; 12] = [
    "java/lang/Object",
    "java/lang/Class",
    "java/lang/ClassLoader",
    "java/lang/String",
    "java/lang/Thread",
    "java/lang/ref/Reference",
    "java/lang/ref/WeakReference",
    "java/util/HashMap",
    "java/util/ArrayList",
    "jdk/internal/vm/StackChunk",
    "[B",
    "\u{202e}x",
];
const FIELDS: [&str; 8] = ["value", "coder", "name", "referent", "size", "table", "elementData", "baseCount"];

fn hprof(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let size = if u.ratio(1, 4)? { 4 } else { 8 };
    let mut file = header("1.0.2", size, 1);
    for (number, name) in (1..).zip(NAMES.iter().chain(&FIELDS)) {
        file.extend(record(0x01, &[id(size, number), name.as_bytes().to_vec()].concat()));
    }
    let classes = u.int_in_range(0..=NAMES.len() as u32)?;
    for class in 0..classes {
        let name = u64::from(class) + 1;
        file.extend(record(0x02, &[u4(class + 1), id(size, address(u)?), u4(0), id(size, name)].concat()));
    }
    for number in 0..u.int_in_range(0..=3u32)? {
        let ids = [u64::from(number), any_name(u)?, 0, any_name(u)?].map(|part| id(size, part)).concat();
        file.extend(record(0x04, &[ids, u4(number), u4(u.arbitrary()?)].concat()));
        let count = u.int_in_range(0..=4u32)?;
        let frames = (0..count).map(|_| Ok(id(size, u.int_in_range(0..=4)?))).collect::<Result<Vec<_>>>()?;
        file.extend(record(0x05, &[u4(number), u4(number), u4(count), frames.concat()].concat()));
    }
    while goes_on(u) {
        let mut heap = Vec::new();
        for _ in 0..u.int_in_range(1..=12)? {
            heap.extend(heap_record(u, size)?);
        }
        file.extend(record(0x1c, &heap));
    }
    file.extend(record(0x2c, &[]));
    Ok(file)
}

/// One of few addresses, so that many are equal.
fn address(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.int_in_range(0..=40)? {
        0 => u.arbitrary()?,
        1 => 0,
        near => 0x1000 + 16 * near,
    })
}

fn any_name(u: &mut Unstructured<'_>) -> Result<u64> {
    u.int_in_range(0..=(NAMES.len() + FIELDS.len()) as u64 + 1)
}

fn heap_record(u: &mut Unstructured<'_>, size: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let kind = u.int_in_range(0..=9)?;
    match kind {
        0..=2 => class(u, size, &mut out)?,
        3 | 4 => {
            let length = u.int_in_range(0..=40)?.min(u.len());
            let body = u.bytes(length)?.to_vec();
            out.extend([vec![0x21], id(size, address(u)?), u4(0), id(size, address(u)?)].concat());
            out.extend([u4(body.len() as u32), body].concat());
        }
        5 => {
            let count = u.int_in_range(0..=6u32)?;
            out.extend([vec![0x22], id(size, address(u)?), u4(0), u4(count), id(size, address(u)?)].concat());
            for _ in 0..count {
                out.extend(id(size, address(u)?));
            }
        }
        6 => {
            let kind = u.int_in_range(4..=11u8)?;
            let count = u.int_in_range(0..=9usize)?;
            let width = [1, 2, 4, 8, 1, 2, 4, 8][usize::from(kind) - 4];
            out.extend([vec![0x23], id(size, address(u)?), u4(0), u4(count as u32), vec![kind]].concat());
            out.resize(out.len() + count * width, u.arbitrary()?);
        }
        7 => out.extend([vec![0xc3], id(size, address(u)?), u4(0), u4(u.arbitrary()?), vec![8]].concat()),
        8 => out.extend([vec![0x08], id(size, address(u)?), u4(u.int_in_range(0..=4)?), u4(0)].concat()),
        _ => {
            let tag = [0x02, 0x03][u.int_in_range(0..=1)?];
            let (thread, frame) = (u.int_in_range(0..=4)?, u.arbitrary::<i8>()?);
            out.extend([vec![tag], id(size, address(u)?), u4(thread), u4(frame as u32)].concat());
        }
    }
    Ok(out)
}

fn class(u: &mut Unstructured<'_>, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let (of, superclass, loader) = (address(u)?, address(u)?, address(u)?);
    out.extend([vec![0x20], id(size, of), u4(0), id(size, superclass), id(size, loader)].concat());
    out.extend([id(size, 0).repeat(4), u4(u.arbitrary()?), vec![0; 2]].concat());
    let statics = u.int_in_range(0..=3u16)?;
    out.extend(statics.to_be_bytes());
    for _ in 0..statics {
        out.extend([id(size, any_name(u)?), vec![2], id(size, address(u)?)].concat());
    }
    let fields = u.int_in_range(0..=5u16)?;
    out.extend(fields.to_be_bytes());
    for _ in 0..fields {
        let kind = if u.ratio(2, 3)? { 2 } else { u.int_in_range(4..=11u8)? };
        out.extend([id(size, any_name(u)?), vec![kind]].concat());
    }
    Ok(())
}

fn heapsnapshot_rows(data: &[u8]) -> String {
    let file = heapsnapshot(&mut Unstructured::new(data)).unwrap_or_default();
    analyze("heap.heapsnapshot", file.as_bytes(), everything())
}

/// Bytes that describe the damage to a snapshot: four for each change.
const DAMAGES: usize = 12;

fn heapsnapshot_salvage(data: &[u8]) -> String {
    let (damages, rows) = data.split_at(data.len().min(DAMAGES));
    let mut file = heapsnapshot(&mut Unstructured::new(rows)).unwrap_or_default().into_bytes();
    damages.as_chunks().0.iter().for_each(|&damage| damaged(&mut file, damage));
    analyze("heap.heapsnapshot", &file, AnalysisOptions { salvage: true, ..everything() })
}

/// Cuts a file, changes a number, a byte or the name of a section, or removes some bytes.
fn damaged(file: &mut Vec<u8>, [how, high, low, what]: [u8; 4]) {
    let numbers =
        [&b"0"[..], b"1", b"7", b"255", b"65535", b"4294967295", b"4294967296", b"18446744073709551615", b"-3"];
    let at = (usize::from(u16::from_be_bytes([high, low])) * file.len()) >> 16;
    match how % 6 {
        0 => {}
        1 => file.truncate(at),
        2 => {
            let Some(start) = file[at..].iter().position(u8::is_ascii_digit).map(|digit| at + digit) else { return };
            let digits = file[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            file.splice(start..start + digits, numbers[usize::from(what) % numbers.len()].iter().copied());
        }
        3 => file[at..].iter_mut().take(1).for_each(|byte| *byte = what),
        4 => drop(file.drain(at..(at + usize::from(what)).min(file.len()))),
        _ => {
            let names = [&b"\"snapshot\""[..], b"\"nodes\"", b"\"edges\"", b"\"strings\"", b"\"locations\""];
            let name = names[usize::from(what) % names.len()];
            let found = file.windows(name.len()).position(|part| part == name);
            found.into_iter().for_each(|found| file[found + 1] = b'x');
        }
    }
}

const TEXTS: [&str; 16] = [
    "",
    "Object",
    "(GC roots)",
    "WeakMap",
    "system / Map",
    "elements",
    "properties",
    "table",
    "__proto__",
    "concatenated string",
    "part of key (Object @7) -> value (Object @9) pair in WeakMap (table @5)",
    "native_bind",
    "Detached Window",
    "\\u202e\\u0000",
    "scope_info",
    "Promise",
];

fn heapsnapshot(u: &mut Unstructured<'_>) -> Result<String> {
    let nodes = u.int_in_range(1..=24usize)?;
    let kinds = "\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\",\
                 \"synthetic\",\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\",\"object shape\"";
    let edge_kinds = "\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"";
    let (mut rows, mut edges, mut edge_count) = (Vec::new(), Vec::new(), 0);
    for node in 0..nodes {
        let degree = if goes_on(u) { u.int_in_range(0..=5usize)? } else { 0 };
        edge_count += degree;
        let (kind, name) = (u.int_in_range(0..=15u32)?, u.int_in_range(0..=TEXTS.len())?);
        let size: u32 = if u.ratio(1, 20)? { u.arbitrary()? } else { u.int_in_range(0..=200)? };
        let detached = u.int_in_range(0..=3u8)?;
        rows.push(format!("{kind},{name},{},{size},{degree},0,{detached}", 2 * node + 1));
        for _ in 0..degree {
            let (kind, label) = (u.int_in_range(0..=7u32)?, u.int_in_range(0..=TEXTS.len())?);
            let to = u.int_in_range(0..=nodes)? * 7 + usize::from(u.ratio(1, 50)?);
            edges.push(format!("{kind},{label},{to}"));
        }
    }
    let locations = u.int_in_range(0..=3usize)?;
    let locations: Vec<String> = (0..locations)
        .map(|_| Ok(format!("{},{},1,2", u.int_in_range(0..=nodes)? * 7, u.arbitrary::<u8>()?)))
        .collect::<Result<_>>()?;
    let mut out = String::new();
    let _ = write!(
        out,
        "{{\"snapshot\":{{\"meta\":{{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\",\"detachedness\"],\
         \"node_types\":[[{kinds}],\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],\
         \"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[{edge_kinds}],\"string_or_number\",\"node\"],\
         \"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]}},\
         \"node_count\":{nodes},\"edge_count\":{edge_count},\"trace_function_count\":0}},\n\"nodes\":[{}],\n\"edges\":[{}],\n\
         \"locations\":[{}],\n\"strings\":[\"{}\"]}}",
        rows.join(",\n"),
        edges.join(",\n"),
        locations.join(","),
        TEXTS.join("\",\"")
    );
    Ok(out)
}

fn nettrace_events(data: &[u8]) -> String {
    let file = nettrace::trace(&mut Unstructured::new(data)).unwrap_or_default();
    match data.len() % 2 {
        0 => replay("trace.nettrace", &file),
        _ => analyze("heap.nettrace", &file, everything()),
    }
}

fn log_lines(data: &[u8]) -> String {
    let log = log(&mut Unstructured::new(data)).unwrap_or_default();
    replay("trace.log", log.as_bytes())
}

fn log(u: &mut Unstructured<'_>) -> Result<String> {
    let mut log = "# clrprof 1 fuzz\nT 1 X\nT 2 Y\nF 1 f\nF 2 g\nS 1 1 2\nS 2 2\n".to_owned();
    while goes_on(u) && log.len() < mutate::MOST {
        let near = |u: &mut Unstructured<'_>| -> Result<u64> {
            Ok(if u.ratio(1, 30)? { u.arbitrary()? } else { 0x100 + 8 * u.int_in_range(0..=64)? })
        };
        let small = |u: &mut Unstructured<'_>| -> Result<u64> {
            Ok(if u.ratio(1, 40)? { u.arbitrary()? } else { u.int_in_range(0..=4)? })
        };
        let line = match u.int_in_range(0..=12)? {
            0..=3 => {
                format!("A {} {:x} {} {} {}", small(u)?, near(u)?, small(u)?, small(u)?.wrapping_mul(8), small(u)?)
            }
            4 => format!("G {} {} {}", small(u)?, ["1", "11", "11111", "00001"][u.int_in_range(0..=3)?], small(u)?),
            5 => format!("G {} 1 0 1", small(u)?),
            6 => format!("B {} {:x} {:x} {:x}", u.int_in_range(0..=4)?, near(u)?, near(u)?, near(u)?),
            7 => format!("M {:x} {:x} {:x}", near(u)?, near(u)?, small(u)?.wrapping_mul(8)),
            8 => format!("V {:x} {:x}", near(u)?, near(u)?),
            9 => format!("R {:x} {} 0 0", near(u)?, u.int_in_range(0..=3)?),
            10 => format!("O {:x} {} {:x} {:x}", near(u)?, small(u)?, near(u)?, near(u)?),
            11 => format!("S {} {} {}", u.int_in_range(1..=9)?, small(u)?, small(u)?),
            _ => format!("E {}", small(u)?),
        };
        log += &line;
        log.push('\n');
    }
    log += "# end\n";
    Ok(log)
}
