//! The table of findings as [`Finding`]s, in both directions.

use crate::reader::{Batch, Batches, Reader, damaged, value};
use crate::source::{array, sizes};
use arrow::array::{ArrayRef, ListBuilder, StringArray, StringBuilder, UInt32Array, UInt64Array, new_null_array};
use arrow::datatypes::UInt32Type;
use heaplake_kit::StageError;
use heaplake_schemas::column::{ColumnSchema, Type, element};
use heaplake_schemas::findings::{Finding, Scope, Severity, TABLE};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columns of some findings, with their numbers from `first` on, their signatures and fingerprints.
pub fn columns(first: u32, findings: &[Finding], signatures: &[String], fingerprints: &[u64]) -> Vec<ArrayRef> {
    let text = |of: fn(&Finding) -> &str| Arc::new(StringArray::from_iter_values(findings.iter().map(of)));
    let known = |of: fn(&Finding) -> Option<&str>| Arc::new(StringArray::from_iter(findings.iter().map(of)));
    let id = |of: fn(&Finding) -> Option<u32>| Arc::new(UInt32Array::from_iter(findings.iter().map(of)));
    let column = |column: &ColumnSchema| -> ArrayRef {
        match column.name {
            "finding" => array::<UInt32Type>((first..first + findings.len() as u32).collect()),
            "rule" => text(|finding| &finding.rule),
            "severity" => text(|finding| finding.severity.name()),
            "scope" => text(|finding| finding.scope.name()),
            "subject" => text(|finding| &finding.subject),
            "class_id" => id(|finding| finding.class_id),
            "set" => id(|finding| finding.set),
            "node" => id(|finding| finding.node),
            "type_id" => id(|finding| finding.type_id),
            "function_id" => id(|finding| finding.function_id),
            "count" => sizes(findings.iter().map(|finding| finding.count).collect()),
            "bytes" => sizes(findings.iter().map(|finding| finding.bytes).collect()),
            "message" => text(|finding| &finding.message),
            "next_step" => text(|finding| &finding.next_step),
            "path" => lists(findings, |finding| &finding.path),
            "holder_node" => id(|finding| finding.holder_node),
            "owner" => known(|finding| finding.owner.as_deref()),
            "place" => known(|finding| finding.place.as_deref()),
            "class_key" => known(|finding| finding.class_key.as_deref()),
            "stable_path" => lists(findings, |finding| &finding.stable_path),
            "signature" => Arc::new(StringArray::from_iter_values(signatures)),
            "fingerprint" => Arc::new(UInt64Array::from(fingerprints.to_vec())),
            _ => new_null_array(&column.data_type.arrow(), findings.len()),
        }
    };
    TABLE.columns.iter().map(column).collect()
}

fn lists(findings: &[Finding], of: fn(&Finding) -> &[String]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(element(&Type::Utf8, false));
    for finding in findings {
        of(finding).iter().for_each(|text| lists.values().append_value(text));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

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
