//! The plan that reads one table of many runs.
//!
//! The engine's own plan for Parquet takes 10 kB of memory per file, and as long to set up as to read a small table.
//! This one takes 40 bytes per file: files are opened one after the other by each partition. Of a long file, each
//! partition reads a part of the row groups.

use crate::files::{self, Reading, Source};
use crate::packed::Packed;
use crate::pruning::Pruning;
use crate::scanned::{Piece, Scanned, adapted, is_of_run};
use arrow::array::{RecordBatch, UInt32Array};
use arrow::datatypes::Schema;
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, conjunction};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use heaplake_kit::storage;
use heaplake_lake::entry::TableEntry;
use heaplake_lake::listed::Listed;
use heaplake_lake::stored;
use object_store::path::Path as ObjectPath;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Bytes of a file that several partitions share.
const LONG: u64 = 10 << 20;

/// The file of a run.
#[derive(Debug)]
pub(crate) struct File {
    /// Number of the run in the lake.
    pub run: u32,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The file, if it is open.
    pub held: Option<Arc<Listed>>,
}

/// A source of rows.
#[derive(Debug)]
pub(crate) enum Item {
    /// The file of a run.
    File(File),
    /// The rows of many runs.
    Pack(Packed),
}

impl Item {
    fn rows(&self) -> u64 {
        match self {
            Self::File(file) => file.rows,
            Self::Pack(packed) => packed.rows(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::File(file) => file.bytes,
            Self::Pack(packed) => packed.bytes(),
        }
    }
}

/// The plan.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    table: Arc<Scanned>,
    items: Arc<Vec<Item>>,
    partitions: Vec<Arc<Vec<Piece>>>,
    /// Conditions by which row groups and pages are left out.
    pruning: Option<Arc<Pruning>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl Scan {
    /// Divides the items among `partitions`, or fewer.
    pub(crate) fn new(table: Scanned, items: Vec<Item>, partitions: usize) -> Self {
        let partitions = divided(&items, partitions);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&table.schema)),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::NonCooperative);
        Self {
            table: Arc::new(table),
            items: Arc::new(items),
            partitions,
            pruning: None,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

/// Divides items into partitions of about the same bytes, in their order.
fn divided(items: &[Item], most: usize) -> Vec<Arc<Vec<Piece>>> {
    let most = most.clamp(1, usize::from(u16::MAX));
    // Opening a file costs about as much as reading these bytes.
    let cost = |item: &Item| item.bytes() + (64 << 10);
    let total: u64 = items.iter().map(cost).sum();
    let mut partitions = vec![Vec::new(); most];
    let mut before = 0;
    for (number, item) in (0..).zip(items) {
        if item.bytes() >= LONG {
            let piece = |part| Piece { item: number, part, of: most as u16 };
            partitions.iter_mut().zip(0..).for_each(|(partition, part)| partition.push(piece(part)));
        } else {
            let at = usize::try_from(u128::from(before) * most as u128 / u128::from(total.max(1))).unwrap_or(0);
            partitions[at.min(most - 1)].push(Piece { item: number, part: 0, of: 1 });
        }
        before += cost(item);
    }
    partitions.into_iter().filter(|pieces| !pieces.is_empty()).map(Arc::new).collect()
}

impl Scanned {
    /// The rows of a piece.
    async fn rows(
        &self,
        file: &File,
        piece: Piece,
        pruning: Option<&Pruning>,
        most: usize,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let run = file.run;
        if self.schema.fields().iter().all(|field| is_of_run(field.name())) {
            return self.constants(file, piece, most);
        }
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchStreamBuilder::new_with_options(self.reading(file)?, options).await?;
        let wanted = self.schema.fields().iter().map(|field| field.name().as_str()).filter(|name| !is_of_run(name));
        let mask = ProjectionMask::columns(builder.parquet_schema(), wanted);
        let groups = builder.metadata().num_row_groups();
        let share = |part: u16| groups * usize::from(part) / usize::from(piece.of);
        let groups = share(piece.part)..share(piece.part + 1);
        let (groups, selection) = match pruning {
            Some(pruning) => pruning.apply((builder.metadata(), builder.schema()), groups)?,
            None => (groups.collect(), None),
        };
        let mut builder = builder.with_projection(mask).with_row_groups(groups).with_batch_size(most);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let rows = builder.build()?;
        let (lake, schema) = (Arc::clone(&self.lake), Arc::clone(&self.schema));
        let of_run = move |batch: &RecordBatch| UInt32Array::from_value(run, batch.num_rows());
        let adapted = move |batch: RecordBatch| adapted(&lake, &of_run(&batch), &schema, &batch);
        Ok(rows.map_err(DataFusionError::from).map(move |batch| batch.and_then(&adapted)).boxed())
    }

    /// Rows with columns of the run only, for which no file is read.
    fn constants(&self, file: &File, piece: Piece, most: usize) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let rows = if piece.part == 0 { usize::try_from(file.rows).unwrap_or(usize::MAX) } else { 0 };
        let (lake, schema, run) = (Arc::clone(&self.lake), Arc::clone(&self.schema), file.run);
        let counts = (0..rows.div_ceil(most)).map(move |at| most.min(rows - at * most));
        let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
        let batch = move |rows| adapted(&lake, &UInt32Array::from_value(run, rows), &schema, &none);
        Ok(stream::iter(counts.map(batch)).boxed())
    }

    /// Opens a file.
    fn reading(&self, file: &File) -> Result<Reading> {
        let found = &self.lake.runs[file.run as usize];
        let path = found.place.join(self.file);
        let source = match (&self.store, &file.held) {
            (Some(store), _) => {
                let failed = |error: io::Error| {
                    DataFusionError::IoError(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
                };
                let place = stored::place_of(&path).map_err(failed)?;
                let key = bucket(storage::url(&place).unwrap_or_default()).1;
                let key = ObjectPath::parse(key).map_err(|error| failed(io::Error::other(error)))?;
                Source::Object(Arc::clone(store), key)
            }
            (None, Some(held)) => Source::File(Arc::clone(held)),
            (None, None) => {
                let missing = || DataFusionError::Internal(format!("{} is no table of its run", path.display()));
                let listed: &TableEntry = found.run.table(self.file).ok_or_else(missing)?;
                Source::File(Arc::new(files::open(&path, listed)?))
            }
        };
        Ok(Reading::new(path, file.bytes, source))
    }
}

/// Splits a URL into that of the bucket, and the key of an object.
pub(crate) fn bucket(url: &str) -> (&str, &str) {
    let after = url.find("://").map_or(0, |at| at + 3);
    let slash = url[after..].find('/').map_or(url.len(), |at| after + at);
    (&url[..slash], url[slash..].trim_start_matches('/'))
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.table.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "Scan: file={}, files={}, columns=[{}]", self.table.file, self.items.len(), columns.join(", "))?;
        self.pruning.as_ref().map_or(Ok(()), |pruning| write!(f, ", pruned by {pruning:?}"))
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &'static str {
        "Scan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (table, items) = (Arc::clone(&self.table), Arc::clone(&self.items));
        let (pieces, pruning) = (Arc::clone(&self.partitions[partition]), self.pruning.clone());
        let most = context.session_config().batch_size();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let schema = Arc::clone(&table.schema);
        let rows = stream::iter(0..pieces.len()).then(move |at| {
            let (table, items, piece, pruning) = (Arc::clone(&table), Arc::clone(&items), pieces[at], pruning.clone());
            async move {
                match &items[piece.item as usize] {
                    Item::File(file) => table.rows(file, piece, pruning.as_deref(), most).await,
                    // Each row group has rows of many runs alike, which statistics do not tell apart.
                    Item::Pack(packed) => packed.read(&table, piece, most).await,
                }
            }
        });
        let rows = rows.try_flatten().map(move |batch| batch.record_output(&metrics));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    /// Takes conditions to leave out row groups and pages; the engine still checks them for each row.
    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let mut conditions: Vec<_> = pushed.parent_filters.into_iter().map(|parent| parent.filter).collect();
        let taken = FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; conditions.len()]);
        if conditions.is_empty() {
            return Ok(taken);
        }
        conditions.extend(self.pruning.as_ref().map(|pruning| Arc::clone(pruning.condition())));
        let of_files = (self.table.file, &self.metrics);
        let Some(pruning) = Pruning::new(&conjunction(conditions), &self.table.schema, of_files) else {
            return Ok(taken);
        };
        let pruned: Arc<dyn ExecutionPlan> = Arc::new(Self { pruning: Some(Arc::new(pruning)), ..self.clone() });
        Ok(taken.with_updated_node(pruned))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let unknown = Statistics::new_unknown(&self.table.schema);
        if args.partition().is_some() {
            return Ok(Arc::new(unknown));
        }
        let sum = |of: fn(&Item) -> u64| {
            let sum = self.items.iter().map(of).fold(0, u64::saturating_add);
            usize::try_from(sum).unwrap_or(usize::MAX)
        };
        let rows = Precision::Exact(sum(Item::rows));
        Ok(Arc::new(unknown.with_num_rows(rows).with_total_byte_size(Precision::Inexact(sum(Item::bytes)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_divided_by_bytes_and_long_ones_shared() {
        let file = |run, bytes| Item::File(File { run, rows: 1, bytes, held: None });
        let files: Vec<Item> = (0..10).map(|run| file(run, 1000)).chain([file(10, LONG)]).collect();
        let parts = |most| -> Vec<Vec<(u32, u16, u16)>> {
            let all = divided(&files, most);
            all.iter().map(|pieces| pieces.iter().map(|piece| (piece.item, piece.part, piece.of)).collect()).collect()
        };
        assert_eq!(parts(1).len(), 1);
        assert_eq!(parts(1)[0].len(), 11);
        let two = parts(2);
        assert!(two[0].contains(&(10, 0, 2)) && two[1].contains(&(10, 1, 2)));
        let whole: Vec<u32> = two.iter().flatten().filter(|piece| piece.2 == 1).map(|piece| piece.0).collect();
        assert_eq!(whole, (0..10).collect::<Vec<_>>());
        assert_eq!(divided(&files[..1], 8).len(), 1, "no empty partition");
    }
}
