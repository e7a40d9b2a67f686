//! Options at the start.

use crate::machine::{jdks, programs};

#[test]
fn a_wrong_option_is_named_in_one_line_and_the_machine_does_not_start() {
    let Some(_) = programs() else { return };
    for jdk in jdks() {
        for (options, named) in [
            ("interval=0,out=/dev/null", "heaplake: option \"interval=0\""),
            ("outt=a", "heaplake: option \"outt=a\""),
            ("out=/no/such/folder/a", "heaplake: option \"out=/no/such/folder/a\""),
            ("out=/dev/null", "heaplake: option \"out=/dev/null\": not a regular file"),
        ] {
            let done = jdk.command(&[], options, &["NineAndOne", "1"]).output().unwrap();
            let shown = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(!done.status.success() && shown.contains(named), "{shown}");
            assert_eq!(shown.lines().filter(|line| line.starts_with("heaplake")).count(), 1, "{shown}");
        }
    }
}
