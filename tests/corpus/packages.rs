//! The programs in a folder of their own, with the packages that they use beside them.

use crate::programs::{MORE, PACKAGES, PLAIN};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of `tests/programs`.
pub fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs").join(file)
}

/// Where the programs run: Node.js looks for packages beside the program.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../corpus")
}

/// The major version of the installed Node.js; 0 without one.
pub fn node_version() -> u32 {
    let Ok(output) = Command::new("node").arg("--version").output() else { return 0 };
    let text = String::from_utf8(output.stdout).unwrap();
    let major = text.trim().strip_prefix('v').and_then(|version| version.split('.').next());
    major.and_then(|major| major.parse().ok()).unwrap_or_else(|| panic!("node --version: {text:?}"))
}

/// Copies the programs into their folder. Each file appears whole: tests that run side by side do the same.
pub fn copy() {
    let folder = folder();
    fs::create_dir_all(&folder).unwrap();
    let programs = PLAIN.iter().chain(&MORE).chain(&PACKAGES).map(|program| program.file);
    for file in programs.chain(["corpus/package.json", "corpus/package-lock.json"]).collect::<BTreeSet<_>>() {
        let to = folder.join(Path::new(file).file_name().unwrap());
        let bytes = fs::read(source(file)).unwrap();
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            let part = to.with_extension(format!("part{:?}", std::thread::current().id()));
            fs::write(&part, bytes).unwrap();
            fs::rename(&part, &to).unwrap();
        }
    }
}

/// Installs the packages in the versions of the lock file, or says why that fails here.
pub fn install() -> Result<(), String> {
    copy();
    let folder = folder();
    let lock = fs::read(folder.join("package-lock.json")).unwrap();
    let installed = folder.join("node_modules/.corpus-lock.json");
    if fs::read(&installed).is_ok_and(|bytes| bytes == lock) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-fund", "--no-audit"]).current_dir(&folder);
    let output = npm.output().map_err(|error| format!("npm cannot be run here: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Not a matter of the machine, but of these files.
    assert!(!said.contains("EUSAGE") && !said.contains("EINTEGRITY"), "{said}");
    if !output.status.success() {
        return Err(format!("npm ci: {}", said.replace('\n', " ")));
    }
    fs::write(installed, lock).unwrap();
    Ok(())
}

fn json(file: &str) -> Value {
    serde_json::from_slice(&fs::read(source(file)).unwrap()).unwrap()
}

/// The version of a package that the programs run with.
pub fn version(package: &str) -> String {
    json("corpus/package.json")["dependencies"][package].as_str().unwrap_or_else(|| panic!("{package}")).to_owned()
}

#[test]
fn packages_have_exact_versions_and_are_used() {
    let (wanted, lock) = (json("corpus/package.json"), json("corpus/package-lock.json"));
    let wanted = wanted["dependencies"].as_object().unwrap();
    for (package, version) in wanted {
        assert!(version.as_str().unwrap().starts_with(|first: char| first.is_ascii_digit()), "{package} {version}");
        assert_eq!(&lock["packages"][format!("node_modules/{package}")]["version"], version, "{package}");
    }
    let used: BTreeSet<&str> = PACKAGES.iter().flat_map(|program| program.packages).copied().collect();
    assert_eq!(used, wanted.keys().map(String::as_str).collect::<BTreeSet<_>>());
    // Each machine has its own registry.
    let resolved = lock["packages"].as_object().unwrap().values().filter(|package| !package["resolved"].is_null());
    assert_eq!(resolved.count(), 0);
}
