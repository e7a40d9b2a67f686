//! Who may change files: everything goes through `heaplake_kit::fs`, which replaces only regular files and follows no
//! link, and only the crates that store runs and outputs rename over existing files.

use crate::paths;
use crate::sources::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Functions that change files without the checks of `heaplake_kit::fs`.
const CARELESS: [&str; 12] = [
    "std::fs::write",
    "std::fs::rename",
    "std::fs::copy",
    "std::fs::hard_link",
    "std::fs::remove_file",
    "std::fs::remove_dir",
    "std::fs::remove_dir_all",
    "std::fs::File::create",
    "std::fs::File::options",
    "std::fs::OpenOptions",
    "tempfile::NamedTempFile",
    "tempfile::Builder",
];

/// Functions that replace one file by another.
const REPLACING: [&str; 2] = ["heaplake_kit::fs::rename", "heaplake_kit::fs::exchange"];

/// Files that may use them, besides the kit and the lake: with a manifest, and in scratch.
const REPLACERS: [&str; 2] = ["crates/compare/src/rollup/place.rs", "pipeline/src/engine/seal.rs"];

/// Writes to `/proc`, which resets a kernel counter.
const OF_THE_SYSTEM: &str = "pipeline/src/memory.rs";

/// Every call that bypasses `heaplake_kit::fs` to change files.
pub(crate) fn careless(sources: &[Source]) -> Vec<String> {
    let tests = of_tests(sources);
    let product = |source: &&Source| {
        ["crates/", "stages/", "pipeline/"].iter().any(|folder| source.path.starts_with(folder))
            && source.path.contains("/src/")
            && !source.path.starts_with("crates/kit/src/")
            && source.path != OF_THE_SYSTEM
            && !tests
                .iter()
                .any(|test| source.path == format!("{test}.rs") || source.path.starts_with(&format!("{test}/")))
    };
    sources.iter().filter(product).flat_map(of_source).collect()
}

fn of_source(source: &Source) -> Vec<String> {
    let may_replace = source.path.starts_with("crates/lake/src/") || REPLACERS.contains(&source.path.as_str());
    let paths = paths::of(&source.code);
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    for path in paths.iter().filter(|path| ["std", "heaplake_kit", "tempfile"].contains(&path.words[0].as_str())) {
        let words = path.words.strip_suffix(&["self".to_owned()]).unwrap_or(&path.words);
        let name = if path.name == "self" { words.last().map_or("", String::as_str) } else { &path.name };
        known.insert(name, words.join("::"));
    }
    let mut findings = Vec::new();
    for path in &paths {
        let first = known.get(path.words[0].as_str()).cloned().unwrap_or_else(|| path.words[0].clone());
        let whole = format!("{first}::{}", path.words[1..].join("::"));
        let is = |list: &[&str]| list.iter().any(|name| whole == *name || whole.starts_with(&format!("{name}::")));
        if is(&CARELESS) {
            let place = format!("{}:{}", source.path, source.line(path.at));
            findings.push(format!(
                "{place}: `{whole}`; use heaplake_kit::fs, or heaplake_lake::output_file for what users name"
            ));
        } else if !may_replace && is(&REPLACING) {
            let place = format!("{}:{}", source.path, source.line(path.at));
            findings.push(format!("{place}: `{whole}`; use heaplake_lake::output_file, files or commit"));
        }
    }
    findings
}

/// The files and folders of test-only modules, without extension.
fn of_tests(sources: &[Source]) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for source in sources {
        let folder = source.path.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
        for (at, mark) in source.text.match_indices("#[cfg(test)]") {
            let mut lines = source.text[at + mark.len()..].lines().map(str::trim);
            let declared = lines.find(|line| !line.is_empty() && !line.starts_with("#["));
            let name = declared.and_then(|line| line.strip_suffix(';')?.split(' ').next_back());
            tests.extend(name.map(|name| format!("{folder}/{name}")));
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        careless(&[Source::new(path, text)]).len()
    }

    #[test]
    fn writing_around_the_kit_is_found() {
        let text =
            "use std::fs::{self, File};\nfn a() { fs::write(b, c); File::create(d); fs::read(e); File::open(f); }";
        assert_eq!(found("stages/a/src/b.rs", text), 2);
        assert_eq!(found("crates/kit/src/b.rs", text), 0);
        assert_eq!(found("stages/a/src/b.rs", "fn a() { std::fs::remove_dir_all(b); }"), 1);
        assert_eq!(found("pipeline/src/b.rs", "use tempfile::NamedTempFile;"), 1);
        let kit = "use heaplake_kit::{StageError, fs};\nfn a() { fs::write(b, c); fs::rename(d, e); }";
        assert_eq!((found("pipeline/src/b.rs", kit), found("crates/lake/src/b.rs", kit)), (1, 0));
        let test = [Source::new("stages/a/src/lib.rs", "#[cfg(test)]\nmod t;"), Source::new("stages/a/src/t.rs", text)];
        assert_eq!(careless(&test).len(), 0);
    }
}
