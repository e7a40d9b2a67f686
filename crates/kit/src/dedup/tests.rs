//! Compares both passes with a hash map of whole records.

use super::{HashPass, Records, VerifyPass};
use crate::stage::Silent;
use crate::{Budget, Context, Scratch};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

/// A last word that makes the hash independent of all preceding words.
const BLIND: u64 = 0xd1b5_4a32_d192_ed03;

/// Compares both passes with the naive answer; nodes without a record are skipped.
fn compare(records: &[Option<Vec<u64>>], limit: u64) {
    compare_with(records, limit, |pass| through(records, pass, |_, _| ()));
    compare_with(records, limit, |pass| {
        for (node, record) in (0..).zip(records) {
            if let Some(record) = record {
                let hash = record.iter().copied().fold(0, HashPass::with);
                pass.add(node, hash, record.len() as u32).unwrap();
            }
        }
    });
}

fn compare_with(records: &[Option<Vec<u64>>], limit: u64, hash: impl FnOnce(&mut HashPass<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(limit), threads: 1, progress: &Silent, cancel: &cancel };
    let mut pass = HashPass::new(records.len() as u32, &scratch, &context.budget).unwrap();
    hash(&mut pass);
    let mut pass = pass.finish(0, &context).unwrap();
    let mut wanted = VerifyPass::wanted(&scratch).unwrap();
    let mut known = HashMap::new();
    through(records, &mut pass, |node, first| {
        let expected = records[node as usize].as_ref().map_or(node, |record| *known.entry(record).or_insert(node));
        assert_eq!(first, expected, "node {node}");
        assert!(wanted.next().unwrap() || first == node, "node {node}");
    });
}

fn through(records: &[Option<Vec<u64>>], pass: &mut impl Records, mut done: impl FnMut(u32, u32)) {
    for (node, record) in (0..).zip(records) {
        let mut first = node;
        if let Some(record) = record
            && pass.begin(node).unwrap()
        {
            record.iter().for_each(|&word| pass.word(word).unwrap());
            first = pass.end().unwrap();
        }
        done(node, first);
    }
}

/// Random records of up to `longest` words, for two of three nodes.
fn random(nodes: usize, longest: u64, words: u64, seed: u64) -> Vec<Option<Vec<u64>>> {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let record = |next: &mut dyn FnMut(u64) -> u64| (0..next(longest + 1)).map(|_| next(words)).collect();
    (0..nodes).map(|_| (next(3) > 0).then(|| record(&mut next))).collect()
}

#[test]
fn equals_the_naive_answer() {
    for seed in 0..200 {
        compare(&random(300, 3, 4, seed), 1 << 22);
    }
    compare(&[], 1 << 22);
    // All records are equal and empty.
    compare(&vec![Some(Vec::new()); 100], 1 << 22);
}

#[test]
fn collisions_are_told_apart() {
    for seed in 0..50 {
        let mut records = random(400, 3, 3, seed);
        // All records have equal hashes, even records of equal length.
        records.iter_mut().flatten().for_each(|record| record.push(BLIND));
        compare(&records, 1 << 22);
    }
}

#[test]
fn a_table_that_is_too_small_takes_rounds() {
    let records: Vec<_> = (0..60_000u64).map(|node| Some(vec![node * node % 40_009, 7])).collect();
    assert!(HashPass::table_bytes(60_000) > 1 << 19);
    compare(&records, 1 << 20);
}

#[test]
fn arrays_that_do_not_fit_are_paged() {
    let records: Vec<_> = (0..1_000_000u64).map(|node| (node % 7 > 0).then(|| vec![node / 3 % 100_000; 3])).collect();
    compare(&records, 6 << 20);
}
