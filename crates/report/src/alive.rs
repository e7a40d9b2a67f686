//! Time line of allocations still alive, with classes and stacks per interval.
//!
//! Many samples share a bar. Rows are sums by bar, class and stack: the largest keep their stack, the rest of a class
//! is one row per bar, and so are the small classes. So sums over any range of bars are exact.
//!
//! Resident memory: some 100 bytes per class, and per class and stack of one bar.

use crate::texts::Texts;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::{allocation_callees, live_allocations, samples};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

/// Maximum number of bars.
const BARS: u64 = 240;
/// Maximum number of named classes.
const CLASSES: usize = 120;
/// Maximum number of rows with a stack.
const ROWS: usize = 4000;
/// Bytes per entry of a table of sums.
const ENTRY: u64 = 96;

/// The time line.
#[derive(Serialize)]
pub struct Alive {
    /// Number of samples.
    of: u64,
    bars: Vec<Bar>,
    rows: Vec<Row>,
    /// Node in `allocation_callees`, and its call path.
    stacks: Vec<(u32, u32)>,
}

/// A group of consecutive samples.
#[derive(Serialize)]
struct Bar {
    /// Time of the preceding sample in seconds; `None` for the first bar.
    from: Option<f64>,
    to: f64,
    count: u64,
    bytes: u64,
}

/// Bar (null outside the time line), class (null for small ones), stack, objects, bytes. A stack is an index into
/// `stacks`, [`UNKNOWN`], or [`OTHERS`].
type Row = (Option<u32>, Option<u32>, i64, u64, u64);

/// Stack missing from the input.
const UNKNOWN: i64 = -1;
/// Stacks merged into one row.
const OTHERS: i64 = -2;
/// No stack, no bar.
const NONE: u32 = u32::MAX;

/// Objects and bytes.
type Sum = (u64, u64);

/// Objects of one class and stack in one bar.
struct Group {
    bar: u32,
    class: u32,
    node: u32,
    sum: Sum,
}

/// Reads the time line; `None` if the run has no such table.
pub fn read(folder: &Path, texts: &mut Texts, context: &Context<'_>) -> Result<Option<Alive>, StageError> {
    if Reader::open_if_present(&folder.join(live_allocations::TABLE.file))?.is_none() {
        return Ok(None);
    }
    let (of, together, bars) = bars(folder)?;
    let groups = Groups { folder, together, context };
    let largest = groups.largest()?;
    let (mut rows, mut rest) = (Vec::new(), BTreeMap::<_, Sum>::new());
    let mut number = 0;
    groups.each(&mut |group| {
        let kept = largest.groups.contains(&number);
        number += 1;
        let class = largest.classes.get(&group.class);
        match class {
            Some(_) if kept => rows.push(group),
            _ => {
                let sum = rest.entry((group.bar, class.map_or(NONE, |_| group.class))).or_default();
                *sum = plus(*sum, group.sum);
            }
        }
        Ok(())
    })?;
    let stacks = stacks(folder, &rows, texts)?;
    let bar = |bar: u32| (bar != NONE).then_some(bar);
    let class = |class: u32, texts: &mut Texts| largest.classes.get(&class).map(|name| texts.add(name));
    let mut shown: Vec<Row> = Vec::with_capacity(rows.len() + rest.len());
    for Group { bar: at, class: of, node, sum } in rows {
        let stack = stacks.binary_search_by_key(&node, |&(node, _)| node).map_or(UNKNOWN, |place| place as i64);
        shown.push((bar(at), class(of, texts), stack, sum.0, sum.1));
    }
    for ((at, of), sum) in rest {
        shown.push((bar(at), class(of, texts), OTHERS, sum.0, sum.1));
    }
    Ok(Some(Alive { of, bars, rows: shown, stacks }))
}

fn plus(a: Sum, b: Sum) -> Sum {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

/// Number of samples, samples per bar, and bars.
fn bars(folder: &Path) -> Result<(u64, u64, Vec<Bar>), StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(samples::TABLE.file))? else {
        return Ok((0, 1, Vec::new()));
    };
    let of = reader.rows();
    let together = of.div_ceil(BARS).max(1);
    let mut batches = reader.columns(&["seconds", "live_count", "live_bytes"])?;
    let (mut bars, mut before, mut number) = (Vec::<Bar>::new(), None, 0_u64);
    while let Some(rows) = batches.batch()? {
        let (times, counts, sizes) = (rows.f64s("seconds")?, rows.sizes("live_count")?, rows.sizes("live_bytes")?);
        for at in 0..rows.len() {
            let to = times.value(at);
            if number.is_multiple_of(together) {
                bars.push(Bar { from: before, to, count: 0, bytes: 0 });
            }
            if let Some(bar) = bars.last_mut() {
                bar.to = to;
                (bar.count, bar.bytes) = plus((bar.count, bar.bytes), (counts.value(at), sizes.value(at)));
            }
            before = Some(to);
            number += 1;
        }
    }
    Ok((of, together, bars))
}

/// The table as groups, ordered by bar.
struct Groups<'a> {
    folder: &'a Path,
    together: u64,
    context: &'a Context<'a>,
}

/// Groups and classes kept apart.
struct Largest {
    /// Indices of the largest groups.
    groups: FxHashSet<u64>,
    /// Largest classes, with names.
    classes: FxHashMap<u32, String>,
}

impl Groups<'_> {
    /// Calls `visit` for each group, bar by bar.
    fn each(&self, visit: &mut dyn FnMut(Group) -> Result<(), StageError>) -> Result<(), StageError> {
        let mut of_bar = BTreeMap::<(u32, u32), Sum>::new();
        let mut reserved = self.context.budget.reserve("living objects of an interval", 0)?;
        let mut bar = NONE;
        let mut end = |bar: u32, of_bar: &mut BTreeMap<(u32, u32), Sum>, reserved: &mut Reservation| {
            reserved.shrink(reserved.bytes());
            std::mem::take(of_bar)
                .into_iter()
                .try_for_each(|((class, node), sum)| visit(Group { bar, class, node, sum }))
        };
        let mut batches = Reader::open(&self.folder.join(live_allocations::TABLE.file))?.columns(&[
            "sample",
            "class_id",
            "node",
            "live_count",
            "live_bytes",
        ])?;
        while let Some(rows) = batches.batch()? {
            let (intervals, classes, nodes) = (rows.u32s("sample")?, rows.u32s("class_id")?, rows.u32s("node")?);
            let (counts, sizes) = (rows.sizes("live_count")?, rows.sizes("live_bytes")?);
            for at in 0..rows.len() {
                let next = value(intervals, at).map_or(NONE, |sample| (u64::from(sample) / self.together) as u32);
                if next != bar {
                    end(bar, &mut of_bar, &mut reserved)?;
                    bar = next;
                }
                let key = (classes.value(at), value(nodes, at).unwrap_or(NONE));
                let sum = (counts.value(at), sizes.value(at));
                if let Some(known) = of_bar.get_mut(&key) {
                    *known = plus(*known, sum);
                } else {
                    reserved.grow(ENTRY)?;
                    of_bar.insert(key, sum);
                }
            }
            self.context.check()?;
        }
        end(bar, &mut of_bar, &mut reserved)
    }

    fn largest(&self) -> Result<Largest, StageError> {
        let mut reserved = self.context.budget.reserve("classes of living objects", 0)?;
        let mut of_class = FxHashMap::<u32, u64>::default();
        // On ties, the first wins.
        let mut best = BinaryHeap::with_capacity(ROWS + 1);
        let mut number = 0_u64;
        self.each(&mut |group| {
            if !of_class.contains_key(&group.class) {
                reserved.grow(ENTRY)?;
            }
            let bytes = of_class.entry(group.class).or_default();
            *bytes = bytes.saturating_add(group.sum.1);
            best.push(Reverse((group.sum.1, Reverse(number))));
            if best.len() > ROWS {
                best.pop();
            }
            number += 1;
            Ok(())
        })?;
        let mut classes: Vec<(Reverse<u64>, u32)> =
            of_class.into_iter().map(|(class, bytes)| (Reverse(bytes), class)).collect();
        classes.sort_unstable();
        classes.truncate(CLASSES);
        let groups = best.into_iter().map(|Reverse((_, Reverse(number)))| number).collect();
        Ok(Largest { groups, classes: self.names(&classes.into_iter().map(|(_, class)| class).collect())? })
    }

    /// Names of classes.
    fn names(&self, wanted: &FxHashSet<u32>) -> Result<FxHashMap<u32, String>, StageError> {
        let mut names = FxHashMap::default();
        let mut batches =
            Reader::open(&self.folder.join(live_allocations::TABLE.file))?.columns(&["class_id", "class"])?;
        while let Some(rows) = batches.batch()? {
            let (classes, texts) = (rows.u32s("class_id")?, rows.texts("class")?);
            for at in 0..rows.len() {
                let class = classes.value(at);
                if wanted.contains(&class) && !names.contains_key(&class) {
                    names.insert(class, texts.value(at).to_owned());
                }
            }
        }
        Ok(names)
    }
}

/// Stacks of rows, by node.
fn stacks(folder: &Path, rows: &[Group], texts: &mut Texts) -> Result<Vec<(u32, u32)>, StageError> {
    /// Maximum bytes of a path.
    const PATH: usize = 400;
    let mut nodes: Vec<u32> = rows.iter().map(|row| row.node).filter(|&node| node != NONE).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut stacks = Vec::with_capacity(nodes.len());
    // A node's number is its row.
    if let Some(reader) = Reader::open_if_present(&folder.join(allocation_callees::TABLE.file))? {
        let mut batches = reader.only(&nodes)?.columns(&["node", "signature"])?;
        while let Some(rows) = batches.batch()? {
            let (numbers, paths) = (rows.u32s("node")?, rows.texts("signature")?);
            for at in 0..rows.len() {
                stacks.push((numbers.value(at), texts.add_within(paths.value(at), PATH)));
            }
        }
        return Ok(stacks);
    }
    stacks.extend(nodes.into_iter().map(|node| (node, texts.add(&format!("node {node} of the call tree")))));
    Ok(stacks)
}
