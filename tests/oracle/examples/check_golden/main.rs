//! Compares the oracle with DevTools' own output, node for node and class for class.
//!
//! `cargo run --release --example check_golden -- FILE.heapsnapshot...`
//!
//! Needs `FILE.devtools.tsv` and `FILE.devtools.tsv.classes` beside each file, written by the DevTools harness among
//! the benchmark's peers. Prints the differences and fails if there are any.

#![expect(clippy::print_stdout, reason = "this program prints")]

mod differences;
mod dominators;
mod read;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use heaplake_oracle::truth::truth_with;
use heaplake_oracle::{OracleString, Truth, truth};

/// Up to this many nodes, dominators by deletion must agree too.
const DELETABLE: usize = 300;

fn main() -> ExitCode {
    differences::print(check)
}

/// All differences between the oracle and a file's goldens.
fn check(path: &Path) -> Vec<String> {
    let snapshot = read::snapshot(&std::fs::read(path).expect("the snapshot can be read"));
    let found = truth_with(&snapshot, dominators::dominators);
    let mut differences = Vec::new();
    if snapshot.nodes.len() <= DELETABLE && found != truth(&snapshot) {
        differences.push("the two ways to find dominators disagree".to_owned());
    }
    let golden = path.with_extension("devtools.tsv");
    let rows = std::fs::read_to_string(&golden).expect("the nodes' goldens can be read");
    check_nodes(&found, &rows, &mut differences);
    let rows = std::fs::read_to_string(golden.with_extension("tsv.classes")).expect("the classes' goldens can be read");
    check_classes(&found, &rows, &mut differences);
    differences
}

/// The first units of a text, where the harness cuts it.
fn start(text: &OracleString) -> OracleString {
    OracleString(text.units()[..text.units().len().min(60)].to_vec())
}

fn check_nodes(truth: &Truth, golden: &str, differences: &mut Vec<String>) {
    let rows: Vec<&str> = golden.lines().skip(1).collect();
    if rows.len() != truth.nodes.len() {
        differences.push(format!("{} nodes, golden {}", truth.nodes.len(), rows.len()));
    }
    for (ordinal, (node, row)) in truth.nodes.iter().zip(rows).enumerate() {
        let cells: Vec<&str> = row.split('\t').collect();
        let mine = [
            ("shallow", node.shallow.to_string(), cells[4]),
            ("retained", node.retained.to_string(), cells[5]),
            ("distance", node.distance.unwrap_or(-5).to_string(), cells[6]),
            ("dominator", node.dominator.to_string(), cells[7]),
            ("class key", start(&node.class_key).escaped(), cells[8]),
            ("detachedness", node.detachedness.to_string(), cells[9]),
        ];
        for (what, mine, golden) in mine {
            if mine != golden {
                differences.push(format!("node {ordinal}: {what} {mine}, golden {golden}"));
            }
        }
    }
}

fn check_classes(truth: &Truth, golden: &str, differences: &mut Vec<String>) {
    let quoted = |text: &OracleString| format!("\"{}\"", text.escaped());
    let row = |row: &heaplake_oracle::ClassRow| {
        let distance = row.distance.unwrap_or(-5);
        format!("{}\t{}\t{}\t{}\t{distance}", quoted(&row.name), row.count, row.shallow, row.retained)
    };
    let mine: BTreeMap<String, String> = truth.classes.iter().map(|(key, value)| (quoted(key), row(value))).collect();
    let mut golden: BTreeMap<&str, &str> = golden.lines().skip(1).filter_map(|line| line.split_once('\t')).collect();
    for (key, mine) in &mine {
        match golden.remove(key.as_str()) {
            Some(golden) if golden == mine => {}
            Some(golden) => differences.push(format!("class {key}: {mine}, golden {golden}")),
            None => differences.push(format!("class {key}: not in the golden")),
        }
    }
    differences.extend(golden.keys().map(|key| format!("class {key}: in the golden only")));
}
