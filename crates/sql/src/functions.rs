//! The page of functions, `docs/sql-functions.md`, written from the engine: `HEAPLAKE_UPDATE=1 cargo test -p
//! heaplake-sql functions` writes it anew.

use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::Documentation;
use heaplake_kit::fs;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;

const HEAD: &str = "\
# Functions of `heaplake sql`

The functions of the engine, by kind, as this version of heaplake has them. `SHOW FUNCTIONS` lists them with the types of
their arguments. No function writes files.

Written by a test from the engine; do not edit.
";

/// Functions by section: name, then forms of calls and other names.
type Sections = BTreeMap<&'static str, BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>>;

/// The page.
fn page() -> String {
    let state = SessionContext::new().state();
    let mut sections = Sections::new();
    for function in state.scalar_functions().values() {
        add(&mut sections, (function.name(), function.aliases()), function.documentation(), "Other Functions");
    }
    for function in state.aggregate_functions().values() {
        add(&mut sections, (function.name(), function.aliases()), function.documentation(), "Aggregate Functions");
    }
    for function in state.window_functions().values() {
        add(&mut sections, (function.name(), function.aliases()), function.documentation(), "Window Functions");
    }
    let mut page = HEAD.to_owned();
    for (section, functions) in sections {
        page += &format!(
            "\n## {}\n\n| function | call | other names |\n|---|---|---|\n",
            section.replace(" Functions", " functions")
        );
        for (name, (forms, aliases)) in functions {
            page += &format!("| `{name}` | {} | {} |\n", code(&forms), code(&aliases));
        }
    }
    page
}

fn add(
    sections: &mut Sections,
    (name, aliases): (&str, &[String]),
    documentation: Option<&Documentation>,
    otherwise: &'static str,
) {
    let section = documentation.map_or(otherwise, |text| text.doc_section.label);
    let forms: Option<BTreeSet<String>> = documentation.map(|text| {
        text.alternative_syntax.iter().flatten().chain([&text.syntax_example]).map(|form| one_line(form)).collect()
    });
    let entry = sections.entry(section).or_default().entry(name.to_owned()).or_default();
    // The engine shows some functions by a call of another one.
    entry.0.extend(forms.unwrap_or_default().into_iter().filter(|form| form.contains(name)));
    entry.1.extend(aliases.iter().filter(|alias| *alias != name).cloned());
}

fn one_line(form: &str) -> String {
    form.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn code(texts: &BTreeSet<String>) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_page_lists_the_functions_of_the_engine() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql-functions.md");
    let page = page();
    if env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(page.lines().count() > 200, "{page}");
    assert!(
        page == String::from_utf8(fs::read(&path).unwrap()).unwrap(),
        "docs/sql-functions.md is old: HEAPLAKE_UPDATE=1 writes it"
    );
}
