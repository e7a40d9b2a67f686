//! Single nodes, looked up in scratch columns: a few of them, or those of a path.

use heaplake_kit::{ColumnMap, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{ClassId, NO_ID, NodeId, StringId};
use heaplake_schemas::run::Step;
use heaplake_schemas::scratch::{self as columns, STRINGS};

/// Characters of a name that are kept.
const MOST_NAME: usize = 80;
/// Characters of a name beside a class.
const MOST_LABEL: usize = 40;

/// Columns of nodes that are asked for a few of them; their pages are not counted. Whoever asks for many takes a
/// lookup of an array plan.
pub struct Nodes {
    /// The format's own id.
    pub id: ColumnMap<u64>,
    /// Kind.
    pub kind: ColumnMap<u8>,
    /// Class.
    pub class: ColumnMap<ClassId>,
    /// Shallow size.
    pub shallow: ColumnMap<u64>,
    /// Retained size.
    pub retained: ColumnMap<u64>,
    /// Immediate dominator.
    pub dominator: ColumnMap<NodeId>,
    class_name: ColumnMap<StringId>,
    name: ColumnMap<StringId>,
    strings: StringTable,
}

impl Nodes {
    /// Opens the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            id: ColumnMap::uncounted(scratch, columns::NODE_ID)?,
            kind: ColumnMap::uncounted(scratch, columns::NODE_KIND)?,
            class: ColumnMap::uncounted(scratch, columns::NODE_CLASS)?,
            class_name: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            name: ColumnMap::uncounted(scratch, columns::NODE_NAME)?,
            shallow: ColumnMap::uncounted(scratch, columns::NODE_SHALLOW)?,
            retained: ColumnMap::uncounted(scratch, columns::NODE_RETAINED)?,
            dominator: ColumnMap::uncounted(scratch, columns::NODE_DOMINATOR)?,
            strings: StringTable::open(scratch, STRINGS)?,
        })
    }

    /// Lets go of what was looked at so far, see [`ColumnMap::release`].
    pub fn release(&self) {
        [&self.id, &self.shallow, &self.retained].into_iter().for_each(ColumnMap::release);
        [&self.class_name, &self.name].into_iter().for_each(ColumnMap::release);
        self.kind.release();
        self.class.release();
        self.dominator.release();
        self.strings.release();
    }

    /// A node as a step of a path.
    #[must_use]
    pub fn step(&self, node: NodeId) -> Step {
        Step {
            node: node.0,
            id: Some(self.id[node.index()]).filter(|&id| id != NO_ID),
            class: self.class_text(node).into_owned(),
            name: self.own_name(node, MOST_NAME),
            shallow_bytes: self.shallow[node.index()],
            retained_bytes: self.retained[node.index()],
        }
    }

    fn class_text(&self, node: NodeId) -> std::borrow::Cow<'_, str> {
        self.strings.text(self.class_name[self.class[node.index()].index()].index())
    }

    /// The node's own name, of at most so many characters; empty where it says no more than the class.
    #[must_use]
    pub fn own_name(&self, node: NodeId, most: usize) -> String {
        let (name, class) = (self.name[node.index()], self.class_name[self.class[node.index()].index()]);
        if name == class || name.is_none() {
            String::new()
        } else {
            self.strings.beginning(name.index(), most).chars().take(most).collect()
        }
    }

    /// Class and own name, on one line and short.
    #[must_use]
    pub fn label(&self, node: NodeId) -> String {
        let class: String = self.class_text(node).chars().take(MOST_NAME).collect();
        let name = self.own_name(node, MOST_LABEL);
        if name.trim().is_empty() { class } else { format!("{class} {name:?}") }
    }
}
