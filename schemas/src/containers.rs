//! Containers (lists, maps, sets, objects used as dictionaries) and what they hold, as the readers of formats find
//! them. Rules of findings read them; there is no table of them.

use bytemuck::{Pod, Zeroable};

/// A container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ContainerRow {
    /// The container.
    pub node: u32,
    /// The array, or other part of its own, that its entries lie in; `u32::MAX` for none.
    pub store: u32,
    /// Number of entries, as far as the input tells; at most `u32::MAX`.
    pub entries: u32,
    /// See [`flags`].
    pub flags: u32,
    /// Bytes that the backing store would save if it fitted these entries.
    pub spare_bytes: u64,
}

/// An entry of a weak map: the value is held by the key and the map together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WeakEntryRow {
    /// The map's table.
    pub table: u32,
    /// The key.
    pub key: u32,
    /// The value.
    pub value: u32,
}

/// Bits of [`ContainerRow::flags`].
pub mod flags {
    /// Most of the spare bytes lie between the entries: holes of a sparse array.
    pub const SPARSE: u32 = 1;
    /// Numbers may be entries too, which the input does not show.
    pub const UNSURE: u32 = 2;
}
