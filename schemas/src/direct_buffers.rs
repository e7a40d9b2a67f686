//! Buffers with memory outside the managed heap, from readers of formats that record them to the rules of findings.
//! They have no table.

use crate::scratch::Column;
use bytemuck::{Pod, Zeroable};

/// The buffers, by node; written only if the format has them and rules of findings need them.
pub const DIRECT_BUFFER: Column<DirectBuffer> = Column::new("direct_buffer.row");

/// A buffer over memory outside the heap that is not part of another buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DirectBuffer {
    /// The object.
    pub node: u32,
    /// Its memory, bytes.
    pub bytes: u32,
    /// Address of the memory.
    pub address: u64,
    /// 1 if the buffer has a cleaner that frees the memory. Others belong to native code or to a library that frees
    /// them, and several of them may show the same memory.
    pub has_cleaner: u32,
    /// Padding; 0.
    pub unused: u32,
}
