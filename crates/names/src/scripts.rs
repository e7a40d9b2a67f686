//! Names of scripts in signatures.

use crate::rules::Rule;
use crate::scan::digits;

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "kinds of scripts",
        matches: "scripts of Node, of `eval`, of `vm`, `data:` and `blob:`",
        becomes: "`node:…` as it is; the others without what is in them",
        examples: &[
            ("node:internal/timers", "node:internal/timers"),
            ("evalmachine.<anonymous>", "evalmachine.<anonymous>"),
            ("[eval]-wrapper", "[eval]-wrapper"),
            ("VM123", "VM"),
            ("data:text/javascript;base64,Y29uc3Q=", "data:"),
            ("blob:https://shop.example/2f1c0a52-6d4e-4f0e-9d1b-0a1b2c3d4e5f", "blob:"),
        ],
        apply: kinds,
    },
    Rule {
        name: "queries",
        matches: "`?` and `#` and what follows",
        becomes: "nothing",
        examples: &[
            ("https://shop.example/app.js?v=3f2a1b9c#top", "app.js"),
            ("webpack:///src/cart.vue?8d2c", "cart.vue"),
        ],
        apply: |text| {
            let end = text.find(['?', '#']).filter(|&at| at > 0)?;
            Some(text[..end].to_owned())
        },
    },
    Rule {
        name: "packages",
        matches: "a path in `node_modules`",
        becomes: "the path in the innermost package",
        examples: &[
            ("/srv/1.4/node_modules/lodash/memoize.js", "lodash/memoize.js"),
            (
                "file:///a/node_modules/.pnpm/lru-cache@10.2.0/node_modules/lru-cache/dist/lru.js",
                "lru-cache/dist/lru.js",
            ),
            ("C:\\app\\node_modules\\@acme\\pay\\index.js", "@acme/pay/index.js"),
        ],
        apply: packages,
    },
    Rule {
        name: "paths",
        matches: "other paths and URLs",
        becomes: "the name of the file; for `index` that of its folder too, unless it is one like `dist` or a version",
        examples: &[
            ("file:///srv/app-1.4.2/src/cart.js", "cart.js"),
            ("/srv/shop/orders/index.js", "orders/index.js"),
            ("/srv/1.4.2/dist/index.js", "index.js"),
            ("webpack-internal:///./src/cart.js", "cart.js"),
        ],
        apply: paths,
    },
    Rule {
        name: "hashes in names of files",
        matches: "hashes that webpack, Rollup, Vite and esbuild put into names of files, and numbers of chunks",
        becomes: "`*`",
        examples: &[
            ("main.3f2a1b9c.js", "main.*.js"),
            ("main.155b6bc289b7120b708d.cjs", "main.*.cjs"),
            ("chunk-ABC123.js", "chunk-*.js"),
            ("chunk-TJKCMUIX.js", "chunk-*.js"),
            ("main.6Z3W72FN.mjs", "main.*.mjs"),
            ("index-BxY12_a.js", "index-*.js"),
            ("index-BxY12_aQ.js", "index-*.js"),
            ("main--dhVrxG5.mjs", "main-*.mjs"),
            ("main-D-iLJSeq.mjs", "main-*.mjs"),
            ("_app-9d1fd0f1f0d43f3b.js", "_app-*.js"),
            ("123.abcdef.js", "*.*.js"),
            ("jquery-3.6.0.min.js", "jquery-*.*.*.min.js"),
            ("user-profiles.js", "user-profiles.js"),
            ("shop-Settings.js", "shop-Settings.js"),
            ("facade.js", "facade.js"),
            ("some-longName.js", "some-longName.js"),
        ],
        apply: hashes,
    },
];

fn kinds(text: &str) -> Option<String> {
    for kind in ["data:", "blob:"] {
        if text.starts_with(kind) {
            return (text != kind).then(|| kind.to_owned());
        }
    }
    let number = text.strip_prefix("VM").map_or(0, digits);
    (number > 0 && text.len() == number + 2).then(|| "VM".to_owned())
}

/// Whether a name is no path: `node:fs`, `evalmachine.<anonymous>`, `[eval]`.
fn is_no_path(text: &str) -> bool {
    text.starts_with("node:") || text.starts_with(['[', '<']) || text == "data:" || text == "blob:"
}

fn packages(text: &str) -> Option<String> {
    let at = text.rfind("node_modules")?;
    let path = text[at + "node_modules".len()..].trim_start_matches(['/', '\\']).replace('\\', "/");
    (!path.is_empty()).then_some(path)
}

/// Generic folders, uninformative about their files.
const FOLDERS: [&str; 14] =
    ["app", "assets", "build", "chunks", "cjs", "client", "dist", "esm", "js", "lib", "out", "server", "src", "static"];

fn paths(text: &str) -> Option<String> {
    let is_absolute = text.starts_with(['/', '\\', '.'])
        || text.contains("://")
        || text.contains(":\\")
        || text.starts_with("webpack-internal:");
    if is_no_path(text) || !is_absolute {
        return None;
    }
    let mut parts = text.rsplit(['/', '\\']);
    let file = parts.next().filter(|file| !file.is_empty())?;
    if !file.starts_with("index.") {
        return (file != text).then(|| file.to_owned());
    }
    let named = |folder: &&str| {
        let is_version = folder.contains('.') && folder.bytes().any(|byte| byte.is_ascii_digit());
        !folder.is_empty() && !folder.contains(':') && !FOLDERS.contains(folder) && !is_version && *folder != "."
    };
    let is_host = parts.clone().nth(1).is_some_and(str::is_empty) && text.contains("://");
    match parts.next().filter(named).filter(|_| !is_host) {
        Some(folder) => Some(format!("{folder}/{file}")),
        None => (file != text).then(|| file.to_owned()),
    }
}

fn hashes(text: &str) -> Option<String> {
    if is_no_path(text) {
        return None;
    }
    let (folder, file) = text.rsplit_once('/').map_or(("", text), |(folder, file)| (&text[..=folder.len()], file));
    let (stem, extension) = file.rsplit_once('.').map_or((file, ""), |(stem, _)| (stem, &file[stem.len()..]));
    let stem = end_hash(stem).unwrap_or_else(|| stem.to_owned());
    let mut out = String::from(folder);
    for part in stem.split_inclusive(['.', '-', '_', '~']) {
        let token = part.trim_end_matches(['.', '-', '_', '~']);
        let after_chunk = out.ends_with("chunk-") || out.ends_with("chunk.");
        let after_number = out.ends_with("*.") || out.ends_with("*-");
        if is_hash(token) || (after_chunk && is_capitals(token, 4)) || (after_number && is_hex(token)) {
            out.push('*');
            out.push_str(&part[token.len()..]);
        } else {
            out.push_str(part);
        }
    }
    out.push_str(extension);
    (out != text).then_some(out)
}

/// Hexadecimal with a digit, a number, or eight capitals and digits.
fn is_hash(token: &str) -> bool {
    let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = digits(token) == token.len() && !token.is_empty();
    is_number || (is_hex(token) && (has_digit || token.len() >= 16)) || (token.len() == 8 && is_capitals(token, 8))
}

fn is_hex(token: &str) -> bool {
    token.len() >= 6 && token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_capitals(token: &str, least: usize) -> bool {
    token.len() >= least && token.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Removes the hash of Rollup and Vite: the last seven or eight letters, digits, `-` and `_`, after a `-`.
fn end_hash(stem: &str) -> Option<String> {
    [8, 7].into_iter().find_map(|length| {
        let at = stem.len().checked_sub(length).filter(|&at| stem.is_char_boundary(at))?;
        let (name, hash) = stem.split_at(at);
        let name = name.strip_suffix('-').filter(|name| !name.is_empty())?;
        let letters = hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let longest = hash.split(['-', '_']).max_by_key(|piece| piece.len())?;
        (letters && !is_word(longest)).then(|| format!("{name}-*"))
    })
}

/// Whether a person would write it: `profiles`, `Settings`, `longName`, `v2`, `UTF8`.
fn is_word(piece: &str) -> bool {
    let stem = piece.trim_end_matches(|last: char| last.is_ascii_digit());
    let stem_digits = piece.len() - stem.len();
    if stem.bytes().any(|byte| byte.is_ascii_digit()) || stem_digits > 3 {
        return false;
    }
    if stem.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return stem.len() < 7;
    }
    // Each hump of camel case has at least two small letters.
    let mut humps = stem.split(|letter: char| letter.is_ascii_uppercase()).map(str::len);
    let first = humps.next().unwrap_or(0);
    (first != 1 || stem.len() == 1) && humps.all(|small| small >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_hashes() {
        for word in ["profiles", "Settings", "longName", "v2", "utils10", "UTF8", "a"] {
            assert!(is_word(word), "{word}");
        }
        for hash in ["CIJYFvwf", "iLJSeq", "dhVrxG5", "BxY12", "DFK8hmSL", "a1b2c3d4", "TJKCMUIX"] {
            assert!(!is_word(hash), "{hash}");
        }
    }
}
