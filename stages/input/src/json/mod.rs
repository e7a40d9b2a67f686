//! A streaming JSON lexer over blocks: no tree, no recursion, bounded buffers, every error with its offset.
//!
//! A pull parser: the caller asks for the value that its format has next. Other values are skipped or copied raw; of
//! these only brackets and quotes are parsed.

mod scanner;
mod strings;

pub use scanner::Scanner;
pub(crate) use scanner::{BYTE_ORDER_MARK, quote};
pub use strings::{StringSink, readable};
