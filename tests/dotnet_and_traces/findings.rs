//! Findings of replayed traces: programs with one defect each, written as profiler logs, and real traces.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json, said};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Addresses of generations 0, 1, 2, large and pinned.
const PLACES: [u64; 5] = [0x1000_0000, 0x2000_0000, 0x3000_0000, 0x4000_0000, 0x5000_0000];

/// The profiler log of a program with a few functions and types.
struct Program {
    log: String,
    used: [u64; 5],
    collections: u32,
}

impl Program {
    fn new() -> Self {
        let mut log = "# clrprof 1 test\n".to_owned();
        for (number, name) in ["App.Buffer", "App.Order", "App.Small"].iter().enumerate() {
            writeln!(log, "T {} {name}", number + 1).unwrap();
        }
        for (number, name) in ["App.Program::Main", "App.Cache::Fill", "App.Loop::Step"].iter().enumerate() {
            writeln!(log, "F {} {name}", number + 1).unwrap();
        }
        log += "S 1 2 1\nS 2 3 1\n";
        Self { log, used: [0; 5], collections: 0 }
    }

    /// Objects of a type: in `Cache::Fill` those of the first two types, in `Loop::Step` the others.
    fn allocate(&mut self, generation: usize, type_id: u32, bytes: u64, count: u64) {
        for _ in 0..count {
            let (address, stack) = (PLACES[generation] + self.used[generation], 1 + u32::from(type_id > 2));
            writeln!(self.log, "A 1 {address:x} {type_id} {bytes} {stack}").unwrap();
            self.used[generation] += bytes;
        }
    }

    /// A garbage collection of the generations up to `oldest`; surviving young generations are promoted as a whole.
    fn collect(&mut self, oldest: usize, survives: &[usize], induced: bool) {
        self.collections += 1;
        let condemned = ["10000", "11000", "11111"][oldest];
        writeln!(self.log, "G {} {condemned} {}", self.collections, u8::from(induced)).unwrap();
        for (generation, used) in self.used.iter().enumerate() {
            writeln!(self.log, "B {generation} {:x} {used:x} {used:x}", PLACES[generation]).unwrap();
        }
        let before = self.used;
        for generation in (0..5).filter(|&generation| generation <= oldest || oldest == 2) {
            let (from, bytes) = (PLACES[generation], before[generation]);
            if !survives.contains(&generation) {
                self.used[generation] = 0;
            } else if generation < 2 {
                let to = PLACES[generation + 1] + before[generation + 1];
                writeln!(self.log, "M {from:x} {to:x} {bytes:x}").unwrap();
                self.used[generation] = 0;
                self.used[generation + 1] += bytes;
            } else {
                writeln!(self.log, "V {from:x} {bytes:x}").unwrap();
            }
        }
        writeln!(self.log, "E {}", self.collections).unwrap();
    }

    /// The findings of the program, replayed with these options.
    fn findings(mut self, options: &[&str]) -> Vec<Value> {
        self.log += "# end\n";
        let lake = Lake::new();
        let log = lake.input("program.log", self.log.as_bytes());
        found(&lake, &log, options)
    }
}

/// The findings of a trace; checks that the table and the JSON file agree.
fn found(lake: &Lake, trace: &Path, options: &[&str]) -> Vec<Value> {
    let file = lake.folder().join("findings.json");
    replay(lake, trace).args(options).arg("--findings-json").arg(&file).assert().success();
    let all: Value = read_json(file);
    let findings = all[0]["findings"].as_array().unwrap().clone();
    let table = Table::read(&lake.run(), "findings.parquet");
    assert_eq!(table.rows(), findings.len());
    for (row, finding) in findings.iter().enumerate() {
        assert_eq!(table.u64s("bytes")[row], finding["bytes"].as_u64());
        assert_eq!(table.u32s("type_id")[row].map(u64::from), finding["type_id"].as_u64());
        assert_eq!(table.u32s("function_id")[row].map(u64::from), finding["function_id"].as_u64());
    }
    findings
}

fn only<'a>(findings: &'a [Value], rule: &str) -> &'a Value {
    let of_rule: Vec<&Value> = findings.iter().filter(|finding| finding["rule"] == rule).collect();
    let [finding] = of_rule[..] else { panic!("{rule}: {} in {findings:#?}", of_rule.len()) };
    finding
}

fn rules(findings: &[Value]) -> Vec<&str> {
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Orders that survive two garbage collections and die in the third, beside small objects that die young.
fn mid_life() -> Program {
    let mut program = Program::new();
    for _ in 0..4 {
        program.allocate(0, 2, 2048, 300);
        program.collect(0, &[0], false);
        program.collect(1, &[1], false);
        program.allocate(0, 3, 64, 10_000);
        program.collect(2, &[], false);
    }
    program
}

#[test]
fn what_dies_in_generation_2_is_found_with_its_maker() {
    for options in [["--sample-interval", "1"], ["--sample-interval", "10"]] {
        let findings = mid_life().findings(&options);
        let finding = only(&findings, "mid-life-crisis");
        assert_eq!(finding["subject"], "App.Order");
        assert_eq!(finding["scope"], "type");
        assert_eq!(finding["type_id"], 1);
        assert_eq!((finding["count"].as_u64(), finding["bytes"].as_u64()), (Some(1200), Some(1200 * 2048)));
        let message = finding["message"].as_str().unwrap();
        assert!(message.contains("100 % of those allocated, after 3.0 collections on average"), "{message}");
        assert!(message.ends_with("most of it from App.Cache::Fill"), "{message}");
        assert_eq!(finding["severity"], "medium");
    }
}

/// The same program with orders that die young.
#[test]
fn what_dies_young_is_no_crisis() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.allocate(0, 2, 2048, 300);
        program.collect(0, &[], false);
        program.collect(1, &[], false);
        program.allocate(0, 3, 64, 10_000);
        program.collect(2, &[], false);
    }
    let findings = program.findings(&[]);
    assert_eq!(rules(&findings), ["allocated-most", "allocation-hot-spot"]);
}

#[test]
fn large_and_pinned_objects_that_do_not_stay_are_found() {
    for (generation, rule) in [(3, "large-object-churn"), (4, "pinned-object-churn")] {
        let mut program = Program::new();
        for round in 0..8 {
            program.allocate(generation, 1, 200_000, 10);
            program.allocate(0, 3, 64, 5000);
            // They survive the first round only.
            program.collect(2, if round == 0 { &[3, 4] } else { &[] }, false);
        }
        let findings = program.findings(&[]);
        let finding = only(&findings, rule);
        assert_eq!((finding["count"].as_u64(), finding["bytes"].as_u64()), (Some(80), Some(80 * 200_000)));
        assert_eq!(finding["severity"], "high");
        let message = finding["message"].as_str().unwrap();
        assert!(message.contains("80 × App.Buffer of 195.3 KiB on average"), "{message}");
        assert!(message.ends_with("most of it from App.Cache::Fill"), "{message}");
        assert_eq!(rules(&findings), ["allocated-most", "allocation-hot-spot", rule]);
    }
}

#[test]
fn large_objects_that_stay_are_no_churn() {
    let mut program = Program::new();
    program.allocate(3, 1, 200_000, 80);
    program.allocate(0, 3, 64, 5000);
    program.collect(2, &[3], false);
    let findings = program.findings(&[]);
    assert_eq!(rules(&findings), ["allocated-most", "allocation-hot-spot"]);
}

#[test]
fn collections_that_are_asked_for_are_counted() {
    for (induced, other, severity) in [(12, 3, Some("medium")), (12, 60, Some("low")), (9, 0, None), (12, 200, None)] {
        let mut program = Program::new();
        for number in 0..induced + other {
            program.allocate(0, 3, 64, 10);
            program.collect(0, &[], number < induced);
        }
        let findings = program.findings(&[]);
        let found: Vec<&str> = findings.iter().filter_map(|finding| finding["severity"].as_str()).collect();
        assert_eq!(found, severity.into_iter().collect::<Vec<_>>());
        if severity.is_some() {
            let finding = only(&findings, "induced-collections");
            assert_eq!((finding["scope"].as_str(), finding["count"].as_u64()), (Some("trace"), Some(12)));
        }
    }
}

/// In this real trace, one function allocates half of the bytes, most of them of one type.
#[test]
fn hot_spots_of_a_real_trace_are_found() {
    let lake = Lake::new();
    let findings = found(&lake, &fixtures::path("dotnet/net8_exact.log.zst"), &["--sample-interval", "1"]);
    let hot = &findings[0];
    assert_eq!((hot["rule"].as_str(), hot["severity"].as_str()), (Some("allocation-hot-spot"), Some("high")));
    assert_eq!(hot["subject"], "Program::ShortLived");
    let functions = Table::read(&lake.run(), "allocation_functions.parquet");
    let row = functions.u32s("function_id").iter().position(|&id| id.map(u64::from) == hot["function_id"].as_u64());
    assert_eq!(functions.u64s("exclusive_bytes")[row.unwrap()], hot["bytes"].as_u64());
    let message = hot["message"].as_str().unwrap();
    assert!(message.contains("of it Pt[], called mostly from Program::Main"), "{message}");
    let text = said(heaplake().arg("show").arg(lake.run()));
    assert!(text.contains("  HIGH    Program::ShortLived allocates"), "{text}");
}

/// A trace of ticks has types and functions, but no counts.
#[test]
fn ticks_and_nothing_at_all_are_no_trouble() {
    let lake = Lake::new();
    let findings = found(&lake, &fixtures::path("dotnet/both.nettrace.zst"), &[]);
    assert!(findings.iter().all(|finding| finding["rule"] != "mid-life-crisis"), "{findings:#?}");
    let hot = findings[0]["message"].as_str().unwrap();
    assert!(hot.starts_with("Program::ShortLived allocates") && !hot.contains("objects"), "{hot}");
    // A profile has a single type for all objects.
    let lake = Lake::new();
    let profile = fixtures::v8("node24_alloc");
    assert_eq!(rules(&found(&lake, &profile, &[])), ["allocation-hot-spot"]);
    assert!(Program::new().findings(&[]).is_empty());
}
