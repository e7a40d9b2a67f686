//! To whom an object belongs, and where the code of its owner is: the package, script or team as the table of owners
//! has it, and a file with a line where the format tells.

use super::heap::Heap;
use super::paths::Path;
use crate::owners::rules::{Code, Rules};
use heaplake_kit::{ColumnMap, Job, StageError, StringTable};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::owners::{self, Origin};
use heaplake_schemas::scratch as columns;
use heaplake_schemas::symbols::{ORIGINAL_PLACE, ORIGINAL_TEXTS, OriginalPlace};

/// Dominators that are looked at.
const STEPS: usize = 1 << 12;

/// What the format tells of the origin of objects.
pub struct Origins {
    rules: Rules,
    node: ColumnMap<NodeId>,
    of_node: ColumnMap<u32>,
    origin: ColumnMap<Origin>,
    located: ColumnMap<NodeId>,
    line: ColumnMap<u32>,
    /// What scripts were made from, where there are source maps.
    originals: Option<(ColumnMap<OriginalPlace>, StringTable)>,
}

impl Origins {
    /// Opens the columns, if the run has them.
    pub fn open(job: &Job<'_>) -> Result<Option<Self>, StageError> {
        let Job { scratch, context, .. } = *job;
        if !scratch.has(columns::ORIGIN) {
            return Ok(None);
        }
        let located = scratch.has(columns::LOCATION_NODE);
        let originals = match scratch.has(ORIGINAL_PLACE) {
            true => Some((ColumnMap::uncounted(scratch, ORIGINAL_PLACE)?, StringTable::open(scratch, ORIGINAL_TEXTS)?)),
            false => None,
        };
        Ok(Some(Self {
            rules: Rules::new(job.analysis().owners.as_ref(), scratch, context)?,
            node: ColumnMap::uncounted(scratch, columns::ORIGIN_NODE)?,
            of_node: ColumnMap::uncounted(scratch, columns::ORIGIN_OF_NODE)?,
            origin: ColumnMap::uncounted(scratch, columns::ORIGIN)?,
            located: if located { ColumnMap::uncounted(scratch, columns::LOCATION_NODE)? } else { ColumnMap::empty() },
            line: if located { ColumnMap::uncounted(scratch, columns::LOCATION_LINE)? } else { ColumnMap::empty() },
            originals,
        }))
    }

    /// The row of the origin that a node has of its own.
    fn origin(&self, node: u32) -> Option<u32> {
        self.node.binary_search(&NodeId(node)).ok().map(|at| self.of_node[at])
    }

    fn code(&mut self, node: u32, heap: &Heap) -> Result<Code, StageError> {
        if heap.facts.synthetic_kinds.contains(&heap.nodes.kind.at(node as usize)) {
            return Ok(Code::NOBODY);
        }
        self.rules.owner(heap.nodes.class.at(node as usize), self.origin(node))
    }

    /// The owner for which an object counts; if it has none, that of the nearest object on the path to it.
    pub fn owner(&mut self, node: u32, path: &Path, heap: &Heap) -> Result<Option<String>, StageError> {
        let mut codes = Vec::new();
        let mut at = node;
        while at != heap.facts.root.0 && codes.len() < STEPS {
            codes.push(self.code(at, heap)?);
            at = heap.nodes.dominator.at(at as usize).0;
        }
        let code = codes.iter().rev().fold(Code::NOBODY, |above, code| code.under(above));
        let mut found = code.owner().and_then(|owner| self.rules.name(owner));
        for above in path.upwards() {
            // The runtime's own code holds for somebody, too.
            if found.as_ref().is_some_and(|name| name != owners::NODE) {
                break;
            }
            let next = self.code(above, heap)?.owner().and_then(|owner| self.rules.name(owner));
            found = next.or(found);
        }
        Ok(found)
    }

    /// File and line from which the code at a source location was made.
    fn original(&self, at: usize) -> Option<String> {
        let (places, texts) = self.originals.as_ref()?;
        let place = places[at];
        let path = (place.file != u32::MAX).then(|| texts.text(place.file as usize))?;
        let file = path.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
        Some(format!("{file}:{}", place.line.saturating_add(1)))
    }

    /// File and line of the nearest code on the path to an object, before its script was made where that is known.
    pub fn place(&self, path: &Path, heap: &Heap) -> Option<String> {
        let text = |id: u32| (id != u32::MAX).then(|| heap.strings().text(id as usize));
        let mut places = path.upwards().filter_map(|node| {
            let at = self.located.binary_search(&NodeId(node)).ok()?;
            let origin = self.origin.get(self.origin(node)? as usize)?;
            let script = text(origin.script)?;
            let file = script.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
            let is_runtime = text(origin.package).is_some_and(|package| package == owners::NODE);
            let generated = || format!("{file}:{}", self.line[at].saturating_add(1));
            Some((is_runtime, self.original(at).unwrap_or_else(generated)))
        });
        let first = places.next()?;
        let better = if first.0 { places.find(|(is_runtime, _)| !is_runtime) } else { None };
        Some(better.unwrap_or(first).1)
    }
}
