//! Addresses of files and objects for the engine, which would take a path for a pattern.

use crate::error::SqlError;
use heaplake_kit::storage;
use std::path::{Path, absolute};
use url::Url;

/// URL of a file or an object.
pub(crate) fn address(file: &Path) -> Result<String, SqlError> {
    let url = match storage::url(file) {
        Some(url) => object(url),
        // A URL has no `..`, which may lead through a link.
        None => file.canonicalize().or_else(|_| absolute(file)).ok().and_then(|path| Url::from_file_path(path).ok()),
    };
    url.map(String::from).ok_or_else(|| SqlError::file(format!("{}: the path has no URL", file.display()), "move it"))
}

/// Escapes the key of an object.
fn object(url: &str) -> Option<Url> {
    let (scheme, rest) = url.split_once("://")?;
    let (bucket, key) = rest.split_once('/')?;
    let mut url = Url::parse(&format!("{scheme}://{bucket}/")).ok()?;
    url.path_segments_mut().ok()?.clear().extend(key.split('/'));
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_keys_are_escaped() {
        assert_eq!(address(Path::new("/a/b *[1]?.csv")).unwrap(), "file:///a/b%20*[1]%3F.csv");
        assert_eq!(address(Path::new("s3://b/a b/c%2F?.parquet")).unwrap(), "s3://b/a%20b/c%252F%3F.parquet");
    }
}
