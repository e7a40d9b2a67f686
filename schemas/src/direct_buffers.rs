//! Buffers whose memory lies outside the managed heap, as readers of formats that tell them hand them to rules of findings;
//! there is no table of them.

use crate::scratch::Column;
use bytemuck::{Pod, Zeroable};

/// The buffers, by node. Only where the format has such, and rules of findings look at them.
pub const DIRECT_BUFFER: Column<DirectBuffer> = Column::new("direct_buffer.row");

/// A buffer that owns memory outside the heap. What shows a part of another buffer owns none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DirectBuffer {
    /// The object.
    pub node: u32,
    /// Its memory, bytes.
    pub bytes: u32,
}
