//! A streaming JSON lexer over blocks: no tree, no recursion, bounded buffers, every error with its offset.
//!
//! A pull parser: the caller requests the next value of its format. Other values are skipped or copied raw, parsing
//! only brackets and quotes.

mod scanner;
mod strings;

pub(crate) use scanner::BYTE_ORDER_MARK;
pub use strings::{StringSink, readable};
