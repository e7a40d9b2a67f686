//! Buffers whose memory lies outside the managed heap, as readers of formats that tell them hand them to rules of findings;
//! there is no table of them.

use crate::scratch::Column;
use bytemuck::{Pod, Zeroable};

/// The buffers, by node. Only where the format has such, and rules of findings look at them.
pub const DIRECT_BUFFER: Column<DirectBuffer> = Column::new("direct_buffer.row");

/// A buffer over memory outside the heap that is no part of another buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DirectBuffer {
    /// The object.
    pub node: u32,
    /// Its memory, bytes.
    pub bytes: u32,
    /// Where the memory begins.
    pub address: u64,
    /// 1 where the buffer has a cleaner, which frees the memory. Others belong to native code or to a library that frees
    /// them itself, and several of them may show the same memory.
    pub has_cleaner: u32,
    /// 0.
    pub unused: u32,
}
