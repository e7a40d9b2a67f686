//! Output of `--collapsed` and `--pprof` for other programs.

use flate2::read::GzDecoder;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use heaplake_support::replay::replay;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

const LOG: &str = "dotnet/both.log.zst";

#[test]
fn collapsed_stacks_add_up() {
    let lake = Lake::new();
    replay(&lake, fixtures::path(LOG)).args(["--collapsed", "--sample-interval", "1"]).assert().success();
    let run = lake.run();
    let text = fs::read_to_string(run.join("allocations.collapsed")).unwrap();
    let mut inclusive: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        let (stack, bytes) = line.rsplit_once(' ').unwrap();
        let mut names: Vec<&str> = stack.split(';').collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *inclusive.entry(name).or_default() += bytes.parse::<u64>().unwrap();
        }
    }
    assert_eq!(inclusive["Program::Main"], 7_801_614);
    assert_eq!(inclusive["Order::.ctor"], 2_001_872);
}

/// Takes a number off the front of a message.
fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// A protobuf message: each field's number, and its number or bytes.
struct Message<'a>(Vec<(u64, u64, &'a [u8])>);

impl<'a> Message<'a> {
    fn read(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = varint(&mut bytes);
            let content = match key & 7 {
                0 => &[][..],
                2 => {
                    let (content, rest) = bytes.split_at(value as usize);
                    bytes = rest;
                    content
                }
                kind => panic!("kind {kind}"),
            };
            fields.push((key >> 3, value, content));
        }
        Self(fields)
    }

    /// Contents of all fields with a number.
    fn all(&self, field: u64) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(number, ..)| *number == field).map(|(_, _, content)| *content)
    }

    /// Content of the first field with a number.
    fn content(&self, field: u64) -> &'a [u8] {
        self.all(field).next().unwrap()
    }

    /// The number in a field; 0 if absent.
    fn number(&self, field: u64) -> u64 {
        self.0.iter().find(|(number, ..)| *number == field).map_or(0, |(_, value, _)| *value)
    }

    fn packed(&self, field: u64) -> Vec<u64> {
        let (mut list, mut rest) = (Vec::new(), self.content(field));
        while !rest.is_empty() {
            list.push(varint(&mut rest));
        }
        list
    }
}

/// Types of the samples of a run's profile, with objects and bytes.
pub(crate) fn by_type(run: &Path) -> Vec<(String, u64, u64)> {
    let mut profile = Vec::new();
    GzDecoder::new(fs::File::open(run.join("allocations.pb.gz")).unwrap()).read_to_end(&mut profile).unwrap();
    let profile = Message::read(&profile);
    let strings: Vec<&str> = profile.all(6).map(|text| std::str::from_utf8(text).unwrap()).collect();
    let samples = profile.all(2).map(Message::read).map(|sample| {
        let (values, label) = (sample.packed(2), Message::read(sample.content(3)));
        (strings[label.number(2) as usize].to_owned(), values[0], values[1])
    });
    samples.collect()
}

/// The profile of an exact replay, decompressed.
fn profile() -> Vec<u8> {
    let lake = Lake::new();
    replay(&lake, fixtures::path(LOG)).args(["--pprof", "--sample-interval", "1"]).assert().success();
    let mut profile = Vec::new();
    GzDecoder::new(fs::File::open(lake.run().join("allocations.pb.gz")).unwrap()).read_to_end(&mut profile).unwrap();
    profile
}

#[test]
fn profiles_add_up() {
    let profile = profile();
    let profile = Message::read(&profile);
    let strings: Vec<&str> = profile.all(6).map(|text| std::str::from_utf8(text).unwrap()).collect();
    assert_eq!(strings[0], "");
    let string = |message: &Message<'_>, field: u64| strings[message.number(field) as usize];
    let functions: BTreeMap<u64, &str> =
        profile.all(5).map(Message::read).map(|function| (function.number(1), string(&function, 2))).collect();
    let kinds: Vec<&str> = profile.all(1).map(|kind| string(&Message::read(kind), 1)).collect();
    assert_eq!(kinds, ["alloc_objects", "alloc_space"]);
    let (mut by_function, mut by_type) = (BTreeMap::new(), BTreeMap::new());
    for sample in profile.all(2).map(Message::read) {
        let (locations, values) = (sample.packed(1), sample.packed(2));
        *by_function.entry(functions[&locations[0]]).or_insert(0) += values[1];
        let label = Message::read(sample.content(3));
        assert_eq!(string(&label, 1), "type");
        *by_type.entry(string(&label, 2)).or_insert(0) += values[0];
    }
    assert_eq!(by_function["Program::ShortLived"], 4_480_000);
    assert_eq!(by_function["Order::.ctor"], 1_145_232);
    assert_eq!(by_type["Order"], 12_000);
    assert_eq!(by_type["Node"], 4_587);
}

/// A recursion of `functions` functions with long names, each of which allocates 16 bytes.
fn deep(functions: usize) -> Vec<u8> {
    let long = "x".repeat(400);
    let open = |at: usize| {
        let frame = format!(
            r#"{{"functionName":"f{at}{long}","scriptId":"1","url":"a.js","lineNumber":{at},"columnNumber":0}}"#
        );
        format!(r#"{{"callFrame":{frame},"selfSize":16,"id":{},"children":["#, at + 1)
    };
    let nodes: String = (0..functions).map(open).collect();
    format!(r#"{{"head":{nodes}{},"samples":[]}}"#, "]}".repeat(functions)).into_bytes()
}

#[test]
fn deep_stacks_do_not_make_exports_many_times_as_large_as_the_trace() {
    const FUNCTIONS: usize = 3000;
    let lake = Lake::new();
    let input = lake.input("deep.heapprofile", &deep(FUNCTIONS));
    replay(&lake, &input).args(["--collapsed", "--pprof", "--report"]).assert().success();
    let run = lake.run();
    let shown = heaplake().arg("show").arg(&run).output().unwrap();
    let words = String::from_utf8(shown.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "Note: allocations.collapsed has 32 functions of each of 2,9";
    assert!(words.contains(note) && words.contains("many times as large as the trace. Sums are whole."), "{words}");
    let stacks = fs::read_to_string(run.join("allocations.collapsed")).unwrap();
    assert!(stacks.len() < 64 << 20, "{} bytes", stacks.len());
    let mut sum = 0;
    for line in stacks.lines() {
        let (stack, bytes) = line.rsplit_once(' ').unwrap();
        sum += bytes.parse::<u64>().unwrap();
        assert!(stack.split(';').count() <= 33 && (stack.split(';').count() < 33 || stack.contains(";…;")));
    }
    let total: u64 = by_type(&run).iter().map(|(.., bytes)| bytes).sum();
    assert_eq!((sum, total), (16 * stacks.lines().count() as u64, sum));
    assert!(fs::metadata(run.join("report.html")).unwrap().len() < 20 << 20);
}
