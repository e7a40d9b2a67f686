//! Call trees and reverse call graphs of random stacks, against ones that are made by walking each path.

use crate::support::{Chance, EXACT, Replayed, replay, replay_with};
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::allocation_callers::CallerRow;
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::options::{Recording, SampleStart};
use heaplake_schemas::replay::{CALLEES, CALLERS, FUNCTIONS, TYPES};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const NONE: u32 = u32::MAX;

/// A program: the functions of each stack from the outermost one on, and allocations by type, stack and bytes.
struct Program {
    stacks: Vec<Vec<u32>>,
    allocations: Vec<(u32, usize, u64)>,
    /// Functions from this one on have no definition.
    unknown: u32,
}

impl Program {
    /// Some stacks go on from others, so that trees are deep; few functions make them recursive, many make them wide.
    fn random(chance: &mut Chance) -> Self {
        let most = [2, 5, 40][chance.below(3) as usize];
        let functions = 1 + chance.below(most) as u32;
        let mut stacks: Vec<Vec<u32>> = vec![Vec::new()];
        for _ in 0..1 + chance.below(60) {
            let mut stack = stacks[chance.below(stacks.len() as u64) as usize].clone();
            if chance.percent(20) {
                stack.clear();
            }
            let longest = [3, 12][chance.below(2) as usize];
            let length = chance.below(longest);
            stack.extend((0..length).map(|_| chance.below(functions.into()) as u32));
            stacks.push(stack);
        }
        let one = |chance: &mut Chance| {
            (chance.below(4) as u32, chance.below(stacks.len() as u64) as usize, 8 * chance.below(6))
        };
        let allocations = (0..chance.below(300)).map(|_| one(chance)).collect();
        let unknown = if chance.percent(30) { functions / 2 } else { functions };
        Self { stacks, allocations, unknown }
    }

    fn log(&self) -> String {
        let mut log = "# clrprof 1\n".to_owned();
        for function in 0..self.unknown {
            writeln!(log, "F {function} A::f{function}").unwrap();
        }
        (0..4).for_each(|type_id| writeln!(log, "T {type_id} T{type_id}").unwrap());
        for (number, stack) in self.stacks.iter().enumerate().skip(1) {
            write!(log, "S {number}").unwrap();
            stack.iter().rev().for_each(|function| write!(log, " {function}").unwrap());
            log.push('\n');
        }
        for (at, (type_id, stack, bytes)) in self.allocations.iter().enumerate() {
            writeln!(log, "A 1 {:x} {type_id} {bytes} {stack}", 0x10000 + 64 * at).unwrap();
        }
        log.push_str("# end\n");
        log
    }

    /// Stacks with the numbers that functions get: in the order in which they occur, those without a definition left
    /// out.
    fn numbered(&self) -> Vec<Vec<u32>> {
        let mut numbers = BTreeMap::new();
        let of = |stack: &Vec<u32>| {
            let known = stack.iter().filter(|&&function| function < self.unknown);
            known
                .map(|&function| {
                    let next = numbers.len() as u32;
                    *numbers.entry(function).or_insert(next)
                })
                .collect()
        };
        self.stacks.iter().map(of).collect()
    }
}

/// Objects and bytes.
type Sum = (u64, u64);

fn add(sum: &mut Sum, bytes: u64) {
    *sum = (sum.0 + 1, sum.1 + bytes);
}

/// A tree by paths: what belongs to each path itself, and with all below it.
type Paths = BTreeMap<Vec<u32>, (Sum, Sum)>;

fn count(paths: &mut Paths, path: &[u32], bytes: u64) {
    for length in 1..=path.len() {
        let (own, all) = paths.entry(path[..length].to_vec()).or_default();
        add(all, bytes);
        if length == path.len() {
            add(own, bytes);
        }
    }
}

/// Paths in preorder, siblings by bytes descending, then by function; each with the position of the path above it.
fn preorder(paths: &Paths) -> Vec<(Vec<u32>, u32)> {
    let mut order = Vec::new();
    let mut open = vec![(Vec::new(), NONE)];
    while let Some((path, parent)) = open.pop() {
        let here = order.len() as u32;
        let below = if path.is_empty() { NONE } else { here };
        if !path.is_empty() {
            order.push((path.clone(), parent));
        }
        let mut children: Vec<_> = paths
            .iter()
            .filter(|(child, _)| child.len() == path.len() + 1 && child.starts_with(&path))
            .map(|(child, (_, all))| (all.1, std::cmp::Reverse(child[path.len()]), child.clone()))
            .collect();
        children.sort();
        open.extend(children.into_iter().map(|(_, _, child)| (child, below)));
    }
    order
}

fn check(program: &Program, replayed: &Replayed) {
    let stacks = program.numbered();
    let (mut calls, mut functions) = (Paths::new(), BTreeMap::<u32, (Sum, Sum)>::new());
    let mut reverse = BTreeMap::<u32, Paths>::new();
    for &(type_id, stack, bytes) in &program.allocations {
        let path = &stacks[stack];
        count(&mut calls, path, bytes);
        let inside_out: Vec<u32> = path.iter().rev().copied().collect();
        count(reverse.entry(type_id).or_default(), &inside_out, bytes);
        for function in path.iter().collect::<BTreeSet<_>>() {
            add(&mut functions.entry(*function).or_default().1, bytes);
        }
        if let Some(last) = path.last() {
            add(&mut functions.entry(*last).or_default().0, bytes);
        }
    }
    let mut rows: Vec<FunctionRow> = replayed.rows(FUNCTIONS);
    assert!(rows.is_sorted_by_key(|row| (std::cmp::Reverse(row.inclusive_bytes), row.function_id)));
    rows.sort_by_key(|row| row.function_id);
    let found: Vec<_> = rows
        .iter()
        .map(|row| {
            let sums = ((row.exclusive_count, row.exclusive_bytes), (row.inclusive_count, row.inclusive_bytes));
            (row.function_id, sums)
        })
        .collect();
    assert_eq!(found, functions.into_iter().collect::<Vec<_>>());
    let rows: Vec<CalleeRow> = replayed.rows(CALLEES);
    let expected = preorder(&calls);
    assert_eq!(rows.len(), expected.len());
    for ((row, (path, parent)), node) in rows.iter().zip(&expected).zip(0..) {
        let (own, all) = calls[path];
        assert_eq!((row.node, row.parent, row.depth), (node, *parent, path.len() as u32 - 1));
        assert_eq!(row.function_id, path[path.len() - 1]);
        assert_eq!((row.exclusive_count, row.exclusive_bytes), own);
        assert_eq!((row.inclusive_count, row.inclusive_bytes), all);
        assert!(row.exclusive_samples <= own.0 && row.inclusive_samples <= all.0);
        assert!(replayed.metadata.interval > 1 || (row.exclusive_samples, row.inclusive_samples) == (own.0, all.0));
    }
    check_callers(program, &reverse, &replayed.rows(CALLERS), replayed.metadata.interval == 1);
}

/// Types are numbered in the order in which they are named.
fn check_callers(program: &Program, reverse: &BTreeMap<u32, Paths>, rows: &[CallerRow], each: bool) {
    let mut at = 0;
    for (&type_id, paths) in reverse {
        let base = at as u32;
        for (path, parent) in preorder(paths) {
            let (row, (_, all)) = (&rows[at], paths[&path]);
            let parent = if parent == NONE { NONE } else { base + parent };
            assert_eq!((row.parent, row.depth), (parent, path.len() as u32 - 1));
            assert_eq!((row.type_id, row.function_id), (type_id, path[path.len() - 1]), "{:?}", program.stacks);
            assert_eq!((row.estimated_count, row.estimated_bytes), all);
            assert!(row.samples <= all.0 && row.sampled_bytes <= all.1);
            assert!(!each || (row.samples, row.sampled_bytes) == all);
            at += 1;
        }
    }
    assert_eq!(at, rows.len());
}

#[test]
fn trees_of_random_stacks_are_those_of_their_paths() {
    for seed in 0..300 {
        let program = Program::random(&mut Chance::new(seed));
        check(&program, &replay(program.log().as_bytes(), EXACT));
    }
}

/// Whatever is sampled, each path has what was allocated on it.
#[test]
fn sampled_trees_have_what_was_allocated_on_each_path() {
    let (mut taken, mut all) = (0, 0);
    for seed in 0..400 {
        let program = Program::random(&mut Chance::new(seed));
        let start = if seed % 2 == 0 { SampleStart::Nth } else { SampleStart::Random };
        let recording =
            Recording { sample_interval: [2, 5, 10][seed as usize % 3], sample_start: start, seed, ..EXACT };
        let replayed = replay(program.log().as_bytes(), recording);
        check(&program, &replayed);
        for row in replayed.rows(TYPES) {
            let of_type = program.allocations.iter().filter(|allocation| allocation.0 == row.type_id);
            let truth = of_type.fold((0, 0), |sum: Sum, &(_, _, bytes)| (sum.0 + 1, sum.1 + bytes));
            assert_eq!((row.allocated_count, row.bytes), truth);
            (taken, all) = (taken + row.sampled_count, all + row.allocated_count);
        }
    }
    assert!(taken * 2 < all, "{taken} of {all}");
}

/// A profile in which each function calls the next one, and each allocates.
fn chain(functions: u32, recursive: bool) -> Vec<u8> {
    let mut profile = b"{\"head\":".to_vec();
    for function in 0..functions {
        let name = if recursive { 0 } else { function };
        let frame = format!(
            "{{\"callFrame\":{{\"functionName\":\"f{name}\",\"url\":\"\",\"lineNumber\":1,\"columnNumber\":1}},\
             \"selfSize\":8,\"id\":{function},\"children\":["
        );
        profile.extend(frame.into_bytes());
    }
    (0..functions).for_each(|_| profile.extend(b"]}"));
    profile.extend(b",\"samples\":[]}");
    profile
}

#[test]
fn a_square_of_callers_is_cut_and_counted() {
    const DEEP: u32 = 6000;
    let replayed = replay(&chain(DEEP, false), EXACT);
    let callers: Vec<CallerRow> = replayed.rows(CALLERS);
    assert!(callers.len() <= (1 << 20) + 16 * 2 * (DEEP as usize + 1), "{}", callers.len());
    let deepest = callers.iter().map(|row| row.depth).max().unwrap();
    let cut = replayed.metadata.anomalies["stacks_with_callers_left_out"];
    assert_eq!(cut, u64::from(DEEP - (deepest + 1)), "each stack that is deeper");
    // What is told is whole: all bytes are at the allocating functions.
    assert_eq!(
        callers.iter().filter(|row| row.depth == 0).map(|row| row.sampled_bytes).sum::<u64>(),
        8 * u64::from(DEEP)
    );
    assert_eq!(callers.iter().filter(|row| row.depth == deepest).count() as u64, cut + 1);
    // The call tree and the functions are linear, and complete.
    let callees: Vec<CalleeRow> = replayed.rows(CALLEES);
    assert!(
        callees
            .iter()
            .zip(0..)
            .all(|(row, depth)| row.depth == depth && row.inclusive_bytes == 8 * u64::from(DEEP - depth))
    );
    let functions: Vec<FunctionRow> = replayed.rows(FUNCTIONS);
    assert!(functions.iter().all(|row| row.inclusive_bytes == 8 * u64::from(DEEP - row.function_id)));
}

#[test]
fn a_recursive_function_counts_once_however_deep() {
    const DEEP: u32 = 50_000;
    let replayed = replay(&chain(DEEP, true), EXACT);
    let functions: Vec<FunctionRow> = replayed.rows(FUNCTIONS);
    assert_eq!(functions.len(), 1);
    assert_eq!(
        (functions[0].inclusive_bytes, functions[0].exclusive_bytes),
        (8 * u64::from(DEEP), 8 * u64::from(DEEP))
    );
}

#[test]
fn small_budgets_give_the_same_rows() {
    let mut chance = Chance::new(5);
    let mut log = "# clrprof 1\n".to_owned();
    (0..2000).for_each(|function| writeln!(log, "F {function} A::f{function}").unwrap());
    for stack in 1..20_000 {
        write!(log, "S {stack}").unwrap();
        (0..1 + chance.below(12)).for_each(|_| write!(log, " {}", chance.below(2000)).unwrap());
        log.push('\n');
    }
    for at in 0..40_000 {
        writeln!(log, "A 1 {:x} {} 32 {}", 0x10000 + 64 * at, chance.below(300), chance.below(20_000)).unwrap();
    }
    log.push_str("# end\n");
    let rich = replay_with(log.as_bytes(), EXACT, 1 << 30, 1 << 16).unwrap();
    let poor = replay_with(log.as_bytes(), EXACT, 40 << 20, 1 << 16).unwrap();
    assert!(rich.rows::<CallerRow>(CALLERS).len() > 150_000);
    assert!(rich.rows::<CallerRow>(CALLERS) == poor.rows::<CallerRow>(CALLERS));
    assert!(rich.rows::<CalleeRow>(CALLEES) == poor.rows::<CalleeRow>(CALLEES));
    assert!(rich.rows::<FunctionRow>(FUNCTIONS) == poor.rows::<FunctionRow>(FUNCTIONS));
}
