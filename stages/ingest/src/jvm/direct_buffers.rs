//! Buffers of the Java library with memory outside the heap.
//!
//! A `java.nio.DirectByteBuffer` owns memory if it has a cleaner, which frees it. Slices and duplicates refer to the
//! buffer that they show (`att`) and have no cleaner. Buffers over native memory have neither, nor do those of
//! libraries that free them themselves, such as Netty. The memory of a mapped file (`fd`) belongs to the file.

use super::big_endian::{id, u32_at, u64_at};
use super::layouts::{Position, Types};
use super::value;
use heaplake_kit::StringTable;
use heaplake_schemas::direct_buffers::DirectBuffer;
use heaplake_schemas::ids::NodeId;

/// The class of direct buffers, and its superclasses with relevant fields.
const CLASS: &str = "java.nio.DirectByteBuffer";
const MAPPED: &str = "java.nio.MappedByteBuffer";
const BUFFER: &str = "java.nio.Buffer";

/// Offsets of the fields in an instance of the class itself; a subclass stores its own fields before them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectBuffers {
    /// The class.
    pub class: Position,
    body: u32,
    cleaner: u32,
    shown: u32,
    file: Option<u32>,
    capacity: u32,
    address: u32,
}

impl DirectBuffers {
    /// Finds the class; `None` if the fields differ from those of the known library.
    pub(crate) fn find(types: &Types, strings: &StringTable) -> Option<Self> {
        let class = types.named(CLASS, strings)?;
        let body = types.layout(class).body;
        let field = |of: &str, name: &str, kind: u8| {
            let of = types.named(of, strings)?;
            let (_, at) = types.own_field(of, name, kind, strings)?;
            Some(body.checked_sub(types.layout(of).body)? + at)
        };
        Some(Self {
            class,
            body,
            cleaner: field(CLASS, "cleaner", value::OBJECT)?,
            shown: field(CLASS, "att", value::OBJECT)?,
            file: field(MAPPED, "fd", value::OBJECT),
            capacity: field(BUFFER, "capacity", value::INT)?,
            address: field(BUFFER, "address", value::LONG)?,
        })
    }

    /// Returns the row of a buffer; `None` if it owns no memory.
    pub(crate) fn row<const ID: usize>(&self, node: NodeId, body: &[u8]) -> Option<DirectBuffer> {
        // Only a damaged dump has instances shorter than their fields.
        let own = &body[body.len().checked_sub(self.body as usize)?..];
        let is_null = |at: u32| id::<ID>(own, at as usize) == 0;
        let (bytes, address) = (u32_at(own, self.capacity as usize), u64_at(own, self.address as usize));
        let has_cleaner = !is_null(self.cleaner);
        let is_part = !is_null(self.shown) || !self.file.is_none_or(is_null);
        let has_memory = bytes > 0 && i32::try_from(bytes).is_ok() && (has_cleaner || address != 0);
        let row = DirectBuffer { node: node.0, bytes, address, has_cleaner: has_cleaner.into(), unused: 0 };
        (has_memory && !is_part).then_some(row)
    }
}
