//! Looks up the modules of an input in symbol files.

use crate::assembly::{self, Assembly};
use crate::build::Build;
use crate::files::hash;
use crate::pdb::{self, Line, Pdb};
use heaplake_kit::{Budget, Reservation, StageError, fs as kit_fs};
use heaplake_schemas::symbols::{SymbolFile, SymbolKind, Symbols};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Mask of a token's row.
const ROW: u32 = 0x00ff_ffff;

/// A module as an input names it.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// Its file, with or without folder and ending.
    pub name: &'a str,
    /// Its build, if the input states it.
    pub build: Option<Build>,
}

impl<'a> Module<'a> {
    /// File name without folder and ending.
    fn stem(&self) -> &'a str {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or(self.name);
        let ending = name.rsplit_once('.').filter(|(_, ending)| ["dll", "exe", "pdb"].contains(ending));
        ending.map_or(name, |(stem, _)| stem)
    }
}

/// Lines of methods.
#[derive(Debug, Default)]
pub struct Lines {
    /// Source files.
    pub files: Vec<String>,
    /// File and line of each method, in request order.
    pub found: Vec<Option<(u32, u32)>>,
}

/// Symbol files, opened one after the other.
pub struct Library<'a> {
    files: &'a [SymbolFile],
    budget: &'a Budget,
    remarks: BTreeSet<String>,
}

impl<'a> Library<'a> {
    /// Library of the files in the options of a run.
    pub fn new(symbols: Option<&'a Symbols>, budget: &'a Budget) -> Self {
        let files = symbols.map_or(&[][..], |symbols| &symbols.files);
        Self { files, budget, remarks: BTreeSet::new() }
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether there are assemblies.
    pub fn has_assemblies(&self) -> bool {
        self.files.iter().any(|file| file.kind == SymbolKind::Assembly)
    }

    /// Remarks about the files, a sentence each.
    #[must_use]
    pub fn remarks(self) -> Vec<String> {
        self.remarks.into_iter().collect()
    }

    /// Adds a sentence.
    pub fn remark(&mut self, sentence: String) {
        self.remarks.insert(sentence);
    }

    /// Names of types of a module, by token; `None` where no file has one. A file that changed since the run began is
    /// [`StageError::Refused`].
    pub fn types(&mut self, module: &Module<'_>, tokens: &[u32]) -> Result<Vec<Option<String>>, StageError> {
        let build = module.build.map(|build| build.to_string());
        let Some(file) = self.file(module.stem(), build.as_deref(), |file| file.kind == SymbolKind::Assembly) else {
            return Ok(vec![None; tokens.len()]);
        };
        let names = self.assembly(file, |assembly| tokens.iter().map(|&token| assembly.type_name(token)).collect())?;
        Ok(names.unwrap_or_else(|| vec![None; tokens.len()]))
    }

    /// Applies `work` to an assembly; `None` for native code, and, with a remark, for a damaged file.
    fn assembly<T>(
        &mut self,
        file: &SymbolFile,
        work: impl FnOnce(&Assembly<'_>) -> T,
    ) -> Result<Option<T>, StageError> {
        let (bytes, _reserved) = self.content(file, assembly::BYTES_PER_BYTE)?;
        Ok(Assembly::parse(&bytes).map(|assembly| assembly.as_ref().map(work)).unwrap_or_else(|problem| {
            self.damaged(file, &problem);
            None
        }))
    }

    /// First lines of methods of a module, by token.
    pub fn lines(&mut self, module: &Module<'_>, tokens: &[u32]) -> Result<Lines, StageError> {
        self.lines_with(module.stem(), module.build.map(|build| build.to_string()).as_deref(), tokens)
    }

    /// First lines of methods of an assembly, by token.
    pub fn lines_of(&mut self, assembly: &SymbolFile, tokens: &[u32]) -> Result<Lines, StageError> {
        self.lines_with(&assembly.module, assembly.build.as_deref(), tokens)
    }

    fn lines_with(&mut self, module: &str, build: Option<&str>, tokens: &[u32]) -> Result<Lines, StageError> {
        let none = Lines { files: Vec::new(), found: vec![None; tokens.len()] };
        let Some(file) = self.file(module, build, |file| file.has_lines) else { return Ok(none) };
        let Some((pdb, _reserved)) = self.pdb(file)? else { return Ok(none) };
        let mut lines = Lines::default();
        let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
        for token in tokens {
            let found = pdb.first_line(token & ROW).map(|Line { file, line }| {
                let next = lines.files.len() as u32;
                let number = *numbers.entry(file).or_insert(next);
                if number == next {
                    lines.files.push(file.to_owned());
                }
                (number, line)
            });
            lines.found.push(found);
        }
        Ok(lines)
    }

    /// Looks up methods by name, `Namespace.Type::Method`, in all assemblies: the module and token of each that exists
    /// exactly once.
    pub fn methods(&mut self, names: &[&str]) -> Result<Vec<Option<(&'a SymbolFile, u32)>>, StageError> {
        let mut found = vec![None; names.len()];
        let mut several = vec![false; names.len()];
        let wanted: FxHashMap<&str, usize> = names.iter().enumerate().map(|(at, &name)| (name, at)).collect();
        let files = self.files;
        for file in files.iter().filter(|file| file.kind == SymbolKind::Assembly) {
            for (at, row) in self.assembly(file, |assembly| assembly.methods(&wanted))?.unwrap_or_default() {
                several[at] |= row == 0 || found[at].is_some_and(|(old, _): (&SymbolFile, _)| old.hash != file.hash);
                found[at] = Some((file, row));
            }
        }
        found.iter_mut().zip(several).filter(|(_, several)| *several).for_each(|(found, _)| *found = None);
        Ok(found)
    }

    /// The file that describes a module. A file of another build is not used, which is remarked.
    fn file(
        &mut self,
        stem: &str,
        build: Option<&str>,
        is_wanted: impl Fn(&SymbolFile) -> bool,
    ) -> Option<&'a SymbolFile> {
        let named = |file: &&SymbolFile| file.module.eq_ignore_ascii_case(stem) && is_wanted(file);
        let candidates: Vec<&SymbolFile> = self.files.iter().filter(named).collect();
        let Some(build) = build else {
            let first = *candidates.first()?;
            if candidates
                .iter()
                .all(|file| file.hash == first.hash || file.build.is_some() && file.build == first.build)
            {
                return Some(first);
            }
            self.remark(format!(
                "several builds of {stem} are given and the input does not say which one it had, so none is used"
            ));
            return None;
        };
        let same = candidates.iter().find(|file| file.build.as_deref() == Some(build));
        let unknown = || candidates.iter().find(|file| file.build.is_none());
        if let Some(file) = same.or_else(unknown) {
            return Some(file);
        }
        for file in candidates {
            let of = file.build.as_deref().unwrap_or_default();
            self.remark(format!(
                "{} is of build {of}, but {stem} in the input of {build}, so it is not used",
                file.path
            ));
        }
        None
    }

    fn damaged(&mut self, file: &SymbolFile, problem: &str) {
        self.remark(format!("{} is damaged and not used: {problem}", file.path));
    }

    /// Reads a file, which must be unchanged since it was found.
    fn content(&self, file: &SymbolFile, per_byte: u64) -> Result<(Vec<u8>, Reservation), StageError> {
        let reserved = self.budget.reserve("a file with symbols", file.bytes.saturating_mul(per_byte))?;
        let bytes = match kit_fs::read_at_most(&file.path, file.bytes) {
            // The file grew, so it changed.
            Err(error) if kit_fs::TooLong::is(&error) => Vec::new(),
            read => read.map_err(|error| StageError::io(file.path.as_ref(), "read", error))?,
        };
        if hash(&bytes) == file.hash {
            return Ok((bytes, reserved));
        }
        Err(StageError::Refused {
            problem: format!("{}: the file has changed since the command began", file.path),
            advice: "run the same command again".to_owned(),
        })
    }

    /// The lines of a PDB, or of the one inside an assembly.
    fn pdb(&mut self, file: &SymbolFile) -> Result<Option<(Pdb, Reservation)>, StageError> {
        let (mut bytes, mut reserved) = self.content(file, pdb::BYTES_PER_BYTE)?;
        if file.kind == SymbolKind::Assembly {
            let most = self.budget.free() / pdb::BYTES_PER_BYTE;
            let inside = Assembly::parse(&bytes).ok().flatten().and_then(|assembly| assembly.pdb(most));
            match inside {
                Some(Ok(pdb)) => {
                    reserved = self.budget.reserve("a PDB in an assembly", pdb.len() as u64 * pdb::BYTES_PER_BYTE)?;
                    bytes = pdb;
                }
                Some(Err(problem)) => {
                    self.damaged(file, &problem);
                    return Ok(None);
                }
                None => return Ok(None),
            }
        }
        match Pdb::parse(&bytes) {
            Ok(pdb) => Ok(Some((pdb, reserved))),
            Err(problem) => {
                self.damaged(file, &problem);
                Ok(None)
            }
        }
    }
}
