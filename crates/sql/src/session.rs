//! Statements over a lake, in bounded memory.

use crate::apart::{self, apart};
use crate::attached::{self, Attached};
use crate::compared;
use crate::depth;
use crate::error::{Kind, SqlError};
use crate::joins;
use crate::lake::{self, Lake};
use crate::named::Query;
use crate::view::View;
use crate::writer::Writer;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::DFParser;
use futures::StreamExt;
use heaplake_kit::panics;
use heaplake_lake::nearest::{clause, nearest};
use heaplake_schemas::tables;
use object_store::ObjectStore;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, sync_channel};
use tokio::runtime::Runtime;

/// Threads that the engine may need beyond the given number.
const SPARE: usize = 2;
/// All sorts together reserve 1/5 of the memory to merge spilled runs.
const MERGING: usize = 5;
/// Memory per row of a batch, bytes, and minimum and maximum rows of a batch.
const BATCHES: usize = 32 << 10;
const LEAST_ROWS: usize = 256;
const MOST_ROWS: usize = 8192;
/// Memory consumers that an error names.
const NAMED: NonZeroUsize = NonZeroUsize::MIN;

pub use datafusion::common::ParamValues;
pub use datafusion::sql::parser::Statement;

/// The URL of a bucket, and its client.
pub type Bucket = (String, Arc<dyn ObjectStore>);

/// Resource limits of statements.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Bytes of memory for sorting, grouping and joining.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Folder for spills.
    pub scratch: &'a Path,
    /// The bucket of a lake in an object store.
    pub bucket: Option<&'a Bucket>,
}

/// An open lake that runs statements.
pub struct Session {
    lake: Arc<Lake>,
    context: SessionContext,
    /// Taken when the session ends.
    runtime: Option<Runtime>,
    memory: usize,
}

impl Session {
    /// Opens a lake: reads the description of each run. A folder of `diff`, `trend` or `fleet rollup` has its own
    /// tables instead, and wide forms of those in long form.
    pub fn open(folder: &Path, limits: Limits<'_>, cancel: &AtomicBool) -> Result<Self, SqlError> {
        let folder = folder.to_owned();
        let opened = panics::held(|| {
            let compared = compared::groups(&folder)?;
            let open = || apart(cancel, move || Lake::open(&folder))?;
            let lake = compared.as_ref().map_or_else(open, |_| Lake::without_runs())?;
            let session = Self::over(Arc::new(lake), limits, compared.is_none())?;
            if let (Some(groups), Some(runtime)) = (compared, &session.runtime) {
                let (handle, context) = (runtime.handle().clone(), session.context.clone());
                apart(cancel, move || handle.block_on(compared::register(&context, &groups)))??;
            }
            Ok(session)
        });
        opened.unwrap_or_else(|panic| Err(SqlError::panicked(&panic)))
    }

    /// Creates a session over the runs of a lake, or without any views.
    fn over(lake: Arc<Lake>, limits: Limits<'_>, has_runs: bool) -> Result<Self, SqlError> {
        apart::keep_near(limits.memory);
        // The rest is for memory that the engine does not account: batches in flight, decoded pages, output.
        let memory = usize::try_from(limits.memory / 5 * 3).unwrap_or(usize::MAX);
        let context =
            SessionContext::new_with_config_rt(config(limits.threads, memory), environment(memory, limits.scratch)?);
        if let Some((root, client)) = limits.bucket {
            context.register_object_store(ObjectStoreUrl::parse(root)?.as_ref(), Arc::clone(client));
        }
        for table in tables::ALL.iter().filter(|table| has_runs && table.runs.have_it()) {
            context.register_table(table.name, Arc::new(View::new(Arc::clone(&lake), table)))?;
        }
        if has_runs {
            let summary = lake.summary()?;
            context.register_table(lake::RUNS, Arc::new(MemTable::try_new(summary.schema(), vec![vec![summary]])?))?;
        }
        apart::need_threads(limits.threads + SPARE)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(limits.threads)
            .thread_stack_size(apart::STACK)
            .enable_all()
            .build()
            .map_err(|error| SqlError::resources(format!("no threads: {error}"), "try fewer with --threads"))?;
        Ok(Self { lake, context, runtime: Some(runtime), memory })
    }

    /// Adds a view of a file.
    pub fn attach(&self, attached: &Attached, cancel: &AtomicBool) -> Result<(), SqlError> {
        let Some(runtime) = &self.runtime else { return Err(SqlError::interrupted()) };
        let (handle, context, file) = (runtime.handle().clone(), self.context.clone(), attached.clone());
        apart(cancel, move || {
            let _runtime = handle.enter();
            attached::register(&context, &file)
        })?
    }

    /// The runs of the session.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Names of all views with the names of their columns.
    pub fn names(&self) -> Result<Vec<(String, Vec<String>)>, SqlError> {
        let (mut names, Some(runtime)) = (Vec::new(), &self.runtime) else { return Ok(Vec::new()) };
        let schema = self.context.catalog("datafusion").and_then(|catalogue| catalogue.schema("public"));
        for name in schema.map(|schema| schema.table_names()).unwrap_or_default() {
            let table = runtime.block_on(self.context.table_provider(name.as_str()))?;
            names.push((name, table.schema().fields().iter().map(|field| field.name().clone()).collect()));
        }
        names.sort();
        Ok(names)
    }

    /// Splits a text into statements; fails if it is not SQL or nested too deep.
    pub fn statements(text: &str) -> Result<Vec<Statement>, SqlError> {
        depth::check(text)?;
        let text = text.to_owned();
        let parsed = panics::held(|| apart(&AtomicBool::new(false), move || DFParser::parse_sql(&text)));
        Ok(parsed.unwrap_or_else(|panic| Err(SqlError::panicked(&panic)))??.into())
    }

    /// Returns the statement of a named query, with its parameters.
    pub fn named(query: &Query, given: &[(String, String)]) -> Result<(Statement, ParamValues), SqlError> {
        let values = query.values(given)?;
        let statement = Self::statements(query.sql)?.pop();
        let statement =
            statement.ok_or_else(|| SqlError::query(format!("{}: no statement", query.name), "report this"))?;
        let values: HashMap<String, ScalarValue> = values.into_iter().collect();
        Ok((statement, values.into()))
    }

    /// Runs a statement and streams its rows to the writer; returns the number of rows.
    ///
    /// Only reading is allowed: queries, EXPLAIN, SHOW and DESCRIBE. On failure, rows already written stay, unless the
    /// writer takes them back.
    pub fn run(
        &self,
        statement: Statement,
        values: Option<ParamValues>,
        writer: &mut dyn Writer,
        cancel: &AtomicBool,
    ) -> Result<u64, SqlError> {
        let done = panics::held(|| self.follow(statement, values, writer, cancel));
        let done = done.unwrap_or_else(|panic| Err(SqlError::panicked(&panic)));
        done.map_err(|error| self.with_nearest(error))
    }

    /// Adds the nearest view names to the error for an unknown one.
    fn with_nearest(&self, error: SqlError) -> SqlError {
        let missing = error.cause.split_once("table '").and_then(|(_, rest)| rest.split_once("' not found"));
        let Some((name, _)) = missing.filter(|_| error.kind == Kind::Query) else { return error };
        let views = self.names().unwrap_or_default().into_iter().map(|(view, _)| view);
        let cause = format!("{}{}", error.cause, clause(&nearest(name, views)));
        SqlError { cause, ..error }
    }

    /// Runs a statement on the engine, and writes its answer.
    fn follow(
        &self,
        statement: Statement,
        values: Option<ParamValues>,
        writer: &mut dyn Writer,
        cancel: &AtomicBool,
    ) -> Result<u64, SqlError> {
        let Some(runtime) = &self.runtime else { return Err(SqlError::interrupted()) };
        let (sender, receiver) = sync_channel(1);
        let (context, memory) = (self.context.clone(), self.memory);
        let task = runtime.spawn(async move {
            let answered = answer(&context, (statement, values), memory, &sender).await;
            // The caller may have left.
            let _ = sender.send(Answer::End(answered));
        });
        let (mut rows, mut columns) = (0, None);
        loop {
            let next = apart::next(&receiver, cancel).inspect_err(|_| task.abort())?;
            match next {
                Some(Answer::Columns(schema)) => columns = Some(schema),
                Some(Answer::Rows(batch)) => {
                    columns.take().map_or(Ok(()), |columns| writer.begin(&columns))?;
                    rows += batch.num_rows() as u64;
                    if !writer.write(&batch)? {
                        task.abort();
                        break;
                    }
                }
                Some(Answer::End(done)) => {
                    done.map_err(|error| if rows > 0 { error.final_one() } else { error })?;
                    columns.take().map_or(Ok(()), |columns| writer.begin(&columns))?;
                    break;
                }
                None => match runtime.block_on(task) {
                    Err(error) if error.is_panic() => panic::resume_unwind(error.into_panic()),
                    _ => return Err(SqlError::interrupted()),
                },
            }
        }
        writer.end()?;
        Ok(rows)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // An abandoned statement may run for hours.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

fn config(threads: usize, memory: usize) -> SessionConfig {
    let mut config = SessionConfig::new().with_target_partitions(threads).with_information_schema(true);
    config.options_mut().sql_parser.enable_ident_normalization = true;
    // With a map and a list in one projection, this rule fails with an ambiguous column.
    config.options_mut().optimizer.enable_leaf_expression_pushdown = false;
    let merging = memory / (MERGING * threads);
    let execution = &mut config.options_mut().execution;
    execution.sort_spill_reservation_bytes = execution.sort_spill_reservation_bytes.min(merging);
    // With little memory, a batch of wide rows must stay small: operators hold several without accounting for them.
    config.with_batch_size((memory / BATCHES).clamp(LEAST_ROWS, MOST_ROWS))
}

fn environment(memory: usize, scratch: &Path) -> Result<Arc<RuntimeEnv>, SqlError> {
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![scratch.to_owned()]));
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(TrackConsumersPool::new(FairSpillPool::new(memory), NAMED)))
        .with_disk_manager_builder(disk.with_max_temp_directory_size(u64::MAX));
    Ok(environment.build_arc()?)
}

/// Messages of the engine, in order.
enum Answer {
    Columns(SchemaRef),
    Rows(RecordBatch),
    End(Result<(), SqlError>),
}

/// Plans a statement and runs it, while the receiver takes the answer.
async fn answer(
    context: &SessionContext,
    (statement, values): (Statement, Option<ParamValues>),
    memory: usize,
    to: &SyncSender<Answer>,
) -> Result<(), SqlError> {
    let state = context.state();
    let plan = state.statement_to_plan(statement).await?;
    let allowed = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    allowed.verify_plan(&plan).map_err(|error| SqlError {
        advice: "the lake is read only: use SELECT, EXPLAIN, SHOW or DESCRIBE".to_owned(),
        ..error.into()
    })?;
    let plan = match values {
        Some(values) => plan.with_param_values(values)?,
        None => plan,
    };
    let state = joins::state_for(&state, &plan, memory).await?;
    let physical = state.create_physical_plan(&plan).await?;
    if to.send(Answer::Columns(physical.schema())).is_err() {
        return Ok(());
    }
    let mut stream = execute_stream(physical, state.task_ctx())?;
    while let Some(batch) = stream.next().await {
        if to.send(Answer::Rows(batch?)).is_err() {
            break;
        }
    }
    Ok(())
}
