//! A client of `heaplake explore`: requests over a socket, byte by byte as the tests want them.

use heaplake_support::lake::binary;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Browser {
    server: Child,
    pub port: u16,
    pub token: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Response {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|word| word.parse().ok());
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self { status: status.unwrap(), headers: lines.filter_map(header).collect(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A value in a query.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

impl Browser {
    /// Starts a server, and reads its URL.
    pub(crate) fn open(path: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.arg("explore").arg(path).args(options).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim_end().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{line:?}"));
        let (port, token) = rest.split_once("/?token=").unwrap();
        Self { server, port: port.parse().unwrap(), token: token.to_owned() }
    }

    pub(crate) fn connected(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the server closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connected();
        // A server that refuses early may close before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Response::parse(&answer)
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if headers.iter().all(|(name, _)| *name != "Host") {
            text += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        self.raw(format!("{text}\r\n").as_bytes())
    }

    /// Gets a path with the token.
    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[("X-Heaplake-Token", &self.token)])
    }

    /// Asks a question, which must be answered.
    pub(crate) fn ask(&self, question: &str, arguments: &[(&str, &str)]) -> Value {
        let response = self.asked(question, arguments);
        assert_eq!(response.status, 200, "{question} {arguments:?}: {}", response.body);
        response.json()
    }

    pub(crate) fn asked(&self, question: &str, arguments: &[(&str, &str)]) -> Response {
        let pairs: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        self.get(&format!("/api/{question}?{}", pairs.join("&")))
    }

    /// Sends a signal, and waits for the end.
    pub(crate) fn end(mut self, signal: &str) -> (ExitStatus, Duration) {
        let begin = Instant::now();
        let kill = Command::new("kill").args([signal, &self.server.id().to_string()]).status().unwrap();
        assert!(kill.success());
        (self.server.wait().unwrap(), begin.elapsed())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
