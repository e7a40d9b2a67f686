//! The packages that objects come from, as the reader of the format found them: see [`heaplake_schemas::owners`].

use heaplake_kit::{ColumnMap, Scratch, StageError};
use heaplake_schemas::ids::{ClassId, NodeId};
use heaplake_schemas::owners::Origin;
use heaplake_schemas::scratch as columns;

/// Whose code it is that an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOf {
    /// The input does not tell, as of object literals.
    Unknown,
    /// The runtime or its library.
    Platform,
    /// A package that the program uses; in Java, any package but those of the platform.
    Package,
    /// The program itself.
    Application,
}

impl CodeOf {
    /// Whether it is the program's, or of a package that the program chose.
    pub fn is_of_program(self) -> bool {
        matches!(self, Self::Application | Self::Package)
    }
}

/// Origins of nodes and classes.
pub struct Packages {
    node: ColumnMap<NodeId>,
    of_node: ColumnMap<u32>,
    of_class: ColumnMap<u32>,
    origin: ColumnMap<Origin>,
}

impl Packages {
    /// Opens the columns, if the run has them.
    pub fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(columns::ORIGIN) {
            return Ok(None);
        }
        let of_class = match scratch.has(columns::CLASS_ORIGIN) {
            true => ColumnMap::uncounted(scratch, columns::CLASS_ORIGIN)?,
            false => ColumnMap::empty(),
        };
        Ok(Some(Self {
            node: ColumnMap::uncounted(scratch, columns::ORIGIN_NODE)?,
            of_node: ColumnMap::uncounted(scratch, columns::ORIGIN_OF_NODE)?,
            of_class,
            origin: ColumnMap::uncounted(scratch, columns::ORIGIN)?,
        }))
    }

    /// The origin of a node of a class; nothing where that has no package.
    pub fn origin(&self, node: u32, class: ClassId) -> Option<Origin> {
        let own = self.node.binary_search(&NodeId(node)).ok().map(|at| self.of_node[at]);
        let origin = own.or_else(|| self.of_class.get(class.index()).copied())?;
        self.origin.get(origin as usize).copied().filter(|origin| origin.package != u32::MAX)
    }
}
