//! `heaplake_kit::fs` opens users' files: it accepts only regular files and bounds whole reads.

use crate::sources::Source;

/// Files that use the standard library to open others, and why.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("crates/input/src/stored.rs", "an input may be a pipe"),
    ("pipeline/src/memory.rs", "files of the system"),
    ("pipeline/src/engine/checks.rs", "only tests see it"),
];

/// Test-only files, besides those recognised by name.
const OF_TESTS: [&str; 3] = ["against_library.rs", "objects/refusals.rs", "objects/made.rs"];

/// Every call that opens or reads a file by the standard library.
pub(crate) fn unguarded(sources: &[Source]) -> Vec<String> {
    let is_product = |source: &&Source| {
        let path = source.path.as_str();
        let is_test = ["/tests/", "/examples/"].iter().any(|part| path.contains(part))
            || ["tests.rs", "properties.rs"].iter().chain(&OF_TESTS).any(|end| path.ends_with(end));
        let is_code =
            ["crates/", "stages/", "pipeline/src/", "schemas/src/"].iter().any(|folder| path.starts_with(folder));
        let excepted = path.starts_with("crates/kit/src/fs/") || EXCEPTIONS.iter().any(|(file, _)| path == *file);
        is_code && !is_test && !excepted
    };
    sources.iter().filter(is_product).flat_map(calls).collect()
}

fn calls(source: &Source) -> Vec<String> {
    let code = &source.code;
    let imports: Vec<&str> = code.lines().filter(|line| line.trim_start().starts_with("use std::fs")).collect();
    let imports_module = imports.iter().any(|line| line.contains("std::fs;") || line.contains("{self"));
    let imports_file = imports.iter().any(|line| line.contains("File"));
    let of_module = ["fs::read(", "fs::read_to_string(", "fs::copy(", "fs::File::open("];
    let named = of_module.iter().map(|call| (*call, imports_module)).chain([("File::open(", imports_file)]);
    let mut found = Vec::new();
    for (call, is_of_std) in named {
        for (at, _) in code.match_indices(call) {
            let before = &code[..at];
            let is_of_std = before.ends_with("std::") || (is_of_std && !before.ends_with("::"));
            // Files of `/proc` are bounded.
            let is_of_system = source.text[at + call.len()..].starts_with("\"/proc/");
            if is_of_std && !is_of_system {
                let line = source.line(at);
                found.push(format!("{}:{line}: {call}) of the standard library; use heaplake_kit::fs", source.path));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_standard_library_are_found() {
        let of = |text: &str| unguarded(&[Source::new("stages/a/src/b.rs", text)]).len();
        assert_eq!(of("use std::fs;\nfn a() { fs::read(p); fs::metadata(p); }"), 1);
        assert_eq!(of("use std::fs::{self, Metadata};\nfn a() { fs::read_to_string(p); }"), 1);
        assert_eq!(of("use std::fs::{File, Metadata};\nfn a() { File::open(p); }"), 1);
        assert_eq!(of("fn a() { std::fs::File::open(p); std::fs::read(p); }"), 2);
        assert_eq!(of("use std::fs;\nuse heaplake_kit::fs::File;\nfn a() { File::open(p); }"), 0);
        assert_eq!(of("use heaplake_kit::fs;\nfn a() { fs::read(p); }"), 0);
        assert_eq!(of("use std::fs;\nfn a() { heaplake_kit::fs::read(p); fs::read(\"/proc/a\"); }"), 0);
        assert_eq!(of("#[cfg(test)]\nmod tests { use std::fs; fn a() { fs::read(p); } }"), 0);
    }
}
