//! The pages of runs and of comparisons, and `heaplake explore`, in a real browser: `report.mjs`, `alive.mjs`,
//! `comparison.mjs` and `explore.mjs` open them with Chromium through playwright-core. Without a browser or node the tests print a note and pass. Screenshots go to
//! `target/browser`.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/diff_tables.rs"]
mod diff_tables;

mod comparison;
mod explorer;
mod installing;

use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::npm::Packages;
use heaplake_support::replay::replay;
use std::cell::RefCell;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The browser, and a folder of this test with the scripts and their packages; or why they cannot run here.
fn scripts(lake: &Lake) -> Result<(PathBuf, PathBuf), String> {
    let browser = BROWSERS.iter().find_map(|name| find(name)).ok_or("there is no Chromium")?;
    for tool in ["node", "npm"] {
        find(tool).ok_or_else(|| format!("there is no {tool}"))?;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/browser");
    let files = ["package.json", "package-lock.json"].map(|name| (name, fs::read(source.join(name)).unwrap()));
    let modules = Packages::new("browser", files.into(), &["ci", "--ignore-scripts"]).install()?;
    let folder = lake.folder().join("scripts");
    fs::create_dir(&folder).unwrap();
    for path in fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "mjs") {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    // Node.js looks for packages beside a script.
    symlink(modules, folder.join("node_modules")).unwrap();
    Ok((browser, folder))
}

/// The page of a snapshot with a class that leaks.
fn leaking(lake: &Lake) -> PathBuf {
    page(lake, &leaking_snapshot(lake))
}

fn leaking_snapshot(lake: &Lake) -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/leaks.js");
    let snapshot = lake.folder().join("leaking.heapsnapshot");
    let taken = Command::new("node").arg(program).arg("leaking").arg(&snapshot).status().unwrap();
    assert!(taken.success());
    snapshot
}

/// The page of a snapshot with class names that try to be markup, or are a megabyte long.
fn hostile(lake: &Lake) -> PathBuf {
    page(lake, &hostile_snapshot(lake))
}

fn hostile_snapshot(lake: &Lake) -> PathBuf {
    let text = fixtures::text("v8/node24_app.heapsnapshot");
    // DevTools cuts names that begin like a tag.
    let markup = r#""x</script><img src=x onerror=window.hacked=1><b onclick=\"a\">'\u202e\u2028{{data}}","#;
    let (customer, order) = ("\"Customer\",", "\"Order\",");
    assert!(text.contains(customer) && text.contains(order));
    let text = text.replace(customer, markup).replace(order, &format!("\"{}\",", "A".repeat(1 << 20)));
    lake.input("hostile.heapsnapshot", text.as_bytes())
}

fn page(lake: &Lake, snapshot: &Path) -> PathBuf {
    lake.analyze(snapshot).arg("--report").assert().success();
    lake.run().join("report.html")
}

fn trace(lake: &Lake) -> PathBuf {
    replayed(lake, &fixtures::path("dotnet/net8_exact.log.zst"))
}

/// The page of the same trace, with function and type names that try to be markup, or are long.
fn hostile_trace(lake: &Lake) -> PathBuf {
    let log = fixtures::content("dotnet/net8_exact.log");
    let text = String::from_utf8(log).unwrap();
    let markup = "x</script><img src=x onerror=window.hacked=1><b onclick=\"a\">'\u{202e}\u{2028}{{data}}";
    let (function, class) = (" Program::ShortLived\n", " Pt[]\n");
    assert!(text.contains(function) && text.contains(class));
    let text = text.replace(function, &format!(" {markup}\n")).replace(class, &format!(" {}\n", "A".repeat(1 << 20)));
    replayed(lake, &lake.input("hostile.log", text.as_bytes()))
}

fn replayed(lake: &Lake, log: &Path) -> PathBuf {
    replay(lake, log).arg("--report").assert().success();
    let page = lake.run().join("report.html");
    assert!(fs::metadata(&page).unwrap().len() < 2 << 20);
    page
}

/// Opens pages with a script, which reports defects.
fn open(script: &str, pages: impl Fn() -> Vec<PathBuf>) {
    let lake = Lake::new();
    let (browser, scripts) = match scripts(&lake) {
        Ok(found) => found,
        Err(why) => return eprintln!("SKIPPED: the page is not opened in a browser: {why}"),
    };
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../browser");
    fs::create_dir_all(&pictures).unwrap();
    let command =
        Command::new("node").arg(scripts.join(script)).args([&browser, &pictures]).args(pages()).output().unwrap();
    let said = String::from_utf8_lossy(&command.stdout);
    assert!(said.contains("all well"), "{said}{}", String::from_utf8_lossy(&command.stderr));
}

#[test]
fn the_page_works_in_a_browser() {
    let lakes = [(); 4].map(|()| Lake::new());
    let [one, two, three, four] = &lakes;
    open("report.mjs", || vec![leaking(one), hostile(two), trace(three), hostile_trace(four)]);
}

#[test]
fn the_explorer_works_in_a_browser() {
    let (lake, other) = (Lake::new(), Lake::new());
    let servers = RefCell::new(Vec::new());
    open("explore.mjs", || {
        // They serve until the script has ended.
        let mut servers = servers.borrow_mut();
        let (leaking, hostile) = (leaking_snapshot(&lake), hostile_snapshot(&other));
        servers.extend(explorer::serve((&lake, &leaking), (&other, &hostile)));
        servers.iter().map(|server| PathBuf::from(&server.url)).collect()
    });
}

#[test]
fn the_time_line_works_in_a_browser() {
    let lake = Lake::new();
    open("alive.mjs", || vec![page(&lake, &fixtures::v8("node24_alloc"))]);
}

#[test]
fn the_page_of_a_recording_works_in_a_browser() {
    let lake = Lake::new();
    open("old_objects.mjs", || vec![replayed(&lake, &fixtures::path("jfr/jdk17-g1.jfr.zst"))]);
}

#[test]
fn the_pages_of_comparisons_and_trends_work_in_a_browser() {
    let (usual, hostile, empty) = (comparison::usual(), comparison::hostile(), comparison::empty());
    let lake = Lake::new();
    open("comparison.mjs", || {
        let mut pages = [&usual, &hostile, &empty].map(comparison::page).to_vec();
        pages.push(comparison::trend(&lake));
        pages
    });
}
