//! `docs/signatures.md` shows the rules as they are. `HEAPLAKE_UPDATE=1` writes it anew.

use heaplake_names::lists;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The text above it is written by hand.
const BEGIN: &str = "<!-- Below: written by crates/names/tests/signatures_doc.rs from crates/names/src. HEAPLAKE_UPDATE=1 renews it. -->\n";

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/signatures.md");
    let page = fs::read_to_string(&path).unwrap();
    let (by_hand, generated) = page.split_once(BEGIN).expect("the line below which the page is generated");
    let expected = render();
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, format!("{by_hand}{BEGIN}{expected}")).unwrap();
    } else {
        assert!(generated == expected, "docs/signatures.md is stale: run these tests with HEAPLAKE_UPDATE=1");
    }
}

fn render() -> String {
    let mut page = String::new();
    for list in lists() {
        let _ = write!(page, "\n## {}\n\n{}\n", list.title, list.about);
        for rule in list.rules {
            let _ = write!(page, "\n### {}\n\n", capital(rule.name));
            let _ = writeln!(page, "Matches {}. Becomes {}.\n", rule.matches, rule.becomes);
            page.push_str("| name | becomes |\n|---|---|\n");
            for (from, to) in rule.examples {
                let _ = writeln!(page, "| {} | {} |", code(from), code(to));
            }
        }
    }
    page
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// As code in a cell of a table, in which a bar and a backquote would end something.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
