//! Allowed dependencies of the crates: schemas <- kit <- input, names, symbols, paths, lake, redact <- stage crates <- pipeline.
//! Recorders run in other processes and depend on the event log alone. The oracle and the generator share no code with
//! the engine. Dev-dependencies are free.

use std::fs;
use std::path::Path;

/// Allowed dependencies of each crate; any other crate may depend on [`BELOW_STAGES`].
const BELOW: [(&str, &[&str]); 12] = [
    ("schemas", &[]),
    ("crates/kit", &["schemas"]),
    ("crates/eventlog", &[]),
    ("recorders/java", &["eventlog"]),
    ("crates/input", &["schemas", "kit"]),
    ("crates/names", &["schemas", "kit"]),
    ("crates/symbols", &["schemas", "kit"]),
    ("crates/lake", &["schemas", "kit"]),
    ("crates/paths", &["schemas", "kit"]),
    ("crates/redact", &["schemas", "kit", "input"]),
    ("tests/oracle", &[]),
    ("benches/generator", &[]),
];
const BELOW_STAGES: &[&str] = &["schemas", "kit", "eventlog", "input", "names", "symbols", "paths", "lake", "redact"];

/// Every dependency in the wrong direction.
pub(crate) fn backwards(root: &Path) -> Vec<String> {
    let mut folders: Vec<_> = BELOW.iter().map(|(folder, _)| (*folder).to_owned()).collect();
    for parent in ["crates", "stages", "recorders"] {
        let crates = fs::read_dir(root.join(parent)).into_iter().flatten().flatten();
        folders.extend(crates.map(|entry| format!("{parent}/{}", entry.file_name().to_string_lossy())));
    }
    folders.sort();
    folders.dedup();
    folders.iter().flat_map(|folder| backwards_in(folder, &manifest(root, folder))).collect()
}

fn manifest(root: &Path, folder: &str) -> String {
    fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap_or_default()
}

fn backwards_in(folder: &str, manifest: &str) -> Vec<String> {
    let below = BELOW.iter().find(|(known, _)| *known == folder).map_or(BELOW_STAGES, |(_, below)| below);
    let refused = |(line, name): (usize, &str)| {
        let known = below.contains(&name);
        (!known).then(|| {
            format!("{folder}/Cargo.toml:{line}: {folder} may depend on {below:?} only, not on {name}; move what it needs there")
        })
    };
    dependencies(manifest).into_iter().filter_map(refused).collect()
}

/// A manifest's dependencies on our crates, without `heaplake-`, except for tests, and their lines.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut counts = false;
    for (line, text) in (1..).zip(manifest.lines()) {
        let mut entry = text.trim();
        if let Some(section) = entry.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let own_table = section.rsplit_once("dependencies.");
            let kind = own_table.map_or(section, |(before, _)| before);
            counts = !kind.ends_with("dev-") && (own_table.is_some() || kind.ends_with("dependencies"));
            counts &= !kind.ends_with("dev-dependencies");
            entry = own_table.map_or("", |(_, name)| name);
        }
        let name = entry.split(['.', ' ', '=']).next().unwrap_or_default();
        if counts && (name == "heaplake" || name.starts_with("heaplake-")) {
            found.push((line, name.trim_start_matches("heaplake-")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_upwards_and_sideways_are_found() {
        let manifest = "[dependencies]\nheaplake-kit.workspace = true\nheaplake-graph = { path = \"\" }\n\
                        [dependencies.heaplake]\n[dev-dependencies]\nheaplake-oracle.workspace = true\n";
        assert_eq!(dependencies(manifest), [(2, "kit"), (3, "graph"), (4, "heaplake")]);
        assert_eq!(backwards_in("crates/query", manifest).len(), 2);
        assert_eq!(backwards_in("crates/kit", manifest).len(), 3);
    }
}
