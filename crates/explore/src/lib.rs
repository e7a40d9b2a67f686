//! The server of `heaplake explore`: a page and JSON over HTTP, on loopback. A library without stages, which knows nothing
//! of runs: the binary brings the answers.
//!
//! | to | use |
//! |---|---|
//! | listen, print the URL, serve until a signal comes | [`server::Listening`] |
//! | answer the questions of the page | [`answers::Answers`] |
//!
//! Who may ask: only requests with a secret of this process ([`secrets`]) and a loopback name in `Host`, by GET
//! ([`guard`](mod@guard)). What is served: the files of the page, which are part of the binary ([`files`]), and answers.
//! How much at once: a fixed number of connections and of answers, each within a time ([`server`]).

pub mod answers;
pub mod files;
pub mod guard;
pub mod secrets;
pub mod server;
