//! Programs that count their own allocations.

use crate::log::Content;
use crate::machine::{COLLECTORS, Jdk, jdks, programs};

/// Compares the log's counts with those that a program prints.
pub(crate) fn compare(printed: &str, content: &Content, context: &str) {
    let mut classes = 0;
    for line in printed.lines() {
        let [_, class, objects] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        assert_eq!(content.objects(class).to_string(), objects, "{context}: objects of {class}");
        classes += 1;
    }
    assert_eq!(classes, 9);
}

fn counted(jdk: &Jdk, flags: &[&str], more: &str, objects: u32) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.hlevents");
    let options = format!("out={}{more}", log.display());
    let printed = jdk.run(flags, &options, &["Counted", &objects.to_string(), "3"]);
    let content = Content::read(&log);
    let context = format!("JDK {} {flags:?} {more}", jdk.version);
    compare(&printed, &content, &context);
    assert!(content.complete && !content.is_cut && content.dropped == 0, "{context}");
    // Sampled objects represent all: a block at the end may lack some.
    let represented: u64 = content.of("Counted$Order").map(|sample| u64::from(sample.2.weight)).sum();
    let all = content.objects("Counted$Order");
    assert!(represented.abs_diff(all) <= 100, "{context}: {represented} of {all}");
    assert!((0..3).all(|number| content.threads.contains(&format!("worker-{number}"))), "{:?}", content.threads);
}

#[test]
fn every_allocation_is_counted() {
    let Some(_) = programs() else { return };
    for jdk in jdks() {
        counted(jdk, &["-XX:+UseG1GC"], "", 10_000);
        counted(jdk, &["-XX:+UseParallelGC"], ",mode=lifetimes,interval=1", 10_000);
    }
}

#[test]
#[ignore = "long"]
fn every_allocation_is_counted_under_all_collectors() {
    let Some(_) = programs() else { return };
    for jdk in jdks() {
        for flag in COLLECTORS.into_iter().chain(["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-UseTLAB"]) {
            if jdk.has(flag) {
                counted(jdk, &[flag], "", 200_000);
                counted(jdk, &[flag], ",mode=lifetimes,interval=100", 200_000);
            }
        }
    }
}
