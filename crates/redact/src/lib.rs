//! Redaction: a heap dump without the data of its users, for others to analyse.
//!
//! [`redact`] copies a snapshot and masks its texts and numbers. Graph, sizes, ids, classes and names of properties
//! stay, so analyses of both give the same sizes. [`secrets::check`] looks for secrets that remain in a file.
//!
//! | module | provides |
//! |---|---|
//! | [`content`] | an input that can be read several times; a stream is copied |
//! | [`sink`], [`encoder`] | the output, buffered and compressed |
//! | [`key`], `mask` | keyed digests, and the masks that they make |
//! | `shapes` | names that look like data |
//! | [`v8`], [`hprof`] | the formats |
//! | [`secrets`] | secrets by their patterns |
//!
//! Memory does not grow with the texts or the objects of the input. Each format's module states its bound.

pub mod content;
pub mod encoder;
pub mod hprof;
pub mod key;
mod mask;
pub mod options;
pub mod secrets;
mod shapes;
pub mod sink;
pub mod summary;
pub mod v8;

pub use content::Content;
pub use encoder::Encoder;
pub use key::Key;
pub use options::{Choice, Options, Texts};
pub use shapes::looks_like_data;
pub use sink::Sink;
pub use summary::{Masked, Summary};

use heaplake_input::kind;
use heaplake_kit::{Context, StageError};

/// First bytes of a dump of Java.
const HPROF: &[u8] = b"JAVA PROFILE 1.0.";

/// Formats that [`redact`] reads, for messages.
pub const FORMATS: &str = "heaplake redacts .heapsnapshot (V8) and .hprof (Java), also compressed as .gz or .zst";

/// Redacts an input.
///
/// # Errors
/// [`StageError::Input`] if the input is damaged or of another format, [`StageError::Refused`] if it changes meanwhile.
pub fn redact(
    content: &mut Content,
    options: &Options,
    sink: &mut Sink<'_>,
    context: &Context<'_>,
) -> Result<Summary, StageError> {
    match format(content, FORMATS, context)? {
        Format::Java => hprof::redact(content, options, sink, context),
        Format::V8 => v8::redact(content, options, sink, context),
    }
}

/// A format of heap snapshots whose texts are read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.heapsnapshot` of V8.
    V8,
    /// `.hprof` of Java.
    Java,
}

/// Recognises the format of an input by its first bytes.
///
/// # Errors
/// [`StageError::Input`] with this advice if it is none of them.
pub fn format(content: &Content, advice: &'static str, context: &Context<'_>) -> Result<Format, StageError> {
    let mut source = content.source(context)?;
    let beginning = source.peek(context)?;
    let kind = kind::of(beginning);
    if beginning.starts_with(HPROF) {
        return Ok(Format::Java);
    }
    if kind::text(beginning).starts_with(b"{") && kind.is_none_or(|kind| kind == kind::V8) {
        return Ok(Format::V8);
    }
    let found = match kind {
        Some(kind) => kind.is.to_owned(),
        None if beginning.is_empty() => "an empty file".to_owned(),
        None => "another kind of file".to_owned(),
    };
    Err(StageError::input(content.name(), 0, "a heap snapshot of V8 or Java", found, advice))
}
