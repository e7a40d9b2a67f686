//! Leaks in pairs of runs of real programs, as `tests/corpus/leak_pairs.rs` captured them: in Node 22 and 24, in bundles
//! before and after a change elsewhere, in two runs of Java with lambdas renumbered. What a leak is called is equal in
//! both runs, and different for different leaks.

#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]

use heaplake_names::{Normaliser, Runtime, fingerprint};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Fewest pairs, and fewest of them whose names differ in the two runs.
const FEWEST: usize = 30;

fn pairs() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/names/pairs.json.zst");
    let text = zstd::decode_all(File::open(path).unwrap()).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn name(pair: &Value) -> String {
    format!("{} {}", pair["family"].as_str().unwrap(), pair["leak"].as_str().unwrap())
}

/// Signature of `[class_key, script]`.
fn class(names: &Normaliser, class: &Value) -> String {
    names.class(class[0].as_str().unwrap(), class[1].as_str())
}

/// Signatures of the class, of both chains, and of the finding of one side.
fn signatures(pair: &Value, side: usize) -> Vec<String> {
    let names = Normaliser::of(if pair["family"] == "java" { Runtime::Jvm } else { Runtime::V8 });
    let side = &pair["sides"][side];
    let mut signatures = vec![class(&names, &side["class"])];
    for chain in side["chains"].as_array().unwrap() {
        let path = chain[1].as_array().unwrap();
        let classes: Vec<String> = path.iter().map(|element| class(&names, &element[1])).collect();
        let steps = path.iter().zip(&classes);
        let steps = steps.map(|(element, class)| (element[0].as_str(), &**class, element[2] == true));
        signatures.push(names.chain(chain[0].as_str().unwrap(), steps));
    }
    let finding = &side["finding"];
    let path = finding[2].as_array().unwrap().iter().map(|step| step.as_str().unwrap());
    signatures.push(names.finding(finding[0].as_str().unwrap(), &class(&names, &finding[1]), path, None));
    signatures
}

#[test]
fn a_leak_is_the_same_in_both_runs() {
    let pairs = pairs();
    let mut renamed = 0;
    for pair in &pairs {
        let sides = [signatures(pair, 0), signatures(pair, 1)];
        assert_eq!(sides[0], sides[1], "{}", name(pair));
        let prints = sides.map(|side| side.iter().map(|signature| fingerprint(signature)).collect::<Vec<_>>());
        assert_eq!(prints[0], prints[1], "{}", name(pair));
        renamed += usize::from(pair["sides"][0] != pair["sides"][1]);
    }
    assert!(pairs.len() >= FEWEST && renamed >= FEWEST, "{} pairs, of which {renamed} have other names", pairs.len());
}

#[test]
fn different_leaks_differ() {
    let mut known: BTreeMap<(String, Vec<u64>), String> = BTreeMap::new();
    for pair in pairs() {
        let prints = signatures(&pair, 0).iter().map(|signature| fingerprint(signature)).collect();
        let key = (pair["family"].as_str().unwrap().to_owned(), prints);
        let other = known.insert(key, name(&pair));
        assert_eq!(other, None, "{} is called the same", name(&pair));
    }
}

#[test]
fn the_names_of_the_runs_themselves_would_not_do() {
    // Without rules, the keys of classes alone tell the runs of most leaks apart.
    let pairs = pairs();
    let raw =
        |pair: &Value, side: usize| (pair["sides"][side]["class"][0].clone(), pair["sides"][side]["finding"].clone());
    let equal = pairs.iter().filter(|pair| raw(pair, 0) == raw(pair, 1)).count();
    assert!(equal * 2 < pairs.len(), "{equal} of {}", pairs.len());
}
