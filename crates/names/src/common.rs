//! Rules of all runtimes: generated addresses, ids, numbers and hashes.

use crate::rules::Rule;
use crate::scan::{Edit, digits, drop_behind, ends_in_identifier, hex, rewrite, words};

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "addresses",
        matches: "`0x` and at least four hexadecimal digits",
        becomes: "`0x#`",
        examples: &[("block 0x7f3a9c04", "block 0x#")],
        apply: |text| rewrite(text, "0x", |_, after| drop_behind("0x#", if hex(after) > 3 { hex(after) } else { 0 })),
    },
    Rule {
        name: "ids and versions",
        matches: "`@` and a number, or a version",
        becomes: "nothing",
        examples: &[("Foo@12345", "Foo"), ("system / Foo @41491", "system / Foo"), ("left-pad@1.3.0", "left-pad")],
        apply: ids,
    },
    Rule {
        name: "positions",
        matches: "`:line` and `:line:column` behind a name",
        becomes: "nothing",
        examples: &[("take(Queue.java:1182)", "take(Queue.java)"), ("load (app.js:3:14)", "load (app.js)")],
        apply: positions,
    },
    Rule {
        name: "indices",
        matches: "a number in brackets",
        becomes: "`[]`",
        examples: &[("rows[12]", "rows[]")],
        apply: |text| {
            rewrite(text, "[", |_, after| {
                let digits = digits(after);
                drop_behind("[", if after[digits..].starts_with(']') { digits } else { 0 })
            })
        },
    },
    Rule {
        name: "generated words",
        matches: "words that are numbers of three or more digits, hashes of eight or more hexadecimal digits, or end in five or more digits; UUIDs",
        becomes: "`#` in place of the digits",
        examples: &[
            ("tenant-1048", "tenant-#"),
            ("user20481", "user#"),
            ("page_5f2b9ac1", "page_#"),
            ("job 2f1c0a52-6d4e-4f0e-9d1b-0a1b2c3d4e5f", "job #"),
            ("Uint8Array", "Uint8Array"),
            ("level2", "level2"),
        ],
        apply: generated_words,
    },
];

fn ids(text: &str) -> Option<String> {
    rewrite(text, "@", |before, after| {
        let mut forward = digits(after);
        while forward > 0 && after[forward..].starts_with('.') && digits(&after[forward + 1..]) > 0 {
            forward += 1 + digits(&after[forward + 1..]);
        }
        let name = before.trim_end();
        (forward > 0 && !name.is_empty()).then_some(Edit { back: before.len() - name.len(), put: "", forward })
    })
}

fn positions(text: &str) -> Option<String> {
    rewrite(text, ":", |before, after| {
        let forward = digits(after);
        let ends = after[forward..].chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '.');
        let named = ends_in_identifier(before) || before.ends_with(['>', ')']);
        (forward > 0 && ends && named).then_some(Edit { back: 0, put: "", forward })
    })
}

/// Lengths of the words of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

fn generated_words(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for word in words(text) {
        if word.start < done {
            continue;
        }
        let letters = &text[word.clone()];
        let number = letters.bytes().rev().take_while(u8::is_ascii_digit).count();
        let is_hash = letters.len() >= 8 && hex(letters) == letters.len() && number < letters.len();
        let has_digit = letters.bytes().any(|byte| byte.is_ascii_digit());
        let end = uuid(&text[word.start..]).map_or(word.end, |length| word.start + length);
        let start = if end > word.end || (is_hash && has_digit) || (number == letters.len() && number > 2) {
            word.start
        } else if number > 4 {
            word.end - number
        } else {
            continue;
        };
        out.push_str(&text[done..start]);
        out.push('#');
        done = end;
    }
    out.push_str(&text[done..]);
    (done > 0).then_some(out)
}

/// Length of a leading UUID.
fn uuid(text: &str) -> Option<usize> {
    let mut at = 0;
    for (position, &length) in UUID.iter().enumerate() {
        if position > 0 {
            text[at..].strip_prefix('-')?;
            at += 1;
        }
        if hex(&text[at..]) != length {
            return None;
        }
        at += length;
    }
    Some(at)
}
