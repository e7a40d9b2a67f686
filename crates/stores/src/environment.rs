//! Checks of the environment variables with endpoints, regions and credentials, before the library reads them.
//!
//! The library ignores values that are not UTF-8, puts others into URLs and headers unchecked, and panics if that is
//! impossible. Messages name the variable. They show endpoints, and never the value of another variable, which may be a
//! secret.

use crate::error::plain;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use std::ffi::OsString;
use std::io;
use url::Url;

/// Checks the variables of a scheme. The error, [`io::ErrorKind::InvalidInput`], names the first unusable one.
pub(crate) fn check(scheme: &str) -> io::Result<()> {
    let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    variables.sort();
    let of_scheme = variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value)));
    for (name, value) in of_scheme.filter(|(name, _)| is_known(scheme, name)) {
        let wrong = |why: String| plain(io::ErrorKind::InvalidInput, &format!("{name}: {why}"));
        let value = value.to_str().ok_or_else(|| wrong("expected a text, found bytes that are no UTF-8".to_owned()))?;
        problem(name, value).map_or(Ok(()), |why| Err(wrong(why)))?;
    }
    Ok(())
}

/// Whether the library reads a variable for the stores of a scheme.
fn is_known(scheme: &str, name: &str) -> bool {
    let key = name.to_ascii_lowercase();
    match scheme {
        "gs" => name.starts_with("GOOGLE_") && key.parse::<GoogleConfigKey>().is_ok(),
        "az" => name.starts_with("AZURE_") && key.parse::<AzureConfigKey>().is_ok(),
        _ => name.starts_with("AWS_") && key.parse::<AmazonS3ConfigKey>().is_ok(),
    }
}

/// Describes the problem of a variable's value.
fn problem(name: &str, value: &str) -> Option<String> {
    // The only value of several lines.
    if name.ends_with("SERVICE_ACCOUNT_KEY") {
        return None;
    }
    if is_url(name) {
        return url_problem(value);
    }
    if let Some(at) = value.chars().position(|c| c.is_control() || !c.is_ascii()) {
        return Some(format!("expected printable ASCII, found another character at position {}", at + 1));
    }
    let is_name = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let is_part = name.ends_with("REGION") || name.ends_with("ACCOUNT_NAME");
    (is_part && !is_name).then(|| format!("expected letters, digits and dashes, found {value:?}"))
}

fn is_url(name: &str) -> bool {
    ["_ENDPOINT", "_ENDPOINT_URL", "_ENDPOINT_URL_S3", "_ENDPOINT_URL_STS", "_FULL_URI", "_BASE_URL", "_AUTHORITY_HOST"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Describes the problem of a server URL.
fn url_problem(value: &str) -> Option<String> {
    let expected =
        |found: &str| Some(format!("expected a URL as http://HOST:PORT or https://HOST, found {value:?}{found}"));
    if value.chars().any(|c| !c.is_ascii_graphic() || matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'))
    {
        return expected("");
    }
    match Url::parse(value) {
        Err(error) => expected(&format!(" ({error})")),
        Ok(url) if !matches!(url.scheme(), "http" | "https") || !url.has_host() => expected(""),
        Ok(url) if url.query().is_some() || url.fragment().is_some() => expected(""),
        Ok(_) => None,
    }
}

/// Value of a boolean variable; false if unset, [`io::ErrorKind::InvalidInput`] for another value.
pub(crate) fn flag(name: &str) -> io::Result<bool> {
    let value = std::env::var(name).unwrap_or_default().to_ascii_lowercase();
    match value.as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "" | "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(plain(io::ErrorKind::InvalidInput, &format!("{name}: expected true or false, found {value:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_urls_of_servers() {
        for good in ["http://127.0.0.1:9000", "https://s3.example.org", "https://host/prefix", "http://[::1]:80"] {
            assert_eq!(problem("AWS_ENDPOINT_URL", good), None, "{good}");
        }
        for wrong in
            [":::::", "", "http://", "ftp://x", "http://[", "host:9000", "http://a b", "http://x\n", "http://x?y", "é"]
        {
            assert!(problem("AWS_ENDPOINT_URL", wrong).is_some(), "{wrong:?}");
            assert!(problem("AZURE_STORAGE_ENDPOINT", wrong).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let told = problem("AWS_SECRET_ACCESS_KEY", "geheim\n").unwrap();
        assert!(told.contains("position 7") && !told.contains("geheim"), "{told}");
        assert_eq!(problem("AWS_SECRET_ACCESS_KEY", "wJalr+XUt/nF="), None);
        assert!(problem("AWS_REGION", "us east").is_some() && problem("AWS_REGION", "us-east-1").is_none());
        assert_eq!(problem("GOOGLE_SERVICE_ACCOUNT_KEY", "{\n}"), None);
    }

    #[test]
    fn variables_belong_to_a_scheme() {
        assert!(is_known("s3", "AWS_ENDPOINT_URL") && !is_known("gs", "AWS_ENDPOINT_URL"));
        assert!(is_known("gs", "GOOGLE_SERVICE_ACCOUNT") && is_known("az", "AZURE_STORAGE_ACCOUNT_NAME"));
        assert!(!is_known("s3", "AWS_OF_SOMEBODY_ELSE"));
    }
}
