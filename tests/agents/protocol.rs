//! The protocol: versions, the list of tools, and how a session ends.

use crate::client::Client;
use heaplake_oracle::{Layout, Snapshot};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A lake with one small run.
fn small() -> (Lake, PathBuf) {
    let mut it = Snapshot::new();
    let root = it.add_node("synthetic", "", 0);
    let shop = it.add_node("object", "Shop", 40);
    it.add_edge(root, "property", "shop", shop);
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &it.to_json(&Layout::default()));
    lake.analyze(input).args(["--snapshot", "it"]).assert().success();
    let run = lake.run();
    (lake, run)
}

#[test]
fn a_session_begins_in_any_version() {
    let (lake, _) = small();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::silent(&lake.path());
        let hello = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let begin = client.ask("initialize", &hello);
        assert_eq!(begin["result"]["protocolVersion"], spoken, "{begin}");
        assert_eq!(begin["result"]["serverInfo"]["name"], "heaplake");
        assert!(client.end().success());
    }
    // The revision of 2026-07-28 has no handshake: each request brings what the server must know.
    let mut client = Client::silent(&lake.path());
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask("server/discover", &json!({"_meta": about}));
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let answer = client.ask("tools/call", &json!({"name": "overview", "arguments": {}, "_meta": about}));
    assert_eq!(answer["result"]["structuredContent"]["of"], "run none/it", "{answer}");
    assert!(client.end().success());
}

#[test]
fn tools_are_few_and_take_few_tokens() {
    let (lake, _) = small();
    let client = Client::start(&lake.path());
    let names: Vec<&str> = client.tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["overview", "findings", "top", "class", "object", "why", "dominated", "compare", "clusters", "query"]
    );
    let instructions = client.begin["instructions"].as_str().unwrap();
    assert!(instructions.len() <= 1500 && instructions.contains("overview"), "{} bytes", instructions.len());
    let listed = json!(client.tools).to_string();
    assert!(listed.len() <= 16_000, "{} bytes", listed.len());
    for tool in &client.tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(tool["outputSchema"]["properties"]["heap_data"]["properties"].is_object(), "{tool}");
    }
}

/// Renewed with `HEAPLAKE_UPDATE=1`.
#[test]
fn the_documented_tools_are_those_of_the_server() {
    let (lake, _) = small();
    let client = Client::start(&lake.path());
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let listed = serde_json::to_string_pretty(&json!({"tools": client.tools})).unwrap() + "\n";
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        std::fs::write(docs.join("mcp-tools.json"), &listed).unwrap();
    }
    let documented = std::fs::read_to_string(docs.join("mcp-tools.json")).unwrap();
    assert!(documented == listed, "docs/mcp-tools.json is stale: HEAPLAKE_UPDATE=1 renews it");
    let page = std::fs::read_to_string(docs.join("agents.md")).unwrap();
    for tool in &client.tools {
        let name = tool["name"].as_str().unwrap();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        for (argument, _) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let is_of_page = ["cursor", "limit", "max_bytes"].contains(&argument.as_str());
            assert!(is_of_page || row.contains(&format!("`{argument}`")), "{name}: {argument}");
        }
    }
}

#[test]
fn a_session_survives_bad_messages() {
    let (lake, _) = small();
    let mut client = Client::silent(&lake.path());
    // Before the first request.
    for line in ["", "no JSON", "[1", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "\u{1}\u{2}"] {
        client.send(line);
    }
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    assert!(client.ask("initialize", &hello)["result"].is_object());
    client.send("no JSON");
    client.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"{}\"}}", "y".repeat(2 << 20)));
    assert!(client.ask("ping", &json!({}))["result"].is_object());
    for (method, parameters) in [
        ("tools/call", json!({"name": 7})),
        ("tools/call", json!({"arguments": {}})),
        ("tools/call", json!({"name": "top", "arguments": [1]})),
        ("resources/read", json!({"uri": "file:///etc/passwd"})),
        ("no/such", json!({})),
    ] {
        client.send(&json!({"jsonrpc": "2.0", "id": 90, "method": method, "params": parameters}).to_string());
        let refused = client.receive();
        assert!(refused["error"]["code"].as_i64().unwrap() < 0, "{method} {parameters}: {refused}");
    }
    assert!(client.ask("ping", &json!({}))["result"].is_object());
    assert!(client.end().success());
}

#[test]
fn the_end_of_input_ends_it_after_the_last_answer() {
    let (lake, run) = small();
    assert!(Client::silent(&run).end().success());
    assert!(Client::start(&lake.path()).end().success());
    // As `printf … | heaplake mcp LAKE`, all requests at once.
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut lines = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string() + "\n";
    for id in 2..8 {
        let call = json!({"name": "top", "arguments": {"what": "classes"}});
        lines += &(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).to_string() + "\n");
    }
    let output = heaplake().arg("mcp").arg(lake.path()).write_stdin(lines).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    let answers: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_signal_ends_it_quietly() {
    let (lake, _) = small();
    for signal in ["-TERM", "-INT"] {
        for has_begun in [true, false] {
            let client = if has_begun { Client::start(&lake.path()) } else { Client::silent(&lake.path()) };
            if !has_begun {
                // Its handlers are installed before it waits for input.
                std::thread::sleep(Duration::from_millis(700));
            }
            assert!(Command::new("kill").arg(signal).arg(client.id().to_string()).status().unwrap().success());
            let signalled = Instant::now();
            let status = client.ended();
            assert!(status.success(), "{signal}, begun: {has_begun}: {status}");
            assert!(signalled.elapsed() < Duration::from_secs(10));
        }
    }
}

#[test]
fn what_is_no_lake_is_refused_before_the_session() {
    let (lake, run) = small();
    let mcp = |path: PathBuf| {
        let mut command = heaplake();
        command.arg("mcp").arg(path);
        command
    };
    let (cause, advice) = diagnostic(&mut mcp(lake.folder().join("no-lake")), 2);
    assert!(cause.contains("no such lake") && advice.contains("--out"), "{cause} {advice}");
    diagnostic(&mut mcp(run.join("nodes.parquet")), 2);
    let other = lake.folder().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "x").unwrap();
    diagnostic(&mut mcp(other), 2);
}

#[test]
fn a_client_that_does_not_read_is_no_panic() {
    let (lake, _) = small();
    let mut server = Command::new(heaplake_support::lake::binary());
    server.arg("mcp").arg(lake.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = server.spawn().unwrap();
    drop(child.stdout.take());
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string() + "\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), line.as_bytes()).unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}
