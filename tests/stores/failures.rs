//! Requests that fail, stall and break off.

use crate::common::{SMALL, World, assert_same, content, fixture, local_tables};
use crate::proxy::{Act, Asked};
use heaplake_support::lake::{Lake, diagnostic};
use std::time::Duration;

/// Applies the troubles in turn, to every `every`th request.
fn troubled(every: u64) -> impl FnMut(&Asked) -> Act + Send {
    const TROUBLES: [Act; 5] =
        [Act::Refuse(500), Act::Cut, Act::Refuse(503), Act::Lose, Act::Wait(Duration::from_millis(300))];
    let (mut seen, mut troubles) = (0, TROUBLES.into_iter().cycle());
    move |_| {
        seen += 1;
        if seen % every == 0 { troubles.next().unwrap_or(Act::Pass) } else { Act::Pass }
    }
}

#[test]
fn requests_that_fail_are_repeated() {
    let world = World::new();
    let expected = local_tables(&fixture(SMALL), &["--snapshot", "one"]);
    world.server.put("in/a.heapsnapshot.zst", &content(SMALL));
    for every in [2, 3, 4] {
        world.proxy.rule(troubled(every));
        let mut command = world.analyze(world.url("in/a.heapsnapshot.zst"));
        command.args(["--force", "--snapshot", "one"]).assert().success();
        assert!(world.proxy.asked().len() > 10);
        world.proxy.rule(|_| Act::Pass);
        assert_same(&world.tables(), &expected, &format!("every {every}"));
        assert_eq!(world.verified("after trouble"), ["snapshot=one"]);
    }
    world.proxy.rule(troubled(3));
    world.heaplake().args(["top", &format!("{}/release=none/snapshot=one", world.url("lake"))]).assert().success();
}

#[test]
fn the_answer_to_the_last_write_may_get_lost() {
    let world = World::new();
    let mut lost = false;
    world.proxy.rule(move |asked| {
        let last = asked.method == "PUT" && asked.path.contains("run.json") && !lost;
        lost |= last;
        if last { Act::Lose } else { Act::Pass }
    });
    world.analyze(fixture(SMALL)).assert().success();
    assert_eq!(world.verified("answer lost").len(), 1);
}

#[test]
fn errors_name_the_object_and_leave_nothing() {
    let world = World::new();
    let lake = Lake::new();
    let missing = world.url("in/missing.heapsnapshot");
    let (cause, _) = diagnostic(world.heaplake().args(["analyze", &missing, "--quiet", "--out"]).arg(lake.path()), 1);
    assert!(cause.contains("missing.heapsnapshot") && cause.contains("no such object"), "{cause}");
    world.proxy.rule(|_| Act::Refuse(403));
    let (cause, advice) = diagnostic(&mut world.analyze(fixture(SMALL)), 2);
    assert!(cause.contains("403") && advice.contains("credentials"), "{cause} {advice}");
    // The upload of tables is denied, listing is not.
    world.proxy.rule(|asked| if asked.method == "PUT" { Act::Refuse(403) } else { Act::Pass });
    let (cause, _) = diagnostic(&mut world.analyze(fixture(SMALL)), 1);
    assert!(cause.contains("denies access"), "{cause}");
    world.proxy.rule(|_| Act::Pass);
    assert_eq!(world.server.keys(""), Vec::<String>::new());
}

#[test]
fn an_input_that_changes_is_told() {
    let world = World::new();
    world.server.put("in/a.heapsnapshot.zst", &content(SMALL));
    let port = world.server.port;
    let mut changed = false;
    world.proxy.rule(move |asked| {
        if asked.method == "GET" && asked.path.contains("a.heapsnapshot") && !changed {
            changed = true;
            crate::server::overwrite(port, "in/a.heapsnapshot.zst", b"{\"snapshot\":{}}");
        }
        Act::Pass
    });
    let (cause, _) = diagnostic(&mut world.analyze(world.url("in/a.heapsnapshot.zst")), 1);
    assert!(cause.contains("changed"), "{cause}");
    assert_eq!(world.server.keys("lake/"), Vec::<String>::new());
}
