//! From the counts at the end of a trace to the rows of the tables.

use crate::calls::{self, Amount, Cell, NONE, Tree};
use crate::index_table::{IndexTable, hash};
use crate::posterior::{Estimate, Pool, Population};
use crate::replay::{Replay, TypeCounts};
use crate::sample::Sample;
use crate::sampling::scale;
use crate::stacks::EMPTY;
use crate::symbols::Function;
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Context, Scratch, StageError, StringWriter};
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::allocation_callers::CallerRow;
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::allocation_types::TypeRow;
use heaplake_schemas::lifetime_sites::SiteRow;
use heaplake_schemas::replay::{self as columns, ABSENT, Coverage};
use std::cmp::Reverse;

/// What the tables take from a replay besides their rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Sampled objects.
    pub sampled: u64,
    /// Those without a stack.
    pub stackless: u64,
    /// Frames of no known function.
    pub unresolved_frames: u64,
    /// Bytes that were spilled.
    pub spilled_bytes: u64,
}

/// Writes all rows.
///
/// # Errors
/// [`StageError::Budget`], [`StageError::Io`], [`StageError::Cancelled`].
pub fn write(replay: &mut Replay, scratch: &Scratch, context: &Context<'_>) -> Result<Totals, StageError> {
    let budget = &context.budget;
    let tracks = replay.tracks.take();
    let replay = &*replay;
    types(replay, scratch, budget)?;
    lifetimes(replay, scratch)?;
    let (functions, unresolved_frames) = resolve(replay, budget)?;
    context.check()?;
    let (mut tree, nodes) = calls::merge(budget, replay.stacks.nodes(), &functions.of_frame)?;
    let mut totals = Totals { unresolved_frames, ..Totals::default() };
    for cell in replay.cells.all() {
        totals.sampled += cell.samples;
        let node = nodes[cell.stack as usize];
        if node == EMPTY {
            totals.stackless += cell.samples;
        } else {
            tree.add(node, &amount(replay, cell));
        }
    }
    tree.sum();
    context.check()?;
    let names = write_functions(replay, &functions.list, &tree, scratch, budget)?;
    context.check()?;
    let positions = callees(&tree, scratch, budget)?;
    context.check()?;
    callers(replay, &tree, &nodes, scratch, context)?;
    if replay.tracks() && replay.has_stacks {
        sites(replay, &tree, &nodes, &names, scratch, budget)?;
    }
    if let Some(tracks) = tracks {
        if !replay.tracks() {
            tracks.discard(scratch)?;
            return Ok(totals);
        }
        let stack = |cell: u32| {
            let cell = replay.cells.all().get(cell as usize)?;
            Some(positions[nodes[cell.stack as usize] as usize]).filter(|&position| position != NONE)
        };
        totals.spilled_bytes = tracks.finish(scratch, budget, stack)?;
    }
    Ok(totals)
}

/// How much of a type was allocated and how much sampled: the ratio by which a sample that the runtime took is scaled.
fn ratio(replay: &Replay, counts: &TypeCounts) -> (u64, u64) {
    match replay.coverage {
        // The number of objects is unknown: ticks count as the bytes that they report.
        Coverage::Ticks => (1, 1),
        _ => (counts.allocated, counts.represented),
    }
}

/// The ratio by which the objects of a cell are scaled.
fn ratio_of(replay: &Replay, cell: &Cell) -> (u64, u64) {
    let counts = &replay.counts[cell.type_id as usize];
    match replay.coverage {
        Coverage::Every => counts.sample.ratio(cell.stratum, counts.allocated),
        _ => ratio(replay, counts),
    }
}

fn amount(replay: &Replay, cell: &Cell) -> Amount {
    Amount::of(cell.samples, cell.count, cell.bytes, ratio_of(replay, cell))
}

fn types(replay: &Replay, scratch: &Scratch, budget: &Budget) -> Result<(), StageError> {
    let mut names = StringWriter::create(scratch, columns::TYPE_NAMES)?;
    for type_id in 0..replay.types.len() as u32 {
        names.push(replay.types.text(type_id).as_bytes())?;
    }
    names.finish()?;
    let exact = matches!(replay.coverage, Coverage::Every | Coverage::Sampled);
    let every = replay.coverage == Coverage::Every;
    let live = |of: u64| if replay.tracks() { of } else { ABSENT };
    let pool = Pool::new(budget, (0..replay.counts.len() as u32).map(|type_id| population(replay, type_id)))?;
    let mut rows = budget.growing("the rows of types");
    for (counts, type_id) in replay.counts.iter().zip(0..) {
        let sample = counts.sample;
        if counts.allocated == 0 && sample.count == 0 {
            continue;
        }
        let estimate =
            if every { pool.estimate(&population(replay, type_id)) } else { whole(&sample, ratio(replay, counts)) };
        let interval = estimate.and_then(|estimate| estimate.interval);
        let (live_count, live_bytes) = replay.lifetimes.alive(type_id);
        rows.push(TypeRow {
            type_id,
            interval: if every { replay.interval() } else { 0 },
            allocated_count: if exact { counts.allocated } else { ABSENT },
            sampled_count: sample.count,
            sampled_bytes: sample.bytes,
            estimated_bytes: estimate.map_or(ABSENT, |estimate| estimate.bytes),
            low_bytes: interval.map_or(ABSENT, |(low, _)| low),
            high_bytes: interval.map_or(ABSENT, |(_, high)| high),
            exact_bytes: if exact { counts.bytes } else { ABSENT },
            live_count: live(live_count),
            live_bytes: live(live_bytes),
        })?;
    }
    rows.sort_unstable_by_key(|row| {
        (Reverse(if row.estimated_bytes == ABSENT { 0 } else { row.estimated_bytes }), row.type_id)
    });
    let mut writer = ColumnWriter::create(scratch, columns::TYPES)?;
    writer.extend(&rows)?;
    writer.finish().map(drop)
}

fn population(replay: &Replay, type_id: u32) -> Population<'_> {
    let counts = &replay.counts[type_id as usize];
    Population {
        total: counts.allocated,
        sample: &counts.sample,
        varies: replay.types.varies(type_id),
        took_large: counts.counter.took_large(),
        seed: replay.seed_of(type_id),
    }
}

/// The estimate for a sample that the runtime took: the trace gives it, without its uncertainty.
fn whole(sample: &Sample, (total, represented): (u64, u64)) -> Option<Estimate> {
    (represented > 0).then(|| Estimate { bytes: scale(sample.bytes, total, represented), interval: None })
}

/// Where objects were followed to their deaths.
fn lifetimes(replay: &Replay, scratch: &Scratch) -> Result<(), StageError> {
    if !replay.tracks() {
        return Ok(());
    }
    let mut writer = ColumnWriter::create(scratch, columns::LIFETIMES)?;
    let frequency = Some(replay.clock.frequency).filter(|&frequency| frequency > 0.0);
    replay.lifetimes.rows(frequency).try_for_each(|row| writer.push(row))?;
    writer.finish().map(drop)
}

/// Functions that are on some stack, numbered in the order in which they first occur among the frames.
struct Functions<'a> {
    /// The function of each node of the tree of frames, [`NONE`] where it is not known.
    of_frame: BudgetVec<u32>,
    list: BudgetVec<&'a Function>,
}

fn resolve<'a>(replay: &'a Replay, budget: &Budget) -> Result<(Functions<'a>, u64), StageError> {
    const WHO: &str = "the functions of all frames";
    let (frames, functions) = (replay.stacks.nodes(), replay.symbols.functions());
    let mut of_frame = budget.filled(WHO, frames.len(), NONE)?;
    let mut numbers = budget.filled(WHO, functions.len(), NONE)?;
    let mut list = budget.growing(WHO);
    let mut unresolved = 0;
    for (frame, slot) in frames.iter().zip(of_frame.iter_mut()).skip(1) {
        let Some(function) = replay.symbols.resolve(frame.frame) else {
            unresolved += 1;
            continue;
        };
        let number = &mut numbers[function as usize];
        if *number == NONE {
            *number = list.len() as u32;
            list.push(&functions[function as usize])?;
        }
        *slot = *number;
    }
    Ok((Functions { of_frame, list }, unresolved))
}

/// What each function allocated: on its own, and with all that it called.
struct ByFunction {
    exclusive: BudgetVec<Amount>,
    inclusive: BudgetVec<Amount>,
}

fn by_function(count: usize, tree: &Tree, budget: &Budget) -> Result<ByFunction, StageError> {
    const WHO: &str = "the functions of the call tree";
    let mut exclusive = budget.filled(WHO, count, Amount::default())?;
    let mut inclusive = budget.filled(WHO, count, Amount::default())?;
    // The node whose stack a function was last counted on: once for a recursive one.
    let mut counted = budget.filled(WHO, count, 0_u32)?;
    for (call, node) in tree.calls().iter().zip(0..).skip(1).filter(|(call, _)| call.exclusive.samples > 0) {
        exclusive[call.function as usize].add(&call.exclusive);
        let mut at: u32 = node;
        while at != EMPTY {
            let above = &tree.calls()[at as usize];
            if std::mem::replace(&mut counted[above.function as usize], node) != node {
                inclusive[above.function as usize].add(&call.exclusive);
            }
            at = above.parent;
        }
    }
    Ok(ByFunction { exclusive, inclusive })
}

/// Writes rows and texts of functions; gives the position of each one's name among the texts.
fn write_functions(
    replay: &Replay,
    functions: &[&Function],
    tree: &Tree,
    scratch: &Scratch,
    budget: &Budget,
) -> Result<BudgetVec<u32>, StageError> {
    let ByFunction { exclusive, inclusive } = by_function(functions.len(), tree, budget)?;
    let mut strings = StringWriter::create(scratch, columns::STRINGS)?;
    let mut names = budget.growing("the names of functions");
    let mut rows = budget.growing("the rows of functions");
    for (at, function) in functions.iter().enumerate() {
        let name = text(&mut strings, Some(&function.name))?;
        names.push(name)?;
        rows.push(FunctionRow {
            function_id: at as u32,
            name,
            method_signature: text(&mut strings, some(&function.signature))?,
            module: text(&mut strings, replay.symbols.module(function))?,
            file: text(&mut strings, some(&function.file))?,
            line: function.line.unwrap_or(NONE),
            inclusive_count: inclusive[at].count,
            inclusive_bytes: inclusive[at].bytes,
            exclusive_count: exclusive[at].count,
            exclusive_bytes: exclusive[at].bytes,
            inclusive_samples: inclusive[at].samples,
            exclusive_samples: exclusive[at].samples,
        })?;
    }
    strings.finish()?;
    // A function that is on no counted stack has no row.
    rows.retain_mut(|_, row| row.inclusive_samples > 0);
    rows.sort_unstable_by_key(|row| (Reverse(row.inclusive_bytes), row.function_id));
    let mut writer = ColumnWriter::create(scratch, columns::FUNCTIONS)?;
    writer.extend(&rows)?;
    writer.finish()?;
    Ok(names)
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Adds a text; its position, [`NONE`] for none.
fn text(strings: &mut StringWriter, text: Option<&str>) -> Result<u32, StageError> {
    let Some(text) = text else { return Ok(NONE) };
    let position = strings.count() as u32;
    strings.push(text.as_bytes())?;
    Ok(position)
}

/// Writes the call tree; gives the position of each node in it.
fn callees(tree: &Tree, scratch: &Scratch, budget: &Budget) -> Result<BudgetVec<u32>, StageError> {
    let mut positions = budget.filled("the order of the call tree", tree.calls().len(), NONE)?;
    let mut writer = ColumnWriter::create(scratch, columns::CALLEES)?;
    tree.preorder(budget, |call, place| {
        positions[place.node as usize] = place.position;
        writer.push(CalleeRow {
            node: place.position,
            parent: place.parent,
            depth: place.depth,
            function_id: call.function,
            inclusive_samples: call.inclusive.samples,
            inclusive_bytes: call.inclusive.bytes,
            exclusive_samples: call.exclusive.samples,
            exclusive_bytes: call.exclusive.bytes,
            inclusive_count: call.inclusive.count,
            exclusive_count: call.exclusive.count,
        })
    })?;
    writer.finish()?;
    Ok(positions)
}

/// The cells in the order of their types, those of one type in the order of their stacks from the inside out.
fn by_type(cells: &[Cell], nodes: &[u32], tree: &Tree, budget: &Budget) -> Result<BudgetVec<(u64, u32)>, StageError> {
    let ranks = calls::ranks(budget, tree)?;
    let mut sorted = budget.filled("the stacks of all types", cells.len(), (0, 0))?;
    for ((slot, cell), number) in sorted.iter_mut().zip(cells).zip(0..) {
        *slot = (u64::from(cell.type_id) << 32 | u64::from(ranks[nodes[cell.stack as usize] as usize]), number);
    }
    sorted.sort_unstable();
    Ok(sorted)
}

fn callers(
    replay: &Replay,
    tree: &Tree,
    nodes: &[u32],
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let budget = &context.budget;
    let cells = replay.cells.all();
    let sorted = by_type(cells, nodes, tree, budget)?;
    let mut writer = ColumnWriter::create(scratch, columns::CALLERS)?;
    let mut reverse = Tree::new(budget)?;
    let mut base = 0;
    for of_type in sorted.chunk_by(|a, b| a.0 >> 32 == b.0 >> 32) {
        context.check()?;
        let type_id = (of_type[0].0 >> 32) as u32;
        for &(_, cell) in of_type {
            let cell = &cells[cell as usize];
            let amount = amount(replay, cell);
            let (mut at, mut node) = (nodes[cell.stack as usize], EMPTY);
            while at != EMPTY {
                let call = &tree.calls()[at as usize];
                node = reverse.child_in_order(node, call.function)?;
                at = call.parent;
            }
            reverse.add(node, &amount);
        }
        reverse.sum();
        reverse.preorder(budget, |call, place| {
            writer.push(CallerRow {
                node: base + place.position,
                parent: if place.parent == NONE { NONE } else { base + place.parent },
                depth: place.depth,
                type_id,
                function_id: call.function,
                padding: 0,
                samples: call.inclusive.samples,
                sampled_bytes: call.inclusive.sampled_bytes,
                estimated_bytes: call.inclusive.bytes,
                estimated_count: call.inclusive.count,
            })
        })?;
        let rows = reverse.calls().len() as u32 - 1;
        base = base.checked_add(rows).ok_or(StageError::Overflow("the number of callers"))?;
        reverse.clear();
    }
    writer.finish().map(drop)
}

/// Where objects of each allocating function and type died.
fn sites(
    replay: &Replay,
    tree: &Tree,
    nodes: &[u32],
    names: &[u32],
    scratch: &Scratch,
    budget: &Budget,
) -> Result<(), StageError> {
    let mut sites = Sites::new(budget)?;
    for (number, cell) in replay.cells.all().iter().enumerate() {
        let function_id = tree.calls()[nodes[cell.stack as usize] as usize].function;
        if function_id == NONE {
            continue;
        }
        let ratio = ratio_of(replay, cell);
        let deaths = replay.cells.deaths(number);
        for (&(count, bytes), generation) in deaths.iter().zip(0..).filter(|((count, _), _)| *count > 0) {
            let function = names[function_id as usize];
            let amount = Amount::of(count, count, bytes, ratio);
            sites.add([function_id, cell.type_id, generation], function, &amount)?;
        }
    }
    let mut rows = sites.rows;
    rows.sort_unstable_by_key(|row| (Reverse(row.bytes), row.function_id, row.type_id, row.generation));
    let mut writer = ColumnWriter::create(scratch, columns::SITES)?;
    writer.extend(&rows)?;
    writer.finish().map(drop)
}

/// Rows by function, type and generation.
struct Sites {
    rows: BudgetVec<SiteRow>,
    index: IndexTable,
}

impl Sites {
    fn new(budget: &Budget) -> Result<Self, StageError> {
        const WHO: &str = "the functions whose objects died";
        Ok(Self { rows: budget.growing(WHO), index: IndexTable::new(budget, WHO)? })
    }

    fn add(&mut self, key: [u32; 3], function: u32, amount: &Amount) -> Result<(), StageError> {
        let key_of = |row: &SiteRow| [row.function_id, row.type_id, row.generation];
        let hash_of = |[function_id, type_id, generation]: [u32; 3]| {
            hash(u64::from(function_id) << 32 | u64::from(type_id), u64::from(generation))
        };
        let rows = &self.rows;
        let at = match self.index.find(hash_of(key), |row| key_of(&rows[row as usize]) == key) {
            Some(at) => at,
            None => {
                let at = u32::try_from(rows.len()).map_err(|_| StageError::Overflow("the number of sites"))?;
                let [function_id, type_id, generation] = key;
                self.rows.push(SiteRow {
                    function_id,
                    type_id,
                    generation,
                    function,
                    count: 0,
                    bytes: 0,
                    samples: 0,
                })?;
                let rows = &self.rows;
                self.index.add(at, |row| hash_of(key_of(&rows[row as usize])))?;
                at
            }
        };
        let row = &mut self.rows[at as usize];
        row.count = row.count.saturating_add(amount.count);
        row.bytes = row.bytes.saturating_add(amount.bytes);
        row.samples = row.samples.saturating_add(amount.samples);
        Ok(())
    }
}
