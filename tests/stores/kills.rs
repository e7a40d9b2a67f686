//! SIGKILL during an upload: the old run, the new one, or none, always complete. During a drop: the run or none.

use crate::common::{OTHER, SMALL, World, assert_same, fixture, local_tables, without_measurements};
use crate::proxy::{Act, Asked};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Starts a command and kills it before the answer to its `at`th counted request; returns whether it was killed. With
/// fewer such requests it ends by itself.
pub(crate) fn killed_at(world: &World, at: u64, counts: fn(&Asked) -> bool, start: impl FnOnce() -> Child) -> bool {
    let (send, reached) = channel();
    let mut seen = 0;
    world.proxy.rule(move |asked| {
        if !counts(asked) {
            return Act::Pass;
        }
        if seen == at {
            let _ = send.send(());
        }
        seen += 1;
        Act::Wait(Duration::from_millis(15))
    });
    let mut child = start();
    let mut killed = false;
    while child.try_wait().unwrap().is_none() {
        if reached.recv_timeout(Duration::from_millis(5)).is_ok() {
            child.kill().unwrap();
            killed = true;
            break;
        }
    }
    child.wait().unwrap();
    world.proxy.rule(|_| Act::Pass);
    killed
}

/// Kills uploads `times` times, at varying requests that write or delete.
fn killed_uploads(times: u64) {
    let mut world = World::new();
    let inputs = [SMALL, OTHER];
    let expected = inputs.map(|input| local_tables(&fixture(input), &["--snapshot", "one"]));
    let (mut whole, mut killed) = (0, 0);
    let uploads = |asked: &Asked| asked.method == "PUT" || asked.method == "DELETE";
    for time in 0..times {
        let start = || start(&world, inputs[time as usize % 2]);
        killed += u64::from(killed_at(&world, time * 7 % 19, uploads, start));
        let runs = world.verified(&format!("kill {time}"));
        if !runs.is_empty() {
            assert_eq!(runs, ["snapshot=one"]);
            let tables = without_measurements(world.tables());
            assert!(expected.contains(&tables), "kill {time}: a mixture");
            whole += 1;
        }
    }
    assert!(killed >= times / 2 && whole > 0, "{killed} killed, {whole} whole");
    assert!(start(&world, SMALL).wait().unwrap().success());
    assert_same(&world.tables(), &expected[0], "not killed");
    let folders =
        |world: &World| world.server.keys("lake/").iter().filter(|key| key.ends_with("/nodes.parquet")).count();
    // Recent leftovers may be uploads in progress; the run's next upload removes old ones, a check does not.
    let left = folders(&world);
    world.server.age();
    world.verified("old leftovers");
    assert_eq!(folders(&world), left);
    assert!(start(&world, OTHER).wait().unwrap().success());
    assert_eq!((folders(&world), world.verified("swept").len()), (1, 1));
    assert_same(&world.tables(), &expected[1], "swept");
}

fn start(world: &World, input: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.envs(world.environment()).arg("analyze").arg(fixture(input));
    command.args(["--out", &world.url("lake"), "--quiet", "--force", "--snapshot", "one", "--scratch"]);
    command.arg(world.scratch()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn an_upload_that_is_killed_leaves_a_whole_lake() {
    killed_uploads(8);
}

#[test]
#[ignore = "long: fifty kills"]
fn fifty_uploads_that_are_killed_leave_a_whole_lake() {
    killed_uploads(50);
}

/// Objects below a prefix of the bucket, by key. The catalogue may still have runs that are gone.
fn objects(world: &World, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    world.server.keys(prefix).into_iter().map(|key| (key.clone(), world.server.get(&key))).collect()
}

fn drop_one(world: &World) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.envs(world.environment()).args(["lake", "drop", &world.url("lake"), "one", "--yes"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Kills drops of one of two runs, `times` times at varying requests: the run is complete or gone, the other one stays.
fn killed_drops(times: usize) {
    let mut world = World::new();
    world.analyze(fixture(SMALL)).args(["--snapshot", "one", "--report"]).assert().success();
    world.analyze(fixture(OTHER)).args(["--snapshot", "two", "--report"]).assert().success();
    let (both, other) = (objects(&world, "lake/release="), objects(&world, "lake/release=none/snapshot=two/"));
    world.proxy.rule(|_| Act::Pass);
    assert!(drop_one(&world).status().unwrap().success());
    let requests = world.proxy.asked().len();
    let (mut whole, mut partly) = (0, 0);
    for time in 0..times {
        for (key, content) in &both {
            world.server.put(key, content);
        }
        let at = requests - 1 - time * 7 % requests;
        let what = format!("kill {time}, request {at} of {requests}");
        let start = || drop_one(&world).spawn().unwrap();
        assert!(killed_at(&world, at as u64, |_| true, start), "{what}: it had ended");
        let runs = world.verified(&what);
        assert!(runs == ["snapshot=two"] || runs == ["snapshot=one", "snapshot=two"], "{what}: {runs:?}");
        let there = objects(&world, "lake/release=");
        assert!(runs.len() == 1 || there == both, "{what}: a run that lacks something");
        whole += usize::from(runs.len() == 2);
        partly += usize::from(runs.len() == 1 && there != other);
        // The next drop completes it, or finds nothing to do: no run of the name, or at most a leftover.
        let code = drop_one(&world).status().unwrap().code();
        assert!(code == Some(0) || runs.len() == 1 && code == Some(2), "{what}: {code:?}");
        world.server.age();
        drop_one(&world).status().unwrap();
        assert_eq!(world.verified(&what), ["snapshot=two"]);
        assert!(objects(&world, "lake/release=") == other, "{what}: {:?}", world.server.keys("lake/"));
    }
    assert!(whole > 0 && partly > 0, "of {times} {whole} left it whole, {partly} a part");
}

#[test]
fn a_drop_that_is_killed_leaves_a_whole_lake() {
    killed_drops(8);
}

#[test]
#[ignore = "long: fifty kills"]
fn fifty_drops_that_are_killed_leave_a_whole_lake() {
    killed_drops(50);
}
