//! The owner of an object, and the place of the owner's code: package, script or team as in the table of owners, and a
//! file with a line if the format has one.

use super::heap::Heap;
use super::paths::Path;
use crate::owners::rules::{Code, Rules};
use heaplake_kit::{ColumnMap, Job, StageError, StringTable};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::owners::{self, Origin};
use heaplake_schemas::scratch as columns;
use heaplake_schemas::symbols::{ORIGINAL_PLACE, ORIGINAL_TEXTS, OriginalPlace};

/// Maximum number of dominators.
const STEPS: usize = 1 << 12;

/// Origins of objects in the format.
pub(super) struct Origins {
    rules: Rules,
    node: ColumnMap<NodeId>,
    of_node: ColumnMap<u32>,
    origin: ColumnMap<Origin>,
    located: ColumnMap<NodeId>,
    line: ColumnMap<u32>,
    /// Original places of scripts, if there are source maps.
    originals: Option<(ColumnMap<OriginalPlace>, StringTable)>,
}

impl Origins {
    pub(super) fn open(job: &Job<'_>) -> Result<Option<Self>, StageError> {
        let Job { scratch, context, .. } = *job;
        if !scratch.has(columns::ORIGIN) {
            return Ok(None);
        }
        let places = ColumnMap::if_any(scratch, ORIGINAL_PLACE)?;
        let texts = places.is_some().then(|| StringTable::open(scratch, ORIGINAL_TEXTS)).transpose()?;
        Ok(Some(Self {
            rules: Rules::new(job.analysis().owners.as_ref(), scratch, context)?,
            node: ColumnMap::uncounted(scratch, columns::ORIGIN_NODE)?,
            of_node: ColumnMap::uncounted(scratch, columns::ORIGIN_OF_NODE)?,
            origin: ColumnMap::uncounted(scratch, columns::ORIGIN)?,
            located: ColumnMap::if_any(scratch, columns::LOCATION_NODE)?.unwrap_or_else(ColumnMap::empty),
            line: ColumnMap::if_any(scratch, columns::LOCATION_LINE)?.unwrap_or_else(ColumnMap::empty),
            originals: places.zip(texts),
        }))
    }

    /// Row of a node's own origin.
    fn origin(&self, node: u32) -> Option<u32> {
        self.node.binary_search(&NodeId(node)).ok().map(|at| self.of_node[at])
    }

    fn code(&mut self, node: u32, heap: &Heap) -> Result<Code, StageError> {
        if heap.metadata.synthetic_kinds.contains(&heap.nodes.kind.at(node as usize)) {
            return Ok(Code::NOBODY);
        }
        self.rules.owner(heap.nodes.class.at(node as usize), self.origin(node))
    }

    /// Returns the owner of an object; without one, that of the nearest object on the path to it.
    pub(super) fn owner(&mut self, node: u32, path: &Path, heap: &Heap) -> Result<Option<String>, StageError> {
        let mut codes = Vec::new();
        let mut at = node;
        while at != heap.metadata.root.0 && codes.len() < STEPS {
            codes.push(self.code(at, heap)?);
            at = heap.nodes.dominator.at(at as usize).0;
        }
        let code = codes.iter().rev().fold(Code::NOBODY, |above, code| code.under(above));
        let mut found = code.owner().and_then(|owner| self.rules.name(owner));
        for above in path.upwards() {
            // The runtime's own code may hold objects for another owner.
            if found.as_ref().is_some_and(|name| name != owners::NODE) {
                break;
            }
            let next = self.code(above, heap)?.owner().and_then(|owner| self.rules.name(owner));
            found = next.or(found);
        }
        Ok(found)
    }

    /// Original file and line of the code at a source location.
    fn original(&self, at: usize) -> Option<String> {
        let (places, texts) = self.originals.as_ref()?;
        let place = places[at];
        let path = (place.file != u32::MAX).then(|| texts.text(place.file as usize))?;
        let file = path.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
        Some(format!("{file}:{}", place.line.saturating_add(1)))
    }

    /// File and line of the nearest code on the path to an object, the original place if known.
    pub(super) fn place(&self, path: &Path, heap: &Heap) -> Option<String> {
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
