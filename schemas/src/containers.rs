//! Containers (lists, maps, sets, objects used as dictionaries) and their contents, as format readers find them for the
//! rules of findings. They have no table.

use bytemuck::{Pod, Zeroable};

/// A container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ContainerRow {
    /// The container.
    pub node: u32,
    /// The array or other part of its own with the entries; `u32::MAX` for none.
    pub store: u32,
    /// Number of entries, if the input has it; at most `u32::MAX`.
    pub entries: u32,
    /// See [`flags`].
    pub flags: u32,
    /// Bytes saved if the backing store fitted these entries.
    pub spare_bytes: u64,
}

/// An entry of a weak map: key and map together keep the value alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WeakEntryRow {
    /// Table of the map.
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
    /// Numbers, which the input omits, may be entries too.
    pub const UNSURE: u32 = 2;
}
