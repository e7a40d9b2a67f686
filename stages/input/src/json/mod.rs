//! A streaming JSON lexer over blocks: no tree, no recursion, bounded buffers, every error with its offset.
//!
//! The caller drives it: it asks for what its format puts next. Values it does not care for are passed over or copied
//! raw without being understood further than their brackets and quotes.

mod scanner;
mod strings;

pub use scanner::Scanner;
pub(crate) use scanner::quote;
pub use strings::{StringSink, readable};
