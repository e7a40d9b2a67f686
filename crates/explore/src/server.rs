//! The server: connections, and answers on threads of their own.
//!
//! Limits: [`CONNECTIONS`] connections at a time, one request each; a client has [`HEADER`] to send it and [`WHOLE`] for
//! all; [`AT_ONCE`] answers at a time, each within [`PATIENCE`]. An answer that nobody waits for is cancelled, and its
//! thread is free when its work has noticed.

use crate::answers::{Answered, Answers};
use crate::files;
use crate::guard::{Guard, guard, refused};
use crate::secrets::Secrets;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use heaplake_kit::panics;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::{Map, Value, json};
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Longest time of an answer, with the wait for its turn.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Time in which a request must be there.
pub const HEADER: Duration = Duration::from_secs(10);
/// Longest time of a connection.
const WHOLE: Duration = Duration::from_secs(150);
/// Connections at the same time.
const CONNECTIONS: usize = 48;
/// Answers at the same time.
const AT_ONCE: usize = 2;
/// Longest header of a request, bytes.
const HEADERS: usize = 64 << 10;
/// Interval between looks at the flag of signals.
const LOOK: Duration = Duration::from_millis(20);
/// Stack of a thread that answers.
const STACK: usize = 8 << 20;

/// A server that has its port.
pub struct Listening {
    listener: StdListener,
    secrets: Secrets,
    port: u16,
}

struct Site {
    answers: Arc<dyn Answers>,
    guard: Arc<Guard>,
    turns: Arc<Semaphore>,
}

impl Listening {
    /// Listens on a port of 127.0.0.1, or for 0 on a free one.
    ///
    /// # Errors
    /// The port is taken, or the system gives no random bytes.
    pub fn open(port: u16) -> io::Result<Self> {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, secrets: Secrets::new()?, port })
    }

    /// The URL with its token.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.secrets.token)
    }

    /// Serves until `stop` is set.
    ///
    /// # Errors
    /// The system refuses threads or the socket.
    pub fn serve(self, answers: Arc<dyn Answers>, stop: &AtomicBool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(AT_ONCE)
            .thread_stack_size(STACK)
            .enable_all()
            .build()?;
        self.listener.set_nonblocking(true)?;
        let guard = Arc::new(Guard::new(self.secrets, self.port));
        let site = Site { answers, guard, turns: Arc::new(Semaphore::new(AT_ONCE)) };
        let router = router(Arc::new(site));
        let served = runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = accept(&listener, router) => Ok(()),
                () = stopped(stop) => Ok(()),
            }
        });
        // A thread that still works does not hold up the end.
        runtime.shutdown_background();
        served
    }
}

async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        sleep(LOOK).await;
    }
}

/// Accepts connections without end.
async fn accept(listener: &TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of files, most likely: others must close first.
            sleep(LOOK).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER)
            .keep_alive(false)
            .max_buf_size(HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that breaks off or is too slow has only itself to blame.
            let _ = timeout(WHOLE, connection).await;
            drop(place);
        });
    }
}

fn router(site: Arc<Site>) -> Router {
    let guarding = from_fn_with_state(Arc::clone(&site.guard), guard);
    Router::new()
        .route("/", get(page))
        .route("/assets/{name}", get(asset))
        .route("/api/{question}", get(api))
        .fallback(|| async { nothing() })
        .layer(guarding)
        .with_state(site)
}

fn nothing() -> Response {
    refused(StatusCode::NOT_FOUND, "There is nothing here.")
}

fn content(kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The page; the URL with the token gets the cookie.
async fn page(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let mut response = content("text/html; charset=utf-8", files::PAGE);
    if site.guard.has_token(&uri)
        && let Ok(cookie) = HeaderValue::from_str(&site.guard.cookie())
    {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

async fn asset(uri: Uri) -> Response {
    files::file(uri.path()).map_or_else(nothing, |(kind, text)| content(kind, text))
}

/// Sets a flag when it goes: the client has left, or the answer is there.
struct Cancelling(Arc<AtomicBool>);

impl Drop for Cancelling {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn api(State(site): State<Arc<Site>>, Path(question): Path<String>, uri: Uri) -> Response {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let arguments: Map<String, Value> = pairs.map(|(name, value)| (name.into_owned(), value.into())).collect();
    let (status, value) = match timeout(PATIENCE, answered(&site, question, arguments)).await {
        Ok(Answered::Found(value)) => (StatusCode::OK, value),
        Ok(Answered::Refused(value)) => (StatusCode::BAD_REQUEST, value),
        Ok(Answered::Failed(value)) => (StatusCode::INTERNAL_SERVER_ERROR, value),
        Ok(Answered::Unknown) => (
            StatusCode::NOT_FOUND,
            json!({"error": "there is no such question", "advice": "docs/explore.md has the list"}),
        ),
        Err(_) => {
            let problem = format!("no answer after {} seconds", PATIENCE.as_secs());
            (StatusCode::SERVICE_UNAVAILABLE, json!({"error": problem, "advice": "ask again for less, or later"}))
        }
    };
    let mut response = content("application/json", value.to_string());
    *response.status_mut() = status;
    response
}

/// Answers on a thread of its own. The turn ends with the work, also if nobody waits for it any more.
async fn answered(site: &Site, question: String, arguments: Map<String, Value>) -> Answered {
    let ended = || Answered::Refused(json!({"error": "the server ends", "advice": "start it again"}));
    let Ok(turn) = Arc::clone(&site.turns).acquire_owned().await else { return ended() };
    let (answers, cancel) = (Arc::clone(&site.answers), Arc::new(AtomicBool::new(false)));
    let _cancelling = Cancelling(Arc::clone(&cancel));
    let work = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        panics::held(|| answers.answer(&question, arguments, &cancel)).unwrap_or_else(|panic| {
            let problem = format!("the answer failed: {}", panic.message());
            let advice = "heaplake lake verify says whether the run is damaged; if not, report this";
            Answered::Failed(json!({"error": problem, "advice": advice}))
        })
    });
    work.await.unwrap_or_else(|_| ended())
}
