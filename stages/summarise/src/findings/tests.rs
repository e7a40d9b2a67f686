//! The stage on a small heap, with only the columns that it declares as required.

use super::{RULES, STAGE};
use bytemuck::Zeroable;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnWriter, Context, Job, Scratch, StringWriter};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, StringId};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::roles::{NamePatterns, Roles};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Column, Metadata, STRINGS, StringColumns, documents};
use std::sync::atomic::AtomicBool;

#[test]
fn every_name_is_of_one_rule() {
    let mut names: Vec<&str> = RULES.iter().flat_map(|rule| rule.names).copied().collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), all), (all, all));
    assert!(RULES.iter().all(|rule| !rule.names.is_empty()));
}

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

fn write_texts(scratch: &Scratch, columns: StringColumns, texts: &[&str]) {
    let mut writer = StringWriter::create(scratch, columns).unwrap();
    texts.iter().for_each(|text| writer.push(text.as_bytes()).unwrap());
    writer.finish().unwrap();
}

/// Writes a root that refers to an object, which refers to a text of 8 MiB and a number of 2 MiB.
fn lay_down(scratch: &Scratch) {
    let shallow = [0, 16, 8 << 20, 2 << 20];
    let all = shallow.iter().sum::<u64>();
    write_texts(scratch, STRINGS, &["root", "Cache", "string", "Number", "once upon a time"]);
    write_texts(scratch, CLASS_KEYS, &["root", "Cache", "string", "Number"]);
    write(scratch, columns::CLASS_NAME, (0..4).map(StringId));
    let row = |class: usize| ClassRow {
        class_id: class as u32,
        count: 1,
        shallow_bytes: shallow[class],
        retained_bytes: shallow[class],
        ..ClassRow::zeroed()
    };
    write(scratch, columns::CLASS_ROW, (1..4).map(row));
    write(scratch, columns::NODE_ID, [1, 3, 5, 7]);
    write(scratch, columns::NODE_KIND, [0, 1, 2, 1]);
    write(scratch, columns::NODE_CLASS, (0..4).map(ClassId));
    write(scratch, columns::NODE_NAME, [StringId::NONE, StringId::NONE, StringId(4), StringId::NONE]);
    write(scratch, columns::NODE_SELF, shallow);
    write(scratch, columns::NODE_SHALLOW, shallow);
    write(scratch, columns::NODE_RETAINED, [all, all, shallow[2], shallow[3]]);
    write(scratch, columns::NODE_DOMINATOR, [0, 0, 1, 1].map(NodeId));
    write(scratch, columns::NODE_EDGE_COUNT, [1, 2, 0, 0]);
    write(scratch, columns::NODE_PREORDER, (0..4).map(Preorder));
    let roles = Roles { texts: NamePatterns::of(&["string"]), boxes: NamePatterns::of(&["Num*"]), ..Roles::default() };
    let node_kinds = ["synthetic", "object", "string"].map(str::to_owned).to_vec();
    let metadata = Metadata { node_count: 4, node_kinds, synthetic_kinds: vec![0], roles, ..Metadata::default() };
    scratch.write_document(documents::METADATA, &metadata).unwrap();
}

#[test]
fn a_small_heap_has_its_findings() {
    let least = STAGE.resident_bytes(4, 3);
    // Rules that report one after the other, and several at the same time.
    for (memory, threads) in [(least, 1), (least, 4), (8 * least, 4)] {
        check(memory, threads);
    }
}

fn check(memory: u64, threads: usize) {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    lay_down(&scratch);
    let (cancel, options) = (AtomicBool::new(false), Options::Analysis(AnalysisOptions::default()));
    let budget = Budget::new(memory);
    let context = Context { budget: budget.clone(), threads, progress: &Silent, cancel: &cancel };
    (STAGE.run)(&Job::on(&scratch, &context, &options)).unwrap();
    assert_eq!(budget.used(), 0, "all memory is given back");
    let findings: Vec<Finding> = scratch.read_document(documents::FINDINGS).unwrap();
    let said: Vec<_> = findings.iter().map(|finding| (&*finding.rule, finding.severity, finding.bytes)).collect();
    let expected = [
        ("leak-suspect", Severity::Medium, 8 << 20),
        ("boxed-numbers", Severity::Medium, 2 << 20),
        ("leak-suspect", Severity::Low, 2 << 20),
    ];
    assert_eq!(said, expected, "{findings:#?}");
    let text = &findings[0];
    assert!(
        text.message.contains("Cache › string \"once upon a time\". Also seen as huge-string (string, 8.0 MiB)"),
        "{text:?}"
    );
    assert_eq!(text.path, ["Cache", "string \"once upon a time\""]);
    assert_eq!((&*text.stable_path, text.holder_node), (&["Cache".to_owned(), "string".to_owned()][..], Some(1)));
    assert_eq!((text.class_key.as_deref(), &text.owner, &text.place), (Some("string"), &None, &None));
}
