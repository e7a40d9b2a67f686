//! Adding, dropping or replacing runs changes their group only, and the result equals a full rollup.

use crate::shared::{assert_same, groups, releases, rollup, run};
use heaplake_lake::lock::Lock;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::fs;

/// Rolls up incrementally and from scratch; both must be equal. Returns the number of updated groups.
fn step(lake: &Lake, number: usize) -> u64 {
    let steps = lake.path().join("fleet");
    let anew = lake.path().join(format!("anew{number}"));
    let answer = rollup(&lake.path(), &steps, &[]);
    rollup(&lake.path(), &anew, &[]);
    assert_same(&steps, &anew);
    answer["updated_groups"].as_u64().unwrap()
}

#[test]
fn only_groups_that_changed_are_made() {
    let lake = releases();
    assert_eq!(step(&lake, 0), 3);
    assert_eq!(step(&lake, 1), 0);
    // A run more, in the middle of its release; one of a new release.
    run(&lake, "1.1", "run1b", 100);
    assert_eq!(step(&lake, 2), 1);
    run(&lake, "3.0", "run0", 101);
    assert_eq!(step(&lake, 3), 1);
    // A run less; a release less.
    fs::remove_dir_all(lake.path().join("release=1.1/snapshot=run0")).unwrap();
    assert_eq!(step(&lake, 4), 1);
    fs::remove_dir_all(lake.path().join("release=3.0")).unwrap();
    assert_eq!(step(&lake, 5), 0);
    run(&lake, "2.0", "run2", 102);
    assert_eq!(step(&lake, 6), 1);
    // Several at once.
    fs::remove_dir_all(lake.path().join("release=1.0/snapshot=run3")).unwrap();
    run(&lake, "1.0", "run7", 103);
    run(&lake, "2.0", "run8", 104);
    assert_eq!(step(&lake, 7), 2);
}

#[test]
fn tables_of_runs_that_are_known_are_not_read() {
    let lake = releases();
    step(&lake, 0);
    // Only this run's description is still intact.
    let known = lake.path().join("release=1.0/snapshot=run1/classes.parquet");
    let bytes = fs::read(&known).unwrap();
    fs::write(&known, vec![0; bytes.len()]).unwrap();
    run(&lake, "1.0", "run9", 105);
    let out = lake.path().join("fleet");
    let answer = rollup(&lake.path(), &out, &[]);
    assert_eq!(answer["updated_groups"], 1);
    fs::write(&known, bytes).unwrap();
    rollup(&lake.path(), &lake.path().join("anew"), &[]);
    assert_same(&out, &lake.path().join("anew"));
}

#[test]
fn a_step_in_little_memory_is_the_same() {
    let lake = releases();
    let (out, little) = (lake.path().join("fleet"), lake.path().join("little"));
    for out in [&out, &little] {
        rollup(&lake.path(), out, &[]);
    }
    // The numbers of the other runs change, too.
    fs::remove_dir_all(lake.path().join("release=1.1/snapshot=run0")).unwrap();
    for (name, seed) in [("a", 106), ("run1b", 107), ("z", 108)] {
        run(&lake, "1.1", name, seed);
    }
    assert_eq!(rollup(&lake.path(), &out, &[])["updated_groups"], 1);
    rollup(&lake.path(), &little, &["--memory", "40MiB", "--threads", "3"]);
    assert_same(&out, &little);
    rollup(&lake.path(), &lake.path().join("anew"), &[]);
    assert_same(&out, &lake.path().join("anew"));
}

#[test]
fn a_group_that_was_damaged_is_made_anew() {
    let lake = releases();
    let out = lake.path().join("fleet");
    rollup(&lake.path(), &out, &[]);
    let table = groups(&out)[1].join("rows_classes.parquet");
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..100]).unwrap();
    assert_eq!(step(&lake, 0), 1);
    fs::remove_file(&table).unwrap();
    assert_eq!(step(&lake, 1), 1);
    // Groups of another version are rebuilt.
    let description = fs::read_to_string(out.join("rollup.json")).unwrap();
    fs::write(out.join("rollup.json"), description.replace("\"heaplake_version\": \"", "\"heaplake_version\": \"9"))
        .unwrap();
    assert_eq!(step(&lake, 2), 3);
}

#[test]
fn one_process_at_a_time_makes_a_rollup() {
    let lake = releases();
    let out = lake.path().join("fleet");
    fs::create_dir_all(&out).unwrap();
    let held = Lock::try_take(out.join(".heaplake-lock")).unwrap();
    let (cause, _) = diagnostic(heaplake().args(["fleet", "rollup"]).arg(lake.path()), 2);
    assert!(cause.contains("another process"), "{cause}");
    drop(held);
    rollup(&lake.path(), &out, &[]);
}
