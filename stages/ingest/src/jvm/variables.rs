//! Names of Clojure's global variables, `namespace/symbol`. A `clojure.lang.Var` refers to its symbol and its
//! namespace, a namespace to a symbol of its own, and a symbol to its string.

use super::big_endian::id;
use super::layouts::{Position, Types};
use super::value;
use crate::index::Find;
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Scratch, StageError, StringTable};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;

/// Each variable, the string of its namespace and the string of its symbol; [`NodeId::NONE`] for a missing one.
pub(crate) const VARIABLE_STRINGS: Column<[NodeId; 3]> = Column::new("jvm.variable.strings");

/// Limit of objects kept per class, so that memory does not grow with the dump. Variables beyond it have no names.
const MOST: usize = 1 << 17;

/// A class and the offsets of some reference fields in its instances.
#[derive(Clone, Copy, Debug)]
struct Fields<const N: usize> {
    class: Position,
    at: [u32; N],
}

impl<const N: usize> Fields<N> {
    fn find(types: &Types, class: &str, fields: [&str; N], strings: &StringTable) -> Option<Self> {
        let class = types.named(class, strings)?;
        let mut at = [0; N];
        for (at, field) in at.iter_mut().zip(fields) {
            *at = types.own_field(class, field, value::OBJECT, strings)?.1;
        }
        Some(Self { class, at })
    }

    /// Returns the node of an instance and the nodes that its fields refer to.
    fn read<const ID: usize, const M: usize>(
        &self,
        node: NodeId,
        body: &[u8],
        index: &mut impl Find,
    ) -> Result<[NodeId; M], StageError> {
        let mut nodes = [NodeId::NONE; M];
        nodes[0] = node;
        for (to, at) in nodes[1..].iter_mut().zip(self.at) {
            let address = body.get(at as usize..at as usize + ID).map_or(0, |_| id::<ID>(body, at as usize));
            *to = index.find(address)?.unwrap_or(NodeId::NONE);
        }
        Ok(nodes)
    }
}

/// Classes of Clojure that name variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes {
    variable: Fields<2>,
    namespace: Fields<1>,
    symbol: Fields<1>,
}

impl Classes {
    /// Finds the classes; `None` in a program without Clojure.
    pub(crate) fn find(types: &Types, strings: &StringTable) -> Option<Self> {
        Some(Self {
            variable: Fields::find(types, "clojure.lang.Var", ["ns", "sym"], strings)?,
            namespace: Fields::find(types, "clojure.lang.Namespace", ["name"], strings)?,
            symbol: Fields::find(types, "clojure.lang.Symbol", ["name"], strings)?,
        })
    }
}

/// Instances of these classes seen so far, by node, each with the nodes that it refers to.
pub(crate) struct Variables {
    classes: Option<Classes>,
    variables: BudgetVec<[NodeId; 3]>,
    namespaces: BudgetVec<[NodeId; 2]>,
    symbols: BudgetVec<[NodeId; 2]>,
}

impl Variables {
    /// Starts empty.
    pub(crate) fn new(classes: Option<Classes>, budget: &Budget) -> Self {
        Self {
            classes,
            variables: budget.growing("variables of Clojure"),
            namespaces: budget.growing("namespaces of Clojure"),
            symbols: budget.growing("symbols of Clojure"),
        }
    }

    /// Records an instance, if its class is one of these.
    #[inline]
    pub(crate) fn instance<const ID: usize>(
        &mut self,
        class: Position,
        node: NodeId,
        body: &[u8],
        index: &mut impl Find,
    ) -> Result<(), StageError> {
        let Some(known) = self.classes else { return Ok(()) };
        if class == known.symbol.class {
            keep(&mut self.symbols, || known.symbol.read::<ID, 2>(node, body, index))
        } else if class == known.variable.class {
            keep(&mut self.variables, || known.variable.read::<ID, 3>(node, body, index))
        } else if class == known.namespace.class {
            keep(&mut self.namespaces, || known.namespace.read::<ID, 2>(node, body, index))
        } else {
            Ok(())
        }
    }

    /// Writes the variables.
    pub(crate) fn write(&self, scratch: &Scratch) -> Result<(), StageError> {
        let strings = self.variables.iter().map(|&[node, namespace, symbol]| {
            let namespace = target(&self.namespaces, namespace);
            [node, target(&self.symbols, namespace), target(&self.symbols, symbol)]
        });
        ColumnWriter::write_each(scratch, VARIABLE_STRINGS, strings).map(drop)
    }
}

/// Keeps an object, unless [`MOST`] of its class are kept.
fn keep<T: Copy>(kept: &mut BudgetVec<T>, read: impl FnOnce() -> Result<T, StageError>) -> Result<(), StageError> {
    if kept.len() < MOST { read().and_then(|object| kept.push(object)) } else { Ok(()) }
}

/// Returns the node that an object refers to.
fn target(known: &[[NodeId; 2]], node: NodeId) -> NodeId {
    known.binary_search_by_key(&node, |pair| pair[0]).map_or(NodeId::NONE, |at| known[at][1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_class_are_kept_up_to_a_limit() {
        let mut kept = Budget::new(1 << 20).growing("a test");
        for object in 0..MOST as u32 + 5 {
            keep(&mut kept, || Ok(object)).unwrap();
        }
        assert_eq!((kept.len(), kept.last()), (MOST, Some(&(MOST as u32 - 1))));
    }
}
