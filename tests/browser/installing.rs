//! Packages are installed once, completely, and again after damage. A script replaces npm, so no registry is needed.

use heaplake_support::npm::Packages;
use std::fs;
use std::path::Path;
use std::thread;
use tempfile::TempDir;

/// Creates the folder of a package first and fills it a while later, as npm does on a slow network.
const SLOW: &str = "mkdir -p node_modules/one; sleep 0.3; echo main > node_modules/one/main.js; cp package.json \
                    node_modules/one; ln -s one node_modules/link";

/// A set with this `package.json`, and a script in place of npm that records its calls and does `does`. The shell reads
/// the script, so no executed file may be open for writing in another thread's child.
fn packages(folder: &Path, json: &str, does: &str) -> Packages {
    let script = format!("echo call >> '{}'\n{does}\n", folder.join("calls").display());
    let files = vec![("package.json", json.as_bytes().to_vec()), ("npm.sh", script.into_bytes())];
    let set = Packages::new("set", files, &["npm.sh", "ci"]);
    Packages { npm: "sh".into(), place: folder.join("sets"), ..set }
}

fn calls(folder: &Path) -> usize {
    fs::read_to_string(folder.join("calls")).unwrap_or_default().lines().count()
}

#[track_caller]
fn assert_whole(packages: &Packages) {
    let modules = packages.install().unwrap();
    assert_eq!(fs::read_to_string(modules.join("link/main.js")).unwrap(), "main\n");
}

#[test]
fn tests_side_by_side_install_once() {
    let folder = TempDir::new().unwrap();
    let packages = packages(folder.path(), "{}", SLOW);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_whole(&packages));
        }
    });
    assert_eq!(calls(folder.path()), 1);
}

#[test]
fn damaged_packages_are_installed_anew() {
    let folder = TempDir::new().unwrap();
    let packages = packages(folder.path(), "{}", SLOW);
    let modules = packages.install().unwrap();
    let damages: [&dyn Fn(); 5] = [
        &|| fs::remove_file(modules.join("one/main.js")).unwrap(),
        &|| fs::write(modules.join("one/main.js"), "").unwrap(),
        &|| fs::remove_dir_all(&modules).unwrap(),
        &|| fs::remove_file(modules.join("../installed")).unwrap(),
        &|| fs::remove_file(modules.join("link")).unwrap(),
    ];
    for (nth, damage) in damages.iter().enumerate() {
        damage();
        assert_whole(&packages);
        assert_eq!(calls(folder.path()), nth + 2);
    }
    // Files added by tools are no damage.
    fs::write(modules.join("cache"), "").unwrap();
    assert_whole(&packages);
    assert_eq!(calls(folder.path()), damages.len() + 1);
}

#[test]
fn packages_of_another_lock_file_are_others() {
    let folder = TempDir::new().unwrap();
    for json in ["{}", "{ }", "{}"] {
        let modules = packages(folder.path(), json, SLOW).install().unwrap();
        assert_eq!(fs::read_to_string(modules.join("one/package.json")).unwrap(), json);
    }
    assert_eq!(calls(folder.path()), 2);
}

#[test]
fn a_killed_npm_leaves_nothing_that_looks_installed() {
    let folder = TempDir::new().unwrap();
    let killed = packages(folder.path(), "{}", "mkdir -p node_modules/one; kill -9 $$");
    for _ in 0..2 {
        let why = killed.install().unwrap_err();
        assert!(why.contains("signal: 9"), "{why}");
    }
    assert_eq!(calls(folder.path()), 1, "a process tries once");
    // The folder of an npm that was killed together with its test.
    let next = packages(folder.path(), "{}", SLOW);
    assert_whole(&next);
    let whole = next.install().unwrap().parent().unwrap().to_owned();
    let half = whole.with_extension("part-1");
    fs::rename(&whole, &half).unwrap();
    assert_whole(&next);
    assert!(!half.exists() && calls(folder.path()) == 3);
}

#[test]
fn without_npm_the_reason_is_returned() {
    let folder = TempDir::new().unwrap();
    let none = Packages { npm: folder.path().join("none"), ..packages(folder.path(), "{}", SLOW) };
    assert!(none.install().unwrap_err().starts_with("npm cannot be run here"));
    let unreachable = packages(folder.path(), "[]", "echo 'npm error code ENOTFOUND' >&2; exit 1");
    assert!(unreachable.install().unwrap_err().contains("ENOTFOUND"));
}
