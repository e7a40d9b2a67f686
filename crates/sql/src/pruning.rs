//! Row groups and pages of a file that conditions rule out by their statistics.

use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use datafusion::datasource::physical_plan::ParquetFileMetrics;
use datafusion::datasource::physical_plan::parquet::{
    PagePruningAccessPlanFilter, ParquetAccessPlan, RowGroupAccessPlanFilter,
};
use datafusion::error::Result;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt, split_conjunction};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::ParquetMetaData;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Conditions on the columns of a table.
pub(crate) struct Pruning {
    condition: Arc<dyn PhysicalExpr>,
    of_groups: PruningPredicate,
    of_pages: PagePruningAccessPlanFilter,
    schema: SchemaRef,
    /// Counts of all files together.
    counts: ParquetFileMetrics,
}

impl Pruning {
    /// `None` if the condition rules nothing out by statistics.
    pub(crate) fn new(
        condition: &Arc<dyn PhysicalExpr>,
        schema: &SchemaRef,
        (file, metrics): (&str, &ExecutionPlanMetricsSet),
    ) -> Option<Self> {
        // With flags, the engine's conditions on statistics have operands of wrong types, and it panics.
        let is_flag =
            |name: &str| schema.field_with_name(name).is_ok_and(|field| *field.data_type() == DataType::Boolean);
        let has_flag = |part: &Arc<dyn PhysicalExpr>| collect_columns(part).iter().any(|column| is_flag(column.name()));
        let parts = split_conjunction(condition).into_iter().filter(|part| !has_flag(part));
        let condition = conjunction_opt(parts.cloned())?;
        let of_groups = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
        let of_groups = of_groups.try_build(Arc::clone(&condition)).ok()?;
        let of_pages = PagePruningAccessPlanFilter::new(&condition, Arc::clone(schema));
        let useful = !of_groups.always_true() || of_pages.filter_number() > 0;
        let counts = ParquetFileMetrics::new(0, file, metrics);
        useful.then(|| Self { condition, of_groups, of_pages, schema: Arc::clone(schema), counts })
    }

    /// The condition.
    pub(crate) fn condition(&self) -> &Arc<dyn PhysicalExpr> {
        &self.condition
    }

    /// Of these row groups of a file, those that may have rows for which the condition holds, and their rows.
    pub(crate) fn apply(
        &self,
        (file, schema): (&ParquetMetaData, &Schema),
        groups: Range<usize>,
    ) -> Result<(Vec<usize>, Option<RowSelection>)> {
        let schema = self.viewed(schema);
        let mut plan = ParquetAccessPlan::new_all(file.num_row_groups());
        (0..file.num_row_groups()).filter(|group| !groups.contains(group)).for_each(|group| plan.skip(group));
        let described = file.file_metadata().schema_descr();
        let mut left = RowGroupAccessPlanFilter::new(plan);
        left.prune_by_statistics(&schema, described, file.row_groups(), &self.of_groups, &self.counts);
        let mut plan = left.build();
        if self.of_pages.filter_number() > 0 && !plan.is_empty() {
            plan = self.of_pages.prune_plan_with_page_index(plan, &schema, described, file, &self.counts);
        }
        Ok((plan.row_group_indexes(), plan.into_overall_row_selection(file.row_groups())?))
    }
}

impl Pruning {
    /// The columns of a file, in its order, by which statistics are found; texts in the type of the view.
    fn viewed(&self, schema: &Schema) -> Schema {
        let viewed = |field: &FieldRef| {
            let of_view = self.schema.field_with_name(field.name()).ok();
            let is_text = *field.data_type() == DataType::Utf8;
            let text = of_view.filter(|of_view| is_text && *of_view.data_type() == DataType::Utf8View);
            text.map_or_else(|| Arc::clone(field), |text| Arc::new(text.clone()))
        };
        Schema::new(schema.fields().iter().map(viewed).collect::<Fields>())
    }
}

impl fmt::Debug for Pruning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.condition)
    }
}
