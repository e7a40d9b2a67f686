//! A server of the Model Context Protocol over standard input and output, for agents. A library without stages, which
//! knows nothing of runs: the binary brings the tools.
//!
//! | to | use |
//! |---|---|
//! | declare a tool, and answer a call | [`tool::Tools`] |
//! | refuse a call with advice, or suggest another | [`failure::Failure`], [`next::Next`] |
//! | build an answer that fits into its bytes, with a cursor to the next page | [`answer::Answer`] |
//! | read the arguments of a call | [`arguments::Arguments`] |
//! | serve until the client leaves or a signal comes | [`server::serve`] |
//!
//! Texts that come from heaps stand under the key `heap_data` of an answer alone. They are escaped and cut
//! ([`texts`]), and the server's instructions say that they are data.

pub mod answer;
pub mod arguments;
pub mod failure;
pub mod next;
pub mod schema;
pub mod server;
pub mod texts;
pub mod tool;
