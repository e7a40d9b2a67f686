//! Reasons why a set of duplicates is only possible, as bits. The lower eight are limits of a node's value in the
//! input, as in [`EQUAL_LIMITS`](crate::scratch::EQUAL_LIMITS); the higher ones concern sets only.

/// Numbers missing in the input.
pub const NUMBERS: u8 = 1;
/// Texts cut in the input.
pub const TEXTS: u8 = 2;
/// Contents missing in the input.
pub const CONTENTS: u8 = 4;
/// Words of a stack missing in the input.
pub const STACK: u8 = 8;
/// Characters that the input does not distinguish.
pub const CHARACTERS: u8 = 32;
/// State of the engine's objects.
pub const STATE: u8 = 64;
/// Slots of a store missing in the input. Objects that refer to the store may show them, so this limits only the store;
/// they have limits of their own.
pub const SLOTS: u8 = 128;

/// References were not followed because the user did not ask for it.
pub const MODE: u16 = 1 << 8;
/// References were not fully followed because the allowed work was used up.
pub const WORK: u16 = 1 << 9;
