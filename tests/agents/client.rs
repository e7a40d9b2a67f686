//! A client of the server.

use heaplake_support::lake::binary;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Bytes of an answer by default.
pub(crate) const BYTES: usize = 6000;

pub(crate) struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// Answer to `initialize`.
    pub begin: Value,
    /// Tools as listed.
    pub tools: Vec<Value>,
}

impl Client {
    /// Starts a server over a lake or run, without a word to it.
    pub(crate) fn silent(path: &Path) -> Self {
        Self::spawned(path, &[])
    }

    fn spawned(path: &Path, options: &[&str]) -> Self {
        let mut server = Command::new(binary())
            .arg("mcp")
            .arg(path)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().unwrap());
        Self { server, input, output, asked: 0, begin: Value::Null, tools: Vec::new() }
    }

    /// Starts a server, and lists its tools.
    pub(crate) fn start(path: &Path) -> Self {
        Self::with(path, &[])
    }

    /// The same with options of the command.
    pub(crate) fn with(path: &Path, options: &[&str]) -> Self {
        let mut client = Self::spawned(path, options);
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
        client.begin = client.ask("initialize", &hello)["result"].clone();
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        let listed = client.ask("tools/list", &json!({}));
        client.tools = listed["result"]["tools"].as_array().unwrap().clone();
        client
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// Receives a message.
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// Sends a request and receives its response.
    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.asked += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters});
        self.send(&request.to_string());
        let response = self.receive();
        assert_eq!(response["id"], self.asked, "{response}");
        response
    }

    /// Calls a tool; returns its arguments and the result.
    fn result(&mut self, tool: &str, arguments: Value) -> (Value, Value) {
        let mut parameters = json!({"name": tool});
        parameters["arguments"] = arguments;
        let result = self.ask("tools/call", &parameters)["result"].take();
        (parameters["arguments"].take(), result)
    }

    /// Calls a tool that must answer; checks the schema and the size of the answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let (arguments, result) = self.result(tool, arguments);
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
        assert_ne!(result["isError"], true, "{tool} {arguments}: {text}");
        let answer: Value = serde_json::from_str(text).unwrap();
        assert_eq!(answer, result["structuredContent"]);
        let most = arguments["max_bytes"].as_u64().map_or(BYTES, |bytes| bytes.clamp(1500, 64_000) as usize);
        assert!(text.len() <= most, "{tool} {arguments}: {} bytes", text.len());
        assert!(text.chars().all(|c| !c.is_control()), "{text:?}");
        let listed = self.tools.iter().find(|listed| listed["name"] == tool).unwrap();
        assert_fits(&answer, &listed["outputSchema"], tool);
        for next in answer["next"].as_array().unwrap() {
            let called = self.tools.iter().find(|listed| listed["name"] == next["tool"]).unwrap();
            assert_fits(&next["arguments"], &called["inputSchema"], "next");
        }
        answer
    }

    /// Calls a tool that must fail; returns the error.
    pub(crate) fn fail(&mut self, tool: &str, arguments: Value) -> Value {
        let (arguments, result) = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= 2000, "{} bytes: {text}", text.len());
        let error: Value = serde_json::from_str(text).unwrap();
        for part in ["error", "advice"] {
            let said = error[part].as_str().unwrap();
            assert!(!said.is_empty() && !said.contains("panicked"), "{tool} {arguments}: {error}");
        }
        error
    }

    /// All rows of a list, page by page.
    pub(crate) fn all(&mut self, tool: &str, arguments: &Value, list: &str) -> Vec<Value> {
        let (mut rows, mut arguments) = (Vec::new(), arguments.clone());
        loop {
            let answer = self.call(tool, arguments.clone());
            let page = answer["heap_data"][list].as_array().unwrap();
            assert_eq!(answer["coverage"]["first"], rows.len());
            assert_eq!(answer["coverage"]["shown"], page.len());
            rows.extend(page.iter().cloned());
            match answer["coverage"]["cursor"].as_str() {
                Some(cursor) => arguments["cursor"] = cursor.into(),
                None => return rows,
            }
            assert!(!page.is_empty(), "{tool} {arguments}");
        }
    }

    /// Process id of the server.
    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// Ends standard input, and waits for the server to end. Nothing may be left on its outputs.
    pub(crate) fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        self.ended()
    }

    /// Waits for the server to end by itself.
    pub(crate) fn ended(mut self) -> ExitStatus {
        let (mut left, mut errors) = (String::new(), String::new());
        self.output.read_to_string(&mut left).unwrap();
        self.server.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!((left.as_str(), errors.as_str()), ("", ""));
        self.server.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Fails unless a value fits a JSON Schema, of the keywords that the server uses.
pub(crate) fn assert_fits(value: &Value, schema: &Value, at: &str) {
    let is = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        other => panic!("{at}: type {other:?}"),
    };
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    assert!(schema["type"].is_null() || kinds.iter().any(is), "{at}: {value} does not fit {schema}");
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{at}: {name} is missing in {value}");
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{at}: {value} is none of {words:?}");
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => assert_fits(member, schema, &format!("{at}.{name}")),
            None => assert_ne!(schema["additionalProperties"], false, "{at}: unknown member {name}"),
        }
    }
    for one in value.as_array().into_iter().flatten() {
        assert_fits(one, &schema["items"], at);
    }
}
