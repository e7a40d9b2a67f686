//! The modules of each crate, their uses of each other, and cycles of files or of folders.
//!
//! A path through a re-export (`crate::Budget` where lib.rs says `pub use budget::Budget`) uses the module that defines
//! the item. `mod a;` alone is no use. Test-only code does not count.

use crate::code;
use crate::paths::{self, Path};
use crate::sources::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The path of a module from the root of its crate.
type Name = Vec<String>;

/// Every cycle of files.
pub(crate) fn circles(sources: &[Source]) -> Vec<String> {
    let mut reached = BTreeSet::new();
    let mut findings = BTreeSet::new();
    for root in roots(sources) {
        if !reached.contains(&root) || is_crate_root(&sources[root].path) {
            let tree = Crate::read(sources, root);
            reached.extend(tree.modules.iter().map(|module| module.file));
            findings.extend(tree.circles(&tree.uses()));
        }
    }
    findings.into_iter().collect()
}

/// Every cycle of the top-level modules of a crate: a folder or file of `src` with all that is below it.
pub(crate) fn circles_of_folders(sources: &[Source], root: &str) -> Vec<String> {
    let Some(root) = sources.iter().position(|source| source.path == root) else {
        return vec![format!("{root}: there is no such file")];
    };
    let tree = Crate::read(sources, root);
    let top = |file: usize| tree.modules.iter().find(|module| module.file == file && !module.name.is_empty());
    // A top-level module is its own file.
    let whole = |file: usize| {
        let first = top(file)?.name.first()?;
        tree.modules.iter().find(|module| module.name.len() == 1 && module.name[0] == *first).map(|module| module.file)
    };
    let mut uses = BTreeMap::new();
    for ((from, to), line) in tree.uses() {
        let pair = (whole(from), whole(to));
        if let (Some(from), Some(to)) = pair
            && from != to
        {
            uses.entry((from, to)).or_insert(line);
        }
    }
    tree.circles(&uses)
}

/// Possible crate roots: lib.rs and main.rs, then the others, for files that no other declares.
fn roots(sources: &[Source]) -> Vec<usize> {
    let mut roots: Vec<_> = (0..sources.len()).collect();
    roots.sort_by_key(|&at| !is_crate_root(&sources[at].path));
    roots
}

fn is_crate_root(path: &str) -> bool {
    path.ends_with("/lib.rs") || path.ends_with("/main.rs")
}

/// The uses between files, each with its first line.
type Uses = BTreeMap<(usize, usize), String>;

/// A module: a file, or a block `mod a { ... }` in one.
struct Module<'a> {
    name: Name,
    file: usize,
    code: &'a str,
    /// Start of `code` in the file, and the folder of the modules that it declares.
    start: usize,
    folder: String,
    /// The paths in its code, without those in nested blocks.
    paths: Vec<Path>,
}

/// `mod a;` or `mod a { ... }`.
struct Declaration<'a> {
    name: &'a str,
    path: Option<&'a str>,
    block: Option<(usize, usize)>,
}

struct Crate<'a> {
    sources: &'a [Source],
    modules: Vec<Module<'a>>,
    /// Re-exports of each module by name.
    exports: BTreeMap<Name, BTreeMap<String, Vec<String>>>,
}

impl<'a> Crate<'a> {
    fn read(sources: &'a [Source], root: usize) -> Self {
        let mut tree = Self { sources, modules: Vec::new(), exports: BTreeMap::new() };
        let folder = folder_of(&sources[root].path).to_owned();
        tree.add(Module {
            name: Vec::new(),
            file: root,
            code: &sources[root].code,
            start: 0,
            folder,
            paths: Vec::new(),
        });
        let paths: Vec<_> = tree.modules.iter().map(|module| paths::of(&tree.own_code(module))).collect();
        for (module, paths) in tree.modules.iter_mut().zip(paths) {
            module.paths = paths;
            let exported = module.paths.iter().filter(|path| path.exported);
            let by_name = exported.map(|path| (path.name.clone(), path.words.clone())).collect();
            tree.exports.insert(module.name.clone(), by_name);
        }
        tree
    }

    /// Adds `module` and the modules that it declares.
    fn add(&mut self, module: Module<'a>) {
        let source = &self.sources[module.file];
        let mut below = Vec::new();
        for it in declarations(source, module.start, module.code) {
            let name = [module.name.as_slice(), &[it.name.to_owned()]].concat();
            let folder = format!("{}/{}", module.folder, it.name);
            if let Some((start, end)) = it.block {
                let code = &source.code[start..end];
                below.push(Module { name, file: module.file, code, start, folder, paths: Vec::new() });
            } else if let Some(file) = self.file_of(source, &module.folder, &it) {
                let source = &self.sources[file];
                let folder = if it.path.is_some() { folder_of(&source.path).to_owned() } else { folder };
                below.push(Module { name, file, code: &source.code, start: 0, folder, paths: Vec::new() });
            }
        }
        self.modules.push(module);
        below.into_iter().for_each(|module| self.add(module));
    }

    /// The file of the module that `source` declares.
    fn file_of(&self, source: &Source, folder: &str, declared: &Declaration) -> Option<usize> {
        let name = declared.name;
        let candidates = match declared.path {
            Some(path) => vec![normal(&format!("{}/{path}", folder_of(&source.path)))],
            None => vec![format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")],
        };
        self.sources.iter().position(|source| candidates.contains(&source.path))
    }

    /// The code of `module` without the blocks of the modules inside it.
    fn own_code(&self, module: &Module) -> String {
        let mut code = module.code.as_bytes().to_vec();
        for inner in &self.modules {
            let inside = inner.file == module.file && inner.name.len() == module.name.len() + 1;
            if inside && inner.name.starts_with(&module.name) {
                code[inner.start - module.start..][..inner.code.len()].fill(b' ');
            }
        }
        code.into_iter().map(char::from).collect()
    }

    /// The cycles, each with the uses that close it.
    fn circles(&self, uses: &Uses) -> Vec<String> {
        let reachable: BTreeMap<_, _> = uses.keys().map(|&(from, _)| (from, reach(uses, from))).collect();
        let returns = |from: usize, to: usize| reachable.get(&from).is_some_and(|reached| reached.contains(&to));
        let mut circles = Vec::new();
        for &first in reachable.keys().filter(|&&file| returns(file, file)) {
            let members: Vec<_> =
                reachable.keys().copied().filter(|&it| returns(first, it) && returns(it, first)).collect();
            if members[0] == first {
                let inside = uses.iter().filter(|((from, to), _)| members.contains(from) && members.contains(to));
                let lines: Vec<_> = inside.map(|(_, line)| format!("  {line}")).collect();
                circles.push(format!(
                    "{}:1: {} files use each other in a circle; move what they share to a file of its own, or pass it \
                     as a parameter:\n{}",
                    self.sources[first].path,
                    members.len(),
                    lines.join("\n")
                ));
            }
        }
        circles
    }

    /// The uses between files, and the first position of each.
    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for module in &self.modules {
            let source = &self.sources[module.file];
            for path in &module.paths {
                let Some(used) = self.used_file(module, path).filter(|&used| used != module.file) else { continue };
                let line = source.line(module.start + path.at);
                let (words, target) = (path.words.join("::"), &self.sources[used].path);
                let say = || format!("{}:{line} uses {target} ({words})", source.path);
                uses.entry((module.file, used)).or_insert_with(say);
            }
        }
        uses
    }

    /// The file that defines the item of `path`; `None` if outside the crate.
    fn used_file(&self, module: &Module, path: &Path) -> Option<usize> {
        let name = self.resolve(&module.name, &path.words, 0)?;
        self.modules.iter().find(|module| module.name == name).map(|module| module.file)
    }

    fn resolve(&self, from: &[String], words: &[String], hops: usize) -> Option<Name> {
        let mut at = from.to_vec();
        for (position, word) in words.iter().enumerate() {
            match word.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()?),
                _ if self.is_module(&at, word) => at.push(word.clone()),
                _ => {
                    let export = self.exports.get(&at).and_then(|exports| exports.get(word)).filter(|_| hops < 9);
                    let Some(target) = export else { return (position > 0).then_some(at) };
                    let onward = [target, &words[position + 1..]].concat();
                    return self.resolve(&at, &onward, hops + 1).or(Some(at));
                }
            }
        }
        Some(at)
    }

    fn is_module(&self, parent: &[String], name: &str) -> bool {
        self.modules
            .iter()
            .any(|module| module.name.split_last().is_some_and(|(last, up)| last == name && up == parent))
    }
}

/// The modules that `code`, at `start` of `source`, declares, without those inside a block.
fn declarations<'a>(source: &'a Source, start: usize, code: &'a str) -> Vec<Declaration<'a>> {
    let mut found = Vec::new();
    let mut reached = 0;
    for (at, _) in code::words(code).filter(|&(_, word)| word == "mod") {
        let after = &code[at + 3..].trim_start();
        let name = &after[..code::word_length(after)];
        let rest = after[name.len()..].trim_start();
        if at < reached || name.is_empty() || !rest.starts_with([';', '{']) {
            continue;
        }
        let open = code.len() - rest.len();
        let block = rest.starts_with('{').then(|| (start + open + 1, start + code::block_end(code, open) - 1));
        let before = code[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1);
        found.push(Declaration { name, path: path_attribute(&source.text[start + before..start + at]), block });
        reached = block.map_or(at, |(_, end)| end - start);
    }
    found
}

fn path_attribute(attributes: &str) -> Option<&str> {
    let (_, path) = attributes.split_once("#[path = \"")?;
    path.split('"').next()
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `path` without `..`.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// The files reachable from `from`.
fn reach(uses: &Uses, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let next = uses.range((file, 0)..=(file, usize::MAX)).map(|(&(_, to), _)| to);
        open.extend(next.filter(|&to| reached.insert(to)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        circles(&files.iter().map(|(path, text)| Source::new(path, text)).collect::<Vec<_>>())
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let findings = found(&[
            ("a/src/lib.rs", "mod b;\nmod c;\n"),
            ("a/src/b.rs", "use crate::c::C;\npub struct B(C);\n"),
            ("a/src/c/mod.rs", "mod d;\npub struct C;\n"),
            ("a/src/c/d.rs", "use super::C;\nuse crate::b::{self};\n"),
        ]);
        assert!(findings.is_empty(), "d is not used: {findings:?}");
        let findings = found(&[
            ("a/src/lib.rs", "mod b;\nmod c;\n"),
            ("a/src/b.rs", "use crate::{c::C};\npub struct B(C);\n"),
            ("a/src/c.rs", "pub struct C;\nimpl C {\n    fn d(b: &super::b::B) {}\n}\n"),
        ]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("a/src/c.rs:3 uses a/src/b.rs (super::b::B)"), "{findings:?}");
    }

    #[test]
    fn folders_that_use_each_other_are_a_circle_though_their_files_are_none() {
        let files = [
            ("a/src/lib.rs", "mod b;\nmod c;\n"),
            ("a/src/b/mod.rs", "mod d;\nmod e;\n"),
            ("a/src/b/d.rs", "use crate::c::C;\n"),
            ("a/src/b/e.rs", "pub struct E;\n"),
            ("a/src/c.rs", "use crate::b::e::E;\npub struct C;\n"),
        ];
        assert!(found(&files).is_empty());
        let sources: Vec<_> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        let findings = circles_of_folders(&sources, "a/src/lib.rs");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("a/src/b/d.rs:1 uses a/src/c.rs (crate::c::C)"), "{findings:?}");
        assert!(circles_of_folders(&sources[..4], "a/src/lib.rs").is_empty());
    }

    #[test]
    fn an_export_is_a_use_of_where_it_is_defined() {
        let lib = ("a/src/lib.rs", "mod b;\nmod c;\npub use b::B as Better;\n");
        let b = ("a/src/b.rs", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n");
        assert!(found(&[lib, b, ("a/src/c.rs", "use crate::Better;\npub struct C(Better);\n")]).is_empty());
        assert_eq!(found(&[lib, ("a/src/b.rs", "use crate::Other;\npub struct B;\n")]).len(), 1);
    }

    #[test]
    fn blocks_and_files_elsewhere_are_modules() {
        let findings = found(&[
            ("tests/a/main.rs", "#[path = \"../b/c.rs\"]\nmod c;\nmod d {\n    use super::c::C;\n}\n"),
            ("tests/b/c.rs", "use super::d::D;\npub struct C;\n"),
        ]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("tests/a/main.rs:4 uses tests/b/c.rs (super::c::C)"), "{findings:?}");
    }
}
