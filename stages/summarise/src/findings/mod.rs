//! Stage `findings`: observations that deserve attention.
//!
//! * Computes: the findings of all rules, one for each cause (`causes.rs`), with the path to it (`paths.rs`), its owner
//!   and the place of its code (`origins.rs`). A rule is one file here: the pattern, its thresholds, its message.
//!   Thresholds are fractions of the heap with a floor in bytes, so that small programs have no findings.
//! * Resident memory: a byte per class; class, dominator, kind and size, 17 bytes per node, or class, dominator and
//!   parent on the shortest path, paged where the budget does not allow it; a bit per node if arrays show their
//!   elements; the entries of weak maps, 48 bytes each; 24 bytes per class for possible duplicates. Candidates of rules
//!   are bounded, and each rule declares its bound.
//! * Passes over disk: up to three over node columns, one over containers for each rule about them.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or scratch cannot be read or written.
//! * Determinism: order of the nodes and of the classes; rules report on several threads, and findings are in the order
//!   of rules.
//! * Reference: the idea of leak suspects is that of Eclipse MAT; the rules are ours.
//!
//! # How to add a rule
//!
//! 1. Write a file of this folder with a constant `RULE` of type `Rule`: the names of its findings, its inputs beyond
//!    `COMMON`, its bounds on memory, and the constructor of its `Detector`. A detector sees the nodes that may matter
//!    to it, then every class, and then reports its findings; it may query the `Heap`. The `node` of a finding is the
//!    point of accumulation, or an example: the stage fills in path, holder, owner and place for all rules.
//!    `Rule::tells` decides which of several findings about the same bytes stays; the others become its evidence.
//!    `boxed_numbers.rs` is a short example; `containers.rs` is shared by all rules about containers.
//! 2. Add its `mod` line and a line in [`RULES`]. The stage's own declaration follows from the rules.
//!
//! A rule knows no runtime: its knowledge of classes and kinds is a role ([`heaplake_schemas::roles`]) that the reader
//! of each format fills in. Without that role, the rule finds nothing.

mod accumulation;
mod also_held;
mod boxed_numbers;
mod causes;
mod class_roles;
mod closure_caches;
mod container_slack;
mod containers;
mod contexts;
mod crowds;
mod detached;
mod direct_buffers;
mod duplicate_values;
mod duplicates;
mod empty_containers;
mod finalizers;
mod heap;
mod huge_values;
mod leak_suspects;
mod listeners;
mod loaders;
mod many_instances;
mod native;
mod one_entry;
mod origins;
mod packages;
mod path_code;
mod paths;
mod pending_promises;
mod possible_duplicates;
mod realms;
mod resources;
mod rule;
mod sparse_arrays;
mod sweep;
mod thread_frames;
mod thread_locals;
mod timers;
mod tree;
mod unreachable;
mod wasm_memory;
mod weak_maps;

pub(crate) use class_roles::Kinds;
use heap::Heap;
pub(crate) use heap::{Found, shorten};
use heaplake_kit::access::{Access, Size, bits_per_node, column, document, texts};
use heaplake_kit::{Context, Job, OrderedPool, Stage, StageError, Stats};
use heaplake_schemas::findings::{Finding, Scope};
use heaplake_schemas::owners;
use heaplake_schemas::retainer_trees::ROWS as RETAINER_TREES;
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, Metadata, STRINGS, documents};
use heaplake_schemas::symbols::{ORIGINAL_PLACE, ORIGINAL_TEXTS};
use origins::Origins;
use paths::Path;
pub(crate) use rule::severity;
use rule::{Detector, Rule};
use std::cmp::Reverse;
use sweep::Sweep;

/// All rules, in the order of their reports.
const RULES: &[Rule] = &[
    leak_suspects::RULE,
    accumulation::RULE,
    realms::RULE,
    timers::RULE,
    listeners::RULE,
    pending_promises::RULE,
    closure_caches::RULE,
    wasm_memory::RULE,
    many_instances::RULE,
    duplicates::RULE,
    duplicate_values::RULE,
    possible_duplicates::RULE,
    detached::RULE,
    contexts::RULE,
    huge_values::RULE,
    unreachable::RULE,
    native::RULE,
    direct_buffers::RULE,
    sparse_arrays::RULE,
    container_slack::RULE,
    one_entry::RULE,
    empty_containers::RULE,
    weak_maps::RULE,
    loaders::RULE,
    thread_locals::RULE,
    thread_frames::RULE,
    finalizers::RULE,
    boxed_numbers::RULE,
];

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "findings",
    version: 8,
    when: |setting| setting.findings(),
    reads: &READS,
    writes: &[document(documents::FINDINGS)],
    arrays: &ARRAYS,
    least: &[bits_per_node(BOUNDS.bits_per_node)],
    fixed: BUFFERS + BOUNDS.candidates + BOUNDS.working,
    shares: true,
    passes: "node columns twice",
    run,
    ..Stage::NEW
};

/// Inputs of all rules: the [`Sweep`] over the nodes, and the [`Heap`].
const COMMON: [Access; 28] = [
    document(documents::METADATA),
    texts(STRINGS),
    texts(CLASS_KEYS),
    column(columns::CLASS_NAME),
    column(columns::CLASS_ROW),
    column(columns::CHAIN_ROW).if_any(),
    column(RETAINER_TREES).if_any(),
    column(columns::NODE_ID),
    column(columns::NODE_KIND),
    column(columns::NODE_CLASS),
    column(columns::NODE_NAME),
    column(columns::NODE_SHALLOW),
    column(columns::NODE_NATIVE).if_any(),
    column(columns::NODE_RETAINED),
    column(columns::NODE_DOMINATOR),
    column(columns::NODE_DETACHED).if_any(),
    column(columns::NODE_EDGE_COUNT),
    column(columns::NODE_PREORDER),
    column(columns::PATH_PARENT).if_any(),
    column(columns::PATH_LABEL).if_any(),
    column(columns::CLASS_ORIGIN).if_any(),
    column(columns::ORIGIN).if_any(),
    column(columns::ORIGIN_NODE).if_any(),
    column(columns::ORIGIN_OF_NODE).if_any(),
    column(columns::LOCATION_NODE).if_any(),
    column(columns::LOCATION_LINE).if_any(),
    column(ORIGINAL_PLACE).if_any(),
    texts(ORIGINAL_TEXTS).if_any(),
];

/// These inputs, and those of each rule; some occur more than once.
const READS: [Access; COMMON.len() + reads_of_rules()] = reads();
const ARRAYS: [&[Size]; RULES.len()] = arrays();
/// Buffers and page frames of arrays, besides the memory of rules.
const BUFFERS: u64 = 9 << 20;

/// Number of nodes that rules see at a time.
const SHOWN: usize = 256;
/// Maximum number of findings of one rule.
const MOST_OF_A_RULE: usize = 20;
/// Maximum number of rules that report at the same time: few take long.
const MOST_THREADS: u64 = 4;

const fn reads_of_rules() -> usize {
    let (mut count, mut rule) = (0, 0);
    while rule < RULES.len() {
        count += RULES[rule].reads.len();
        rule += 1;
    }
    count
}

const fn reads<const COUNT: usize>() -> [Access; COUNT] {
    let mut reads = [COMMON[0]; COUNT];
    let (mut count, mut rule) = (0, 0);
    while count < COMMON.len() {
        reads[count] = COMMON[count];
        count += 1;
    }
    while rule < RULES.len() {
        let mut at = 0;
        while at < RULES[rule].reads.len() {
            reads[count] = RULES[rule].reads[at];
            (count, at) = (count + 1, at + 1);
        }
        rule += 1;
    }
    reads
}

/// Rules report one after the other, so the arrays of each rule are a list of their own.
const fn arrays() -> [&'static [Size]; RULES.len()] {
    let mut arrays: [&[Size]; RULES.len()] = [&[]; RULES.len()];
    let mut rule = 0;
    while rule < RULES.len() {
        arrays[rule] = RULES[rule].arrays;
        rule += 1;
    }
    arrays
}

/// Memory that all rules hold together, plus the largest amount that one of them uses while it reports.
struct Bounds {
    bits_per_node: u64,
    candidates: u64,
    working: u64,
}

const BOUNDS: Bounds = bounds();

const fn bounds() -> Bounds {
    let mut all = Bounds { bits_per_node: 0, candidates: 0, working: 0 };
    let mut rule = 0;
    while rule < RULES.len() {
        all.bits_per_node += RULES[rule].bits_per_node;
        all.candidates += RULES[rule].candidates;
        if RULES[rule].working > all.working {
            all.working = RULES[rule].working;
        }
        rule += 1;
    }
    all
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let metadata = job.metadata()?;
    let Job { scratch, context, .. } = *job;
    context.progress.begin(STAGE.name, metadata.node_count);
    let _candidates = context.budget.reserve("candidates of findings", BOUNDS.candidates)?;
    let open = |rule: &Rule| (rule.open)(job, &metadata);
    let mut detectors = RULES.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    show_nodes(&mut detectors, &metadata, job)?;
    let heap = Heap::open(metadata, job)?;
    job.each_row(columns::CLASS_ROW, |row| {
        detectors.iter_mut().for_each(|detector| detector.see_class(&row, &heap));
        Ok(())
    })?;
    let mut findings = reports(&mut detectors, &heap, context)?;
    rank(&mut findings);
    RULES.iter().for_each(|rule| (rule.suppress)(&mut findings));
    let mut findings = causes::suppress(findings, RULES, &heap);
    let mut origins = Origins::open(job)?;
    findings.iter_mut().try_for_each(|finding| fill_in(finding, origins.as_mut(), &heap))?;
    rank(&mut findings);
    scratch.write_document(documents::FINDINGS, &findings)?;
    context.progress.end();
    Ok(Stats { rows: findings.len() as u64, spilled_bytes: 0 })
}

/// A rule with its detector, then its findings.
#[derive(Default)]
enum Report<'a> {
    #[default]
    Nothing,
    Due(&'a Rule, &'a mut (dyn Detector + Send)),
    Done(Result<Vec<Finding>, StageError>),
}

/// Collects the reports of all rules, several at the same time if their arrays fit the budget.
fn reports(
    detectors: &mut [Box<dyn Detector + Send>],
    heap: &Heap<'_>,
    context: &Context<'_>,
) -> Result<Vec<Finding>, StageError> {
    let Metadata { node_count, edge_count, .. } = *heap.metadata;
    let most = (context.budget.free() / STAGE.resident_bytes(node_count, edge_count)).clamp(1, MOST_THREADS);
    let pool = OrderedPool::plan(context, "findings of rules", most as usize, BOUNDS.working)?;
    let mut rules = RULES.iter().zip(detectors);
    let mut findings = Vec::new();
    pool.run(
        context,
        |report| {
            let Some((rule, detector)) = rules.next() else { return Ok(false) };
            *report = Report::Due(rule, &mut **detector);
            Ok(true)
        },
        || {
            |report: &mut Report<'_>| {
                if let Report::Due(rule, detector) = std::mem::take(report) {
                    *report = Report::Done(of_rule(rule, detector, heap));
                }
            }
        },
        |report| {
            if let Report::Done(found) = std::mem::take(report) {
                findings.append(&mut found?);
            }
            Ok::<_, StageError>(())
        },
    )?;
    Ok(findings)
}

/// Returns the most severe findings of a rule.
fn of_rule(rule: &Rule, detector: &mut dyn Detector, heap: &Heap<'_>) -> Result<Vec<Finding>, StageError> {
    let mut found = detector.report(heap)?;
    debug_assert!(found.iter().all(|finding| rule.names.contains(&&*finding.rule)), "{:?}", rule.names);
    heap.release();
    rank(&mut found);
    found.truncate(MOST_OF_A_RULE);
    Ok(found)
}

/// Fills in the fields of a finding that follow from its node and class.
fn fill_in(finding: &mut Finding, origins: Option<&mut Origins>, heap: &Heap) -> Result<(), StageError> {
    finding.class_key = finding.class_id.map(|class| heap.class_key(class).into_owned());
    if !RULES.iter().any(|rule| rule.is_outside && rule.names.contains(&&*finding.rule)) {
        also_held::add(finding, heap);
    }
    let Some(node) = finding.node else { return Ok(()) };
    let path = Path::to(node, heap);
    finding.path = path.texts(paths::KEPT);
    finding.stable_path = path.stable(paths::KEPT);
    finding.holder_node = finding.holder_node.or_else(|| path.holder());
    if let Some(origins) = origins {
        // If the rule knows the code, the runtime on the path to the object is not its owner.
        let is_told = finding.place.is_some();
        let owner = match finding.owner.take() {
            None => origins.owner(node, &path, heap)?,
            known => known,
        };
        finding.owner = owner.filter(|owner| !is_told || owner != owners::NODE);
        finding.place = finding.place.take().or_else(|| origins.place(&path, heap));
    }
    if matches!(finding.scope, Scope::Node)
        && let Some(owner) = &finding.owner
    {
        let owner = match owner.as_str() {
            owners::APPLICATION => "the application",
            owners::UNNAMED => "a package without a name",
            name => name,
        };
        finding.message += &match finding.place.as_ref().filter(|place| !finding.message.contains(place.as_str())) {
            Some(place) => format!(". It belongs to {owner} ({place})"),
            None => format!(". It belongs to {owner}"),
        };
    }
    heap.release();
    Ok(())
}

fn show_nodes(
    detectors: &mut [Box<dyn Detector + Send>],
    metadata: &Metadata,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut sweep = Sweep::open(metadata, job.scratch)?;
    let (mut shown, count) = (Vec::with_capacity(SHOWN), metadata.node_count as u32);
    for first in (0..count).step_by(SHOWN) {
        shown.clear();
        let nodes = first..count.min(first.saturating_add(SHOWN as u32));
        job.context.step(nodes.len() as u64)?;
        let matters = |extent: &_| detectors.iter().any(|detector| detector.may_match(extent));
        let extent = sweep.next(nodes, matters, &mut shown)?;
        let minding = detectors.iter_mut().filter(|detector| detector.may_match(&extent));
        minding.for_each(|detector| detector.see_all(&shown));
    }
    Ok(())
}

/// Sorts findings: the most severe first, then the largest.
pub(crate) fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.severity, Reverse(finding.bytes), finding.node, finding.class_id);
        key(a).cmp(&key(b)).then_with(|| a.rule.cmp(&b.rule))
    });
}

#[cfg(test)]
mod tests;
