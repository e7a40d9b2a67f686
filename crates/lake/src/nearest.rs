//! Suggests similar existing names in messages.

use heaplake_kit::storage;
use heaplake_schemas::catalogue;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Maximum suggestions per message.
const MOST: usize = 3;

/// Returns up to three names most similar to `name`, best first.
pub fn nearest(name: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let lower = name.to_lowercase();
    let names: BTreeSet<String> = names.into_iter().filter(|other| other != name).collect();
    let mut scored: Vec<(f64, String)> =
        names.into_iter().map(|other| (strsim::jaro_winkler(&lower, &other.to_lowercase()), other)).collect();
    // A stable sort keeps ties in order.
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    scored.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Formats the suggestions as a clause; empty if there are none.
pub fn clause(nearest: &[String]) -> String {
    match nearest.is_empty() {
        true => String::new(),
        false => format!("; the nearest: {}", nearest.join(", ")),
    }
}

/// Suggests paths similar to a missing one: entries of its deepest existing folder, of the same kind by the part before
/// `=`.
pub fn paths(missing: &Path) -> Vec<String> {
    let mut path = missing;
    while let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
        let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if folder.is_dir() {
            let name = name.to_string_lossy();
            let kind = name.split_once('=').map_or("", |(kind, _)| kind);
            let is_like = |other: &String| {
                !other.starts_with('.') && (kind.is_empty() || other.split_once('=').is_some_and(|(of, _)| of == kind))
            };
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| entry.path().is_dir());
            let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
            return nearest(&name, names.filter(is_like))
                .into_iter()
                .map(|name| parent.join(name).display().to_string())
                .collect();
        }
        path = parent;
    }
    Vec::new()
}

/// Refuses a lake that does not exist; stores have no missing folders.
///
/// # Errors
/// One line of cause, and one of advice.
pub fn check_lake(lake: &Path) -> Result<(), (String, String)> {
    if storage::is_url(lake) {
        return Ok(());
    }
    let (problem, near) = match std::fs::metadata(lake) {
        Ok(there) if there.is_dir() => return Ok(()),
        Ok(_) => ("this is a file, not a lake", String::new()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let lakes: Vec<String> = paths(lake).into_iter().filter(|path| is_lake(Path::new(path))).collect();
            ("there is no such lake", clause(&lakes))
        }
        // Its reader reports why it cannot be read.
        Err(_) => return Ok(()),
    };
    let advice = "name the lake: the folder that --out of heaplake analyze named";
    Err((format!("{}: {problem}{near}", lake.display()), advice.to_owned()))
}

/// Refuses a folder with other content than runs. An empty folder may be a lake after its last run was dropped.
///
/// # Errors
/// One line of cause, and one of advice.
pub fn check_is_lake(lake: &Path) -> Result<(), (String, String)> {
    let has_runs = |name: &str| {
        name == catalogue::FOLDER
            || ["release=", "snapshot=", ".heaplake-"].iter().any(|prefix| name.starts_with(prefix))
    };
    let Ok(entries) = std::fs::read_dir(lake) else { return Ok(()) };
    let names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if storage::is_url(lake) || names.is_empty() || names.iter().any(|name| has_runs(name)) {
        return Ok(());
    }
    let inside = names.iter().map(|name| lake.join(name)).filter(|path| is_lake(path));
    let mut lakes: Vec<String> = inside.map(|path| path.display().to_string()).collect();
    lakes.sort();
    lakes.truncate(MOST);
    let advice = "name the lake: the folder that --out of heaplake analyze named";
    Err((format!("{}: this is no lake{}", lake.display(), clause(&lakes)), advice.to_owned()))
}

/// True if a folder has releases.
fn is_lake(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with("release="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first() {
        let names = ["2.9", "1.0", "3.10", "web", "3.9"].map(str::to_owned);
        let near = nearest("3.9", names);
        assert_eq!((near.len(), near[0].as_str()), (3, "3.10"));
        assert_eq!(clause(&nearest("x", [])), "");
    }

    #[test]
    fn a_missing_path_has_neighbours_of_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["release=1.0/snapshot=web1", "release=1.0/snapshot=db", "release=2.0", "fleet"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let near = |name: &str| paths(&folder.path().join(name));
        assert_eq!(
            near("release=1.0/snapshot=web")[0],
            folder.path().join("release=1.0/snapshot=web1").display().to_string()
        );
        assert_eq!(near("release=2.1/snapshot=web1").len(), 2);
        assert!(near("release=2.1")[0].ends_with("release=2.0"));
        let (cause, _) = check_lake(&folder.path().with_extension("other")).unwrap_err();
        assert!(cause.contains("there is no such lake"), "{cause}");
        check_lake(folder.path()).unwrap();
    }
}
