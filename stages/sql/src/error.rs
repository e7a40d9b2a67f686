//! Why a query was not answered.

use datafusion::error::DataFusionError;
use heaplake_kit::StageError;
use std::fmt;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The query, or something that it names, cannot be used.
    Query,
    /// Memory or disk did not suffice.
    Resources,
    /// A file of the lake could not be read, or the result not written.
    File,
    /// The user stopped it.
    Interrupted,
}

/// Why a query was not answered.
#[derive(Debug)]
pub struct SqlError {
    /// What went wrong, in one line.
    pub cause: String,
    /// What to do about it, in one line.
    pub advice: String,
    /// Its kind.
    pub kind: Kind,
}

impl SqlError {
    /// A query that cannot be answered as it is written.
    #[must_use]
    pub fn query(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { cause: cause.into(), advice: advice.into(), kind: Kind::Query }
    }

    /// A file that cannot be read or written.
    #[must_use]
    pub fn file(cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { kind: Kind::File, ..Self::query(cause, advice) }
    }

    /// The user stopped it.
    #[must_use]
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, ..Self::query("interrupted", "nothing was written") }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for SqlError {}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        let kind = kind(error.find_root());
        let message = error.strip_backtrace();
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        // What only people who build engines know.
        let cause = line.replace("Error during planning: ", "").replace("datafusion.public.", "");
        let advice = match kind {
            Kind::Query => "SHOW TABLES and DESCRIBE list what there is",
            Kind::Resources => "give it more --memory or disk, or select fewer columns and runs",
            Kind::File => "heaplake lake verify says which runs are damaged; one that was dropped meanwhile is gone",
            Kind::Interrupted => "nothing was written",
        };
        Self { cause, advice: advice.to_owned(), kind }
    }
}

fn kind(error: &DataFusionError) -> Kind {
    match error {
        DataFusionError::ResourcesExhausted(_) => Kind::Resources,
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) | DataFusionError::ParquetError(_) => Kind::File,
        DataFusionError::External(_) => Kind::File,
        _ => Kind::Query,
    }
}

impl From<StageError> for SqlError {
    fn from(error: StageError) -> Self {
        let kind = if error.is_resource() { Kind::Resources } else { Kind::File };
        Self {
            cause: error.to_string(),
            advice: "name the folder that --out of heaplake analyze named".to_owned(),
            kind,
        }
    }
}
