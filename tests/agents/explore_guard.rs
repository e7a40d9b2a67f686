//! `heaplake explore` against those who may not ask, ask wrongly, ask slowly, or ask all at once.

use crate::browser::{Browser, encoded};
use crate::tools::one;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn without_the_token_nothing_is_served() {
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    let other = Browser::open(&lake.path(), &[]);
    assert_eq!(browser.token.len(), 32);
    assert_ne!(browser.token, other.token);
    let cookie = |of: &Browser| {
        let page = of.request("GET", &format!("/?token={}", of.token), &[]);
        assert_eq!(page.status, 200);
        let cookie = page.header("set-cookie").unwrap().to_owned();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    };
    let (ours, theirs) = (cookie(&browser), cookie(&other));
    let wrong = "0".repeat(32);
    for path in ["/", "/assets/main.js", "/api/overview", "/nothing", "/favicon.ico"] {
        for headers in [
            &[][..],
            &[("X-Heaplake-Token", "")],
            &[("X-Heaplake-Token", &wrong)],
            &[("X-Heaplake-Token", &other.token)],
            &[("Cookie", &theirs)],
            &[("Cookie", "heaplake-explore-1=")],
        ] {
            for method in ["GET", "POST", "HEAD", "OPTIONS", "DELETE"] {
                assert_eq!(browser.request(method, path, headers).status, 403, "{method} {path} {headers:?}");
            }
        }
    }
    // The query of the first URL is for the page alone, and the cookie for its files.
    assert_eq!(browser.request("GET", &format!("/api/overview?token={}", browser.token), &[]).status, 403);
    assert_eq!(browser.request("GET", "/api/overview", &[("Cookie", &ours)]).status, 403);
    assert!(!ours.contains(&browser.token), "the cookie, which other ports may see, is not the token");
    for path in ["/", "/assets/main.js", "/assets/report.css"] {
        assert_eq!(browser.request("GET", path, &[("Cookie", &ours)]).status, 200, "{path}");
    }
    assert_eq!(browser.get("/api/overview").status, 200);
}

#[test]
fn only_names_of_loopback_are_hosts() {
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    let port = browser.port;
    let asked =
        |host: &str| browser.request("GET", "/api/overview", &[("Host", host), ("X-Heaplake-Token", &browser.token)]);
    for good in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "[::1]:9".to_owned()] {
        assert_eq!(asked(&good).status, 200, "{good}");
    }
    for bad in ["example.org", "127.0.0.1.example.org", "localhost.evil", "0.0.0.0", ""] {
        assert_eq!(asked(bad).status, 403, "{bad}");
    }
    let old =
        browser.raw(format!("GET /api/overview HTTP/1.0\r\nX-Heaplake-Token: {}\r\n\r\n", browser.token).as_bytes());
    assert_eq!(old.status, 403, "no Host");
}

#[test]
fn every_response_has_the_headers_of_safety() {
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    let page = browser.get("/");
    assert!(!page.body.contains("style=") && !page.body.contains("<style") && !page.body.contains("<script>"));
    let refused = browser.request("GET", "/", &[]);
    for response in
        [page, refused, browser.get("/api/overview"), browser.get("/assets/main.js"), browser.get("/nothing")]
    {
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert!(response.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{response:?}");
    }
}

#[test]
fn methods_paths_and_questions_that_do_not_exist() {
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    let with_token = [("X-Heaplake-Token", browser.token.as_str())];
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"] {
        let response = browser.request(method, "/api/overview", &with_token);
        assert_eq!((response.status, response.header("allow")), (405, Some("GET")), "{method}");
    }
    for path in [
        "/etc/passwd",
        "/assets/",
        "/assets/../../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/main.js",
        "//assets/main.js",
        "/assets/main.js/",
        "/api",
        "/api/",
        "/api/nothing",
        "/api/overview/",
        "/api/../assets/main.js",
        "/API/overview",
        "/run.json",
        "/%00",
        "/assets/main.js%00",
    ] {
        assert_eq!(browser.get(path).status, 404, "{path}");
    }
    for (question, arguments) in [
        ("overview", &[("nothing", "1")][..]),
        ("overview", &[("run", "../../etc")]),
        ("object", &[("node", "x")]),
        ("object", &[("node", "99999999")]),
        ("object", &[]),
        ("top", &[("what", "secrets")]),
        ("top", &[("cursor", "7-00000000")]),
        ("members", &[("set", "7")]),
        ("class", &[("class", "\u{202e}<b>")]),
    ] {
        let response = browser.asked(question, arguments);
        assert_eq!(response.status, 400, "{question} {arguments:?}: {}", response.body);
        let body = response.json();
        assert!(body["error"].is_string() && body["advice"].is_string(), "{body}");
        assert!(!response.body.contains('\u{202e}'));
    }
    // Bytes that are no UTF-8 are a name like any other.
    assert_eq!(browser.get("/api/overview?run=%ff%fe").status, 400);
    assert!(browser.raw(b"\x16\x03\x01 not http\r\n\r\n").status >= 400);
}

#[test]
fn what_is_too_long_is_refused() {
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    for (length, statuses) in [(20_000, &[400][..]), (40_000, &[414]), (70_000, &[414, 431]), (3 << 20, &[414, 431])] {
        let response = browser.get(&format!("/api/overview?run={}", "a".repeat(length)));
        assert!(statuses.contains(&response.status), "{length}: {}", response.status);
    }
    let long = "b".repeat(1 << 20);
    let response = browser.request("GET", "/", &[("X-Heaplake-Token", &browser.token), ("X-Long", &long)]);
    assert_eq!(response.status, 431);
    assert_eq!(browser.get("/api/overview").status, 200);
    // A pattern that matches nothing, whatever it is made of.
    let pattern = encoded(&"*a".repeat(3000));
    assert_eq!(browser.get(&format!("/api/top?class={pattern}")).status, 400);
}

#[test]
fn slow_clients_do_not_hold_up_others() {
    let (lake, _) = one(&[]);
    let browser = Browser::open(&lake.path(), &[]);
    let mut slow: Vec<_> = (0..30)
        .map(|at| {
            let mut stream = browser.connected();
            // Some send nothing, others a part of a request.
            if at % 2 == 0 {
                stream.write_all(b"GET /api/overview HTTP/1.1\r\nHost: 127").unwrap();
            }
            stream
        })
        .collect();
    let begin = Instant::now();
    assert_eq!(browser.get("/api/overview").status, 200);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    // The server gives up on each of them.
    for stream in &mut slow {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
    }
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn many_requests_at_once_are_all_answered() {
    let (lake, _) = one(&["--edges"]);
    let browser = Browser::open(&lake.path(), &["--memory", "80MiB"]);
    let expected = browser.get("/api/why?node=4").body;
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let response = browser.get("/api/why?node=4");
                assert_eq!((response.status, &response.body), (200, &expected));
            });
        }
    });
    // Clients that leave before the answer free their places.
    for _ in 0..200 {
        let mut stream = browser.connected();
        let token = &browser.token;
        let text = format!("GET /api/why?node=4 HTTP/1.1\r\nHost: localhost\r\nX-Heaplake-Token: {token}\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
    }
    assert_eq!(browser.get("/api/why?node=4").body, expected);
}

#[test]
fn a_signal_ends_it_at_once_also_amid_requests() {
    for signal in ["-INT", "-TERM"] {
        let (lake, _) = one(&[]);
        let browser = Browser::open(&lake.path(), &[]);
        let mut waiting = browser.connected();
        waiting.write_all(b"GET / HT").unwrap();
        assert_eq!(browser.get("/").status, 200);
        let (status, took) = browser.end(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}
