//! The server, and direct access to its objects.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The only bucket.
pub(crate) const BUCKET: &str = "heaplake-test";

/// A server with an empty bucket. Ends when dropped.
pub(crate) struct Server {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub port: u16,
}

impl Server {
    pub(crate) fn start() -> Self {
        let python = std::env::var("HEAPLAKE_STORES_PYTHON")
            .expect("HEAPLAKE_STORES_PYTHON names a Python with moto: run make test-stores");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/stores/server.py");
        let mut child = Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("the server did not start: {line}"));
        let server = Self { commands: child.stdin.take(), child, answers, port };
        let (status, body) = server.request("PUT", "", &[]);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        server
    }

    /// Makes all objects two days older.
    pub(crate) fn age(&mut self) {
        writeln!(self.commands.as_mut().unwrap(), "age").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "done");
    }

    pub(crate) fn put(&self, key: &str, content: &[u8]) {
        overwrite(self.port, key, content);
    }

    pub(crate) fn get(&self, key: &str) -> Vec<u8> {
        let (status, body) = self.request("GET", &format!("/{key}"), &[]);
        assert_eq!(status, 200, "{key}");
        body
    }

    pub(crate) fn delete(&self, key: &str) {
        let (status, body) = self.request("DELETE", &format!("/{key}"), &[]);
        assert_eq!(status, 204, "{}", String::from_utf8_lossy(&body));
    }

    /// The keys of all objects below a prefix, sorted.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let (status, body) = self.request("GET", &format!("?list-type=2&prefix={prefix}"), &[]);
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("<IsTruncated>false"), "too many objects for one list");
        let mut keys: Vec<String> =
            body.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect();
        keys.sort();
        keys
    }

    fn request(&self, method: &str, path: &str, content: &[u8]) -> (u16, Vec<u8>) {
        send(self.port, method, path, content)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ = self.child.wait();
    }
}

/// Puts an object on the server of a port.
pub(crate) fn overwrite(port: u16, key: &str, content: &[u8]) {
    let (status, body) = send(port, "PUT", &format!("/{key}"), content);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
}

/// Sends a request without a valid signature, which this server does not check; returns status and body.
fn send(port: u16, method: &str, path: &str, content: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    // Moto recognises requests of S3 by their credentials.
    let credentials = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request";
    let head = format!(
        "{method} /{BUCKET}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {credentials}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(content).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let status = String::from_utf8_lossy(&answer[..end]).split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_off(end))
}
