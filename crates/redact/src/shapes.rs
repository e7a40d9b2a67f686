//! Names that look like data: keys of maps such as mails, ids, numbers of cards and phones, tokens, UUIDs; and the
//! parts of names that are data, such as the query of a URL.
//!
//! These are rules of thumb. A key such as `hunter2` looks like any other name and stays.

use std::ops::Range;

/// Digits in a row, with separators, that make a number: of a phone, a card, a customer.
const DIGITS: usize = 6;

/// Least length of hexadecimal digits that make a hash or a key.
const HEX: usize = 16;

/// Least length of a token.
const TOKEN: usize = 16;

/// Least length of a token without digits.
const LONG_TOKEN: usize = 24;

/// Length from which a name with spaces is a text.
const PROSE: usize = 80;

/// Beginnings of known tokens.
const PREFIXES: [&[u8]; 16] = [
    b"eyJ",
    b"AKIA",
    b"ASIA",
    b"AIza",
    b"ghp_",
    b"gho_",
    b"ghs_",
    b"ghu_",
    b"github_pat_",
    b"glpat-",
    b"sk_live_",
    b"sk_test_",
    b"sk-",
    b"xoxb-",
    b"xoxp-",
    b"npm_",
];

/// Endings of files of code, whose names often have a hash of their content.
const CODE: [&[u8]; 7] = [b".js", b".mjs", b".cjs", b".ts", b".jsx", b".tsx", b".wasm"];

/// Whether a name, or a part of it, looks like data.
#[must_use]
pub fn looks_like_data(name: &str) -> bool {
    judge(name.as_bytes()) != Verdict::Keep
}

/// The parts of a name that are data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// None.
    Keep,
    /// All of it.
    Whole,
    /// These parts, in ascending order.
    Parts(Vec<Range<usize>>),
}

/// Finds the data in a name.
pub(crate) fn judge(name: &[u8]) -> Verdict {
    if let Some(parts) = weak_entry(name) {
        return Verdict::Parts(parts);
    }
    if name.first() == Some(&b'<') {
        return of(attributes(name));
    }
    // V8 numbers some of its edges: `12 / name`.
    let start = numbered(name);
    let rest = &name[start..];
    if rest.contains(&b'/') || rest.contains(&b'\\') {
        return of(in_path(rest).into_iter().map(|part| part.start + start..part.end + start).collect());
    }
    match is_data(rest) {
        true if start > 0 => Verdict::Parts(std::iter::once(start..name.len()).collect()),
        true => Verdict::Whole,
        false => Verdict::Keep,
    }
}

fn of(parts: Vec<Range<usize>>) -> Verdict {
    if parts.is_empty() { Verdict::Keep } else { Verdict::Parts(parts) }
}

/// Returns the end of a number with a slash between spaces, at the start of a name; otherwise 0.
fn numbered(name: &[u8]) -> usize {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && name[digits..].starts_with(b" / ") { digits + 3 } else { 0 }
}

/// Finds the two names in the label of a weak map's entry, which may be texts of the heap:
/// `7 / part of key (NAME @11) -> value (NAME @13) pair in WeakMap (table @17)`.
fn weak_entry(name: &[u8]) -> Option<Vec<Range<usize>>> {
    const KEY: &[u8] = b" / part of key (";
    const VALUE: &[u8] = b") -> value (";
    const PAIR: &[u8] = b") pair in WeakMap (table @";
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let key = name[digits..].starts_with(KEY).then_some(digits + KEY.len())?;
    let pair = memchr::memmem::rfind(name, PAIR)?;
    // The id before a position, with the space and the sign before it.
    let id_before = |end: usize| {
        let digits = name[..end].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        name[..end - digits].ends_with(b" @").then_some(end - digits - 2)
    };
    let value_end = id_before(pair)?;
    let mut ends = memchr::memmem::find_iter(&name[key..value_end], VALUE).map(|at| key + at);
    let (key_end, value) = ends.find_map(|at| Some((id_before(at)?, at + VALUE.len())))?;
    Some([key..key_end, value..value_end].into_iter().filter(|part| part.start < part.end).collect())
}

/// Finds the values of the attributes of an element: `<div id="a" class="b">`, and what follows the element.
fn attributes(name: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'"', &name[at..]).map(|found| at + found + 1) {
        let last = memchr::memchr(b'"', &name[open..]).map(|found| open + found);
        let close = last.unwrap_or(name.len());
        if close > open {
            parts.push(open..close);
        }
        at = (close + 1).min(name.len());
    }
    if parts.is_empty() && is_data(name) {
        parts.push(1..name.len());
    }
    parts
}

/// Finds the data in a path or a URL: user and password, query and fragment, and segments that look like data.
fn in_path(path: &[u8]) -> Vec<Range<usize>> {
    if path.starts_with(b"data:") || path.starts_with(b"javascript:") {
        return std::iter::once(5..path.len()).collect();
    }
    let mut parts = Vec::new();
    let is_url = memchr::memchr_iter(b':', path).any(|at| path[at..].starts_with(b"://"));
    let end = match path.iter().position(|byte| matches!(byte, b'?' | b'#')) {
        Some(query) if is_url || path[query] == b'?' => query,
        _ => path.len(),
    };
    let is_code = CODE.iter().any(|ending| path[..end].ends_with(ending));
    let mut start = 0;
    for segment in path[..end].split(|byte| matches!(byte, b'/' | b'\\')) {
        let part = start..start + segment.len();
        start = part.end + 1;
        let is_user = is_url && segment.contains(&b'@') && !is_code;
        if is_user || if is_code { is_personal(segment) } else { is_data(segment) } {
            parts.push(part);
        }
    }
    if end + 1 < path.len() {
        parts.push(end + 1..path.len());
    }
    parts
}

/// True if a name is data by its shape.
pub(crate) fn is_data(name: &[u8]) -> bool {
    is_personal(name) || has_number(name) || has_hex(name) || has_token(name) || is_prose(name)
}

/// True for mails, UUIDs and known tokens.
fn is_personal(name: &[u8]) -> bool {
    has_mail(name) || has_uuid(name) || has_prefix(name) || has_scheme(name)
}

fn has_mail(name: &[u8]) -> bool {
    let is_local = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-'".contains(byte) || *byte >= 0x80;
    let is_domain = |byte: &&u8| byte.is_ascii_alphanumeric() || b".-".contains(byte) || **byte >= 0x80;
    memchr::memchr_iter(b'@', name).any(|at| {
        let domain = &name[at + 1..];
        let domain = &domain[..domain.iter().take_while(is_domain).count()];
        let is_dotted = domain.iter().enumerate().any(|(dot, &byte)| {
            let letters = domain[dot + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte >= 0x80);
            byte == b'.' && dot > 0 && letters.count() >= 2
        });
        at > 0 && is_local(&name[at - 1]) && is_dotted
    })
}

fn has_uuid(name: &[u8]) -> bool {
    const LENGTH: usize = 36;
    let is_uuid = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    name.len() >= LENGTH && name.windows(LENGTH).any(is_uuid)
}

fn has_prefix(name: &[u8]) -> bool {
    let begins = |start: usize| {
        PREFIXES.iter().any(|prefix| {
            let rest = &name[start..];
            rest.starts_with(prefix) && token(rest).len() >= prefix.len() + 8
        })
    };
    let starts = (0..name.len()).filter(|&at| at == 0 || !name[at - 1].is_ascii_alphanumeric());
    starts.into_iter().any(begins)
}

/// True for values of headers (`Bearer …`) and blocks of keys.
fn has_scheme(name: &[u8]) -> bool {
    let has = |word: &[u8]| name.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    (name.len() > 12 && (has(b"bearer ") || has(b"basic "))) || has(b"-----begin ")
}

/// True for enough digits in a row, with separators of phone numbers between them.
fn has_number(name: &[u8]) -> bool {
    let mut digits = 0;
    let mut separators = 0;
    for &byte in name {
        if byte.is_ascii_digit() {
            (digits, separators) = (digits + 1, 0);
            if digits >= DIGITS {
                return true;
            }
        } else if b" -./()+:".contains(&byte) && digits > 0 && separators < 2 {
            separators += 1;
        } else {
            (digits, separators) = (0, 0);
        }
    }
    false
}

fn has_hex(name: &[u8]) -> bool {
    name.split(|byte| !byte.is_ascii_hexdigit()).any(|run| {
        let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
        run.len() >= HEX && digits >= 2 && run.len() - digits >= 2
    })
}

/// The characters of a token at the start of a name.
fn token(name: &[u8]) -> &[u8] {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-+=.~%".contains(byte);
    &name[..name.iter().take_while(is_part).count()]
}

/// Class of a character of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Small,
    Capital,
    Separator,
}

fn class(byte: u8) -> Class {
    match byte {
        b'0'..=b'9' => Class::Digit,
        b'a'..=b'z' => Class::Small,
        b'A'..=b'Z' => Class::Capital,
        _ => Class::Separator,
    }
}

/// True for a long mixture of digits, small and capital letters, as random texts have it and names of code have not:
/// at least half of a name is words.
fn has_token(name: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+=~%".contains(byte);
    name.split(|byte| !is_part(byte)).filter(|run| run.len() >= TOKEN).any(|run| {
        let count = |wanted: Class| run.iter().filter(|&&byte| class(byte) == wanted).count();
        let (digits, small, capital) = (count(Class::Digit), count(Class::Small), count(Class::Capital));
        let separators = count(Class::Separator) - run.iter().rev().take_while(|byte| **byte == b'=').count();
        let changes = run.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
        let is_mixed = changes * 3 >= run.len() && separators * 8 < run.len();
        let words = in_words(run);
        let has_digits = digits >= 2 && small + capital >= 2 && words * 2 <= run.len();
        let is_long = run.len() >= LONG_TOKEN && small >= 4 && capital >= 4 && words * 3 <= run.len();
        is_mixed && (has_digits || is_long)
    })
}

/// Number of letters in words: three small letters or more, or two or more after a capital one.
fn in_words(run: &[u8]) -> usize {
    let mut letters = 0;
    let mut before = Class::Separator;
    for part in run.chunk_by(|a, b| class(*a) == class(*b)) {
        let is_headed = before == Class::Capital;
        if class(part[0]) == Class::Small && part.len() + usize::from(is_headed) >= 3 {
            letters += part.len() + usize::from(is_headed);
        }
        before = class(part[0]);
    }
    letters
}

fn is_prose(name: &[u8]) -> bool {
    name.len() > PROSE && name.contains(&b' ') && !name.starts_with(b"(") && !name.starts_with(b"system / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name with its data as `_`.
    fn masked(name: &str) -> String {
        let mut out = name.as_bytes().to_vec();
        match judge(name.as_bytes()) {
            Verdict::Keep => {}
            Verdict::Whole => out.fill(b'_'),
            Verdict::Parts(parts) => parts.into_iter().for_each(|part| out[part].fill(b'_')),
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn data_is_found_by_its_shape() {
        for name in [
            "alice@example.com",
            "müller@bücher.de",
            "o'neil+tag@mail.example.co.uk",
            "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "session:3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "4111111111111111",
            "4111 1111 1111 1111",
            "+49 170 1234567",
            "(555) 123-4567",
            "123-45-6789",
            "user_482137",
            "192.168.100.200",
            "DE89370400440532013000",
            "5f4dcc3b5aa765d61d8327deb882cf99",
            "AKIAIOSFODNN7EXAMPLE",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "eyJhbGciOiJIUzI1NiJ9",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "dGhpcyBpcyBhIHNlY3JldCB0b2tlbg==",
            "Xk29vLq8Tz4Rb71Wm3Yc",
            "Bearer abcdefghijkl",
        ] {
            assert_eq!(judge(name.as_bytes()), Verdict::Whole, "{name}");
        }
    }

    #[test]
    fn names_stay() {
        for name in [
            "",
            "constructor",
            "getElementById",
            "addEventListenerWithOptionsAndSignal",
            "isPrototypeOfObjectWithNullPrototype",
            "camellia-192-cfb",
            "sha256WithRSAEncryption",
            "kMaxHeaderSize16KB",
            "(SetOrSetIteratorToList builtin code)",
            "1723 / LoadJoinTypedElement_BigUint64Elements_0",
            "ChaCha20Poly1305CipherJob",
            "RsaKeyPairGenJob",
            "kKeyVariantRSA_SSA_PKCS1_v1_5",
            "v8_enable_31bit_smis_on_64bit_arch",
            "ERR_HTTP2_STATUS_101",
            "nsFromTimeSpecBigInt",
            "HTMLTableRowElement",
            "(TemporalPlainTimePrototypeWith builtin code)",
            "(ArrayNoArgumentConstructor_PackedSmi_DisableAllocationSites builtin code)",
            "system / Map (SharedExternalOneByteString)",
            "node:internal/modules/cjs/loader",
            "file:///srv/app/node_modules/@scope/thing@1.2.3/dist/index-8f3a9b2c1d4e5f60.js",
            "/srv/app/node_modules/.pnpm/react-dom@18.2.0_react@18.2.0/index.js",
            "Node / AliasedFloat64Array",
            "12 / map",
            "data",
            "key541",
            "UTF-16LE",
            "get onfullscreenchange",
            "<div>",
        ] {
            assert_eq!(judge(name.as_bytes()), Verdict::Keep, "{name}");
        }
    }

    #[test]
    fn parts_of_names_are_masked() {
        for (name, expected) in [
            ("<div id=\"bob\" class=\"x y\">", "<div id=\"___\" class=\"___\">"),
            ("<a href=\"\">", "<a href=\"\">"),
            ("https://shop.example/cart?user=bob#top", "https://shop.example/cart?____________"),
            ("https://u:pw@shop.example/a.html", "https://_________________/a.html"),
            ("Window / https://e.example/alice@example.com/x", "Window / https://e.example/_________________/x"),
            ("data:text/plain,hello", "data:________________"),
            ("1234567 / alice@example.com", "1234567 / _________________"),
            (
                "7 / part of key (Foo @11) -> value (a) -> value (b @2 @13) pair in WeakMap (table @17)",
                "7 / part of key (___ @11) -> value (_________________ @13) pair in WeakMap (table @17)",
            ),
            (
                "7 / part of key (symbol @11) -> value (s3cret @13) pair in WeakMap (table @17)",
                "7 / part of key (______ @11) -> value (______ @13) pair in WeakMap (table @17)",
            ),
        ] {
            assert_eq!(masked(name), expected);
        }
    }
}
