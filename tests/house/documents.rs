//! Checks that each capability in `docs/documents.md` names an existing test.

use std::fs;
use std::path::Path;

/// Rows that name no test, or a missing one.
pub(crate) fn unproved(root: &Path) -> Vec<String> {
    let page = fs::read_to_string(root.join("docs/documents.md")).unwrap_or_default();
    let rows: Vec<&str> = page.lines().filter(|line| is_row(line)).collect();
    assert!(rows.len() > 80, "{} rows: is this the page?", rows.len());
    rows.iter().filter_map(|row| diagnostic(root, row)).collect()
}

/// Rows begin with a letter and a number.
fn is_row(line: &str) -> bool {
    let name = line.strip_prefix("| ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let (letter, number) = name.split_at(name.len().min(1));
    matches!(letter, "A" | "B" | "C" | "D" | "E") && number.parse::<u32>().is_ok()
}

fn diagnostic(root: &Path, row: &str) -> Option<String> {
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
    let [_, _, place, tests] = cells[..] else { return Some(format!("{row}: not four cells")) };
    if !place.contains('`') {
        return Some(format!("{row}: no command and no table"));
    }
    let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
    let missing = named.iter().find(|test| !exists(root, test));
    match missing {
        Some(test) => Some(format!("{row}: there is no test {test}")),
        None => named.is_empty().then(|| format!("{row}: no test")),
    }
}

fn exists(root: &Path, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    let Ok(text) = fs::read_to_string(root.join(path)) else { return false };
    let signature = format!("fn {name}(");
    text.split("#[test]").skip(1).any(|after| after.lines().take(6).any(|line| line.trim().starts_with(&signature)))
}

#[test]
fn a_row_without_a_test_is_found() {
    let root = crate::sources::root();
    let good = "| A1 | sums | `sum` | `tests/house/documents.rs::a_row_without_a_test_is_found` |";
    assert!(is_row(good) && diagnostic(&root, good).is_none());
    for bad in ["| A1 | sums | `sum` | |", "| A1 | sums | | `x` |", "| A1 | sums | `sum` | `tests/house/main.rs::no` |"]
    {
        assert!(diagnostic(&root, bad).is_some(), "{bad}");
    }
}
