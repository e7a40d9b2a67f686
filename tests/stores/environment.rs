//! Environment variables with invalid values, and messages during retries.

use crate::common::{SMALL, World, fixture};
use crate::proxy::Act;
use heaplake_support::lake::{diagnostic, heaplake};
use serde_json::Value;

#[test]
fn values_that_cannot_be_used_are_refused_by_name() {
    for (name, value) in [
        ("AWS_ENDPOINT_URL", ":::::"),
        ("AWS_ENDPOINT_URL", ""),
        ("AWS_ENDPOINT_URL", "http://"),
        ("AWS_ENDPOINT_URL", "ftp://x"),
        ("AWS_ENDPOINT_URL", "http://["),
        ("AWS_ENDPOINT_URL_S3", "no url"),
        ("AWS_REGION", "us east"),
        ("AWS_SECRET_ACCESS_KEY", "a\n"),
        ("AWS_SESSION_TOKEN", "\u{e9}"),
        ("AWS_ALLOW_HTTP", "perhaps"),
    ] {
        let mut command = heaplake();
        command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b").env(name, value);
        let (cause, _) = diagnostic(command.args(["ls", "s3://b/x"]), 2);
        assert!(cause.contains(name), "{name}={value}: {cause}");
    }
    let odd = [("AWS_SKIP_SIGNATURE", "perhaps", "s3"), ("AWS_CONDITIONAL_PUT", "perhaps", "s3"), ("A", "", "az")];
    for (name, value, scheme) in odd {
        let mut command = heaplake();
        command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b").env(name, value);
        diagnostic(command.args(["ls", &format!("{scheme}://b/x")]), 2);
    }
    for url in ["s3://", "s3://bu cket/x", "s3://b/a//b"] {
        diagnostic(heaplake().args(["ls", url]), 2);
    }
}

#[test]
fn retries_are_events_and_quiet_ones_say_nothing() {
    let world = World::new();
    world.analyze(fixture(SMALL)).assert().success();
    let told = |words: &[&str]| {
        let mut seen = 0;
        world.proxy.rule(move |_| {
            seen += 1;
            if seen % 2 == 1 { Act::Refuse(503) } else { Act::Pass }
        });
        let output = world.heaplake().args(words).arg(world.url("lake")).output().unwrap();
        world.proxy.rule(|_| Act::Pass);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        told
    };
    assert_eq!(told(&["lake", "verify", "--quiet"]), "");
    assert_eq!(told(&["lake", "verify", "--quiet", "--log-format", "json"]), "");
    let text = told(&["ls"]);
    assert!(
        text.lines().count() > 0 && text.lines().all(|line| line.starts_with("heaplake: the object store")),
        "{text}"
    );
    let json = told(&["ls", "--log-format", "json"]);
    let events: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!events.is_empty());
    for event in events {
        assert_eq!(event["event"], "retry");
        assert!(event["cause"].as_str().unwrap().contains("503") && event["timestamp"].is_string(), "{event}");
    }
}
