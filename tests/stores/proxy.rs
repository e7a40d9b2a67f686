//! A proxy before the server: it takes one request per connection, and treats each as the test's rule says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub method: String,
    pub path: String,
}

/// Treatment of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// Forwarded and answered.
    Pass,
    /// Answered with this status, not forwarded.
    Refuse(u16),
    /// Forwarded; the connection ends after half of the answer.
    Cut,
    /// Forwarded; no answer arrives.
    Lose,
    /// Answered after a delay.
    Wait(Duration),
    /// Not forwarded; the connection stays open until the client ends it.
    Hang,
}

type Rule = Box<dyn FnMut(&Asked) -> Act + Send>;

/// The proxy; its thread ends with the process.
pub(crate) struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    rule: Mutex<Rule>,
    asked: Mutex<Vec<Asked>>,
    answered: AtomicU64,
    at_work: AtomicU64,
}

impl Proxy {
    /// Starts a proxy before the server on a port.
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let rule: Rule = Box::new(|_| Act::Pass);
        let state = Arc::new(State {
            rule: Mutex::new(rule),
            asked: Mutex::default(),
            answered: AtomicU64::new(0),
            at_work: AtomicU64::new(0),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // Requests that the client gave up fail here.
                thread::spawn(move || {
                    state.at_work.fetch_add(1, Ordering::SeqCst);
                    serve(client, server, &state);
                    state.at_work.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, state }
    }

    /// Applies a rule to every request from now on and resets the counters. First waits for requests in progress, which
    /// a killed process may have left.
    pub(crate) fn rule(&self, rule: impl FnMut(&Asked) -> Act + Send + 'static) {
        let begun = Instant::now();
        while self.state.at_work.load(Ordering::SeqCst) > 0 && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(2));
        }
        *self.state.rule.lock().unwrap() = Box::new(rule);
        self.state.asked.lock().unwrap().clear();
        self.state.answered.store(0, Ordering::Relaxed);
    }

    /// The requests since the last rule.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Bytes of the answers since the last rule.
    pub(crate) fn answered_bytes(&self) -> u64 {
        self.state.answered.load(Ordering::Relaxed)
    }
}

fn serve(mut client: TcpStream, server: u16, state: &State) -> Option<()> {
    let request = message(&mut client)?;
    let head = String::from_utf8_lossy(&request).into_owned();
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let asked = {
        let mut all = state.asked.lock().ok()?;
        let asked = Asked { method, path };
        all.push(asked.clone());
        asked
    };
    let act = (state.rule.lock().ok()?)(&asked);
    if let Act::Refuse(status) = act {
        let answer = format!("HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return client.write_all(answer.as_bytes()).ok();
    }
    if let Act::Hang = act {
        let _ = client.read(&mut [0; 1]);
        return None;
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).ok()?;
    upstream.write_all(&one_only(&request)).ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).ok()?;
    let sent = match act {
        Act::Lose => 0,
        Act::Cut => answer.len() - body(&answer).len().div_ceil(2),
        _ => answer.len(),
    };
    if let Act::Wait(time) = act {
        thread::sleep(time);
    }
    state.answered.fetch_add(sent as u64, Ordering::Relaxed);
    client.write_all(&answer[..sent]).ok()
}

/// Adds `Connection: close` to a request, so that the answer ends with the connection.
fn one_only(request: &[u8]) -> Vec<u8> {
    let line = request.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    [&request[..line], b"Connection: close\r\n", &request[line..]].concat()
}

fn body(message: &[u8]) -> &[u8] {
    message.windows(4).position(|four| four == b"\r\n\r\n").map_or(&[], |at| &message[at + 4..])
}

/// Reads a request with its body.
fn message(client: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut bytes, mut block) = (Vec::new(), [0; 64 << 10]);
    loop {
        let head = bytes.windows(4).position(|four: &[u8]| four == b"\r\n\r\n");
        if let Some(end) = head {
            let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Some(bytes);
            }
        }
        match client.read(&mut block).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&block[..count]),
        }
    }
}
