//! Walks of .NET heaps: a model, a writer and a reader of traces, and the expected results.
//!
//! * [`Heap`]: types, modules and walks as in a trace; [`write`](mod@write) makes a `.nettrace`, [`read`](mod@read)
//!   parses one.
//! * [`container`]: the blocks and events of a `.nettrace`.
//! * [`mod@truth`]: expected tables of a walk.
//! * [`random`]: heaps from a seed.
//! * [`gcdump`]: the other format, a graph stored by a tool.
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

pub mod container;
pub mod gcdump;
mod model;
pub mod random;
pub mod read;
pub mod truth;
pub mod write;

pub use model::{Heap, Object, Root, Static, Type, Walk};
pub use truth::{Truth, truth};
pub use write::Layout;
