//! Virtual machines that are killed leave logs that can be read.

use crate::log::Content;
use crate::machine::{Process, jdks, programs};
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

fn killed(times: u64) {
    let Some(_) = programs() else { return };
    for jdk in jdks() {
        let mut cut = 0;
        for time in 0..times {
            let folder = tempfile::tempdir().unwrap();
            let log = folder.path().join("a.hlevents");
            let options = format!("out={},interval=2,mode=lifetimes", log.display());
            let mut process = Process(jdk.command(&[], &options, &["Busy"]).spawn().unwrap());
            let mut line = String::new();
            BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line.trim(), "ready");
            thread::sleep(Duration::from_millis(300 + time * 137 % 700));
            process.0.kill().unwrap();
            process.0.wait().unwrap();
            let content = Content::read(&log);
            assert!(!content.complete && content.objects("byte[]") > 0, "JDK {}", jdk.version);
            cut += u32::from(content.is_cut);
        }
        crate::machine::say(&format!("JDK {}: {cut} of {times} logs end inside a frame", jdk.version));
    }
}

#[test]
fn a_killed_machine_leaves_a_log() {
    killed(2);
}

#[test]
#[ignore = "long"]
fn twenty_killed_machines_leave_logs() {
    killed(20);
}
