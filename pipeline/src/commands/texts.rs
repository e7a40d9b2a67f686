//! Options for the texts of the heap in a run, and the files of keys of masks.

use super::choices::{one_of, pattern};
use crate::diagnostic::Diagnostic;
use clap::Args;
use heaplake_kit::{StageError, fs, storage};
use heaplake_redact::Key;
use heaplake_schemas::options::{Secret, TextOptions, Texts};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Texts of the heap.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Texts of the heap")]
pub(crate) struct Texting {
    /// V8, Java: texts of the heap: full, hash or none
    ///
    /// Contents of strings and arrays, and numbers of Java, not names of classes, functions and properties, unless these
    /// look like data. `hash`: equal texts stay equal, so duplicates are found as before. `none`: only lengths stay,
    /// and duplicates are not looked for. Texts are masked where they are read, so scratch holds none either.
    /// docs/privacy.md says what a run holds.
    #[arg(long, value_name = "TEXTS", default_value = "full", value_parser = one_of(Texts::ALL, Texts::name), hide_possible_values = true)]
    pub texts: Texts,
    /// V8: names that stay, although they look like data; may be given again
    ///
    /// A glob pattern for names of classes, functions, properties and scripts. Texts are masked in any case.
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    pub texts_keep: Vec<String>,
    /// File with the key of masks; made if missing [default: a random key]
    ///
    /// With one key, equal texts of several runs are equal. Whoever has the key can test guesses of texts. It must not lie
    /// in the lake, which has only its fingerprint. Without this option, the key is forgotten: texts of two runs cannot
    /// be compared.
    #[arg(long, value_name = "FILE")]
    pub texts_key: Option<PathBuf>,
}

impl Texting {
    /// Options of the runs of a lake. Makes the file of the key if it is missing.
    ///
    /// # Errors
    /// A usage error for options without an effect, for a key in the lake, and for a file that is no key.
    pub(crate) fn options(&self, lake: &Path) -> Result<TextOptions, Diagnostic> {
        if self.texts == Texts::Full {
            let given = [(self.texts_key.is_some(), "--texts-key"), (!self.texts_keep.is_empty(), "--texts-keep")];
            return match given.into_iter().find_map(|(is_given, option)| is_given.then_some(option)) {
                None => Ok(TextOptions::default()),
                Some(option) => {
                    let cause = format!("{option} masks nothing without --texts hash or none");
                    Err(Diagnostic::usage(cause, "add --texts hash"))
                }
            };
        }
        let options = TextOptions { mode: self.texts, keep: self.texts_keep.clone(), ..TextOptions::default() };
        with_key(options, self.texts_key.as_deref(), lake)
    }
}

/// Adds a key to the options: that of a file, or a random one.
///
/// # Errors
/// A usage error for a key in the lake, and for a file that is no key.
pub(super) fn with_key(options: TextOptions, file: Option<&Path>, lake: &Path) -> Result<TextOptions, Diagnostic> {
    let Some(path) = file else {
        return Ok(TextOptions { key: None, secret: Secret(Some(Box::new(Key::random().words()))), ..options });
    };
    if is_within(path, lake) {
        let cause = format!("{}: the key must not lie in the lake", path.display());
        return Err(Diagnostic::usage(cause, "name a file that those who may read the lake cannot read"));
    }
    let key = key(path)?;
    let (fingerprint, secret) = (key.fingerprint().into(), Secret(Some(Box::new(key.words()))));
    Ok(TextOptions { key: Some(fingerprint), secret, ..options })
}

/// Whether a file lies in a folder, or will.
fn is_within(path: &Path, folder: &Path) -> bool {
    if storage::is_url(folder) || storage::is_url(path) {
        return path.starts_with(folder);
    }
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // The deepest part that exists, without links.
    let real = |path: &Path| {
        let path = whole(path);
        let there = path.ancestors().find(|part| part.exists()).map(Path::to_owned).unwrap_or_default();
        path.strip_prefix(&there).map_or_else(|_| path.clone(), |rest| storage::canonical(&there).join(rest))
    };
    real(path).starts_with(real(folder))
}

/// Reads a key, or makes a new one that only its owner can read.
///
/// # Errors
/// A usage error for a file that is no key, or that cannot be read or made.
pub(super) fn key(path: &Path) -> Result<Key, Diagnostic> {
    /// More than a key needs.
    const MOST: u64 = 1 << 10;
    let failed = |verb, error| Diagnostic::of_usage(StageError::io(path, verb, error));
    match fs::read_at_most(path, MOST) {
        Ok(text) => Key::parse(&String::from_utf8_lossy(&text)).ok_or_else(|| {
            let cause = format!("{}: this is no key, which is 32 hexadecimal digits", path.display());
            Diagnostic::usage(cause, "name another file; a missing one is made")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match made(path) {
            Ok(Some(key)) => Ok(key),
            // Another process was faster.
            Ok(None) => self::key(path),
            Err(error) => Err(failed("write", error)),
        },
        Err(error) => Err(failed("read", error)),
    }
}

/// Makes the file of a new key; `None` if there is a file by now.
fn made(path: &Path) -> io::Result<Option<Key>> {
    let key = Key::random();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", &key.fingerprint()[..8]));
    let new = path.with_file_name(name);
    let written = fs::File::create(&new).and_then(|mut file| {
        file.as_std().set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(key.text().as_bytes())?;
        file.sync_all()
    });
    // Appears whole, and replaces none.
    let linked = written.and_then(|()| fs::hard_link(&new, path));
    fs::remove_file_if_any(&new)?;
    match linked {
        Ok(()) => Ok(Some(key)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_neither_written_nor_shown() {
        let folder = tempfile::tempdir().unwrap();
        let options = TextOptions { mode: Texts::Hash, ..TextOptions::default() };
        let options = with_key(options, Some(&folder.path().join("key")), Path::new("lake")).unwrap();
        let fingerprint = options.key.clone().unwrap();
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(text, format!(r#"{{"mode":"hash","key":"{fingerprint}"}}"#));
        assert_eq!(format!("{:?}", options.secret), "Secret");
        let read: TextOptions = serde_json::from_str(&text).unwrap();
        assert!(read == options && read.secret.0.is_none());
    }

    #[test]
    fn one_key_is_made_whoever_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let keys: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| key(&path).unwrap().text())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_in_the_lake_is_seen_through_links_and_dots() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("lake")).unwrap();
        std::os::unix::fs::symlink(at("lake"), at("link")).unwrap();
        for (key, is_inside) in
            [("lake/key", true), ("lake/deep/er/key", true), ("link/key", true), ("key", false), ("lake.key", false)]
        {
            assert_eq!(is_within(&at(key), &at("lake")), is_inside, "{key}");
        }
        assert!(is_within(&at("later/key"), &at("later")), "a lake that is not there yet");
    }
}
