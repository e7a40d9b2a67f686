//! Lifetimes in collections survived.

use crate::log::Content;
use crate::machine::{Jdk, jdks, programs};
use std::collections::BTreeMap;

/// Objects of each class by collections from birth to death; `None` for those alive at the end.
fn ages(content: &Content) -> BTreeMap<(String, Option<u32>), u64> {
    let mut ages = BTreeMap::new();
    let died: BTreeMap<usize, u32> = content.deaths.iter().copied().collect();
    for (at, (class, _, sample, born)) in content.samples.iter().enumerate() {
        if class.starts_with("Lives$") {
            assert!(sample.tag > 0);
            *ages.entry((class.clone(), died.get(&at).map(|at| at - born))).or_default() += 1;
        }
    }
    ages
}

fn lives(jdk: &Jdk, flag: &str) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.hlevents");
    let options = format!("out={},interval=1,mode=lifetimes", log.display());
    assert_eq!(jdk.run(&[flag], &options, &["Lives", "1000"]).trim(), "5000");
    let content = Content::read(&log);
    let ages = ages(&content);
    let of = |class: &str, age| ages.get(&(class.to_owned(), age)).copied().unwrap_or(0);
    let context = format!("JDK {} {flag}: {ages:?}", jdk.version);
    // The last object may be in a register or on the stack for a collection longer.
    let about = |found: u64, expected: u64| assert!(found.abs_diff(expected) <= 10, "{found}: {context}");
    about(of("Lives$Short", Some(1)), 5000);
    about(of("Lives$Middle", Some(2)), 4000);
    about(of("Lives$Middle", None), 1000);
    assert_eq!(of("Lives$Long", None), 5000, "{context}");
}

#[test]
fn objects_live_as_long_as_the_program_lets_them() {
    let Some(_) = programs() else { return };
    for jdk in jdks() {
        lives(jdk, "-XX:+UseSerialGC");
        lives(jdk, "-XX:+UseParallelGC");
    }
}
