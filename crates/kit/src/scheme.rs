//! Recognizes URLs of objects among paths.

use std::path::Path;

/// Prefixes of object URLs.
pub const SCHEMES: [&str; 3] = ["s3://", "gs://", "az://"];

/// Returns the path as a URL if it is one.
pub fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// True if a path is a URL.
pub fn is_url(path: &Path) -> bool {
    url(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        for yes in ["s3://bucket/a", "gs://bucket", "az://container/x/y"] {
            assert_eq!(url(Path::new(yes)), Some(yes));
        }
        for no in ["s3:/bucket", "/s3://bucket", "http://host", "s3", "./gs://x"] {
            assert!(!is_url(Path::new(no)), "{no}");
        }
        assert_eq!(Path::new("s3://bucket/lake").join("release=a"), Path::new("s3://bucket/lake/release=a"));
    }
}
