//! Heap dumps of Java virtual machines: a model, a writer of `.hprof` files, and the expected results.
//!
//! * [`model`]: the content of a dump; [`write`](mod@write) makes a file of it, in any order and form.
//! * [`mod@truth`]: Eclipse MAT's results, object for object, and heaplake's additions to them.
//! * [`random`]: dumps from drafts, always valid; [`dumps`](crate::strategies::dumps) for `proptest`.
//!
//! ```
//! use heaplake_oracle::jvm::{Dump, Layout, Referents, Root, RootKind, Value, truth};
//!
//! let mut dump = Dump::new(8);
//! let base = dump.add_base_classes();
//! let list = dump.add_class("List", Some(base.object), &[("head", Value::Object(0))]);
//! let item = dump.add_instance(base.object, &[]);
//! let list = dump.add_instance(list, &[Value::Object(item)]);
//! dump.roots.push(Root { kind: RootKind::JniGlobal, object: list });
//!
//! let truth = truth(&dump, Referents::Hold);
//! let retained = |address| truth.nodes.iter().find(|node| node.address == Some(address)).unwrap().retained;
//! assert_eq!(retained(list), retained(item) + 24);
//!
//! let file = dump.to_bytes(&Layout::default());
//! assert!(file.starts_with(b"JAVA PROFILE 1.0.2\0"));
//! ```

pub mod model;
pub mod random;
pub mod truth;
pub mod write;

pub use model::{
    Class, Dump, Frame, LoadedClass, Object, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Static, Trace,
    Type, Value,
};
pub use random::Draft;
pub use truth::{Referents, Truth, truth};
pub use write::Layout;
