//! Source map files, and the script of each.

use super::error::MapError;
use super::mappings::Map;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heaplake_kit::fs as kit_fs;
use heaplake_schemas::options::{SourceMap, SourceMaps};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of memory per byte of a map while it is read.
pub const BYTES_PER_BYTE: u64 = 8;

/// Endings of scripts, which may link to maps.
const SCRIPTS: [&str; 3] = ["js", "mjs", "cjs"];

/// Marker of the link to a map, near the end of a script.
const LINK: &str = "sourceMappingURL=";

/// Finds maps in files and folders: of a folder, all files that end in `.map`, and scripts that link to a map or
/// contain one. A map belongs to the script of its name without `.map`, to the script in its `file` field, and to scripts
/// with a link to it. Each map is read within `memory` bytes.
///
/// # Errors
/// The first file that cannot be read, is no source map or is too large, or a folder without maps.
pub fn find(paths: &[String], memory: u64) -> Result<SourceMaps, MapError> {
    let mut found = MapsByFile { maps: BTreeMap::new(), most: memory / BYTES_PER_BYTE };
    for path in paths {
        let before = found.maps.len();
        let (files, is_folder) = listed(path)?;
        files.iter().try_for_each(|file| found.add(file, is_folder))?;
        if found.maps.len() == before {
            return Err(MapError::of(path, "no source map is there".to_owned()));
        }
    }
    Ok(found.finish())
}

/// Finds maps like [`find`], but returns unusable ones as errors. It reads every line of a map, so the returned maps
/// are usable.
pub fn collect(paths: &[String], memory: u64) -> (SourceMaps, Vec<MapError>) {
    let mut found = MapsByFile { maps: BTreeMap::new(), most: memory / BYTES_PER_BYTE };
    let mut errors = Vec::new();
    for path in paths {
        match listed(path) {
            Ok((files, is_folder)) => {
                errors.extend(files.iter().filter_map(|file| found.add(file, is_folder).err()));
            }
            Err(error) => errors.push(error),
        }
    }
    found.maps.retain(|_, map| match whole(map) {
        Ok(()) => true,
        Err(error) => {
            errors.push(error);
            false
        }
    });
    (found.finish(), errors)
}

/// Files of a path, and whether it is a folder.
fn listed(path: &str) -> Result<(Vec<PathBuf>, bool), MapError> {
    let files = kit_fs::files_below(Path::new(path)).map_err(|error| MapError::unreadable(path, &error))?;
    let is_folder = files != [Path::new(path)];
    Ok((files, is_folder))
}

/// Parses a map completely.
fn whole(map: &SourceMap) -> Result<(), MapError> {
    let content = read(map)?;
    let problem = |problem| MapError::of(&map.path, problem);
    Map::parse(&content).map_err(problem)?.check_lines().map_err(problem)
}

impl MapsByFile {
    fn finish(self) -> SourceMaps {
        let maps: Vec<SourceMap> = self.maps.into_values().collect();
        let name = |script: &String| parts(script).pop();
        let of_map = |map: &SourceMap| {
            let names: BTreeSet<String> = map.scripts.iter().filter_map(name).collect();
            format!("{} {names:?}", map.hash)
        };
        let mut hashes: Vec<String> = maps.iter().map(of_map).collect();
        hashes.sort_unstable();
        SourceMaps { maps, hash: hash(hashes.join("\n").as_bytes()) }
    }
}

/// Map of a script: the one whose path shares most trailing parts with the URL of the script, at least the file name.
/// `None` for a tie.
pub fn of_script<'a>(maps: &'a SourceMaps, url: &str) -> Option<&'a SourceMap> {
    let parts_of_url = parts(url);
    let common = |script: &String| {
        let parts = parts(script);
        parts.iter().rev().zip(parts_of_url.iter().rev()).take_while(|(one, other)| one == other).count()
    };
    let weighed = || maps.maps.iter().map(|map| (map.scripts.iter().map(common).max().unwrap_or(0), map));
    let most = weighed().map(|(common, _)| common).max().filter(|&common| common > 0)?;
    let mut best = weighed().filter(|(common, _)| *common == most);
    let (_, map) = best.next()?;
    best.next().is_none().then_some(map)
}

/// Reads the content of a map; fails if the file changed since it was found.
pub fn read(map: &SourceMap) -> Result<Vec<u8>, MapError> {
    let content = match kit_fs::read_at_most(&map.path, map.bytes) {
        // The file grew, so it changed.
        Err(error) if kit_fs::TooLong::is(&error) => Vec::new(),
        read => read.map_err(|error| MapError::unreadable(&map.path, &error))?,
    };
    let content =
        if map.inside { inside(&content).map_err(|problem| MapError::of(&map.path, problem))? } else { content };
    match hash(&content) == map.hash {
        true => Ok(content),
        false => Err(MapError::of(&map.path, "the source map has changed since the analysis began".to_owned())),
    }
}

fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// The map inside a script.
fn inside(script: &[u8]) -> Result<Vec<u8>, String> {
    let link = link(script).and_then(|link| link.strip_prefix("data:"));
    match link.and_then(|link| link.split_once(',')) {
        Some((kind, data)) if kind.ends_with(";base64") => {
            STANDARD.decode(data).map_err(|error| format!("expected a source map in Base64, found {error}"))
        }
        Some((kind, _)) => Err(format!("expected a source map in Base64, found {kind:?}")),
        None => Err("expected a script with a source map, found none".to_owned()),
    }
}

/// Maps, by file.
struct MapsByFile {
    maps: BTreeMap<PathBuf, SourceMap>,
    /// Maximum bytes of a file.
    most: u64,
}

impl MapsByFile {
    /// Adds the map that a file is, contains or links to. In a folder, other files are ignored.
    fn add(&mut self, file: &Path, in_folder: bool) -> Result<(), MapError> {
        let ending = file.extension().unwrap_or_default().to_string_lossy();
        if !SCRIPTS.contains(&&*ending) {
            return if !in_folder || ending == "map" { self.add_map(file, &file.with_extension("")) } else { Ok(()) };
        }
        let content = self.content(file)?;
        match link(&content) {
            Some(url) if url.starts_with("data:") => {
                let map = inside(&content).map_err(|problem| MapError::of(file, problem))?;
                self.add_content(file, &map, content.len()).map(|map| map.inside = true)?;
                self.belongs(file, file);
                Ok(())
            }
            Some(url) => {
                let map = plain(&file.parent().unwrap_or(Path::new("")).join(url));
                if map.is_file() { self.add_map(&map, file) } else { Ok(()) }
            }
            None => Ok(()),
        }
    }

    /// Adds a map file, and the script to which it belongs.
    fn add_map(&mut self, file: &Path, script: &Path) -> Result<(), MapError> {
        let file = plain(file);
        if !self.maps.contains_key(&file) {
            let content = self.content(&file)?;
            self.add_content(&file, &content, content.len())?;
        }
        self.belongs(&file, script);
        Ok(())
    }

    fn add_content(&mut self, file: &Path, map: &[u8], bytes: usize) -> Result<&mut SourceMap, MapError> {
        let parsed = Map::parse(map).map_err(|problem| MapError::of(file, problem))?;
        let names = parsed.file.as_deref().filter(|named| !named.is_empty());
        let scripts = names.map(|named| plain(&file.with_file_name(named)).display().to_string());
        let (path, scripts) = (file.display().to_string(), scripts.into_iter().collect());
        let map = SourceMap { path, bytes: bytes as u64, hash: hash(map), inside: false, scripts };
        Ok(self.maps.entry(file.to_owned()).insert_entry(map).into_mut())
    }

    /// Assigns a map to a script.
    fn belongs(&mut self, map: &Path, script: &Path) {
        let script = script.display().to_string();
        if let Some(map) = self.maps.get_mut(map).filter(|map| !map.scripts.contains(&script)) {
            map.scripts.push(script);
        }
    }

    fn content(&self, file: &Path) -> Result<Vec<u8>, MapError> {
        let bytes = fs::metadata(file).map_err(|error| MapError::unreadable(file, &error))?.len();
        if bytes > self.most {
            let needed = bytes.saturating_mul(BYTES_PER_BYTE);
            return Err(MapError::of(
                file,
                format!("reading it takes {needed} bytes of memory, more than --memory allows"),
            ));
        }
        kit_fs::read_at_most(file, self.most).map_err(|error| MapError::unreadable(file, &error))
    }
}

/// Removes `.` and `..` from a path.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Parts of a path or URL, without a query.
fn parts(url: &str) -> Vec<String> {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let parts = url[..end].split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".");
    parts.map(str::to_owned).collect()
}

/// URL of the map in a script's last link.
fn link(script: &[u8]) -> Option<&str> {
    let at = memchr::memmem::rfind(script, LINK.as_bytes())?;
    let is_comment =
        script[..at].ends_with(b"//# ") || script[..at].ends_with(b"//@ ") || script[..at].ends_with(b"/*# ");
    let url = &script[at + LINK.len()..];
    let end = url.iter().position(|byte| byte.is_ascii_whitespace() || b"*'\"`".contains(byte)).unwrap_or(url.len());
    std::str::from_utf8(&url[..end]).ok().filter(|url| is_comment && !url.is_empty())
}
