//! Large containers in variables of closures. Used by [`super::resources`].

use super::graph::{Graph, Places};
use super::labels::Labels;
use heaplake_kit::{Bitset, ColumnMap, ColumnWriter, Context, Job, Reservation, StageError};
use heaplake_schemas::containers::ContainerRow;
use heaplake_schemas::resources::{NONE, ResourceRow, kind};
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;

/// Least number of entries of a reported container.
const LEAST_ENTRIES: u32 = 100;
/// Limit of kept variables, the first ones.
const MOST: usize = 1 << 14;

/// From node to node.
type Map = FxHashMap<u32, u32>;

/// Variables found during the pass over the nodes.
pub(super) struct Variables {
    containers: ColumnMap<ContainerRow>,
    /// Contexts of such variables, and their scope descriptions.
    contexts: Bitset,
    scopes: Bitset,
    found: Vec<ResourceRow>,
    _memory: Reservation,
}

impl Variables {
    /// Memory limit: rows, and two maps with an entry per row, half empty and growing.
    pub(super) const BYTES: u64 = (MOST * (size_of::<ResourceRow>() + 6 * size_of::<(u32, u32)>())) as u64;

    /// Starts empty.
    pub(super) fn open(nodes: u32, job: &Job<'_>) -> Result<Self, StageError> {
        let budget = &job.context.budget;
        Ok(Self {
            containers: ColumnMap::uncounted(job.scratch, columns::CONTAINER_ROW)?,
            contexts: Bitset::new(budget, "variables: contexts", nodes as usize)?,
            scopes: Bitset::new(budget, "variables: scopes", nodes as usize)?,
            found: Vec::new(),
            _memory: budget.reserve("variables of closures", Self::BYTES)?,
        })
    }

    /// Examines the variables of a context.
    pub(super) fn see(&mut self, node: u32, graph: &mut Graph) -> Result<(), StageError> {
        for at in graph.range(node)? {
            let edge = graph.edge(at)?;
            if edge.kind != graph.kinds.context || graph.kind(edge.to)? != graph.kinds.object {
                continue;
            }
            let at = self.containers.partition_point(|row| row.node < edge.to);
            let entries = self.containers.get(at).filter(|row| row.node == edge.to).map_or(0, |row| row.entries);
            if entries >= LEAST_ENTRIES && self.found.len() < MOST {
                self.contexts.insert(node as usize);
                self.found.push(ResourceRow {
                    holder: node,
                    name: edge.name,
                    entries,
                    ..ResourceRow::new(kind::VARIABLE, edge.to)
                });
            }
        }
        Ok(())
    }

    /// Writes the rows, with the first function that uses each context and the name of the function that created it.
    pub(super) fn write(
        mut self,
        graph: &mut Graph,
        labels: &Labels,
        places: &mut Places,
        rows: &mut ColumnWriter<ResourceRow>,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        if self.found.is_empty() {
            return Ok(());
        }
        let mut scope_of: Map = Map::default();
        for found in &self.found {
            if let Some(scope) = graph.inner(found.holder, labels.scope_info)? {
                self.scopes.insert(scope as usize);
                scope_of.insert(found.holder, scope);
            }
        }
        let (functions, codes) = self.users(graph, labels, context)?;
        for found in self.found {
            let function = functions.get(&found.holder).copied().unwrap_or(NONE);
            let place = if function == NONE { NONE } else { places.of(function, graph)? };
            let code = scope_of.get(&found.holder).and_then(|scope| codes.get(scope));
            let scope = code.map_or(Ok(NONE), |&code| places.name(code, graph))?;
            rows.push(ResourceRow { function, place, scope, ..found })?;
        }
        Ok(())
    }

    /// Returns the first function of each context, and the first code of each scope.
    fn users(&self, graph: &mut Graph, labels: &Labels, context: &Context<'_>) -> Result<(Map, Map), StageError> {
        let (mut functions, mut codes) = (Map::default(), Map::default());
        for node in 0..graph.count() {
            let kind = graph.kind(node)?;
            let (label, wanted, found) = if kind == graph.kinds.closure {
                (labels.context, &self.contexts, &mut functions)
            } else if kind == graph.kinds.code {
                (labels.code_scope, &self.scopes, &mut codes)
            } else {
                continue;
            };
            if let Some(to) = graph.inner(node, label)?.filter(|&to| wanted.contains(to as usize)) {
                found.entry(to).or_insert(node);
            }
            context.check_every(1 << 10, node)?;
        }
        Ok((functions, codes))
    }
}
