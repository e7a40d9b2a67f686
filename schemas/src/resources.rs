//! Resources: timers, listeners, pending promises, realms and WebAssembly memories, which a program starts, the runtime
//! keeps alive, and somebody must end; and containers in variables of functions. Format readers find them for the rules
//! of findings. They have no table.

use crate::scratch::{Column, StringColumns};
use bytemuck::{Pod, Zeroable};

/// The resources; written only if the format has them and rules of findings need them.
pub const RESOURCE_ROW: Column<ResourceRow> = Column::new("resource.row");
/// Texts of resources: places and names of functions; written only with resources.
pub const RESOURCE_TEXTS: StringColumns =
    StringColumns { bytes: Column::new("resource.text.bytes"), start: Column::new("resource.text.start") };

/// Null sentinel of nodes and texts.
pub const NONE: u32 = u32::MAX;

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ResourceRow {
    /// See [`kind`].
    pub kind: u32,
    /// The node whose retained size counts: a timer, the listening function, the awaiting function, a realm, a
    /// container, a memory.
    pub node: u32,
    /// The node it belongs to: the emitter, the promise, the holder of several realms, the context of the variable, the
    /// data of the memory.
    pub holder: u32,
    /// The called function, or the one that uses the variable.
    pub function: u32,
    /// String: event type, variable name, or name of the realm's global object.
    pub name: u32,
    /// Resource text: file and line of the function, from 1.
    pub place: u32,
    /// Resource text: name of the function that declares the variable.
    pub scope: u32,
    /// Entries of a container.
    pub entries: u32,
}

impl ResourceRow {
    /// A row about a node, other fields empty.
    pub const fn new(kind: u32, node: u32) -> Self {
        Self { kind, node, holder: NONE, function: NONE, name: NONE, place: NONE, scope: NONE, entries: 0 }
    }
}

/// Values of [`ResourceRow::kind`].
pub mod kind {
    /// A timer that fires once.
    pub const TIMEOUT: u32 = 0;
    /// A repeating timer.
    pub const INTERVAL: u32 = 1;
    /// A callback for the end of the current turn of the event loop.
    pub const IMMEDIATE: u32 = 2;
    /// An event listener.
    pub const LISTENER: u32 = 3;
    /// A function that awaits an unsettled promise which is not another waiting function's own.
    pub const WAITING: u32 = 4;
    /// A realm that the runtime has released but objects of the program hold.
    pub const LEFT_REALM: u32 = 5;
    /// A container with many entries in a closure variable.
    pub const VARIABLE: u32 = 6;
    /// A WebAssembly memory.
    pub const MEMORY: u32 = 7;
}
