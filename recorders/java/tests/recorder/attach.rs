//! Recordings of running processes.

use crate::exact::compare;
use crate::log::Content;
use crate::machine::{Jdk, Process, agent, jdks, programs};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Loads the agent into a process; whether it accepts the options.
fn load(jdk: &Jdk, process: u32, options: &str) -> bool {
    let options = format!("\"{options}\"");
    let arguments = [&process.to_string(), "JVMTI.agent_load", &agent().display().to_string(), &options];
    let done = Command::new(jdk.home.join("bin/jcmd")).args(arguments).output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(shown.contains("return code"), "{shown} {}", String::from_utf8_lossy(&done.stderr));
    shown.contains("return code: 0")
}

fn attached(jdk: &Jdk, rounds: u32, folder: &Path) {
    let log = folder.join("a.hlevents");
    let options = format!("out={},interval=3,mode=lifetimes", log.display());
    let mut command = jdk.command(&[], "", &["Counted", "10000", "2", "wait"]);
    let mut process = Process(command.stdin(Stdio::piped()).spawn().unwrap());
    let mut output = BufReader::new(process.0.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready"), "{line}");
    let id = process.0.id();
    // Refusals leave the process as it is.
    assert!(!load(jdk, id, "out=a,colour=red") && !load(jdk, id, "stop") && !load(jdk, id, "out=/no/such/a"));
    assert!(load(jdk, id, &options));
    assert!(!load(jdk, id, &options), "a second recording is refused");
    for _ in 0..rounds {
        assert!(load(jdk, id, "stop"));
        assert!(Content::read(&log).complete);
        assert!(load(jdk, id, &options));
    }
    process.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut printed = String::new();
    output.read_to_string(&mut printed).unwrap();
    assert!(process.0.wait().unwrap().success());
    let content = Content::read(&log);
    assert!(content.complete);
    // The threads of the work begin after the agent, so that it sees all of their objects.
    compare(&printed, &content, &format!("JDK {}", jdk.version));
}

fn attached_to_all(rounds: u32) {
    let Some(_) = programs() else { return };
    for jdk in jdks().iter().filter(|jdk| jdk.home.join("bin/jcmd").exists()) {
        attached(jdk, rounds, tempfile::tempdir().unwrap().path());
    }
}

#[test]
fn a_running_machine_is_recorded() {
    attached_to_all(1);
}

#[test]
#[ignore = "long"]
fn fifty_recordings_of_one_machine() {
    attached_to_all(50);
}
