//! The id spaces, each a newtype of `u32`, so that code that mixes two of them does not compile.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Null sentinel in scratch columns; never a valid id.
            pub const NONE: Self = Self(u32::MAX);

            /// The id as an index into an array of its space.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether this is [`Self::NONE`].
            #[inline]
            #[must_use]
            pub const fn is_none(self) -> bool {
                self.0 == u32::MAX
            }

            /// The id, or `None` for [`Self::NONE`].
            #[inline]
            #[must_use]
            pub const fn get(self) -> Option<u32> {
                if self.is_none() { None } else { Some(self.0) }
            }
        }
    };
}

id! {
    /// Ordinal of a node in the order of the input, 0-based. The `node` column of every table.
    NodeId
}
id! {
    /// Position of a node in the depth-first preorder of the graph of essential edges; the root is 0. Unreached nodes
    /// have none.
    Preorder
}
id! {
    /// Row of the class table, in the order in which classes first occur among the nodes.
    ClassId
}
id! {
    /// Set of duplicate instances. In the table, sets are in the order of their ids.
    SetId
}
id! {
    /// Entry of the string table, which is interned: ids are equal exactly if the strings are.
    StringId
}

/// Null sentinel in the column of ids, for a root that heaplake adds to an input without one.
pub const NO_ID: u64 = u64::MAX;

/// Most nodes of a snapshot: the last ordinal is [`NodeId::NONE`], the one before is reserved for algorithms that need
/// a second mark.
pub const MAX_NODES: u64 = u32::MAX as u64 - 1;
