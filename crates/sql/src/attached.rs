//! Files of users as views, beside those of a lake: tables of hosts or teams.
//!
//! A file is read anew by each statement, in a stream. The names of its columns become lower case, as the engine reads
//! them in statements.

use crate::address::address;
use crate::error::{Kind, SqlError};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SessionContext;
use datafusion::prelude::{CsvReadOptions, DataFrame, ParquetReadOptions, ident};
use heaplake_kit::fs::File;
use heaplake_kit::storage;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Rows of a CSV file that determine the types of its columns.
const INFERRED: usize = 100_000;

/// A file and the name of its view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Name of the view: lower-case letters, digits and `_`.
    pub view: String,
    /// The file: CSV with a header, tab-separated values, or Parquet, by its extension.
    pub file: PathBuf,
}

impl FromStr for Attached {
    type Err = String;

    /// Parses `FILE` or `NAME=FILE`. Without a name, that of the file without its extension becomes one.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(name, _)| is_name(name));
        let file = PathBuf::from(named.map_or(text, |(_, file)| file));
        let view = named.map_or_else(|| name_of(&file), |(name, _)| name.to_ascii_lowercase());
        match Format::of(&file) {
            None => Err("expected a file that ends with .csv, .tsv or .parquet".to_owned()),
            Some(_) if !is_name(&view) => Err("the file has no name: give one with NAME=FILE".to_owned()),
            Some(_) => Ok(Self { view, file }),
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|each| each.is_ascii_alphanumeric() || each == '_')
}

fn name_of(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String = stem.chars().map(|each| if each.is_ascii_alphanumeric() { each } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Format of a file, with the separator of its values.
enum Format {
    Text(u8),
    Parquet,
}

impl Format {
    fn of(file: &Path) -> Option<Self> {
        match &*file.extension()?.to_str()?.to_lowercase() {
            "csv" => Some(Self::Text(b',')),
            "tsv" => Some(Self::Text(b'\t')),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Registers the view of a file. A name that a view of the lake has is an error, and so is an unreadable file.
pub(crate) async fn register(context: &SessionContext, attached: &Attached) -> Result<(), SqlError> {
    let Attached { view, file } = attached;
    if context.table_exist(view.as_str())? {
        let cause = format!("{}: there is already a view {view}", file.display());
        return Err(SqlError::query(cause, "give another name with --attach NAME=FILE"));
    }
    let rows = match read(context, file).await {
        Ok(rows) => lower(rows),
        Err(error) => Err(error),
    };
    let rows = rows.map_err(|error| {
        let advice = "attach a CSV file with a header, tab-separated values or Parquet".to_owned();
        let kind = if error.kind == Kind::Query { Kind::File } else { error.kind };
        SqlError { cause: format!("{}: {}", file.display(), error.cause), advice, kind }
    })?;
    context.register_table(view.as_str(), rows.into_view())?;
    Ok(())
}

async fn read(context: &SessionContext, file: &Path) -> Result<DataFrame, SqlError> {
    if storage::is_url(file) {
        return Err(SqlError::query("only a file of this machine can be attached", ""));
    }
    // The engine would wait for the writer of a pipe.
    File::open(file).map_err(|error| SqlError::file(error.to_string(), ""))?;
    let url = address(file)?;
    let extension = file.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    let rows = match Format::of(file) {
        Some(Format::Text(delimiter)) => text(context, &url, delimiter, &extension).await?,
        _ => {
            let options = ParquetReadOptions { file_extension: &extension, ..ParquetReadOptions::default() };
            context.read_parquet(url, options).await?
        }
    };
    match rows.schema().fields().is_empty() {
        true => Err(SqlError::file("expected a header, found an empty file", "")),
        false => Ok(rows),
    }
}

/// Reads a text file. Columns without a value in the first rows are texts.
async fn text(
    context: &SessionContext,
    url: &str,
    delimiter: u8,
    extension: &str,
) -> Result<DataFrame, DataFusionError> {
    let mut options = CsvReadOptions::new().delimiter(delimiter).file_extension(extension);
    options.schema_infer_max_records = INFERRED;
    options.newlines_in_values = true;
    let rows = context.read_csv(url, options.clone()).await?;
    let typed = |field: &Arc<Field>| match field.data_type() {
        DataType::Null => Arc::new(Field::clone(field).with_data_type(DataType::Utf8)),
        _ => Arc::clone(field),
    };
    let fields = rows.schema().fields().iter().map(typed);
    let schema = Schema::new(fields.collect::<Fields>());
    options.schema = Some(&schema);
    context.read_csv(url, options).await
}

/// The same rows, with names of columns in lower case.
fn lower(rows: DataFrame) -> Result<DataFrame, SqlError> {
    let names: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    Ok(rows.select(names.iter().map(|name| ident(name).alias(name.to_ascii_lowercase())))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str) -> Result<String, String> {
        text.parse().map(|attached: Attached| attached.view)
    }

    #[test]
    fn names_of_views() {
        assert_eq!(view("Hosts.csv").unwrap(), "hosts");
        assert_eq!(view("a/b-c.2026.tsv").unwrap(), "b_c_2026");
        assert_eq!(view("7.parquet").unwrap(), "_7");
        assert_eq!(view("Teams=a=b.CSV").unwrap(), "teams");
        // Before a sign of equality stands no name.
        assert_eq!(view("a/b=c.csv").unwrap(), "b_c");
        assert!(view("hosts.json").unwrap_err().contains(".csv"));
        assert!(view(".csv").is_err() && view("").is_err());
    }
}
