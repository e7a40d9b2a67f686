//! Verdicts of tests about other objects, paths and fields, for every node.
//!
//! Each is computed for all nodes at once, in a pass or two over a table: one byte per node and test. Dominators take 4
//! bytes per node, shortest paths 6 while they are computed and 4 afterwards.

use super::ast::{Check, Compare, Filter, Relation, Test};
use super::check::{Checker, FALSE, TRUE, UNKNOWN, Verdict, verdict};
use super::plan::{Compiled, Plan};
use super::scan::{Nodes, Rows};
use crate::asked::Asked;
use crate::edges;
use crate::error::QueryError;
use crate::object::no_values;
use crate::rows::dominators;
use crate::shortest::{label_text, predecessors, rank};
use heaplake_kit::{StageError, threads};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::values;
use std::cell::OnceCell;
use std::path::PathBuf;

/// A node without predecessor on a path.
const NONE: u32 = u32::MAX;

/// The tables of a run, and columns that several tests use.
pub(crate) struct Neighbours<'a> {
    asked: &'a Asked,
    count: usize,
    dominators: OnceCell<Vec<u32>>,
    before: OnceCell<Vec<u32>>,
}

impl<'a> Neighbours<'a> {
    pub(crate) fn new(asked: &'a Asked, nodes: &Nodes) -> Self {
        Self { asked, count: nodes.rows as usize, dominators: OnceCell::new(), before: OnceCell::new() }
    }

    /// Verdicts of the related tests of a plan.
    pub(crate) fn of_plan(&self, plan: &Plan<'_>) -> Result<Vec<Option<Vec<Verdict>>>, QueryError> {
        let of = |test: &Compiled<'_>| match test {
            Compiled::Column(..) => Ok(None),
            Compiled::Related(test) => self.of(test).map(Some),
        };
        plan.tests.iter().map(of).collect()
    }

    /// Fails if the run lacks a table that a test of a filter needs, before any work.
    pub(crate) fn check(&self, filter: &Filter) -> Result<(), QueryError> {
        match filter {
            Filter::And(all) | Filter::Or(all) => all.iter().try_for_each(|one| self.check(one)),
            Filter::Not(inner) => self.check(inner),
            Filter::Test(test) => {
                match test {
                    Test::Path(_) | Test::FieldOf(..) | Test::InField(..) | Test::InstanceOf(_) => {
                        drop(self.edges(test)?);
                    }
                    Test::Related(Relation::References | Relation::ReferencedBy, _) => drop(self.edges(test)?),
                    Test::Field(..) => drop(self.values()?),
                    _ => {}
                }
                match test {
                    Test::FieldOf(_, inner) | Test::InField(_, inner) | Test::Related(_, inner) => self.check(inner),
                    _ => Ok(()),
                }
            }
        }
    }

    fn of(&self, test: &Test) -> Result<Vec<Verdict>, QueryError> {
        match test {
            Test::Column(..) => Ok(vec![UNKNOWN; self.count]),
            Test::Path(check) => self.of_paths(test, check),
            Test::Field(name, check) => self.of_values(name, &Checker::of(check)?),
            Test::FieldOf(name, inner) | Test::InField(name, inner) => self.of_fields(test, name, inner),
            Test::Related(relation, inner) => self.related(test, *relation, inner),
            Test::InstanceOf(class) => self.instances(test, class),
        }
    }

    /// The nodes that pass a filter: [`TRUE`], the others [`FALSE`].
    fn passing(&self, filter: &Filter) -> Result<Vec<Verdict>, QueryError> {
        let plan = Plan::of(filter)?;
        let nodes = Nodes::open(&self.asked.nodes(), plan.terms())?;
        let per_node = self.of_plan(&plan)?;
        let mut passing = vec![FALSE; self.count];
        let mut units = nodes.units();
        for rows in threads::map(workers(), &mut units, |unit| nodes.matches(unit, &plan, &per_node)) {
            let rows = rows?;
            (0..rows.len()).for_each(|at| passing[rows.at(at) as usize] = TRUE);
        }
        Ok(passing)
    }

    fn related(&self, test: &Test, relation: Relation, inner: &Filter) -> Result<Vec<Verdict>, QueryError> {
        let passing = self.passing(inner)?;
        match relation {
            Relation::Dominator => {
                let above = (0..).zip(self.dominators()?);
                Ok(above.map(|(node, &above)| verdict(above != node && passing[above as usize] == TRUE)).collect())
            }
            Relation::DominatedBy => {
                let dominators = self.dominators()?;
                let below = inherited(dominators, &passing);
                let above = (0..).zip(dominators);
                Ok(above.map(|(node, &above)| verdict(above != node && below[above as usize] == TRUE)).collect())
            }
            Relation::DominatorOf => {
                let mut found = vec![FALSE; self.count];
                let above = (0..).zip(self.dominators()?);
                above
                    .filter(|&(node, &above)| above as usize != node && passing[node] == TRUE)
                    .for_each(|(_, &above)| found[above as usize] = TRUE);
                Ok(found)
            }
            Relation::Dominates => Ok(above_any(self.dominators()?, &passing)),
            Relation::References | Relation::ReferencedBy => {
                let mut found = vec![FALSE; self.count];
                edges::each(&self.edges(test)?, self.count, false, |edge| {
                    let (own, other) = match relation {
                        Relation::References => (edge.from, edge.to),
                        _ => (edge.to, edge.from),
                    };
                    if passing[other as usize] == TRUE {
                        found[own as usize] = TRUE;
                    }
                    Ok(())
                })?;
                Ok(found)
            }
        }
    }

    fn dominators(&self) -> Result<&Vec<u32>, StageError> {
        if let Some(dominators) = self.dominators.get() {
            return Ok(dominators);
        }
        let read = dominators(&self.asked.nodes())?;
        Ok(self.dominators.get_or_init(|| read))
    }

    /// The predecessor of each node on a shortest path.
    pub(crate) fn before(&self, test: &dyn std::fmt::Display) -> Result<&Vec<u32>, QueryError> {
        if let Some(before) = self.before.get() {
            return Ok(before);
        }
        let read = predecessors(&self.asked.nodes(), &self.edges(test)?)?;
        Ok(self.before.get_or_init(|| read))
    }

    /// The table of edges, which a test needs.
    pub(crate) fn edges(&self, test: &dyn std::fmt::Display) -> Result<PathBuf, QueryError> {
        self.asked.edges().ok_or_else(|| {
            let cause =
                format!("{}: {test} needs the table of edges, which this run lacks", self.asked.folder.display());
            QueryError::usage(cause, &format!("this makes the run again with it: {}", self.asked.command_for_edges()))
        })
    }

    fn values(&self) -> Result<PathBuf, QueryError> {
        match self.asked.has(values::TABLE.file) {
            true => Ok(self.asked.folder.join(values::TABLE.file)),
            false => Err(no_values(self.asked)),
        }
    }

    /// Verdicts on the values of a field; the first one counts if an object has several of the name. Objects without
    /// the field have null.
    fn of_values(&self, name: &str, checker: &Checker) -> Result<Vec<Verdict>, QueryError> {
        const UNSET: Verdict = u8::MAX;
        let table = self.values()?;
        let mut found = vec![UNSET; self.count];
        let mut batches = Reader::open(&table)?.columns(&["node", "name", "kind", "value"])?;
        while let Some(batch) = batches.batch()? {
            let (nodes, names) = (batch.u32s("node")?, batch.texts("name")?);
            let (kinds, texts) = (batch.texts("kind")?, batch.texts("value")?);
            for row in 0..batch.len() {
                let kind = kinds.value(row);
                // Unnamed values, such as the length of an array, go by their kind.
                if value(names, row).unwrap_or(kind) != name {
                    continue;
                }
                if let Some(found) = found.get_mut(nodes.value(row) as usize).filter(|found| **found == UNSET) {
                    *found = checker.of_value(kind, value(texts, row));
                }
            }
        }
        let without = checker.of_value("null", None);
        found.iter_mut().filter(|found| **found == UNSET).for_each(|found| *found = without);
        Ok(found)
    }

    /// Whether a field refers to an object that passes a filter, or the field of such an object refers to this one.
    fn of_fields(&self, test: &Test, name: &str, inner: &Filter) -> Result<Vec<Verdict>, QueryError> {
        let edges = self.edges(test)?;
        let passing = self.passing(inner)?;
        let mut found = vec![FALSE; self.count];
        let mut batches = Reader::open(&edges)?.columns(&["from", "to", "name"])?;
        while let Some(batch) = batches.batch()? {
            let (from, to, names) = (batch.u32s("from")?, batch.u32s("to")?, batch.texts("name")?);
            for row in 0..batch.len() {
                let (own, other) = match test {
                    Test::InField(..) => (to.value(row), from.value(row)),
                    _ => (from.value(row), to.value(row)),
                };
                if value(names, row) == Some(name)
                    && passing.get(other as usize) == Some(&TRUE)
                    && let Some(found) = found.get_mut(own as usize)
                {
                    *found = TRUE;
                }
            }
        }
        Ok(found)
    }

    /// Whether the class of an object is, or inherits from, a class of this name. Java: over the edges of class objects
    /// to their superclasses.
    fn instances(&self, test: &Test, class: &str) -> Result<Vec<Verdict>, QueryError> {
        let edges = self.edges(test)?;
        let mut found = vec![FALSE; self.count];
        // Class objects of the class and of its subclasses.
        let mut classes = vec![FALSE; self.count];
        let mut batches = Reader::open(&self.asked.nodes())?.columns(&["node", "class", "kind", "name"])?;
        while let Some(batch) = batches.batch()? {
            let (nodes, kinds, names) = (batch.u32s("node")?, batch.texts("kind")?, batch.texts("name")?);
            let of = batch.texts("class")?;
            for row in 0..batch.len() {
                let node = nodes.value(row) as usize;
                if kinds.value(row) == "class" && value(names, row) == Some(class) {
                    classes[node] = TRUE;
                } else if of.value(row) == class {
                    found[node] = TRUE;
                }
            }
        }
        let (mut superclasses, mut of_class) = (Vec::new(), Vec::new());
        let mut batches = Reader::open(&edges)?.columns(&["from", "to", "kind"])?;
        while let Some(batch) = batches.batch()? {
            let (from, to, kinds) = (batch.u32s("from")?, batch.u32s("to")?, batch.texts("kind")?);
            for row in 0..batch.len() {
                match kinds.value(row) {
                    "superclass" => superclasses.push((from.value(row), to.value(row))),
                    "class" => of_class.push((from.value(row), to.value(row))),
                    _ => {}
                }
            }
        }
        let is = |classes: &[Verdict], node: u32| classes.get(node as usize) == Some(&TRUE);
        loop {
            let new: Vec<u32> = superclasses
                .iter()
                .filter(|&&(sub, above)| is(&classes, above) && !is(&classes, sub))
                .map(|edge| edge.0)
                .collect();
            if new.is_empty() {
                break;
            }
            new.into_iter().for_each(|sub| classes[sub as usize] = TRUE);
        }
        for (object, class) in of_class {
            if is(&classes, class) {
                found[object as usize] = TRUE;
            }
        }
        Ok(found)
    }

    /// Verdicts on shortest paths: whether a class or a label on it passes; unknown without a path.
    fn of_paths(&self, test: &Test, check: &Check) -> Result<Vec<Verdict>, QueryError> {
        let edges = self.edges(test)?;
        let before = self.before(test)?;
        let checker = Checker::of(&positive(check))?;
        let mut own = self.of_classes(before, &checker)?;
        if matches!(check, Check::IsNull) {
            return Ok(own.into_iter().map(|own| verdict(own == UNKNOWN)).collect());
        }
        let mut best = vec![u8::MAX; self.count];
        let mut labelled = vec![FALSE; self.count];
        let mut text = String::new();
        let mut batches = Reader::open(&edges)?.columns(&["from", "to", "kind", "name", "index", "essential"])?;
        while let Some(batch) = batches.batch()? {
            let (from, to, essential) = (batch.u32s("from")?, batch.u32s("to")?, batch.flags("essential")?);
            let (kinds, names, indices) = (batch.texts("kind")?, batch.texts("name")?, batch.u32s("index")?);
            for row in 0..batch.len() {
                let (from, to) = (from.value(row), to.value(row) as usize);
                if before.get(to) != Some(&from) {
                    continue;
                }
                let rank = rank(kinds.value(row), essential.value(row));
                if let Some(rank) = rank.filter(|&rank| rank < best[to]) {
                    best[to] = rank;
                    labelled[to] = checker.of_text(Some(label_text(value(names, row), indices.value(row), &mut text)));
                }
            }
        }
        own.iter_mut()
            .zip(labelled)
            .filter(|(own, _)| **own != UNKNOWN)
            .for_each(|(own, label)| *own = (*own).max(label));
        Ok(along(before, own))
    }

    /// Verdicts on the class of each node; unknown without a path to it.
    fn of_classes(&self, before: &[u32], checker: &Checker) -> Result<Vec<Verdict>, QueryError> {
        let mut found = Vec::with_capacity(self.count);
        let class = [super::terms::Term::named("class")].into_iter().flatten();
        let nodes = Nodes::open(&self.asked.nodes(), class)?;
        nodes.read(&["class", "distance"], &Rows::All(0..nodes.rows), |batch, _| {
            let (classes, distances) = (batch.distinct("class")?, batch.i32s("distance")?);
            for row in 0..batch.len() {
                let is_without = before[found.len()] == NONE && value(distances, row).is_none();
                found.push(if is_without { UNKNOWN } else { checker.of_text(classes.text(row)) });
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Number of threads of a scan.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The check that one step of a path has to pass; the plan negates it again.
fn positive(check: &Check) -> Check {
    match check {
        Check::MatchesNot(pattern) => Check::Matches(pattern.clone()),
        Check::Compare(Compare::Unequal, literal) => Check::Compare(Compare::Equal, literal.clone()),
        check => check.clone(),
    }
}

/// Whether a node or one of its dominators passes.
fn inherited(dominators: &[u32], passing: &[Verdict]) -> Vec<Verdict> {
    along(
        &dominators.iter().zip(0..).map(|(&above, node)| if above == node { NONE } else { above }).collect::<Vec<_>>(),
        passing.to_vec(),
    )
}

/// The greatest verdict on the way up from each node, itself included. A ring, which a damaged table may have, ends at
/// the node where it was entered.
fn along(up: &[u32], own: Vec<Verdict>) -> Vec<Verdict> {
    let mut found = own;
    let mut is_done = vec![false; found.len()];
    let mut path = Vec::new();
    for node in 0..found.len() {
        let mut at = node;
        while !is_done[at] {
            is_done[at] = true;
            path.push(at);
            match up[at] {
                NONE => break,
                above => at = above as usize,
            }
        }
        let mut carried = FALSE;
        if path.last() != Some(&at) {
            carried = found[at];
        }
        while let Some(at) = path.pop() {
            // Unknown stays unknown: it means that there is no path.
            if found[at] != UNKNOWN {
                found[at] = found[at].max(carried);
            }
            carried = found[at];
        }
    }
    found
}

/// Whether a node dominates another one that passes.
fn above_any(dominators: &[u32], passing: &[Verdict]) -> Vec<Verdict> {
    let mut found = vec![FALSE; passing.len()];
    for node in (0..passing.len()).filter(|&node| passing[node] == TRUE) {
        let mut at = node;
        loop {
            let above = dominators[at] as usize;
            if above == at || found[above] == TRUE {
                break;
            }
            found[above] = TRUE;
            at = above;
        }
    }
    found
}
