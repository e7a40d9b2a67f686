//! A .NET heap in memory, as in a trace.

/// A .NET heap, as in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    pub types: Vec<Type>,
    /// Addresses and paths of modules.
    pub modules: Vec<(u64, String)>,
    /// Walks, in order of time.
    pub walks: Vec<Walk>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Type {
    pub id: u64,
    pub module: u64,
    /// Its number in the module.
    pub token: u32,
    /// Whether its objects are arrays.
    pub array: bool,
    pub string: bool,
    pub name: String,
    /// Ids of its type parameters.
    pub parameters: Vec<u64>,
}

/// A walk of the heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Objects, in the order of the walk.
    pub objects: Vec<Object>,
    pub roots: Vec<Root>,
    pub statics: Vec<Static>,
    /// Dependent handles: the retaining and the retained object.
    pub dependents: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    pub address: u64,
    pub size: u64,
    pub type_id: u64,
    /// Addresses that it refers to.
    pub references: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    pub object: u64,
    /// The runtime's kind.
    pub kind: u8,
    /// The runtime's flags.
    pub flags: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Static {
    pub object: u64,
    /// Id of the type of the object.
    pub type_id: u64,
    pub field: String,
    pub thread: bool,
}
