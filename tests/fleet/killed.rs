//! A rollup that is killed leaves the one of before, or its own; the next one is as if nothing had happened.

use crate::lake::heaplake;
use crate::shared::{assert_same, files, groups, releases, rollup, run};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_killed_rollup_loses_nothing() {
    let lake = releases();
    let out = lake.path().join("fleet");
    let begun = Instant::now();
    rollup(&lake.path(), &out, &[]);
    let whole = begun.elapsed();
    for kill in 0..50 {
        run(&lake, "1.1", &format!("more{kill}"), 200 + kill);
        let before = files(&lake.path().join("release=1.0"));
        let mut command = std::process::Command::new(heaplake().get_program());
        command.args(["fleet", "rollup", "--quiet"]).arg(lake.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(whole.mul_f64(kill as f64 / 40.0).min(Duration::from_secs(2)));
        // It may have ended before.
        let _ = child.kill();
        child.wait().unwrap();
        // Whatever the description names is whole.
        for group in groups(&out) {
            assert!(fs::read_dir(&group).unwrap().count() >= 2, "kill {kill}: {}", group.display());
        }
        assert!(before == files(&lake.path().join("release=1.0")), "kill {kill}");
    }
    rollup(&lake.path(), &out, &[]);
    let anew = lake.path().join("anew");
    rollup(&lake.path(), &anew, &[]);
    assert_same(&out, &anew);
}
