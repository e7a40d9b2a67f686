//! The modules of the Python package and their imports of each other.
//!
//! Imports for type checkers (`if TYPE_CHECKING:`) and inside functions count like all others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Name of the package.
const PACKAGE: &str = "heaplake";

/// The imports of each module, by name.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Modules that import each other in a circle.
pub(crate) fn circles(root: &Path) -> Vec<String> {
    let mut texts = BTreeMap::new();
    read(&root.join("python").join(PACKAGE), PACKAGE, &mut texts);
    in_circles(&imports(&texts))
}

/// Reads the modules of a folder and those below it.
fn read(folder: &Path, package: &str, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the package").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.join("__init__.py").is_file() {
            read(&path, &format!("{package}.{name}"), texts);
        } else if let Some(module) = name.strip_suffix(".py") {
            let module = if module == "__init__" { package.to_owned() } else { format!("{package}.{module}") };
            texts.insert(module, fs::read_to_string(path).expect("a module in UTF-8"));
        }
    }
}

fn imports(texts: &BTreeMap<String, String>) -> Imports {
    let of = |text: &String| {
        let lines =
            text.replace("(\n", "").replace(",\n", ",").lines().map(str::trim).flat_map(imported).collect::<Vec<_>>();
        // `from heaplake import _runs` imports a module, `from heaplake._runs import moment` a name of one.
        let module = |name: &String| {
            let above = || name.rsplit_once('.').map(|(above, _)| above.to_owned());
            if texts.contains_key(name) {
                Some(name.clone())
            } else {
                above().filter(|above| texts.contains_key(above))
            }
        };
        lines.iter().filter_map(module).collect()
    };
    texts.iter().map(|(name, text)| (name.clone(), of(text))).collect()
}

/// The names that a line imports from the package.
fn imported(line: &str) -> Vec<String> {
    if let Some((module, names)) = line.strip_prefix("from ").and_then(|line| line.split_once(" import ")) {
        let name = |name: &str| format!("{module}.{}", name.split_whitespace().next().unwrap_or_default());
        let names = names.trim_start_matches('(').split(',').filter(|name| !name.trim().is_empty()).map(name);
        return if module.starts_with(PACKAGE) { names.collect() } else { Vec::new() };
    }
    let modules = line.strip_prefix("import ").unwrap_or_default().split(',').map(str::trim);
    modules.filter(|module| module.starts_with(PACKAGE)).map(str::to_owned).collect()
}

/// Removes modules whose imports are all removed; the rest is in circles, or imports one that is.
fn in_circles(imports: &Imports) -> Vec<String> {
    let mut left = imports.clone();
    loop {
        let done: BTreeSet<String> =
            left.iter().filter(|(_, of)| of.is_empty()).map(|(name, _)| name.clone()).collect();
        if done.is_empty() {
            break;
        }
        left.retain(|name, _| !done.contains(name));
        left.values_mut().for_each(|of| of.retain(|name| !done.contains(name)));
    }
    let line = |(name, of): (&String, &BTreeSet<String>)| {
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        format!("{name} is in a circle of imports, or imports one that is: {}", of.join(", "))
    };
    left.iter().map(line).collect()
}

#[test]
fn circles_of_imports_are_found() {
    let texts = |of_b: &str| {
        let texts = [
            ("heaplake", "from heaplake.a import (\n    One,\n    Two,\n)\n"),
            ("heaplake.a", "import os\nfrom heaplake import b\n"),
            ("heaplake.b", of_b),
        ];
        in_circles(&imports(&texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into()))
    };
    assert_eq!(texts("from collections import abc\n"), Vec::<String>::new());
    assert_eq!(texts("if TYPE_CHECKING:\n    from heaplake.a import One\n").len(), 3);
}
