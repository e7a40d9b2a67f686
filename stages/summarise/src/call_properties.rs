//! Property tests: call tree and live objects of random trace trees, against sums over the path of each node.

use crate::fast_folder::fast_folder;
use crate::{call_tree, live_allocations};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnMap, ColumnWriter, Context, Job, Scratch, StringWriter};
use heaplake_oracle::SplitMix64;
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::live_allocations::ROWS as LIVE;
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::replay::{CALLEES, FUNCTIONS, TYPES};
use heaplake_schemas::samples::ROWS as SAMPLES;
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

const NONE: u32 = u32::MAX;

/// Count and bytes of allocations, then of live objects.
type Amounts = [u64; 4];

fn add(sum: &mut Amounts, other: Amounts) {
    (0..4).for_each(|at| sum[at] += other[at]);
}

/// A node of the heap: row of the trace tree, sample, class, bytes.
type Object = (u32, u32, u32, u64);

struct Case {
    /// Parent, function, count and bytes of each row; a parent comes before its children.
    tree: Vec<(u32, u32, u64, u64)>,
    functions: usize,
    classes: usize,
    samples: usize,
    objects: Vec<Object>,
}

impl Case {
    fn new(seed: u64, most: usize, objects: usize) -> Self {
        let rng = &mut SplitMix64::new(seed);
        let (rows, functions) = (1 + rng.below(most), 1 + rng.below(6));
        let (classes, samples) = (1 + rng.below(5), rng.below(5));
        let row = |row: usize, rng: &mut SplitMix64| {
            // Long chains, so that functions recur on their paths, and several roots.
            let parent = if rng.one_in(2) { row.wrapping_sub(1) } else { rng.below(row + 1).wrapping_sub(1) };
            (parent as u32, rng.below(functions) as u32, rng.below(4) as u64, rng.below(3) as u64 * 8)
        };
        let tree = (0..rows).map(|at| row(at, rng)).collect();
        let optional = |most: usize, rng: &mut SplitMix64| {
            if most == 0 || rng.one_in(3) { NONE } else { rng.below(most) as u32 }
        };
        let object = |rng: &mut SplitMix64| {
            (optional(rows, rng), optional(samples, rng), rng.below(classes) as u32, rng.below(9) as u64 * 8)
        };
        let objects = (0..rng.below(objects + 1)).map(|_| object(rng)).collect();
        Self { tree, functions, classes, samples, objects }
    }

    fn lay_down(&self, scratch: &Scratch) {
        let mut strings = StringWriter::create(scratch, STRINGS).unwrap();
        (0..self.functions).for_each(|at| strings.push(format!("f{at}").as_bytes()).unwrap());
        strings.finish().unwrap();
        write(scratch, columns::NODE_CALL, self.objects.iter().map(|object| object.0));
        write(scratch, columns::NODE_SAMPLE, self.objects.iter().map(|object| object.1));
        write(scratch, columns::NODE_CLASS, self.objects.iter().map(|object| ClassId(object.2)));
        write(scratch, columns::NODE_SHALLOW, self.objects.iter().map(|object| object.3));
        write(scratch, columns::CLASS_NAME, (0..self.classes).map(|_| StringId(0)));
        write(scratch, columns::TRACE_ID, (0..self.tree.len()).map(|row| row as u32 * 2 + 1));
        write(scratch, columns::TRACE_PARENT, self.tree.iter().map(|row| row.0));
        write(scratch, columns::TRACE_FUNCTION, self.tree.iter().map(|row| row.1));
        write(scratch, columns::TRACE_COUNT, self.tree.iter().map(|row| row.2));
        write(scratch, columns::TRACE_SIZE, self.tree.iter().map(|row| row.3));
        write(scratch, columns::FUNCTION_NAME, (0..self.functions).map(|at| StringId(at as u32)));
        write(scratch, columns::FUNCTION_SCRIPT_NAME, (0..self.functions).map(|_| StringId(0)));
        for column in [columns::FUNCTION_SCRIPT, columns::FUNCTION_LINE, columns::FUNCTION_COLUMN] {
            write(scratch, column, (0..self.functions).map(|_| 0));
        }
        write(scratch, columns::SAMPLE_TIME, (0..self.samples).map(|at| at as u64));
        write(scratch, columns::SAMPLE_LAST_ID, (0..self.samples).map(|at| at as u64));
    }

    fn own(&self, row: usize) -> Amounts {
        let mut own = [self.tree[row].2, self.tree[row].3, 0, 0];
        let here = self.objects.iter().filter(|object| object.0 == row as u32);
        here.for_each(|object| add(&mut own, [0, 0, 1, object.3]));
        own
    }

    /// A row and its ancestors.
    fn path(&self, row: usize) -> Vec<usize> {
        let above = |row: &usize| Some(self.tree[*row].0 as usize).filter(|&parent| parent != NONE as usize);
        std::iter::successors(Some(row), above).collect()
    }
}

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

/// Everything that the stages write, by key.
#[derive(Debug, PartialEq, Default)]
struct Written {
    /// Depth, own and all amounts by row of the tree.
    nodes: BTreeMap<u32, (u32, Amounts, Amounts)>,
    /// Own and all amounts by function.
    functions: BTreeMap<u32, (Amounts, Amounts)>,
    /// Count and bytes by sample, class and row of the tree.
    live: BTreeMap<(u32, u32, u32), [u64; 2]>,
    types: BTreeMap<u32, [u64; 2]>,
    samples: Vec<[u64; 2]>,
}

fn expected(case: &Case) -> Written {
    let mut found = Written { samples: vec![[0; 2]; case.samples], ..Written::default() };
    for row in 0..case.tree.len() {
        let (own, path) = (case.own(row), case.path(row));
        let node = found.nodes.entry(row as u32 * 2 + 1).or_default();
        (node.0, node.1) = (path.len() as u32 - 1, own);
        path.iter().for_each(|&above| add(&mut found.nodes.entry(above as u32 * 2 + 1).or_default().2, own));
        add(&mut found.functions.entry(case.tree[row].1).or_default().0, own);
        let on_path: BTreeSet<u32> = path.iter().map(|&above| case.tree[above].1).collect();
        on_path.into_iter().for_each(|function| add(&mut found.functions.entry(function).or_default().1, own));
    }
    let count = |sum: &mut [u64; 2], bytes: u64| *sum = [sum[0] + 1, sum[1] + bytes];
    for &(call, sample, class, bytes) in &case.objects {
        if call != NONE {
            count(found.types.entry(class).or_default(), bytes);
        }
        if let Some(sum) = found.samples.get_mut(sample as usize) {
            count(sum, bytes);
        }
        if call != NONE || sample != NONE {
            let row = if call == NONE { NONE } else { call * 2 + 1 };
            count(found.live.entry((sample, class, row)).or_default(), bytes);
        }
    }
    found
}

fn found(case: &Case, memory: u64) -> Written {
    let folder = fast_folder();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    case.lay_down(&scratch);
    let (budget, cancel) = (Budget::new(memory), AtomicBool::new(false));
    let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
    let options = Options::Analysis(AnalysisOptions::default());
    (call_tree::STAGE.run)(&Job::on(&scratch, &context, &options)).unwrap();
    (live_allocations::STAGE.run)(&Job::on(&scratch, &context, &options)).unwrap();
    drop(context);
    assert_eq!(budget.used(), 0, "all memory is given back");
    let mut found = Written::default();
    let callees = ColumnMap::uncounted(&scratch, CALLEES).unwrap();
    for (at, row) in callees.iter().enumerate() {
        let own = [row.exclusive_count, row.exclusive_bytes, row.exclusive_live_count, row.exclusive_live_bytes];
        let all = [row.inclusive_count, row.inclusive_bytes, row.inclusive_live_count, row.inclusive_live_bytes];
        let above = case.tree[row.trace_node as usize / 2].0;
        let parent = callees.get(row.parent as usize).map_or(NONE, |parent| parent.trace_node / 2);
        assert_eq!((row.node, parent), (at as u32, above));
        assert!(found.nodes.insert(row.trace_node, (row.depth, own, all)).is_none());
    }
    let functions = ColumnMap::uncounted(&scratch, FUNCTIONS).unwrap();
    assert!(functions.iter().map(|row| (u64::MAX - row.inclusive_bytes, row.function_id)).is_sorted());
    for row in functions.iter() {
        let own = [row.exclusive_count, row.exclusive_bytes, row.exclusive_live_count, row.exclusive_live_bytes];
        let all = [row.inclusive_count, row.inclusive_bytes, row.inclusive_live_count, row.inclusive_live_bytes];
        assert!(found.functions.insert(row.function_id, (own, all)).is_none());
    }
    let live = ColumnMap::uncounted(&scratch, LIVE).unwrap();
    assert!(live.iter().map(|row| (row.sample, row.class, row.node)).is_sorted());
    for row in live.iter() {
        let node = callees.get(row.node as usize).map_or(NONE, |node| node.trace_node);
        assert!(found.live.insert((row.sample, row.class, node), [row.count, row.bytes]).is_none());
    }
    let types = ColumnMap::uncounted(&scratch, TYPES).unwrap();
    found.types = types.iter().map(|row| (row.type_id, [row.live_count, row.live_bytes])).collect();
    if case.samples > 0 {
        let samples = ColumnMap::uncounted(&scratch, SAMPLES).unwrap();
        found.samples = samples.iter().map(|row| [row.count, row.bytes]).collect();
    }
    found
}

#[test]
fn amounts_are_sums_over_paths() {
    for seed in 0..3000 {
        let case = Case::new(seed, 30, 40);
        assert_eq!(found(&case, 64 << 20), expected(&case), "seed {seed}");
    }
}
