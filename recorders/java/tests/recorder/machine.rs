//! Java virtual machines with the agent.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A Java virtual machine.
#[derive(Clone, Debug)]
pub(crate) struct Jdk {
    pub(crate) home: PathBuf,
    /// Its version, such as 17.
    pub(crate) version: u32,
}

/// All JDKs, by version; only one of each.
pub(crate) fn jdks() -> &'static [Jdk] {
    static JDKS: OnceLock<Vec<Jdk>> = OnceLock::new();
    JDKS.get_or_init(|| {
        let named = std::env::var("HEAPLAKE_JDKS").unwrap_or_default();
        let mut homes: Vec<PathBuf> = named.split(':').filter(|home| !home.is_empty()).map(PathBuf::from).collect();
        homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
        let there = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
        homes.extend(there.map(|entry| entry.path()));
        let mut found = BTreeMap::new();
        for home in homes {
            if let Some(version) = version(&home).filter(|version| *version >= 11) {
                found.entry(version).or_insert(Jdk { home, version });
            }
        }
        if found.is_empty() {
            say("SKIPPED: no JDK; install one, or name its folder in JAVA_HOME");
        }
        found.into_values().collect()
    })
}

/// Writes past the capture of test output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn version(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    line.trim_matches('"').split(['.', '-', '+']).next()?.parse().ok()
}

/// The compiled test programs; `None` without a compiler.
pub(crate) fn programs() -> Option<&'static Path> {
    static PROGRAMS: OnceLock<Option<TempDir>> = OnceLock::new();
    let compile = || {
        let compiler = jdks().iter().map(|jdk| jdk.home.join("bin/javac")).find(|path| path.exists())?;
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        let sources = std::fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path());
        let done = Command::new(compiler).arg("-d").arg(folder.path()).args(sources).status().unwrap();
        assert!(done.success());
        Some(folder)
    };
    PROGRAMS.get_or_init(compile).as_ref().map(TempDir::path)
}

/// The agent, beside this test.
pub(crate) fn agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = "libheaplake_recorder_java.so";
    let found = test.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.exists());
    found.expect("cargo builds the agent with its tests")
}

impl Jdk {
    /// A command that runs a program with the agent, or without one for empty options.
    pub(crate) fn command(&self, flags: &[&str], options: &str, program: &[&str]) -> Command {
        let mut command = Command::new(self.home.join("bin/java"));
        command.arg("-Xmx128m").args(flags);
        if !options.is_empty() {
            command.arg(format!("-agentpath:{}={options}", agent().display()));
        }
        command.arg("-cp").arg(programs().unwrap()).args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a program to its end; its output.
    pub(crate) fn run(&self, flags: &[&str], options: &str, program: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.command(flags, options, program).output().unwrap();
        let errors = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "JDK {} {flags:?}: {errors}", self.version);
        assert!(!errors.contains("heaplake"), "{errors}");
        String::from_utf8(stdout).unwrap()
    }

    /// Whether it has a collector.
    pub(crate) fn has(&self, flag: &str) -> bool {
        Command::new(self.home.join("bin/java")).args([flag, "-version"]).output().unwrap().status.success()
    }
}

/// A process that ends with the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Collectors.
pub(crate) const COLLECTORS: [&str; 5] =
    ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC", "-XX:+UseZGC", "-XX:+UseShenandoahGC"];
