//! The packages of objects, as found by the reader of the format: see [`heaplake_schemas::owners`].

use heaplake_kit::{ColumnMap, Scratch, StageError};
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::owners::Origin;
use heaplake_schemas::scratch as columns;

/// Origin of an object's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeOf {
    /// Unknown, as for object literals.
    Unknown,
    /// The runtime or its library.
    Platform,
    /// A package that the program uses; in Java, any package outside the platform.
    Package,
    /// The program itself.
    Application,
}

impl CodeOf {
    /// Whether the code belongs to the program, or to a package that it chose.
    pub(super) fn is_of_program(self) -> bool {
        matches!(self, Self::Application | Self::Package)
    }
}

pub(super) struct Packages {
    node: ColumnMap<NodeId>,
    of_node: ColumnMap<u32>,
    of_class: ColumnMap<u32>,
    origin: ColumnMap<Origin>,
}

impl Packages {
    pub(super) fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(columns::ORIGIN) {
            return Ok(None);
        }
        Ok(Some(Self {
            node: ColumnMap::uncounted(scratch, columns::ORIGIN_NODE)?,
            of_node: ColumnMap::uncounted(scratch, columns::ORIGIN_OF_NODE)?,
            of_class: ColumnMap::if_any(scratch, columns::CLASS_ORIGIN)?.unwrap_or_else(ColumnMap::empty),
            origin: ColumnMap::uncounted(scratch, columns::ORIGIN)?,
        }))
    }

    /// Returns the origin of a node of a class; `None` without a package.
    pub(super) fn origin(&self, node: u32, class: ClassId) -> Option<Origin> {
        let own = self.node.binary_search(&NodeId(node)).ok().map(|at| self.of_node[at]);
        let origin = own.or_else(|| self.of_class.get(class.index()).copied())?;
        self.origin.get(origin as usize).copied().filter(|origin| origin.package != u32::MAX)
    }
}
