//! Labels of runs in a store: `run.json` is put on the condition that it is still the one that was read.

use crate::common::{SMALL, World, fixture};
use crate::proxy::Act;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn label(world: &World, value: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.envs(world.environment()).args(["lake", "label", &world.url("lake"), "one", "--yes", "--set"]).arg(value);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The label `host` of the only run.
fn host(world: &World) -> String {
    let listed = world.json(&["ls", &world.url("lake")], 0);
    listed["runs"][0]["labels"]["host"].as_str().unwrap().to_owned()
}

#[test]
fn labels_change_and_tables_stay() {
    let world = World::new();
    world.analyze(fixture(SMALL)).args(["--snapshot", "one", "--label", "host=a"]).assert().success();
    let before = world.tables();
    let answer = world.json(&["lake", "label", &world.url("lake"), "one", "--set", "host=b", "--yes"], 0);
    assert_eq!(answer["runs"][0]["changed"], true);
    assert_eq!((host(&world), world.verified("changed").len()), ("b".to_owned(), 1));
    assert!(world.tables() == before);
    // A command that another one overtakes changes nothing.
    world.proxy.rule(|asked| {
        let is_description = asked.method == "PUT" && asked.path.ends_with("/run.json");
        if is_description { Act::Wait(Duration::from_millis(1500)) } else { Act::Pass }
    });
    let ended = [label(&world, "host=c"), label(&world, "host=d")].map(|child| child.wait_with_output().unwrap());
    let codes = ended.each_ref().map(|output| output.status.code().unwrap());
    let told: String = ended.iter().map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).collect();
    assert!(codes == [0, 1] || codes == [1, 0], "{codes:?} {told}");
    assert!(told.contains("another run stands here by now"), "{told}");
    world.proxy.rule(|_| Act::Pass);
    assert_eq!(host(&world), if codes[0] == 0 { "c" } else { "d" });
    assert_eq!(world.verified("one of two").len(), 1);
    assert!(world.tables() == before);
}
