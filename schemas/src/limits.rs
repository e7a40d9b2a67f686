//! Reasons why a set of duplicates is only a possible one, as bits. The lower eight say what the input does not tell about a
//! node, as in [`EQUAL_LIMITS`](crate::scratch::EQUAL_LIMITS); the higher ones are about sets only.

/// Numbers that the input leaves out.
pub const NUMBERS: u8 = 1;
/// Texts of which the input has only the beginning.
pub const TEXTS: u8 = 2;
/// Contents that the input does not have.
pub const CONTENTS: u8 = 4;
/// Words of a stack that the input does not have.
pub const STACK: u8 = 8;
/// Characters that the input writes like others.
pub const CHARACTERS: u8 = 32;
/// The state of objects of the engine.
pub const STATE: u8 = 64;
/// Slots of a store that the input leaves out. Whatever refers to the store may show them; so this is no limit of
/// what refers to it, which has its own.
pub const SLOTS: u8 = 128;

/// The references were not followed, because the user did not ask for that.
pub const MODE: u16 = 1 << 8;
/// The references were not followed to the end, because the allowed work did not suffice.
pub const WORK: u16 = 1 << 9;
