//! Reads the table of findings.

use crate::reader::{Batch, Batches, Reader, damaged, value};
use heaplake_kit::StageError;
use heaplake_schemas::findings::{Finding, Scope, Severity, TABLE};
use std::path::{Path, PathBuf};

/// Reads the findings of a run, of any version.
pub struct Findings {
    path: PathBuf,
    /// Whether they name their holders and have paths; those of older runs do not.
    pub have_holders: bool,
    batches: Batches,
}

impl Findings {
    /// Opens the table of the run in `folder`; `None` if the run has none.
    pub fn open(folder: &Path) -> Result<Option<Self>, StageError> {
        let path = folder.join(TABLE.file);
        let Some(reader) = Reader::open_if_present(&path)? else { return Ok(None) };
        let columns: Vec<&str> =
            TABLE.columns.iter().map(|column| column.name).filter(|name| reader.has(name)).collect();
        let have_holders = reader.has("holder_node");
        Ok(Some(Self { have_holders, batches: reader.columns(&columns)?, path }))
    }

    /// Returns the next findings; `None` at the end.
    pub fn batch(&mut self) -> Result<Option<Vec<Finding>>, StageError> {
        let Some(rows) = self.batches.batch()? else { return Ok(None) };
        (0..rows.len()).map(|at| self.finding(&rows, at)).collect::<Result<_, _>>().map(Some)
    }

    /// A row. Older runs lack columns.
    fn finding(&self, rows: &Batch, at: usize) -> Result<Finding, StageError> {
        let known = |name: &str| match rows.has(name) {
            true => Ok::<_, StageError>(value(rows.texts(name)?, at).map(str::to_owned)),
            false => Ok(None),
        };
        let text = |name: &str| Ok::<_, StageError>(rows.texts(name)?.value(at).to_owned());
        let id = |name: &str| if rows.has(name) { Ok::<_, StageError>(value(rows.u32s(name)?, at)) } else { Ok(None) };
        let list = |name: &str| if rows.has(name) { rows.list_of_texts(name, at) } else { Ok(Vec::new()) };
        let (severity, scope) = (text("severity")?, text("scope")?);
        let strange = |name: &str, found: &str| damaged(&self.path, format!("column {name}: unknown value {found}"));
        Ok(Finding {
            rule: text("rule")?,
            severity: Severity::named(&severity).ok_or_else(|| strange("severity", &severity))?,
            scope: Scope::named(&scope).ok_or_else(|| strange("scope", &scope))?,
            subject: text("subject")?,
            class_id: id("class_id")?,
            set: id("set")?,
            node: id("node")?,
            type_id: id("type_id")?,
            function_id: id("function_id")?,
            count: rows.sizes("count")?.value(at),
            bytes: rows.sizes("bytes")?.value(at),
            message: text("message")?,
            next_step: text("next_step")?,
            path: list("path")?,
            holder_node: id("holder_node")?,
            owner: known("owner")?,
            place: known("place")?,
            class_key: known("class_key")?,
            stable_path: list("stable_path")?,
        })
    }
}
