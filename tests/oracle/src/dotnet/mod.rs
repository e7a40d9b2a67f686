//! Walks of .NET heaps: one in memory, a writer and a reader of traces, and the truth about a walk.
//!
//! * [`Heap`]: types, modules and walks as a trace reports them; [`write`](mod@write) makes a `.nettrace` of it,
//!   [`read`](mod@read) takes one apart.
//! * [`mod@truth`]: what the tables must say about a walk.
//! * [`random`]: heaps from a seed.
//! * [`gcdump`]: the other form, a graph that a tool has put down.
//!
//! ```
//! use heaplake_oracle::dotnet::{Heap, Layout, Object, Root, Type, Walk, truth};
//!
//! let mut heap = Heap::default();
//! heap.types.push(Type { id: 0x500, name: "List".to_owned(), ..Type::default() });
//! let list = Object { address: 0x1000, size: 32, type_id: 0x500, references: vec![0x1020] };
//! let item = Object { address: 0x1020, size: 24, type_id: 0x500, references: vec![] };
//! let root = Root { object: 0x1000, kind: 0, flags: 0 };
//! heap.walks.push(Walk { objects: vec![list, item], roots: vec![root], ..Walk::default() });
//!
//! let truth = truth(&heap, 0);
//! assert_eq!(truth.nodes[&0x1000].retained, 56);
//! assert_eq!(truth.nodes[&0x1020].dominator, Some(0x1000));
//! assert!(heap.to_nettrace(&Layout::default()).starts_with(b"Nettrace"));
//! ```

pub mod gcdump;
pub mod random;
pub mod read;
pub mod truth;
pub mod write;

pub use truth::{Truth, truth};
pub use write::Layout;

/// A heap, as a trace reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Types, each with an id of its own.
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
    /// Ids of types that it is made of.
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
    /// Dependent handles: what keeps, and what is kept.
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
    /// Id of the type that has the field.
    pub type_id: u64,
    /// Name of the field.
    pub field: String,
    /// Whether each thread has its own.
    pub thread: bool,
}
