//! Statements over a lake, in bounded memory.

use crate::error::SqlError;
use crate::joins;
use crate::lake::{self, Lake};
use crate::named::Query;
use crate::view::View;
use crate::writer::Writer;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::{DFParser, Statement};
use futures::StreamExt;
use heaplake_schemas::tables;
use object_store::ObjectStore;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a running statement looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Consumers of memory that an error names.
const NAMED: NonZeroUsize = NonZeroUsize::MIN;

/// The URL of a bucket, and its client.
pub type Bucket = (String, Arc<dyn ObjectStore>);

/// What statements may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Bytes of memory for sorting, grouping and joining.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Folder of what they spill.
    pub scratch: &'a Path,
    /// The bucket of a lake in an object store.
    pub bucket: Option<&'a Bucket>,
}

/// A lake that is open for statements.
pub struct Session {
    lake: Arc<Lake>,
    context: SessionContext,
    runtime: tokio::runtime::Runtime,
    memory: usize,
}

impl Session {
    /// Opens a lake: reads the description of each run.
    ///
    /// # Errors
    /// [`SqlError`] where the folder is no lake, or the system gives no threads.
    pub fn open(folder: &Path, limits: Limits<'_>) -> Result<Self, SqlError> {
        let lake = Arc::new(Lake::open(folder)?);
        let memory = usize::try_from(limits.memory).unwrap_or(usize::MAX);
        let disk =
            DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![limits.scratch.to_owned()]));
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(FairSpillPool::new(memory), NAMED)))
            .with_disk_manager_builder(disk.with_max_temp_directory_size(u64::MAX))
            .build_arc()?;
        let mut config = SessionConfig::new().with_target_partitions(limits.threads).with_information_schema(true);
        config.options_mut().sql_parser.enable_ident_normalization = true;
        let context = SessionContext::new_with_config_rt(config, environment);
        if let Some((root, client)) = limits.bucket {
            context.register_object_store(ObjectStoreUrl::parse(root)?.as_ref(), Arc::clone(client));
        }
        for table in tables::ALL.iter().filter(|table| table.runs.have_it()) {
            context.register_table(table.name, Arc::new(View::new(Arc::clone(&lake), table)))?;
        }
        let summary = lake.summary()?;
        context.register_table(lake::RUNS, Arc::new(MemTable::try_new(summary.schema(), vec![vec![summary]])?))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(limits.threads)
            .enable_all()
            .build()
            .map_err(|error| SqlError::file(format!("no threads: {error}"), "try fewer with --threads"))?;
        Ok(Self { lake, context, runtime, memory })
    }

    /// The runs that the session sees.
    #[must_use]
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Names of all views with the names of their columns.
    ///
    /// # Errors
    /// [`SqlError`] only if the catalogue of the engine is broken.
    pub fn names(&self) -> Result<Vec<(String, Vec<String>)>, SqlError> {
        let mut names = Vec::new();
        let schema = self.context.catalog("datafusion").and_then(|catalogue| catalogue.schema("public"));
        for name in schema.map(|schema| schema.table_names()).unwrap_or_default() {
            let table = self.runtime.block_on(self.context.table_provider(name.as_str()))?;
            names.push((name, table.schema().fields().iter().map(|field| field.name().clone()).collect()));
        }
        names.sort();
        Ok(names)
    }

    /// Splits a text into statements.
    ///
    /// # Errors
    /// [`SqlError`] where it is not SQL.
    pub fn statements(text: &str) -> Result<Vec<Statement>, SqlError> {
        Ok(DFParser::parse_sql(text)?.into())
    }

    /// The statement of a named query, with its parameters.
    ///
    /// # Errors
    /// [`SqlError`] where a parameter is none of the query, or its value does not fit.
    pub fn named(query: &Query, given: &[(String, String)]) -> Result<(Statement, ParamValues), SqlError> {
        let values = query.values(given)?;
        let statement = Self::statements(query.sql)?.pop();
        let statement =
            statement.ok_or_else(|| SqlError::query(format!("{}: no statement", query.name), "report this"))?;
        let values: HashMap<String, ScalarValue> = values.into_iter().collect();
        Ok((statement, values.into()))
    }

    /// Runs a statement and writes its rows, as they come; the number of rows.
    ///
    /// Only reading is allowed: queries, EXPLAIN, SHOW and DESCRIBE.
    ///
    /// # Errors
    /// [`SqlError`]; what was written before stays, unless the writer takes it back.
    pub fn run(
        &self,
        statement: Statement,
        values: Option<ParamValues>,
        writer: &mut dyn Writer,
        cancel: &AtomicBool,
    ) -> Result<u64, SqlError> {
        self.runtime.block_on(async {
            tokio::select! {
                done = self.answer(statement, values, writer) => done,
                () = told(cancel) => Err(SqlError::interrupted()),
            }
        })
    }

    async fn answer(
        &self,
        statement: Statement,
        values: Option<ParamValues>,
        writer: &mut dyn Writer,
    ) -> Result<u64, SqlError> {
        let state = self.context.state();
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
        let state = joins::state_for(&state, &plan, self.memory).await?;
        let physical = state.create_physical_plan(&plan).await?;
        writer.begin(&physical.schema())?;
        let mut stream = execute_stream(physical, state.task_ctx())?;
        let mut rows = 0;
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            if !writer.write(&batch)? {
                break;
            }
        }
        writer.end()?;
        Ok(rows)
    }
}

/// Waits until the user stops it.
async fn told(cancel: &AtomicBool) {
    while !cancel.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}
