//! A snapshot's format in, neutral node, edge and string columns out.
//!
//! [`source`] brings the bytes (plain, gzip, zstd, standard input) in blocks, [`json`] takes them apart,
//! [`arrays`], [`chunks`] and [`numbers`] do so with arrays of numbers, on as many threads as there are, and each format
//! has one folder that knows its rules: [`v8`], [`jvm`], [`dotnet`]. After ingest nothing knows which format it serves.

pub mod arrays;
pub mod blocked;
pub mod chunks;
pub mod degrees;
pub mod dotnet;
pub mod index;
pub mod json;
pub mod jvm;
pub mod names;
pub mod numbers;
pub mod output;
pub mod source;
pub mod v8;
pub mod ways;

/// A format of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// V8's `.heapsnapshot`.
    V8,
    /// Dumps of Java heaps, `.hprof`.
    Jvm,
    /// Walks of .NET heaps, in a `.nettrace` or as a `.gcdump`.
    Dotnet,
}

/// Asks whether an input of so many nodes may be taken on; called once, before the bulk of it is read.
pub type Admission<'a> = &'a dyn Fn(u64) -> Result<(), heaplake_kit::StageError>;

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::V8, Self::Jvm, Self::Dotnet];

    /// That of a content that begins so. What nothing else recognises is left to the reader of snapshots of V8, which
    /// says what is wrong with it.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Self {
        if beginning.starts_with(jvm::records::MAGIC) {
            Self::Jvm
        } else if dotnet::recognises(beginning) {
            Self::Dotnet
        } else {
            Self::V8
        }
    }
}
