//! Stores that do not answer: a signal still ends the command.

use crate::common::{OTHER, SMALL, World, content, fixture};
use crate::proxy::{Act, Asked};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Description, signal, command, and its requests without an answer.
type Case<'a> = (&'a str, &'a str, &'a [&'a str], fn(&Asked) -> bool);

/// Sends a signal to a command when one of its requests hangs; returns its exit code, and the time until it ended.
fn interrupted(world: &World, signal: &str, words: &[&str], hangs: fn(&Asked) -> bool) -> (Option<i32>, Duration) {
    let (send, reached) = channel();
    world.proxy.rule(move |asked| {
        if !hangs(asked) {
            return Act::Pass;
        }
        let _ = send.send(());
        Act::Hang
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.envs(world.environment()).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    reached.recv_timeout(Duration::from_secs(60)).unwrap();
    let begun = Instant::now();
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    let code = child.wait().unwrap().code();
    let took = begun.elapsed();
    world.proxy.rule(|_| Act::Pass);
    (code, took)
}

#[test]
fn signals_are_heard_while_a_store_does_not_answer() {
    let world = World::new();
    world.server.put("in/a.heapsnapshot.zst", &content(SMALL));
    world.analyze(fixture(OTHER)).args(["--snapshot", "there"]).assert().success();
    let (input, lake, scratch) = (world.url("in/a.heapsnapshot.zst"), world.url("lake"), world.scratch());
    let (file, rollup) = (fixture(SMALL).display().to_string(), scratch.join("rollup").display().to_string());
    let scratch = scratch.display().to_string();
    let analyze = |input| ["analyze", input, "--out", &lake, "--scratch", &scratch, "--quiet", "--snapshot", "new"];
    let (upload, input) = (analyze(file.as_str()), analyze(input.as_str()));
    let cases: [Case<'_>; 9] = [
        ("upload", "-INT", &upload, |asked| asked.method == "PUT"),
        ("input", "-TERM", &input, |asked| asked.method == "GET" && asked.path.contains("a.heapsnapshot")),
        ("descriptions", "-INT", &["ls", &lake, "--json", "--descriptions"], |asked| {
            asked.method == "GET" && asked.path.contains("run.json")
        }),
        ("tables of a rollup", "-INT", &["fleet", "rollup", &lake, "--out", &rollup], |asked| {
            asked.path.contains("classes.parquet")
        }),
        ("tables", "-TERM", &["lake", "verify", &lake], |asked| asked.path.contains(".parquet")),
        ("the first request of a check", "-INT", &["lake", "verify", &lake], |_| true),
        ("the first request of an analysis", "-TERM", &upload, |_| true),
        ("the first request of a list", "-INT", &["ls", &lake], |_| true),
        ("lists", "-TERM", &["lake", "verify", &lake], |asked| asked.path.contains("list-type=2")),
    ];
    for (at, signal, words, hangs) in cases {
        let (code, took) = interrupted(&world, signal, words, hangs);
        assert_eq!(code, Some(130), "{at}");
        // A second is promised; tests share their processor with others.
        assert!(took < Duration::from_secs(5), "{at}: {took:?}");
    }
    assert_eq!(world.verified("after all"), ["snapshot=there"]);
}
