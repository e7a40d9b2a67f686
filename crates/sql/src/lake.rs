//! The runs of a lake, and the run columns of every view.

use crate::error::SqlError;
use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, MapBuilder, MapFieldNames, RecordBatch, StringArray, StringBuilder,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::datatypes::{Field, Fields, Schema, SchemaRef};
use heaplake_kit::storage;
use heaplake_lake::captured::captured_at;
use heaplake_lake::catalogue::Wanted;
use heaplake_lake::entry::{Details, Entry};
use heaplake_lake::nearest;
use heaplake_lake::selection::{self, FoundRun, Selection};
use heaplake_lake::stored;
use heaplake_schemas::column::Type;
use heaplake_schemas::options::Texts;
use heaplake_schemas::run;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run columns at the start of every view, and their types.
pub(crate) const RUN_COLUMNS: [(&str, Type); 4] =
    [("release", Type::Utf8), ("snapshot", Type::Utf8), ("captured_at", Type::Timestamp), ("labels", Type::Map)];

/// Name of the view with one row per run.
pub(crate) const RUNS: &str = "runs";

/// What the views need of each run.
const WHOLE: Wanted<'static> = Wanted { tables: &|_| true, details: true };

/// The runs of a lake.
#[derive(Debug)]
pub struct Lake {
    /// The runs, by release and name.
    pub runs: Vec<FoundRun>,
    /// Unreadable runs, with their problems.
    pub damaged: Vec<(PathBuf, String)>,
    /// [`RUN_COLUMNS`] of the runs, a row each.
    columns: RecordBatch,
}

impl Lake {
    /// Reads `run.json` and the capture time of all runs. A folder that is unreadable or itself a run is an error;
    /// unreadable runs are listed.
    pub fn open(folder: &Path) -> Result<Self, SqlError> {
        if stored::exists(&folder.join(run::FILE)) {
            let cause = format!("{}: this is a run, not a lake", folder.display());
            return Err(SqlError::query(cause, "name the folder that --out named"));
        }
        nearest::check_lake(folder).map_err(|(cause, advice)| SqlError::query(cause, advice))?;
        let folder = match storage::is_url(folder) {
            true => folder.to_owned(),
            false => folder.canonicalize().map_err(|error| no_lake(folder, &error))?,
        };
        let all = Selection::default();
        let selection::Runs { found, mut damaged, .. } = selection::runs_like(&folder, &all, WHOLE)?;
        if storage::is_url(&folder) && found.is_empty() && damaged.is_empty() {
            return Err(no_lake(&folder, &"there is no run"));
        }
        let mut runs = Vec::with_capacity(found.len());
        let mut captured = Vec::with_capacity(found.len());
        for found in found {
            match captured_at(&found.place, &found.run) {
                Ok(at) => {
                    captured.push(at);
                    runs.push(found);
                }
                Err(error) => damaged.push((found.place, error.to_string())),
            }
        }
        Self::of(runs, damaged, captured)
    }

    /// An empty lake, for sessions over a comparison.
    pub(crate) fn without_runs() -> Result<Self, SqlError> {
        Self::of(Vec::new(), Vec::new(), Vec::new())
    }

    fn of(runs: Vec<FoundRun>, damaged: Vec<(PathBuf, String)>, captured: Vec<Option<i64>>) -> Result<Self, SqlError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(runs.iter().map(|found| &*found.run.release))),
            Arc::new(StringArray::from_iter_values(runs.iter().map(|found| &*found.run.snapshot))),
            Arc::new(TimestampMicrosecondArray::from(captured).with_timezone("UTC")),
            labels(&runs)?,
        ];
        Ok(Self { runs, damaged, columns: RecordBatch::try_new(run_schema(), columns).map_err(arrow)? })
    }

    /// [`RUN_COLUMNS`] of all runs, a row each.
    pub fn columns(&self) -> &RecordBatch {
        &self.columns
    }

    /// Whether another opening of the lake has the same runs with the same tables.
    pub fn has_runs_of(&self, other: &Self) -> bool {
        let same =
            |(one, other): (&FoundRun, &FoundRun)| one.place == other.place && one.run.tables == other.run.tables;
        self.runs.len() == other.runs.len() && self.runs.iter().zip(&other.runs).all(same)
    }

    /// The view of runs: a row for each.
    pub fn summary(&self) -> Result<RecordBatch, SqlError> {
        let runs = || self.runs.iter().map(|found| &found.run);
        let text = |of: fn(&Entry) -> Option<&str>| -> ArrayRef { Arc::new(runs().map(of).collect::<StringArray>()) };
        let detail = |of: fn(&Details) -> &str| -> ArrayRef {
            Arc::new(runs().map(|run| run.details.as_deref().map(of)).collect::<StringArray>())
        };
        let number = |of: fn(&Entry) -> Option<u64>| -> ArrayRef {
            Arc::new(runs().map(|run| of(run).and_then(|n| i64::try_from(n).ok())).collect::<Int64Array>())
        };
        let paths = self.runs.iter().map(|found| Some(found.place.display().to_string()));
        let own: Vec<(&str, ArrayRef)> = vec![
            ("path", Arc::new(paths.collect::<StringArray>())),
            ("source", detail(|details| &details.source)),
            ("format", text(|run| Some(&run.format))),
            ("replay", Arc::new(runs().map(|run| Some(run.is_replay)).collect::<BooleanArray>())),
            ("input_bytes", number(|run| Some(run.input_bytes))),
            ("input_hash", detail(|details| &details.input_hash)),
            ("table_bytes", number(|run| run.details.as_ref().map(|details| details.table_bytes))),
            ("node_count", number(|run| of_heap(run, run.objects))),
            ("edge_count", number(|run| of_heap(run, run.details.as_ref()?.edges))),
            ("shallow_bytes", number(|run| of_heap(run, run.bytes))),
            ("high_findings", number(|run| Some(run.findings[0].into()))),
            ("medium_findings", number(|run| Some(run.findings[1].into()))),
            ("low_findings", number(|run| Some(run.findings[2].into()))),
            ("partial_reason", text(|run| run.partial.as_deref())),
            ("texts", text(|run| run.texts.map(Texts::name))),
            ("heaplake_version", detail(|details| &details.heaplake_version)),
            ("schema_version", Arc::new(runs().map(|run| Some(run.schema_version)).collect::<UInt32Array>())),
            ("scratch_bytes", number(|run| run.details.as_ref().map(|details| details.scratch_bytes))),
            ("peak_rss_bytes", number(|run| run.details.as_ref()?.peak_rss_bytes)),
        ];
        let schema = self.columns.schema();
        let own_fields = own.iter().map(|(name, array)| Arc::new(Field::new(*name, array.data_type().clone(), true)));
        let fields: Fields = schema.fields().iter().cloned().chain(own_fields).collect();
        let columns = self.columns.columns().iter().cloned().chain(own.iter().map(|(_, array)| Arc::clone(array)));
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).map_err(arrow)
    }
}

/// An amount of a heap; null for a replay.
fn of_heap(run: &Entry, amount: u64) -> Option<u64> {
    (!run.is_replay).then_some(amount)
}

/// The fields of [`RUN_COLUMNS`].
pub(crate) fn run_schema() -> SchemaRef {
    let nullable = |name: &str| name == "captured_at";
    let fields = RUN_COLUMNS.iter().map(|(name, kind)| Field::new(*name, kind.arrow(), nullable(name)));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

fn no_lake(folder: &Path, problem: &dyn Display) -> SqlError {
    SqlError::query(format!("{}: this is no lake: {problem}", folder.display()), "name the folder that --out named")
}

fn labels(runs: &[FoundRun]) -> Result<ArrayRef, SqlError> {
    let names = MapFieldNames { entry: "entries".into(), key: "keys".into(), value: "values".into() };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for found in runs {
        for (key, value) in found.run.labels.iter() {
            map.keys().append_value(key);
            map.values().append_value(value);
        }
        map.append(true).map_err(arrow)?;
    }
    Ok(Arc::new(map.finish()))
}

fn arrow(error: arrow::error::ArrowError) -> SqlError {
    datafusion::error::DataFusionError::from(error).into()
}
