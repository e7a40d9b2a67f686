//! Planted secrets: many kinds in every place of the formats. None remains in any byte of the output, in plain text or
//! in UTF-16, hexadecimal or Base64.

use crate::dump::{BYTE, CHAR, Dump, INT, LONG, OBJECT};
use crate::snapshot::Snapshot;
use crate::{check, options, try_redact};
use heaplake_redact::Texts;
use serde_json::json;
use std::collections::HashMap;

/// Secrets whose shape is known, for places where other names stay.
fn shaped(at: u64) -> String {
    let digits = 1_000_000 + at * 7919;
    match at % 10 {
        0 => format!("user{at}.x@example.com"),
        1 => format!("3f2504e0-4f89-41d3-9a0c-{digits:012}"),
        2 => format!("+49 170 {digits}"),
        3 => format!("AKIA{:0>16}", format!("Q{digits}")),
        4 => format!("eyJhbGciOiJI{digits}.eyJzdWIi{digits}.c2lnbmF0dXJl{digits}"),
        5 => format!("sk_live_4eC39HqLyjW{digits}"),
        6 => format!("4111 1111 {:04} {:04}", at % 10_000, (at * 13) % 10_000),
        7 => format!("5f4dcc3b5aa765d61d83{digits:012x}"),
        8 => format!("DE8937040044{digits}"),
        _ => format!("Bearer q7{digits}Zx"),
    }
}

/// Secrets of any shape, for places of texts.
fn any(at: u64) -> String {
    match at % 4 {
        0 => shaped(at / 4),
        1 => format!("hunter-{at}-pass"),
        2 => format!("Müller Straße {at}"),
        _ => format!("秘密の言葉{at}😀"),
    }
}

/// The forms of a secret in bytes: plain, escaped, UTF-16, hexadecimal, Base64.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let units: Vec<u16> = secret.encode_utf16().collect();
    let escaped = units.iter().flat_map(|unit| match u8::try_from(*unit).ok().filter(u8::is_ascii) {
        Some(byte) => vec![byte],
        None => format!("\\u{unit:04x}").into_bytes(),
    });
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let mut forms = vec![secret.as_bytes().to_vec(), escaped.collect(), big.clone(), little.clone()];
    for bytes in [secret.as_bytes(), &big, &little] {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        forms.extend([hex.to_uppercase().into_bytes(), hex.into_bytes()]);
        forms.extend((0..3).map(|offset| base64(bytes, offset)));
    }
    forms
}

/// Base64 of bytes behind `offset` others, without the characters that depend on neighbours.
fn base64(bytes: &[u8], offset: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let threes = bytes.get((3 - offset) % 3..).unwrap_or_default().chunks_exact(3);
    let digits = threes.flat_map(|three| {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte));
        [18, 12, 6, 0].map(|shift| DIGITS[bits >> shift & 63])
    });
    digits.collect()
}

/// Bytes by which a form is found.
const KEY: usize = 4;

/// Forms of secrets by their first bytes.
type Forms<'a> = HashMap<[u8; KEY], Vec<(Vec<u8>, &'a str)>>;

fn forms_of(secrets: &[String]) -> Forms<'_> {
    let mut all = Forms::new();
    for secret in secrets {
        // A short piece of Base64 may be there by chance.
        let long = |form: &Vec<u8>| form.len() >= 8 || form.as_slice() == secret.as_bytes();
        for form in forms(secret).into_iter().filter(|form| long(form) && form.len() >= KEY) {
            all.entry(form[..KEY].try_into().unwrap()).or_default().push((form, secret));
        }
    }
    all
}

/// The secrets in some bytes, in any form.
fn found<'a>(forms: &Forms<'a>, bytes: &[u8]) -> Vec<&'a str> {
    let at = |(at, window): (usize, &[u8])| {
        let forms = forms.get(window)?;
        forms.iter().find(|(form, _)| bytes[at..].starts_with(form)).map(|(_, secret)| *secret)
    };
    bytes.windows(KEY).enumerate().filter_map(at).collect()
}

/// Redacts at several block sizes; no secret remains.
fn none_remains(original: &[u8], secrets: &[String]) {
    let forms = forms_of(secrets);
    assert!(found(&forms, original).len() >= secrets.len() / 2);
    for texts in Texts::ALL {
        let options = options(texts);
        let mut first = None;
        for block in [7, 64, 1000, 4096, 1 << 16, 256 << 10] {
            let (redacted, _) = try_redact(original, block, &options).unwrap();
            assert_eq!(first.get_or_insert(redacted.clone()), &redacted);
        }
        let redacted = first.unwrap();
        let remaining = found(&forms, &redacted);
        assert!(remaining.is_empty(), "{} of {} remain: {remaining:?}", remaining.len(), secrets.len());
        assert!(check(&redacted).is_clean(), "{:?}", check(&redacted));
    }
}

#[test]
fn none_of_v8_remains() {
    let mut snapshot = Snapshot::default();
    snapshot.node("synthetic", "");
    let mut secrets = Vec::new();
    let mut next = |is_shaped: bool| {
        let at = secrets.len() as u64;
        let secret: String = if is_shaped { shaped(at) } else { any(at) };
        secrets.push(secret.clone());
        secret
    };
    for round in 0..60u64 {
        for kind in ["string", "regexp", "concatenated string", "sliced string"] {
            snapshot.node(kind, &next(false));
        }
        for kind in ["object", "closure", "code", "symbol", "hidden", "array", "object shape", "bigint", "number"] {
            snapshot.node(kind, &next(true));
        }
        for kind in ["property", "context", "internal", "shortcut", "weak"] {
            snapshot.edge(kind, &next(true));
        }
        snapshot.node("native", &format!("<div id=\"{}\">", next(false)));
        snapshot.node("object", &format!("Window / https://shop.example/cart?token={}", next(false)));
        snapshot.node("code", &format!("https://bob:{}@host.example/a.js", shaped(secrets_len(round))));
        snapshot.edge(
            "internal",
            &format!(
                "{round} / part of key (Foo @{round}) -> value ({} @7) pair in WeakMap (table @9)",
                any(5000 + round)
            ),
        );
        snapshot.unused(&any(6000 + round));
        snapshot.node("string", &format!("{}{}", "long ".repeat(2000 * (round as usize % 3)), any(7000 + round)));
    }
    for round in 0..60u64 {
        secrets.extend([shaped(secrets_len(round)), any(5000 + round), any(6000 + round), any(7000 + round)]);
    }
    let more = [("notes", json!({ "text": any(9000), "list": [any(9001), 1] }))];
    secrets.extend([any(9000), any(9001)]);
    let original = snapshot.file(&more);
    assert!(secrets.len() > 1000);
    none_remains(&original, &secrets);
}

fn secrets_len(round: u64) -> u64 {
    8000 + round
}

#[test]
fn none_of_java_remains() {
    for id in [4, 8] {
        let mut dump = Dump::new(id, id == 4);
        dump.class(100, "app/Holder", &[("text", OBJECT), ("card", LONG), ("initials", INT), ("letter", CHAR)], &[]);
        let mut secrets = Vec::new();
        for at in 0..300u64 {
            let (latin, wide, chars, literal) = (shaped(4 * at), any(4 * at + 1), any(4 * at + 2), any(4 * at + 3));
            dump.text(&literal);
            dump.array(1000 + 4 * at, BYTE, 1, latin.as_bytes());
            let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
            let little: Vec<u8> = units(&wide).into_iter().flat_map(u16::to_le_bytes).collect();
            dump.array(1001 + 4 * at, BYTE, 1, &little);
            let big: Vec<u8> = units(&chars).into_iter().flat_map(u16::to_be_bytes).collect();
            dump.array(1002 + 4 * at, CHAR, 2, &big);
            let long = format!("{}{}", "x".repeat(3000), shaped(5000 + at));
            dump.array(1003 + 4 * at, BYTE, 1, long.as_bytes());
            let card = format!("card{at:04}");
            let fields = [dump.reference(1000), card.as_bytes().to_vec(), b"B0b!".to_vec(), vec![0, b'Q']].concat();
            dump.instance(90_000 + at, 100, &fields);
            secrets.extend([latin, wide, chars, literal, shaped(5000 + at), card]);
        }
        dump.class(101, "app/Statics", &[], &[("secret", LONG, b"s3cret!!")]);
        dump.record(0xde, shaped(40).as_bytes());
        secrets.extend(["s3cret!!".to_owned(), "B0b!".to_owned()]);
        none_remains(&dump.file(), &secrets);
    }
}
