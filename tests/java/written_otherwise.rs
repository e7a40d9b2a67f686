//! Dumps rewritten by tools, and files of several dumps.

use super::dumps::{accepted, bytes, chain, failure, heap, refused};
use heaplake_oracle::jvm::Layout;
use heaplake_oracle::jvm::model::{Dump, ObjectData, Primitive, PrimitiveValues, Root, RootKind};
use heaplake_oracle::jvm::write::{record, record_of_length};
use heaplake_support::compress::zstd;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, read_json};
use heaplake_support::table::Table;
use serde_json::Value;
use std::path::Path;

/// Bytes of a file's header.
const HEADER: usize = 31;

fn summary(run: &Path) -> Value {
    let json: Value = read_json(run.join("run.json"));
    json["summary"].clone()
}

fn remarks(run: &Path) -> Vec<String> {
    let remarks = summary(run)["remarks"].as_array().cloned().unwrap_or_default();
    remarks.iter().map(|remark| remark.as_str().unwrap().to_owned()).collect()
}

#[test]
fn records_with_unknown_tags_are_passed_over() {
    let good = bytes(&chain(3));
    let (_lake, plain) = accepted(&good);
    let mark = record(0xde, b"redacted");
    for (file, count, at) in [
        ([&good[..HEADER], &mark, &good[HEADER..]].concat(), 1, HEADER),
        ([&good[..HEADER], &mark, &mark, &good[HEADER..]].concat(), 2, HEADER),
        ([&good[..], &mark].concat(), 1, good.len()),
        ([&good[..], &record(0x08, &[]), &record(0x2c, &[])].concat(), 1, good.len()),
        ([&good[..], &record(0xff, &vec![7; 300_000])].concat(), 1, good.len()),
    ] {
        let (_lake, run) = accepted(&file);
        let [remark] = &remarks(&run)[..] else { panic!("{:?}", remarks(&run)) };
        assert!(remark.starts_with(&format!("records with unknown tags are passed over: {count}, of ")), "{remark}");
        assert!(remark.ends_with(&format!("at byte {at}")), "{remark}");
        // The first two columns name the run.
        let [found, expected] = [&run, &plain].map(|run| Table::read(run, "nodes.parquet"));
        assert_eq!(found.0.columns()[2..], expected.0.columns()[2..]);
    }
}

/// Wrong lengths, and offsets that lead to no record.
#[test]
fn what_may_be_damage_is_refused() {
    let good = bytes(&chain(3));
    for length in [9, 11, 1 << 20, u32::MAX] {
        let mark = record_of_length(0xde, length, b"redacted");
        let file = [&good[..HEADER], &mark, &good[HEADER..]].concat();
        assert_ne!(refused_anywhere(&file), "", "{length}");
        refused(&[&good[..], &mark].concat(), good.len());
    }
    for tail in [[record(0xde, b"a"), record(0xdf, b"b")].concat(), record(0, b"abc"), vec![0xde; 5], vec![0; 64]] {
        failure(&[&good[..], &tail].concat());
    }
    // Two files in one.
    let message = refused(&[&good[..], &good].concat(), good.len());
    assert!(message.contains("found the beginning of another dump (JAVA PROFILE)"), "{message}");
}

fn refused_anywhere(file: &[u8]) -> String {
    failure(file).0.to_string()
}

/// A file as the agent of the JDK before 9 writes it: texts and names once, then heap dumps.
fn agent(dumps: &[&Dump]) -> Vec<u8> {
    let names = Dump { classes: Vec::new(), objects: Vec::new(), roots: Vec::new(), ..dumps[0].clone() };
    let mut file = names.to_bytes(&Layout { segment: 1, end: false, ..Layout::default() });
    dumps.iter().for_each(|dump| file.extend(record(0x0c, &heap(dump).concat())));
    file
}

/// Analyses with these options; returns the number of nodes, and the remarks.
fn counted(lake: &Lake, file: &Path, options: &[&str]) -> (usize, Vec<String>) {
    let before = lake.runs();
    lake.analyze(file).args(options).assert().success();
    let run = lake.runs().into_iter().find(|run| !before.contains(run)).unwrap();
    (Table::read(&run, "nodes.parquet").rows(), remarks(&run))
}

#[test]
fn of_several_dumps_the_last_is_taken_or_that_of_a_number() {
    let (small, large) = (chain(3), chain(9));
    let count = |dump: &Dump| dump.classes.len() + dump.objects.len() + 2;
    for (dumps, form) in [([&small, &large], "plain"), ([&large, &small], "zstd")] {
        let lake = Lake::new();
        let file = agent(&dumps);
        let file = if form == "zstd" { zstd(&file) } else { file };
        let file = lake.input("java.hprof", &file);
        for (options, number) in [(&[][..], 2), (&["--walk", "1"], 1), (&["--walk", "2"], 2)] {
            let (nodes, remarks) = counted(&lake, &file, options);
            assert_eq!(nodes, count(dumps[number - 1]), "{form} {options:?}");
            assert_eq!(
                remarks,
                [format!("the file has 2 dumps of the heap; this is number {number} (--walk takes another)")]
            );
        }
        let (cause, advice) = diagnostic(lake.analyze(&file).args(["--walk", "3"]), 1);
        assert!(cause.ends_with("expected heap 3 of the file, found 2 in it"), "{cause}");
        assert_eq!(advice, "give another number to --walk, or last");
    }
    // One heap in several records is one; a file of one has no second.
    let lake = Lake::new();
    let file = lake.input("one.hprof", &bytes(&small));
    assert_eq!(counted(&lake, &file, &["--walk", "1"]), (count(&small), Vec::new()));
    assert!(
        diagnostic(lake.analyze(&file).args(["--walk", "2"]), 1)
            .0
            .ends_with("expected heap 2 of the file, found 1 in it")
    );
}

/// The last one is cut: the previous one is complete.
#[test]
fn of_several_dumps_the_last_whole_one_is_taken() {
    let (small, large) = (chain(3), chain(9));
    let file = agent(&[&small, &large]);
    for cut in [1, 40, 200] {
        let lake = Lake::new();
        let input = lake.input("java.hprof", &file[..file.len() - cut]);
        for options in [&[][..], &["--salvage", "--force"]] {
            lake.analyze(&input).args(options).assert().success();
            assert_eq!(Table::read(&lake.run(), "nodes.parquet").rows(), small.classes.len() + small.objects.len() + 2);
            let remarks = remarks(&lake.run());
            assert!(
                remarks[0].ends_with("this is number 1 (--walk takes another); the last one is damaged or incomplete")
            );
        }
        diagnostic(lake.analyze(&input).args(["--walk", "2"]), 1);
    }
}

/// Two dumps by the agent of JDK 6, each with its own classes and ids.
#[test]
fn two_dumps_of_a_program() {
    let lake = Lake::new();
    let input = lake.input("two-dumps.hprof", &fixtures::content("jvm/two-dumps.hprof"));
    assert_eq!(counted(&lake, &input, &[]).0, 3667);
    assert_eq!(counted(&lake, &input, &["--walk", "1"]).0, 3634);
    let names: Vec<String> =
        lake.runs().iter().map(|run| run.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert!(names[1].ends_with("-walk1") && names[1].starts_with(&names[0]), "{names:?}");
}

#[test]
fn sanitized_dumps_are_recognised() {
    let with = |values: &[&[u64]]| {
        let mut dump = chain(3);
        for at in 0..120 {
            let values = values[at % values.len()].to_vec();
            let array = dump.add(ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Known(values)));
            dump.roots.push(Root { kind: RootKind::Monitor, object: array });
        }
        let (_lake, run) = accepted(&bytes(&dump));
        remarks(&run)
    };
    let stars = [42; 5];
    assert_eq!(with(&[&stars, &stars[..4]]).len(), 1);
    assert!(
        with(&[&stars])[0].contains("the dump was sanitized: each of 120 arrays of bytes or characters holds '*' only")
    );
    assert!(with(&[&[0; 8]])[0].contains("holds 0 only"));
    assert_eq!(with(&[&stars, &[0; 5]]), Vec::<String>::new());
    assert_eq!(with(&[&stars, &[42, 42, 42, 43]]), Vec::<String>::new());
}
