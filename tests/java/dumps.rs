//! Dumps for tests to change, their records, and checks that a file is accepted or refused.

use super::check::check;
use heaplake::diagnostic::{Diagnostic, Exit};
use heaplake_oracle::jvm::model::{Dump, Primitive, Root, RootKind, Value};
use heaplake_oracle::jvm::write::{self, record, root_record};
use heaplake_oracle::jvm::{Draft, Layout, Referents, truth};
use heaplake_schemas::options::{AnalysisOptions, Duplicates};
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::Lake;
use std::path::PathBuf;

pub(crate) fn chain(objects: usize) -> Dump {
    let mut dump = Dump::new(8);
    let base = dump.add_base_classes();
    let text = Value::Object(0);
    let node = dump.add_class(
        "app/Node",
        Some(base.object),
        &[("next", text), ("count", Value::Primitive(Primitive::Int, 0))],
    );
    dump.roots.push(Root { kind: RootKind::StickyClass, object: base.object });
    let mut next = 0;
    for count in 0..objects as u64 {
        next = dump.add_instance(node, &[Value::Object(next), Value::Primitive(Primitive::Int, count)]);
    }
    dump.roots.push(Root { kind: RootKind::JniGlobal, object: next });
    dump
}

/// Bytes of the record that ends segments.
pub(crate) const END: usize = 9;

/// A dump of at least 50 kilobytes, with records of all kinds.
pub(crate) fn large() -> Dump {
    let mut dumps = (0..).map(|seed| Draft::random(seed, 3000).build());
    dumps.find(|dump| bytes(dump).len() > 50_000).unwrap()
}

/// Analyses bytes that must be refused; returns the failure and the path of the input.
pub(crate) fn failure(bytes: &[u8]) -> (Diagnostic, String) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    let failure = analyze(&lake.path(), &input, Analysis::default()).map(|outcome| outcome.place).unwrap_err();
    lake.assert_empty();
    assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
    assert_eq!(failure.advice.lines().count(), 1, "{failure}");
    (failure, input.display().to_string())
}

/// Asserts that bytes are refused at this offset; returns the rest of the message.
pub(crate) fn refused(bytes: &[u8], offset: usize) -> String {
    let (failure, file) = failure(bytes);
    let message = failure.to_string();
    let wanted = format!("{file}: byte {offset}: expected ");
    assert!(message.starts_with(&wanted) && message.contains(", found "), "\n{message}\n{wanted}");
    assert!(failure.exit == Exit::Failed, "{message}");
    message[wanted.len()..].to_owned()
}

/// Analyses bytes that must be accepted; returns the lake and the run.
pub(crate) fn accepted(bytes: &[u8]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    let run = analyze(&lake.path(), &input, Analysis::default()).unwrap_or_else(|failure| panic!("{failure}")).place;
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    (lake, run)
}

/// Asserts that the run of these bytes equals the oracle's results for a dump.
pub(crate) fn assert_means(bytes: &[u8], dump: &Dump) {
    let (_lake, run) = accepted(bytes);
    check(&truth(dump, Referents::Hold), &run);
}

/// A file of these heap records after the texts and names of a dump, with the end record ([`END`] bytes); returns it
/// and the offset of each record.
pub(crate) fn file_of(dump: &Dump, heap: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let names = Dump { classes: Vec::new(), objects: Vec::new(), roots: Vec::new(), ..dump.clone() };
    let mut file = names.to_bytes(&Layout { end: false, ..Layout::default() });
    file.extend(record(0x1c, &heap.concat()));
    let mut at = file.len();
    file.extend(record(0x2c, &[]));
    let mut starts: Vec<usize> = heap.iter().rev().map(|record| (at -= record.len(), at).1).collect();
    starts.reverse();
    (file, starts)
}

/// The heap records of a dump, in HotSpot's order.
pub(crate) fn heap(dump: &Dump) -> Vec<Vec<u8>> {
    let size = dump.id_size;
    let roots = dump.roots.iter().map(|root| root_record(size, root));
    let classes = dump.classes.iter().map(|class| write::class_record(size, class));
    let objects = dump.objects.iter().map(|object| write::object_record(size, object));
    roots.chain(classes).chain(objects).collect()
}

pub(crate) fn bytes(dump: &Dump) -> Vec<u8> {
    dump.to_bytes(&Layout::default())
}

/// Asserts that bytes are accepted or refused in one line without leftovers, with and without `--salvage`.
pub(crate) fn assert_survives(bytes: &[u8]) {
    [false, true].into_iter().for_each(|salvage| assert_ends_well(bytes, salvage));
}

fn assert_ends_well(bytes: &[u8], salvage: bool) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    let options = AnalysisOptions { salvage, duplicates: Duplicates::All, ..Analysis::default().options };
    match analyze(&lake.path(), &input, Analysis { options, ..Analysis::default() }) {
        Ok(outcome) => {
            assert!(outcome.place.join("run.json").exists());
            assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
        }
        Err(failure) => {
            assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
            assert!(failure.exit != Exit::Interrupted, "{failure}");
            lake.assert_empty();
        }
    }
}

/// A file with this last heap record, and the record's offset.
pub(crate) fn with_last(dump: &Dump, last: &[u8]) -> (Vec<u8>, usize) {
    let mut records = heap(dump);
    records.push(last.to_vec());
    let (file, starts) = file_of(dump, &records);
    (file, *starts.last().unwrap())
}

/// A dump of some kilobytes with records of all kinds.
pub(crate) fn some_dump(id_size: usize) -> Dump {
    let mut draft = Draft::random(20, 60);
    draft.options.narrow = id_size == 4;
    draft.build()
}
