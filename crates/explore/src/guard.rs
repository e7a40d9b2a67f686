//! Who may ask, and what a browser may do with a response.
//!
//! In this order: `Host` must name loopback, or a page of another site whose name was pointed at 127.0.0.1 could ask (DNS
//! rebinding); a secret must be there; the method must be GET. Responses, also refusals, forbid scripts and styles other
//! than the page's own, requests to other places, frames and caches. There is no header of CORS, so no other site reads a
//! response.

use crate::secrets::{Secrets, equal};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, REFERRER_POLICY};
use axum::http::header::{CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use std::net::IpAddr;
use std::sync::Arc;

/// Header with the token.
pub const TOKEN: &str = "x-heaplake-token";
/// Longest path with its query, bytes.
pub const LONGEST: usize = 24 << 10;
/// Prefix of paths that need the token; files need a secret of either kind.
pub const ANSWERS: &str = "/api/";

/// `require-trusted-types-for` makes the browser refuse markup in scripts, also in that of the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// The secrets of a server, and the name of its cookie.
#[derive(Clone, Debug)]
pub struct Guard {
    secrets: Secrets,
    cookie: String,
}

impl Guard {
    /// Guards a server on a port. The port is a part of the cookie's name, so that two servers do not log each other out.
    #[must_use]
    pub fn new(secrets: Secrets, port: u16) -> Self {
        Self { secrets, cookie: format!("heaplake-explore-{port}") }
    }

    /// Value of `Set-Cookie`.
    #[must_use]
    pub fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.secrets.cookie)
    }

    /// Whether a URL has the token, as the printed one.
    #[must_use]
    pub fn has_token(&self, uri: &Uri) -> bool {
        let mut pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        pairs.any(|(name, value)| name == "token" && equal(value.as_bytes(), &self.secrets.token))
    }

    fn may_see(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let has_header = headers.get(TOKEN).is_some_and(|value| equal(value.as_bytes(), &self.secrets.token));
        if uri.path().starts_with(ANSWERS) {
            return has_header;
        }
        has_header || (uri.path() == "/" && self.has_token(uri)) || self.has_cookie(headers)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie && equal(value.as_bytes(), &self.secrets.cookie))
    }

    fn refusal(&self, request: &Request) -> Option<Response> {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(is_loopback) {
            return Some(refused(StatusCode::FORBIDDEN, "This server answers on loopback only."));
        }
        if !self.may_see(request.uri(), request.headers()) {
            let words =
                "The token is missing. Open the URL that heaplake explore printed: paste it into the address bar.";
            return Some(refused(StatusCode::FORBIDDEN, words));
        }
        if request.method() != Method::GET {
            let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, "Only GET.");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
            return Some(response);
        }
        let length = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
        (length > LONGEST).then(|| refused(StatusCode::URI_TOO_LONG, "The URL is too long."))
    }
}

/// Whether a value of `Host` names this machine, with any port: it may be forwarded.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let is_address = |text: &str| text.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    port.bytes().all(|byte| byte.is_ascii_digit())
        && (name.eq_ignore_ascii_case("localhost") || six.map_or_else(|| is_address(name), is_address))
}

/// A refusal in words.
#[must_use]
pub fn refused(status: StatusCode, words: &'static str) -> Response {
    let mut response = Response::new(Body::from(words));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Refuses, or lets the request through; adds the headers either way.
pub async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_loopback() {
        for good in ["127.0.0.1", "127.0.0.1:80", "localhost:9", "LocalHost", "[::1]", "[::1]:80", "127.9.9.9:1"] {
            assert!(is_loopback(good), "{good}");
        }
        let bad =
            ["", ":80", "example.org", "127.0.0.1.example.org", "localhost.example.org:80", "0.0.0.0:80", "10.0.0.1"];
        for bad in bad.into_iter().chain([
            "[::]:80",
            "[::1",
            "::1]",
            "127.0.0.1:80@example.org",
            "localhost:80x",
            "[127.0.0.1]x",
        ]) {
            assert!(!is_loopback(bad), "{bad}");
        }
    }
}
