//! The programs in their own folder, with their packages.

use crate::programs::{MORE, PACKAGES, PLAIN};
use heaplake_support::lake::{Lake, read_json};
use heaplake_support::npm::Packages;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs").join(file)
}

/// The major version of the installed Node.js; 0 without one.
pub(crate) fn node_version() -> u32 {
    let Ok(output) = Command::new("node").arg("--version").output() else { return 0 };
    let text = String::from_utf8(output.stdout).unwrap();
    let major = text.trim().strip_prefix('v').and_then(|version| version.split('.').next());
    major.and_then(|major| major.parse().ok()).unwrap_or_else(|| panic!("node --version: {text:?}"))
}

/// Copies the programs into a test's folder, beside their packages, where Node.js looks for them.
pub(crate) fn copy(lake: &Lake, modules: Option<&Path>) -> PathBuf {
    let folder = lake.folder().join("corpus");
    fs::create_dir(&folder).unwrap();
    let files = PLAIN.iter().chain(&MORE).chain(&PACKAGES).map(|program| program.file);
    for file in files.collect::<BTreeSet<_>>() {
        fs::copy(source(file), folder.join(Path::new(file).file_name().unwrap())).unwrap();
    }
    if let Some(modules) = modules {
        symlink(modules, folder.join("node_modules")).unwrap();
    }
    folder
}

/// Installs the packages in the versions of the lock file, or says why that fails here.
pub(crate) fn install() -> Result<PathBuf, String> {
    let files = ["package.json", "package-lock.json"];
    let files = files.map(|name| (name, fs::read(source(&format!("corpus/{name}"))).unwrap()));
    Packages::new("corpus", files.into(), &["ci", "--ignore-scripts"]).install()
}

fn json(file: &str) -> Value {
    read_json(source(file))
}

pub(crate) fn version(package: &str) -> String {
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
