//! The protocol: JSON-RPC, a message a line, on standard input and output.
//!
//! The crate rmcp speaks it, in the revisions from 2024-11-05 to 2026-07-28; the last has no handshake. Answers are
//! structured content with an output schema for each tool, and the same JSON as text for older clients.
//!
//! Calls run on threads of their own, two at a time, so a long one holds up neither pings nor cancellation. A call ends
//! after [`PATIENCE`], when the client cancels it, or with the server, if its work polls the flag of cancellation.

use crate::arguments::{Arguments, OF_PAGES};
use crate::failure::Failure;
use crate::schema;
use crate::tool::{Tool, Tools};
use heaplake_kit::panics;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonRpcMessage,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Listed, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, RxJsonRpcMessage, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};
use serde_json::Value;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Longest time of a call.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Calls that run at the same time.
const AT_ONCE: usize = 2;
/// Longest message of a client, bytes.
const MESSAGE: usize = 1 << 20;
/// Interval between looks at the flag of signals.
const LOOK: Duration = Duration::from_millis(20);
/// Stack of a thread that answers a call.
const STACK: usize = 8 << 20;

/// Serves until standard input ends or `stop` is set.
///
/// # Errors
/// Standard output cannot be written, or the system refuses threads.
pub fn serve(tools: Arc<dyn Tools>, stop: &AtomicBool) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(AT_ONCE + 2)
        .thread_stack_size(STACK)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let server = Server { listed: listed(tools.tools()), tools, turns: Arc::new(Semaphore::new(AT_ONCE)) };
        tokio::select! {
            served = session(server) => served,
            () = stopped(stop) => Ok(()),
        }
    });
    // A thread that still works, or waits for input, does not hold up the end.
    runtime.shutdown_background();
    served
}

async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        sleep(LOOK).await;
    }
}

async fn session(server: Server) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let lines = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE);
    let Ok(running) = server.serve(Lines { lines, has_begun: false }).await else {
        // The client left, or broke off, before its first call.
        return Ok(());
    };
    running.waiting().await.map(drop).map_err(io::Error::other)
}

/// Messages, a line each. Before the first request, others are ignored: the library would end the session.
struct Lines {
    lines: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    has_begun: bool,
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.lines.receive().await?;
            self.has_begun |= matches!(message, JsonRpcMessage::Request(_));
            if self.has_begun {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.lines.close().await
    }
}

struct Server {
    tools: Arc<dyn Tools>,
    listed: Vec<Listed>,
    turns: Arc<Semaphore>,
}

fn listed(tools: Vec<Tool>) -> Vec<Listed> {
    let listed = |tool: Tool| {
        let hints = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Listed::new(tool.name, tool.description, schema::of_arguments(&tool))
            .with_raw_output_schema(Arc::new(schema::of_answer(&tool)))
            .with_annotations(hints)
    };
    tools.into_iter().map(listed).collect()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("heaplake", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.tools.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.listed.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.listed.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Arguments::new(request.arguments.unwrap_or_default());
        let answered = match self.refusal(&request.name, &arguments) {
            Some(failure) => Err(failure),
            None => self.answered(request.name, arguments, &context).await,
        };
        let result = match answered {
            Ok(value) => CallToolResult::structured(value),
            // No structured content: it would have to fit the schema of answers.
            Err(failure) => CallToolResult::error(vec![rmcp::model::ContentBlock::text(failure.value().to_string())]),
        };
        Ok(result.into())
    }
}

impl Server {
    /// Refuses an unknown tool or argument, with the names that there are.
    fn refusal(&self, name: &str, arguments: &Arguments) -> Option<Failure> {
        let Some(tool) = self.listed.iter().find(|tool| tool.name == name) else {
            let names = self.listed.iter().map(|tool| tool.name.to_string());
            return Some(Failure::new("there is no such tool", "begin with overview").near(names.collect()));
        };
        let known = tool.input_schema.get("properties").and_then(Value::as_object);
        let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
        let unknown = arguments.names().find(|name| !is_known(name))?;
        let names = known.into_iter().flatten().map(|(name, _)| name.clone());
        let own = names.filter(|name| !OF_PAGES.contains(&name.as_str())).collect();
        Some(Failure::new(format!("{name} has no argument {unknown:?}"), "use the arguments of nearest").near(own))
    }

    /// Answers a call on a thread of its own.
    async fn answered(
        &self,
        name: Cow<'static, str>,
        arguments: Arguments,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, Failure> {
        let Ok(_turn) = self.turns.acquire().await else { return Err(ended()) };
        let (tools, cancel) = (Arc::clone(&self.tools), Arc::new(AtomicBool::new(false)));
        let seen = Arc::clone(&cancel);
        let work = tokio::task::spawn_blocking(move || {
            panics::held(|| tools.call(&name, &arguments, &seen)).unwrap_or_else(|panic| {
                let problem = format!("the answer failed: {}", panic.message());
                Err(Failure::new(problem, "heaplake lake verify says whether the run is damaged; if not, report this"))
            })
        });
        let cancelled = context.ct.cancelled();
        tokio::select! {
            done = timeout(PATIENCE, work) => match done {
                Ok(answered) => answered.unwrap_or_else(|_| Err(ended())),
                Err(_) => {
                    cancel.store(true, Ordering::Relaxed);
                    let problem = format!("no answer after {} seconds", PATIENCE.as_secs());
                    Err(Failure::new(problem, "ask for less: one run, one class, a condition"))
                }
            },
            () = cancelled => {
                cancel.store(true, Ordering::Relaxed);
                Err(ended())
            }
        }
    }
}

fn ended() -> Failure {
    Failure::new("the call was cancelled", "call again")
}
