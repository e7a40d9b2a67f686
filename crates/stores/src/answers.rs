//! HTTP answers of a store, filtered before the library parses them.
//!
//! To a store, a key is any text; to the library, it is a path: a listing with one key such as `a//b`, `a/../b` or one
//! with a line end is an error as a whole. So such keys are removed from listings before the library parses them, and
//! reported to the caller. The store's clock is read from the header of its answers.

use async_trait::async_trait;
use chrono::DateTime;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::path::Path as Key;
use object_store::{ClientOptions, Result};
use std::cell::RefCell;
use std::future::Future;
use std::time::{Duration, SystemTime};

/// Data heard besides the library's results.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Keys that are no paths.
    pub foreign: Vec<String>,
    /// Time of the last answer, by the clock of the store.
    pub answered: Option<SystemTime>,
}

tokio::task_local! {
    static HEARD: RefCell<Heard>;
}

/// Runs work, and returns the data heard from listings meanwhile.
pub(crate) async fn listening<T>(work: impl Future<Output = T>) -> (T, Heard) {
    let both = async {
        let done = work.await;
        (done, HEARD.with(RefCell::take))
    };
    HEARD.scope(RefCell::default(), both).await
}

/// Makes clients with listings of paths only.
#[derive(Debug)]
pub(crate) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(Answers(ReqwestConnector::default().connect(options)?)))
    }
}

#[derive(Debug)]
struct Answers(HttpClient);

#[async_trait]
impl HttpService for Answers {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let lists = request.method().as_str() == "GET" && request.uri().query().is_some_and(is_list);
        let answer = self.0.execute(request).await?;
        if !lists || !answer.status().is_success() {
            return Ok(answer);
        }
        let answered = answer.headers().get("date").and_then(|date| moment(date.to_str().ok()?));
        let (head, body) = answer.into_parts();
        let (kept, foreign) = without_foreign(&body.bytes().await?);
        // Nobody listens when SQL lists.
        let _ = HEARD.try_with(|heard| {
            let mut heard = heard.borrow_mut();
            heard.foreign.extend(foreign);
            heard.answered = answered.or(heard.answered);
        });
        Ok(HttpResponse::from_parts(head, kept.into()))
    }
}

/// Whether a query asks for a listing: of S3 and Google, or of Azure.
fn is_list(query: &str) -> bool {
    query.split('&').any(|part| part == "list-type=2" || part == "comp=list")
}

/// Parses an HTTP date.
fn moment(date: &str) -> Option<SystemTime> {
    let seconds = DateTime::parse_from_rfc2822(date).ok()?.timestamp();
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// Elements of listings, each with the child element of its key.
const ELEMENTS: [(&str, &str); 4] =
    [("Contents", "Key"), ("CommonPrefixes", "Prefix"), ("Blob", "Name"), ("BlobPrefix", "Name")];

/// Removes keys that are no paths from a listing; returns the rest and these keys.
fn without_foreign(list: &[u8]) -> (Vec<u8>, Vec<String>) {
    let (mut kept, mut foreign) = (Vec::with_capacity(list.len()), Vec::new());
    let mut rest = list;
    while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
        kept.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let key = element(rest).and_then(|(length, key, is_prefix)| {
            let key = foreign_key(key, is_prefix)?;
            Some((length, key))
        });
        let taken = match key {
            Some((length, key)) => {
                foreign.push(key);
                length
            }
            None => {
                kept.push(b'<');
                1
            }
        };
        rest = &rest[taken..];
    }
    kept.extend_from_slice(rest);
    (kept, foreign)
}

/// The leading element of a text, if it is one of [`ELEMENTS`]: its length, its key, and whether that is a prefix.
fn element(text: &[u8]) -> Option<(usize, &[u8], bool)> {
    // Most elements of a listing are others.
    if !matches!(text.get(1), Some(b'C' | b'B')) {
        return None;
    }
    ELEMENTS.iter().find_map(|(name, key)| {
        let inner = text.strip_prefix(b"<")?.strip_prefix(name.as_bytes())?.strip_prefix(b">")?;
        let closing = format!("</{name}>");
        let inner = &inner[..find(inner, &closing)?];
        let (before, after) = (format!("<{key}>"), format!("</{key}>"));
        let key = &inner[find(inner, &before)? + before.len()..];
        let key = &key[..find(key, &after)?];
        Some((inner.len() + 2 * closing.len() - 1, key, name.ends_with("es") || name.ends_with("fix")))
    })
}

fn find(text: &[u8], what: &str) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what.as_bytes())
}

/// The key, if it is no path.
fn foreign_key(escaped: &[u8], is_prefix: bool) -> Option<String> {
    let lossy = || Some(String::from_utf8_lossy(escaped).into_owned());
    let Some(key) = std::str::from_utf8(escaped).ok().and_then(unescaped) else { return lossy() };
    let path = if is_prefix { key.strip_suffix('/').unwrap_or(&key) } else { &key };
    let is_path = !path.is_empty() && Key::parse(path).is_ok_and(|parsed| parsed.as_ref() == path);
    (!is_path).then_some(key)
}

/// Unescapes a text of XML; `None` for an unknown escape.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('&');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';')?;
        plain.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let digits = name.strip_prefix('#')?;
                let number = match digits.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => digits.parse(),
                };
                char::from_u32(number.ok()?)?
            }
        });
        plain.push_str(rest);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_paths_leave_the_list() {
        let of = |key: &str| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
        let foreign =
            ["prod//x", "prod/../x", "prod/./x", "prod/x/", "/x", "a&#x1;b", "a&#10;b", "&unknown;", "a\u{1}b"];
        let good = ["prod/release=1/snapshot=a/run.json", "a%2Fb", "a b", "&amp;&lt;&#233;", "..a/b..", "Contents"];
        let list = |keys: &[&str]| {
            format!("<?xml?><List><Prefix>p/</Prefix>{}</List>", keys.iter().map(|key| of(key)).collect::<String>())
        };
        let mixed: Vec<&str> =
            foreign.iter().zip(good.iter().cycle()).flat_map(|(one, other)| [*one, *other]).collect();
        let (kept, told) = without_foreign(list(&mixed).as_bytes());
        let kept = String::from_utf8(kept).unwrap();
        assert_eq!(kept, list(&mixed.into_iter().skip(1).step_by(2).collect::<Vec<_>>()));
        assert_eq!(told.len(), foreign.len());
        assert_eq!((told[0].as_str(), told[5].as_str(), told[6].as_str()), ("prod//x", "a\u{1}b", "a\nb"));
    }

    #[test]
    fn prefixes_and_blobs_are_looked_at_too() {
        let list = "<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes>\
            <Blob><Name>a/./b</Name></Blob><BlobPrefix><Name>../</Name></BlobPrefix><Blob><Name>a</Name></Blob>";
        let (kept, told) = without_foreign(list.as_bytes());
        assert_eq!(kept, b"<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes><Blob><Name>a</Name></Blob>");
        assert_eq!(told, ["a//", "a/./b", "../"]);
        let broken = b"<Contents><Key>\xff</Key></Contents><Contents><Key>a//b";
        let (kept, told) = without_foreign(broken);
        assert_eq!((kept.as_slice(), told), (&b"<Contents><Key>a//b"[..], vec!["\u{fffd}".to_owned()]));
    }

    #[test]
    fn a_list_is_known_by_its_query() {
        assert!(is_list("list-type=2&prefix=a%2F") && is_list("restype=container&comp=list"));
        assert!(!is_list("uploads") && !is_list("prefix=list-type"));
        let at = moment("Thu, 01 Jan 1970 00:01:00 GMT").unwrap();
        assert_eq!(at, SystemTime::UNIX_EPOCH + Duration::from_secs(60));
        assert_eq!(moment("yesterday"), None);
    }
}
