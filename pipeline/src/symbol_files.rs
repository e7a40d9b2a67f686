//! `--symbols`: assemblies, PDBs and source maps that add names to an input.

use crate::diagnostic::Diagnostic;
use crate::log;
use clap::Args;
use heaplake_input::source::Input;
use heaplake_names::source_maps;
use heaplake_schemas::options::SourceMaps;
use heaplake_schemas::symbols::Symbols;
use heaplake_symbols::{beside, find, merged};

/// The option.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SymbolFiles {
    /// Files that add names and lines; may be given again
    ///
    /// Files or folders with .NET assemblies (names of types) and portable PDBs (lines of source files), and source
    /// maps of JavaScript. A file that cannot be used is named in a warning, and the run goes on without it.
    #[arg(long, value_name = "PATH", help_heading = "Names")]
    pub symbols: Vec<String>,
}

/// Symbol files found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    symbols: Symbols,
    /// Source maps, if any.
    pub source_maps: Option<SourceMaps>,
    memory: u64,
    quiet: bool,
}

impl SymbolFiles {
    /// Finds the files of `--symbols` and `--source-maps`, each read within `memory` bytes. A bad file of
    /// `--source-maps` is an error, one of `--symbols` a warning.
    pub(crate) fn find(&self, maps: &[String], memory: u64, quiet: bool) -> Result<Given, Diagnostic> {
        if !maps.is_empty() {
            let advice =
                "name a source map of version 3, a script that contains or links to one, or a folder with such";
            source_maps::find(maps, memory).map_err(|error| Diagnostic::usage(error.to_string(), advice))?;
        }
        let found = find(&self.symbols, memory);
        let scripts: Vec<String> = maps.iter().cloned().chain(found.scripts).collect();
        let (maps, errors) = source_maps::collect(&scripts, memory);
        let problems = found.problems.into_iter().chain(errors.iter().map(ToString::to_string));
        warn(problems, quiet);
        let source_maps = (!maps.maps.is_empty()).then_some(maps);
        Ok(Given { symbols: found.symbols, source_maps, memory, quiet })
    }
}

impl Given {
    /// Assemblies and PDBs, if any.
    pub(crate) fn symbols(&self) -> Option<Symbols> {
        (!self.symbols.files.is_empty()).then(|| self.symbols.clone())
    }

    /// Assemblies, PDBs, and the PDBs beside a trace, if any.
    pub(crate) fn symbols_of(&self, trace: &Input) -> Option<Symbols> {
        let Input::File(path) = trace else { return self.symbols() };
        let found = beside(path, self.memory);
        warn(found.problems.into_iter(), self.quiet);
        let all = merged(self.symbols.clone(), found.symbols);
        (!all.files.is_empty()).then_some(all)
    }
}

fn warn(problems: impl Iterator<Item = String>, quiet: bool) {
    problems.filter(|_| !quiet).for_each(|problem| log::warn(&format!("{problem}; the run goes on without it")));
}
