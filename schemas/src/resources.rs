//! Resources: what a program begins, the runtime keeps alive, and somebody must end: timers, listeners, pending
//! promises, realms, memories of WebAssembly; and the containers that functions keep in their variables. Readers of
//! formats find them, rules of findings judge them; there is no table of them.

use crate::scratch::{Column, StringColumns};
use bytemuck::{Pod, Zeroable};

/// The resources. Only where the format has such, and rules of findings look at them.
pub const RESOURCE_ROW: Column<ResourceRow> = Column::new("resource.row");
/// Texts of resources: places and names of functions. Only where there are resources.
pub const RESOURCE_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("resource.text.bytes"), start: Column::new("resource.text.start") };

/// No node, no text.
pub const NONE: u32 = u32::MAX;

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ResourceRow {
    /// See [`kind`].
    pub kind: u32,
    /// The node of which the retained size counts: a timer, the function that listens, what waits for a promise, a
    /// realm, a container, a memory.
    pub node: u32,
    /// The node that it belongs to: the emitter, the promise, what holds several realms, the context of the variable,
    /// the data of the memory.
    pub holder: u32,
    /// The function that is called, or that uses the variable.
    pub function: u32,
    /// String: type of the event, name of the variable, name of the realm's global object.
    pub name: u32,
    /// Resource text: file and line of the function, counted from 1.
    pub place: u32,
    /// Resource text: name of the function whose variable it is.
    pub scope: u32,
    /// Entries of a container.
    pub entries: u32,
}

impl ResourceRow {
    /// A row about a node, to be filled in.
    #[must_use]
    pub const fn new(kind: u32, node: u32) -> Self {
        Self { kind, node, holder: NONE, function: NONE, name: NONE, place: NONE, scope: NONE, entries: 0 }
    }
}

/// Values of [`ResourceRow::kind`].
pub mod kind {
    /// A timer that fires once.
    pub const TIMEOUT: u32 = 0;
    /// A timer that fires again and again.
    pub const INTERVAL: u32 = 1;
    /// What runs as soon as nothing else does.
    pub const IMMEDIATE: u32 = 2;
    /// A function that is called on an event.
    pub const LISTENER: u32 = 3;
    /// What waits for a promise that nothing has settled and that is no other waiting function's own.
    pub const WAITING: u32 = 4;
    /// A world of global objects of its own that the runtime has let go of and objects of the program hold.
    pub const LEFT_REALM: u32 = 5;
    /// A container with many entries in a variable of a closure.
    pub const VARIABLE: u32 = 6;
    /// A memory of WebAssembly.
    pub const MEMORY: u32 = 7;
}
