//! Where the rows of a snapshot have names, and which of these are texts of the heap.

/// Node types whose names are texts of the heap.
const TEXTS: [&str; 4] = ["string", "concatenated string", "sliced string", "regexp"];

/// Node types whose names are fixed words, but for values that some engines write there.
const VALUES: [&str; 2] = ["number", "bigint"];

/// Edge types with numbers in place of names.
const INDEXED: [&str; 2] = ["element", "hidden"];

/// Meaning of the name of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A text of the heap.
    Text,
    /// A fixed word, or a value.
    Value,
    /// A name.
    Name,
}

/// The roles of names, by the types of nodes and edges of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Role of the names of each node type.
    nodes: Vec<Role>,
    /// Whether edges of a type have a name.
    named: Vec<bool>,
}

impl Roles {
    /// Returns the roles for the names of the node types and of the edge types, by number.
    #[must_use]
    pub fn of(node_types: &[String], edge_types: &[String]) -> Self {
        let is = |names: &[&str], name: &String| names.contains(&name.as_str());
        let role = |name: &String| match name {
            name if is(&TEXTS, name) => Role::Text,
            name if is(&VALUES, name) => Role::Value,
            _ => Role::Name,
        };
        Self {
            nodes: node_types.iter().map(role).collect(),
            named: edge_types.iter().map(|name| !is(&INDEXED, name)).collect(),
        }
    }

    /// Role of the name of a node of this type. Unknown types hold names.
    #[inline]
    #[must_use]
    pub fn of_node(&self, kind: u64) -> Role {
        self.nodes.get(kind as usize).copied().unwrap_or(Role::Name)
    }

    /// Whether edges of this type have a name. Those of unknown types do.
    #[inline]
    #[must_use]
    pub fn is_named(&self, kind: u64) -> bool {
        self.named.get(kind as usize).copied().unwrap_or(true)
    }
}
