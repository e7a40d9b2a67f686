//! Lookups of single nodes in scratch columns: a few nodes, or those of a path.

use heaplake_kit::{ColumnMap, ColumnPoints, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{ClassId, NO_ID, NodeId, StringId};
use heaplake_schemas::run::Step;
use heaplake_schemas::scratch::{self as columns, STRINGS};

/// Maximum characters of a name.
const MOST_NAME: usize = 80;
/// Maximum characters of a name beside a class.
const MOST_LABEL: usize = 40;

/// Columns of nodes for a few lookups; their pages are not counted. For many lookups use an array plan.
pub(crate) struct Nodes {
    pub id: ColumnPoints<u64>,
    pub kind: ColumnPoints<u8>,
    pub class: ColumnPoints<ClassId>,
    pub shallow: ColumnPoints<u64>,
    pub retained: ColumnPoints<u64>,
    pub dominator: ColumnPoints<NodeId>,
    class_name: ColumnMap<StringId>,
    name: ColumnPoints<StringId>,
    strings: StringTable,
}

impl Nodes {
    pub(crate) fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            id: ColumnPoints::open(scratch, columns::NODE_ID)?,
            kind: ColumnPoints::open(scratch, columns::NODE_KIND)?,
            class: ColumnPoints::open(scratch, columns::NODE_CLASS)?,
            class_name: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            name: ColumnPoints::open(scratch, columns::NODE_NAME)?,
            shallow: ColumnPoints::open(scratch, columns::NODE_SHALLOW)?,
            retained: ColumnPoints::open(scratch, columns::NODE_RETAINED)?,
            dominator: ColumnPoints::open(scratch, columns::NODE_DOMINATOR)?,
            strings: StringTable::open(scratch, STRINGS)?,
        })
    }

    /// Releases the pages read so far, see [`ColumnPoints::release`].
    pub(crate) fn release(&self) {
        [&self.id, &self.shallow, &self.retained].into_iter().for_each(ColumnPoints::release);
        self.class_name.release();
        self.name.release();
        self.kind.release();
        self.class.release();
        self.dominator.release();
        self.strings.release();
    }

    pub(crate) fn step(&self, node: NodeId) -> Step {
        Step {
            node: node.0,
            id: Some(self.id.at(node.index())).filter(|&id| id != NO_ID),
            class: self.class_text(node).into_owned(),
            name: self.own_name(node, MOST_NAME),
            shallow_bytes: self.shallow.at(node.index()),
            retained_bytes: self.retained.at(node.index()),
        }
    }

    fn class_text(&self, node: NodeId) -> std::borrow::Cow<'_, str> {
        self.strings.text(self.class_name[self.class.at(node.index()).index()].index())
    }

    /// The node's own name, at most `most` characters; empty if it says no more than the class.
    pub(crate) fn own_name(&self, node: NodeId, most: usize) -> String {
        let (name, class) = (self.name.at(node.index()), self.class_name[self.class.at(node.index()).index()]);
        if name == class || name.is_none() {
            String::new()
        } else {
            self.strings.beginning(name.index(), most).chars().take(most).collect()
        }
    }

    /// Class and own name, shortened, on one line.
    pub(crate) fn label(&self, node: NodeId) -> String {
        let class: String = self.class_text(node).chars().take(MOST_NAME).collect();
        let name = self.own_name(node, MOST_LABEL);
        if name.trim().is_empty() { class } else { format!("{class} {name:?}") }
    }
}
