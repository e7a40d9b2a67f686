//! Roots and dependent handles, which keep objects alive besides references of objects.

use super::recorder::{DEPENDENTS, Dependent, ROOT_KINDS, ROOTS, Root};
use crate::index::Find;
use crate::names::NameWriter;
use heaplake_kit::{BudgetVec, ColumnReader, Job, StageError, StringTable};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::STRINGS;

/// Edges other than references of objects.
pub(super) struct Outside {
    /// Targets of roots with the names of the edges, sorted by node, without duplicates.
    pub roots: BudgetVec<(NodeId, StringId)>,
    /// Pairs of nodes: a dependent handle keeps the second alive as long as the first.
    pub dependents: BudgetVec<(NodeId, NodeId)>,
    /// Number of references without an object in the walk.
    pub lost: u64,
}

impl Outside {
    /// Loads the roots and handles of a walk in a trace; a dump has none, since there they are nodes.
    pub(super) fn load(index: &mut impl Find, names: &mut NameWriter, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let budget = &context.budget;
        let mut outside =
            Self { roots: budget.growing("roots"), dependents: budget.growing("dependent handles"), lost: 0 };
        if !scratch.has(ROOTS) {
            return Ok(outside);
        }
        let strings = StringTable::open(scratch, STRINGS)?;
        let mut roots = ColumnReader::open(scratch, ROOTS)?;
        while let Some(Root { object, kind, field }) = roots.pop()? {
            let Some(node) = index.find(object)? else {
                outside.lost += 1;
                continue;
            };
            let kind = ROOT_KINDS[kind as usize];
            let name = if field.is_none() {
                names.intern(kind.as_bytes())?
            } else {
                names.intern(format!("{kind} {}", strings.text(field.index())).as_bytes())?
            };
            outside.roots.push((node, name))?;
        }
        let mut dependents = ColumnReader::open(scratch, DEPENDENTS)?;
        while let Some(Dependent { key, value }) = dependents.pop()? {
            match (index.find(key)?, index.find(value)?) {
                (Some(key), Some(value)) => outside.dependents.push((key, value))?,
                // A handle with a dead key, or one that keeps nothing alive.
                _ if key == 0 || value == 0 => {}
                _ => outside.lost += 1,
            }
        }
        outside.roots.sort_unstable();
        outside.dependents.sort_unstable();
        let mut last = None;
        outside.roots.retain_mut(|_, root| last.replace(*root) != Some(*root));
        Ok(outside)
    }
}
