//! View of one table over all runs, for the engine.
//!
//! The run columns are not read from files: they are constant in each file. A condition on them alone is computed once
//! per run, and files of excluded runs are never opened. Files of older schema versions that lack a column have nulls
//! there. The number of rows comes from `run.json`, so `count(*)` reads no file.

use crate::files::{Files, Table as TableFile};
use crate::lake::{self, Lake};
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{DFSchema, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema as EngineSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use heaplake_kit::storage;
use heaplake_lake::entry::TableEntry;
use heaplake_lake::stored;
use heaplake_schemas::table::TableSchema;
use object_store::ObjectMeta;
use object_store::path::Path as ObjectPath;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// One table of all runs.
#[derive(Debug)]
pub(crate) struct View {
    lake: Arc<Lake>,
    file: &'static str,
    /// Columns in the order of the engine's reader: those of the file, then those of the run.
    stored: EngineSchema,
    /// Columns in user-visible order: those of the run come first.
    shown: SchemaRef,
    /// Position in `stored` of each column in `shown`.
    positions: Vec<usize>,
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
        let (own, run) = (of_file.len(), of_run.fields().len());
        let shown = of_run.fields().iter().chain(&of_file).cloned().collect::<Fields>();
        let stored = EngineSchema::builder(Arc::new(Schema::new(of_file)))
            .with_table_partition_cols(of_run.fields().to_vec())
            .build();
        let positions = (own..own + run).chain(0..own).collect();
        Self { lake, file: table.file, stored, shown: Arc::new(Schema::new(shown)), positions }
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

    /// The files of those runs, their row counts, and their readers.
    fn files(&self, runs: &[usize]) -> Result<(Vec<PartitionedFile>, Statistics, Tables)> {
        let mut tables = Tables::new();
        let unknown = Statistics::new_unknown(self.stored.table_schema());
        let (mut files, mut rows, mut bytes) = (Vec::new(), 0, 0);
        for &run in runs {
            let found = &self.lake.runs[run];
            let Some(table) = found.run.table(self.file) else { continue };
            let path = found.place.join(self.file);
            let (meta, file) = described(&path, table, tables.len())?;
            tables.insert(meta.location.clone(), Arc::new(file));
            let size = meta.size;
            let count = usize::try_from(table.rows).unwrap_or(usize::MAX);
            let mut part = PartitionedFile::new_from_meta(meta).with_partition_values(self.lake.values(run)?);
            // Not `with_statistics`, which treats a null run column as not null.
            part.statistics = Some(Arc::new(unknown.clone().with_num_rows(Precision::Exact(count))));
            files.push(part);
            rows += count;
            bytes += usize::try_from(size).unwrap_or(usize::MAX);
        }
        let all = unknown.with_num_rows(Precision::Exact(rows)).with_total_byte_size(Precision::Inexact(bytes));
        Ok((files, all, tables))
    }
}

impl View {
    /// Store of the files, one for all runs of a lake; `None` for a local lake.
    fn store(&self) -> Result<Option<ObjectStoreUrl>> {
        let url = self.lake.runs.first().and_then(|found| storage::url(&found.place));
        url.map(|url| ObjectStoreUrl::parse(bucket(url).0)).transpose()
    }
}

/// The files of a view, by the engine's path.
type Tables = HashMap<ObjectPath, Arc<TableFile>>;

/// Splits a URL into that of the bucket, and the key of an object.
fn bucket(url: &str) -> (&str, &str) {
    let after = url.find("://").map_or(0, |at| at + 3);
    let slash = url[after..].find('/').map_or(url.len(), |at| after + at);
    (&url[..slash], url[slash..].trim_start_matches('/'))
}

/// Describes a file for the engine's reader. An object is trusted to have the length in `run.json`: nobody writes to
/// it, and a check would take a request for each.
fn described(path: &Path, table: &TableEntry, at: usize) -> Result<(ObjectMeta, TableFile)> {
    let size = table.bytes;
    let of = |location| ObjectMeta { location, last_modified: Default::default(), size, e_tag: None, version: None };
    let wrong = |error: &dyn std::fmt::Display| {
        DataFusionError::IoError(named(path, &std::io::Error::other(error.to_string())))
    };
    if storage::is_url(path) {
        let place = stored::place_of(path).map_err(|error| DataFusionError::IoError(named(path, &error)))?;
        let key = bucket(storage::url(&place).unwrap_or_default()).1;
        let meta = of(ObjectPath::parse(key).map_err(|error| wrong(&error))?);
        return Ok((meta, TableFile::of_store(path, table)));
    }
    let file = TableFile::of_folder(path, table, at)?;
    Ok((of(ObjectPath::from_absolute_path(path).map_err(|error| wrong(&error))?), file))
}

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
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (files, statistics, tables) = self.files(&self.kept(state, filters)?)?;
        let all = (0..self.positions.len()).collect();
        let projection = projection.unwrap_or(&all);
        if files.is_empty() {
            return Ok(Arc::new(EmptyExec::new(Arc::new(self.shown.project(projection)?))));
        }
        let positions = projection.iter().map(|&column| self.positions[column]).collect();
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let url = self.store()?;
        let store = url.as_ref().map(|url| state.runtime_env().object_store(url)).transpose()?;
        let readers = Arc::new(Files::new(tables, store));
        let source = ParquetSource::new(self.stored.clone()).with_parquet_file_reader_factory(readers);
        let url = url.unwrap_or_else(ObjectStoreUrl::local_filesystem);
        let config = FileScanConfigBuilder::new(url, Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_limit(limit)
            .with_projection_indices(Some(positions))?
            .build();
        Ok(DataSourceExec::from_data_source(config))
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

fn named(path: &Path, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
