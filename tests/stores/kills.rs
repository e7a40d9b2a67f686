//! SIGKILL in the middle of an upload: the run of before, the new one, or none, whole.

use crate::common::{OTHER, SMALL, World, assert_same, fixture, local_tables, without_measurements};
use crate::proxy::Act;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Kills an upload at its so-manieth request that writes or lists, over and over.
fn killed_uploads(times: u64) {
    let mut world = World::new();
    let inputs = [SMALL, OTHER];
    let expected = inputs.map(|input| local_tables(&fixture(input), &["--snapshot", "one"]));
    let (mut whole, mut killed) = (0, 0);
    for time in 0..times {
        let (send, reached) = channel();
        let at = time * 7 % 19;
        let mut seen = 0;
        world.proxy.rule(move |asked| {
            let uploads = asked.method == "PUT" || asked.method == "DELETE";
            if uploads && seen == at {
                let _ = send.send(());
            }
            seen += u64::from(uploads);
            if uploads { Act::Wait(Duration::from_millis(15)) } else { Act::Pass }
        });
        let mut child = start(&world, inputs[time as usize % 2]);
        // Where there are fewer requests, it ends by itself.
        while child.try_wait().unwrap().is_none() {
            if reached.recv_timeout(Duration::from_millis(5)).is_ok() {
                child.kill().unwrap();
                killed += 1;
                break;
            }
        }
        child.wait().unwrap();
        world.proxy.rule(|_| Act::Pass);
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
    // Young leftovers may be uploads at work; old ones go.
    world.server.age();
    world.verified("old leftovers");
    assert_eq!((folders(&world), world.verified("swept").len()), (1, 1));
    assert_same(&world.tables(), &expected[0], "swept");
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
