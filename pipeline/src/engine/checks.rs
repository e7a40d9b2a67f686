//! Tests of the declarations of all stages, and of docs/stages.md, which shows them.

use super::forecast;
use super::graph::{Graph, Step};
use super::input::setting;
use super::picture::{Language, draw};
use super::registry;
use heaplake_ingest::FORMATS;
use heaplake_ingest::v8::V8;
use heaplake_kit::Stage;
use heaplake_kit::access::Access;
use heaplake_schemas::options::{
    AnalysisOptions, Duplicates, Options, Recording, ReplayOptions, SourceMaps, TableName, Tables, TraceTable,
};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Options of an analysis with every stage.
fn everything() -> Options {
    let source_maps = Some(SourceMaps { maps: Vec::new(), hash: String::new() });
    let (tables, duplicates) = (Tables::all(), Duplicates::All);
    Options::Analysis(AnalysisOptions { tables, duplicates, source_maps, ..AnalysisOptions::default() })
}

/// Analyses with different sets of stages.
fn analyses() -> Vec<Options> {
    let mut all = vec![everything()];
    for duplicates in [Duplicates::None, Duplicates::Trivial, Duplicates::All] {
        let choices = TableName::ALL.into_iter().map(|table| [table].into_iter().collect());
        for tables in choices.chain([Tables::default(), Tables::all()]) {
            all.push(Options::Analysis(AnalysisOptions { tables, duplicates, ..AnalysisOptions::default() }));
        }
    }
    all
}

fn replay() -> Options {
    let tables = TraceTable::ALL.into_iter().collect();
    let recording = Recording { tables, pprof: true, collapsed: true, ..Recording::default() };
    Options::Replay(ReplayOptions { recording, ..ReplayOptions::default() })
}

fn graphs() -> Vec<Graph> {
    let analyses = analyses();
    let mut graphs: Vec<Graph> = Vec::new();
    for format in FORMATS {
        graphs.extend(analyses.iter().map(|options| forecast::graph(format, options)));
    }
    graphs.push(Graph::new(&registry::entries(None), &setting(None, &replay())));
    graphs
}

#[test]
fn no_step_waits_for_itself() {
    for graph in graphs() {
        for (position, step) in graph.steps.iter().enumerate() {
            assert!(step.after.iter().all(|&before| before < position), "{} waits for a later step", step.name);
        }
    }
}

#[test]
fn the_reader_comes_first_and_everything_waits_for_it() {
    for graph in graphs() {
        let waits = |step: &Step| !step.after.is_empty();
        assert!(!waits(&graph.steps[0]) && graph.steps[1..].iter().all(waits));
    }
}

#[test]
fn names_are_those_of_one_step() {
    for graph in graphs() {
        let names: BTreeSet<&str> = graph.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names.len(), graph.steps.len());
    }
    for format in FORMATS {
        let entries = registry::entries(Some(format));
        let own: Vec<&str> =
            entries.iter().filter(|entry| entry.folder.is_none()).map(|entry| entry.stage.name).collect();
        assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), own.len());
    }
}

#[test]
fn every_stage_is_part_of_some_run() {
    let graphs = graphs();
    let used: BTreeSet<&str> = graphs.iter().flat_map(|graph| &graph.steps).map(|step| step.stage.name).collect();
    let idle: Vec<&str> = registry::all_stages().map(|stage| stage.name).filter(|name| !used.contains(name)).collect();
    assert!(idle.is_empty(), "no run has {idle:?}: nobody writes what they read");
}

#[test]
fn what_is_read_has_a_writer() {
    // A column that is declared optional must be written by some format.
    let graphs = graphs();
    let written: BTreeSet<&str> = graphs
        .iter()
        .flat_map(|graph| &graph.steps)
        .flat_map(|step| &step.writes)
        .map(|file| file.name.as_str())
        .collect();
    for step in graphs.iter().flat_map(|graph| &graph.steps) {
        for file in step.reads.iter().chain(&step.changes) {
            assert!(written.contains(file.name.as_str()), "{} reads {}, which nobody writes", step.name, file.name);
        }
    }
}

#[test]
fn what_is_changed_was_written_before() {
    for graph in graphs() {
        for (position, step) in graph.steps.iter().enumerate() {
            for file in &step.changes {
                let writes = |before: &usize| graph.steps[*before].writes.iter().any(|other| other.name == file.name);
                let writer = (0..graph.steps.len()).find(writes);
                assert!(
                    writer.is_some_and(|writer| writer < position),
                    "{} changes {} too early",
                    step.name,
                    file.name
                );
            }
        }
    }
}

/// The marked parts of docs/stages.md equal the declarations.
#[test]
fn the_page_shows_the_stages_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/stages.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut renewed = page.clone();
    let picture = format!("```mermaid\n{}```\n", draw(&forecast::graph(&V8, &everything()), Language::Mermaid));
    for (mark, text) in [("graph", picture), ("table", table())] {
        let (begin, end) = (format!("<!-- stages, {mark}: begin -->\n"), format!("<!-- stages, {mark}: end -->"));
        let (before, rest) = renewed.split_once(&begin).unwrap();
        let (_, after) = rest.split_once(&end).unwrap();
        renewed = format!("{before}{begin}{text}{end}{after}");
    }
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, renewed).unwrap();
    } else {
        assert!(page == renewed, "docs/stages.md is stale; HEAPLAKE_UPDATE=1 cargo test -p heaplake --lib renews it");
    }
}

/// All stages as a table.
fn table() -> String {
    let mut out = String::from("| stage | writes | resident bytes per node, per edge | passes |\n|---|---|---|---|\n");
    let mut seen = BTreeSet::new();
    let graphs = graphs();
    for step in graphs.iter().flat_map(|graph| &graph.steps).filter(|step| step.folder.is_none()) {
        if seen.insert(step.stage.name) {
            row(step.stage, &mut out);
        }
    }
    out
}

fn row(stage: &Stage, out: &mut String) {
    let names = |lists: &[&'static [Access]]| {
        let files = lists.iter().copied().flatten().flat_map(Access::all_files);
        let mut names: Vec<String> = Vec::new();
        for file in files {
            let name = format!("`{}`", file.path_name(None));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" ")
    };
    let writes = names(&[stage.writes, stage.appends, stage.updates, stage.rewrites]);
    // Large enough that fixed bytes and rounding do not matter.
    const MANY: u64 = 1 << 40;
    let per = |nodes: u64, edges: u64| (stage.resident_bytes(nodes, edges) - stage.fixed) as f64 / MANY as f64;
    let (name, passes) = (stage.name, stage.passes);
    // Writing into a string cannot fail.
    let _ = writeln!(out, "| {name} | {writes} | {}, {} | {passes} |", per(MANY, 0), per(0, MANY));
}
