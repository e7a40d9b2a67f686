//! View of one table over all runs, for the engine.
//!
//! The run columns are not read from files: they are constant in each file. A condition on them alone is computed once
//! per run, and files of excluded runs are never opened. Files of older schema versions that lack a column have nulls
//! there. The number of rows comes from `run.json`, so `count(*)` reads no file.

use crate::files;
use crate::lake::{self, Lake};
use crate::packed::Packed;
use crate::scan::{File, Item, Scan, bucket};
use crate::scanned::Scanned;
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use heaplake_kit::storage;
use heaplake_lake::packs;
use heaplake_schemas::table::TableSchema;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use tokio::task::block_in_place;

/// One table of all runs.
#[derive(Debug)]
pub(crate) struct View {
    lake: Arc<Lake>,
    file: &'static str,
    /// Its columns: those of the run come first.
    shown: SchemaRef,
}

impl View {
    /// Creates the view of a table.
    pub(crate) fn new(lake: Arc<Lake>, table: &TableSchema) -> Self {
        let of_run = lake::run_schema();
        let of_file: Fields = table
            .schema()
            .fields()
            .iter()
            .filter(|field| of_run.field_with_name(field.name()).is_err())
            // Files of older versions may lack any column.
            .map(|field| Arc::new(Field::new(field.name(), viewed(field.data_type()), true)))
            .collect();
        let shown = of_run.fields().iter().chain(&of_file).cloned().collect::<Fields>();
        Self { lake, file: table.file, shown: Arc::new(Schema::new(shown)) }
    }

    /// The runs that satisfy conditions on the run columns.
    fn kept(&self, state: &dyn Session, filters: &[Expr]) -> Result<Vec<usize>> {
        let runs = self.lake.columns();
        let schema = DFSchema::try_from(runs.schema())?;
        let mut kept = vec![true; runs.num_rows()];
        for filter in filters {
            let condition = state.create_physical_expr(filter.clone(), &schema)?.evaluate(runs)?;
            let holds = condition.into_array(runs.num_rows())?;
            let holds = holds.as_boolean_opt().ok_or_else(|| not_a_condition(filter))?;
            kept.iter_mut().zip(holds).for_each(|(kept, holds)| *kept &= holds == Some(true));
        }
        Ok((0..kept.len()).filter(|&run| kept[run]).collect())
    }

    /// The files of those runs. Those of a few are opened now, so that a run which is dropped or replaced while the
    /// statement goes on is still read to its end.
    fn files(&self, runs: &[usize]) -> Result<Vec<Item>> {
        let (mut files, mut packs) = (Vec::new(), BTreeMap::new());
        for &run in runs {
            let found = &self.lake.runs[run];
            let Some(table) = found.run.table(self.file) else { continue };
            let path = || found.place.join(self.file).display().to_string();
            // A pack in a store is opened by a runtime of its own.
            let slice = block_in_place(|| packs::slice(&found.place, &found.run, self.file));
            let slice = slice.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path())));
            if let Some(slice) = slice? {
                let of_pack = || Packed { pack: Arc::clone(slice.pack()), runs: Vec::new() };
                let packed = packs.entry(slice.pack().path().to_owned()).or_insert_with(of_pack);
                packed.runs.push((run as u32, slice.rows()));
                continue;
            }
            let is_held = files.len() < MOST_OPEN && !storage::is_url(&found.place);
            let held = if is_held { Some(Arc::new(files::open(&found.place.join(self.file), table)?)) } else { None };
            files.push(Item::File(File { run: run as u32, rows: table.rows, bytes: table.bytes, held }));
        }
        files.extend(packs.into_values().map(Packed::sorted).map(Item::Pack));
        Ok(files)
    }

    /// Store of the files, one for all runs of a lake; `None` for a local lake.
    fn store(&self) -> Result<Option<ObjectStoreUrl>> {
        let url = self.lake.runs.first().and_then(|found| storage::url(&found.place));
        url.map(|url| ObjectStoreUrl::parse(bucket(url).0)).transpose()
    }
}

/// Maximum files of a view that are opened when a statement is planned.
const MOST_OPEN: usize = 128;

#[async_trait::async_trait]
impl TableProvider for View {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.shown)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let of_run = |filter: &Expr| {
            let columns = filter.column_refs();
            let known = |name: &str| lake::RUN_COLUMNS.iter().any(|(column, _)| *column == name);
            !columns.is_empty() && columns.iter().all(|column| known(column.name())) && !filter.is_volatile()
        };
        Ok(filters
            .iter()
            .map(|filter| match of_run(filter) {
                true => TableProviderFilterPushDown::Exact,
                false => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.files(&self.kept(state, filters)?)?;
        let all = (0..self.shown.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let schema = Arc::new(self.shown.project(projection)?);
        if files.is_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let store = self.store()?.map(|url| state.runtime_env().object_store(url)).transpose()?;
        let table = Scanned { lake: Arc::clone(&self.lake), file: self.file, schema, store };
        Ok(Arc::new(Scan::new(table, files, state.config().target_partitions())))
    }
}

/// Type for computation: texts as views, which are not copied from page to batch.
fn viewed(stored: &DataType) -> DataType {
    match stored {
        DataType::Utf8 => DataType::Utf8View,
        other => other.clone(),
    }
}

fn not_a_condition(filter: &Expr) -> DataFusionError {
    DataFusionError::Plan(format!("{filter} is no condition: it is neither true nor false"))
}
