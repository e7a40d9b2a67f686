//! Finds a run by its name in a lake, or the beginning of its name: `lake/web7`, `lake/2.4.1/web7`.

use crate::entries;
use crate::nearest::{clause, nearest};
use heaplake_kit::storage;
use std::path::{Path, PathBuf};

/// Names in a message about several runs.
const SHOWN: usize = 3;

/// Returns the folder of a run that a path names: the path itself if something is there, else the only run with that
/// name, or with a name that begins so, of a lake or of a release of it. A path that leads into no lake is returned as
/// it is: its reader reports what is wrong.
///
/// # Errors
/// One line, if several runs or none of the lake have such a name.
pub fn run(path: &Path) -> Result<PathBuf, String> {
    // The name of a folder is meant in full.
    let is_folder =
        |name: &&str| name.starts_with("snapshot=") || storage::is_url(path) || path.symlink_metadata().is_ok();
    let Some(wanted) = path.file_name().and_then(|name| name.to_str()).filter(|name| !is_folder(name)) else {
        return Ok(path.to_owned());
    };
    let Some(releases) = releases(path) else { return Ok(path.to_owned()) };
    let mut runs: Vec<(PathBuf, String)> = Vec::new();
    for release in &releases {
        let places = entries::named(release, "snapshot=").map_err(|error| error.to_string())?.places;
        runs.extend(places.into_iter().filter_map(|place| Some((place.clone(), snapshot(&place)?))));
    }
    let having = |fits: &dyn Fn(&str) -> bool| -> Vec<&PathBuf> {
        runs.iter().filter(|(_, name)| fits(name)).map(|(place, _)| place).collect()
    };
    let mut found = having(&|name| name == wanted);
    if found.is_empty() {
        found = having(&|name| name.starts_with(wanted));
    }
    match found[..] {
        [place] => Ok(place.clone()),
        [] => {
            let near = nearest(wanted, runs.iter().map(|(_, name)| name.clone()));
            Err(format!("no run of the lake has the name {wanted}{}", clause(&near)))
        }
        _ => {
            let first: Vec<String> = found.iter().take(SHOWN).map(|place| place.display().to_string()).collect();
            Err(format!("{} runs have names that begin with {wanted}: {}, …", found.len(), first.join(", ")))
        }
    }
}

/// The releases in which a path looks for a run: all of a lake, or one that it names; `None` if it leads into no lake.
fn releases(path: &Path) -> Option<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_release = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("release="));
    if folder.is_dir() {
        if is_release(folder) {
            return Some(vec![folder.to_owned()]);
        }
        let releases = entries::named(folder, "release=").ok()?.places;
        return Some(releases).filter(|releases| !releases.is_empty());
    }
    let release = folder.with_file_name(format!("release={}", folder.file_name()?.to_str()?));
    release.is_dir().then(|| vec![release])
}

fn snapshot(place: &Path) -> Option<String> {
    place.file_name()?.to_str()?.strip_prefix("snapshot=").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_by_the_beginning_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let lake = folder.path();
        for place in
            ["release=1/snapshot=web1-aa", "release=1/snapshot=web10-bb", "release=2/snapshot=web1-aa", "other"]
        {
            std::fs::create_dir_all(lake.join(place)).unwrap();
        }
        let found =
            |name: &str| run(&lake.join(name)).map(|path| path.strip_prefix(lake).unwrap().display().to_string());
        let at = |place: &str| Ok(place.to_owned());
        assert_eq!(found("web10"), at("release=1/snapshot=web10-bb"));
        assert_eq!(found("2/web1"), at("release=2/snapshot=web1-aa"));
        assert_eq!(found("release=2/web1"), at("release=2/snapshot=web1-aa"));
        assert_eq!(found("release=1/snapshot=web1-aa"), at("release=1/snapshot=web1-aa"));
        assert_eq!(found("release=1/snapshot=web"), at("release=1/snapshot=web"), "the name of a folder, in full");
        assert_eq!(found("other"), at("other"), "what is there is meant");
        assert_eq!(found("3/web1"), at("3/web1"), "no lake");
        for (name, said) in [("web", "3 runs have names that begin with web"), ("wbe1", "the nearest: web1-aa")] {
            let problem = found(name).unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
    }
}
