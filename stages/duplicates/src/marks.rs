//! Properties of single nodes that certificates need.

use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, Bitset, ColumnReader, Job, ReadAt, Scratch, StageError};
use heaplake_schemas::scratch as columns;

/// Sets of nodes.
pub(crate) struct Marks {
    /// Nodes with a shared component: two or more slots from outside enter it.
    pub shared: Bitset,
    /// Nodes with others in their candidate class.
    pub plural: Bitset,
    /// Number of `plural` nodes with slots.
    pub inner: u64,
}

impl Marks {
    /// Computes the marks of the graph in the scratch folder of a job.
    pub(crate) fn find(nodes: usize, job: &Job<'_>) -> Result<Self, StageError> {
        let shared = shared(nodes, job)?;
        let plural = plural(nodes, job)?;
        let inner = inner(nodes, &plural, job.scratch)?;
        Ok(Self { shared, plural, inner })
    }
}

/// Nodes with a shared component.
pub(crate) fn shared(nodes: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let entered_twice = entered_twice(nodes, job)?;
    let mut shared = Bitset::new(&job.context.budget, "shared targets", nodes)?;
    let mut components = ColumnReader::open(job.scratch, columns::EQUAL_COMPONENT)?;
    for node in 0..nodes {
        if entered_twice.contains(components.next()? as usize) {
            shared.insert(node);
        }
    }
    Ok(shared)
}

/// Components entered by two or more slots from outside.
fn entered_twice(nodes: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let mut entered_twice = Bitset::new(&job.context.budget, "shared components", nodes)?;
    let mut entered = Bitset::new(&job.context.budget, "entered components", nodes)?;
    let mut components = ArrayPlan::of(job, "shared components").one(lookup(columns::EQUAL_COMPONENT))?;
    let mut sources = ColumnReader::open(job.scratch, columns::EQUAL_COMPONENT)?;
    let mut degrees = ColumnReader::open(job.scratch, columns::EQUAL_DEGREE)?;
    let mut to = ColumnReader::open(job.scratch, columns::EQUAL_TO)?;
    for _ in 0..nodes {
        let (source, degree) = (sources.next()?, degrees.next()?);
        for _ in 0..degree {
            let target = components.get(to.next()?.index())?;
            if target != source && !entered.insert(target as usize) {
                entered_twice.insert(target as usize);
            }
        }
    }
    Ok(entered_twice)
}

fn plural(nodes: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let budget = &job.context.budget;
    let mut plural = Bitset::new(budget, "possible duplicates", nodes)?;
    let mut one = Bitset::new(budget, "candidate classes", nodes)?;
    let mut several = Bitset::new(budget, "candidate classes of several nodes", nodes)?;
    let mut classes = ColumnReader::open(job.scratch, columns::EQUAL_CANDIDATE)?;
    for _ in 0..nodes {
        let class = classes.next()?.index();
        if !one.insert(class) {
            several.insert(class);
        }
    }
    let mut classes = ColumnReader::open(job.scratch, columns::EQUAL_CANDIDATE)?;
    for node in 0..nodes {
        if several.contains(classes.next()?.index()) {
            plural.insert(node);
        }
    }
    Ok(plural)
}

/// Returns the number of nodes of a set that have slots.
fn inner(nodes: usize, of: &Bitset, scratch: &Scratch) -> Result<u64, StageError> {
    let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
    let mut inner = 0;
    for node in 0..nodes {
        inner += u64::from(degrees.next()? > 0 && of.contains(node));
    }
    Ok(inner)
}
