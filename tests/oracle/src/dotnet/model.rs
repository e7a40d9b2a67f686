//! A .NET heap in memory, as in a trace.

/// A .NET heap, as in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Types, with unique ids.
    pub types: Vec<Type>,
    /// Addresses and paths of modules.
    pub modules: Vec<(u64, String)>,
    /// Walks, in order of time.
    pub walks: Vec<Walk>,
}

/// A type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Type {
    /// Its id.
    pub id: u64,
    /// Address of its module.
    pub module: u64,
    /// Its number in the module.
    pub token: u32,
    /// Whether its objects are arrays.
    pub array: bool,
    /// Whether they are strings.
    pub string: bool,
    /// Its name.
    pub name: String,
    /// Ids of its type parameters.
    pub parameters: Vec<u64>,
}

/// A walk of the heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Objects, in the order of the walk.
    pub objects: Vec<Object>,
    /// Roots.
    pub roots: Vec<Root>,
    /// Static fields.
    pub statics: Vec<Static>,
    /// Dependent handles: the retaining and the retained object.
    pub dependents: Vec<(u64, u64)>,
}

/// An object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Its address.
    pub address: u64,
    /// Its size.
    pub size: u64,
    /// Id of its type.
    pub type_id: u64,
    /// Addresses that it refers to.
    pub references: Vec<u64>,
}

/// A root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// Address of the object.
    pub object: u64,
    /// The runtime's kind.
    pub kind: u8,
    /// The runtime's flags.
    pub flags: u32,
}

/// A static field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Static {
    /// Address of the object.
    pub object: u64,
    /// Id of the type of the object.
    pub type_id: u64,
    /// Name of the field.
    pub field: String,
    /// Whether each thread has its own.
    pub thread: bool,
}
