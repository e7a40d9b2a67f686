//! Names and lines from other files: types from assemblies, methods from PDBs, scripts from source maps.

use crate::calls::NONE;
use crate::replay::Replay;
use crate::symbols::{Function, Symbols};
use crate::types::TokenNames;
use heaplake_kit::{Budget, Reservation, StageError};
use heaplake_names::source_maps::{BYTES_PER_BYTE, Original, Place, of_script, originals, read};
use heaplake_schemas::options::SourceMaps;
use heaplake_schemas::symbols::SymbolFile;
use heaplake_symbols::{Library, Lines};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes per function during the look-up, with the texts of its place.
const FUNCTION: u64 = 640;

/// Bytes per type during the look-up, with its name.
const TYPE: u64 = 256;

/// Metadata table of methods, in the upper byte of a token.
const METHOD: u32 = 0x06;

/// Symbol files.
pub(crate) struct Sources<'a> {
    /// Assemblies and PDBs.
    pub library: Library<'a>,
    /// Source maps.
    pub maps: Option<&'a SourceMaps>,
}

/// Names the types that only have tokens in the trace; `[MODULE!TOKEN]` if no file has a name.
pub(crate) fn types(replay: &mut Replay, library: &mut Library<'_>, budget: &Budget) -> Result<(), StageError> {
    let unnamed = replay.types.unnamed();
    let count: usize = unnamed.values().map(BTreeSet::len).sum();
    if count == 0 {
        return Ok(());
    }
    let _reserved = budget.reserve("names of types", count as u64 * TYPE)?;
    let mut names: FxHashMap<(u64, u32), String> = FxHashMap::default();
    for (handle, tokens) in unnamed {
        let Some(module) = replay.symbols.described(handle) else { continue };
        let tokens: Vec<u32> = tokens.into_iter().collect();
        let found = library.types(&module, &tokens)?;
        let named = tokens.into_iter().zip(found).filter_map(|(token, name)| Some(((handle, token), name?)));
        names.extend(named);
    }
    replay.types.find(&TokenNames { names: &names, symbols: &replay.symbols })?;
    if names.len() < count {
        library.remark(format!(
            "{} of {count} types have no names: give their assemblies with --symbols",
            count - names.len()
        ));
    }
    Ok(())
}

/// Methods of a module: positions of functions, and tokens.
type Asked = Vec<(usize, u32)>;

/// Places of functions that the trace lacks, by position in a list of functions.
#[derive(Default)]
pub(crate) struct Places {
    /// Files of [`Self::lines`].
    files: Vec<String>,
    /// File and line of each function, from PDBs.
    lines: Vec<Option<(u32, u32)>>,
    /// Original places of functions of scripts.
    originals: FxHashMap<usize, Original>,
    _reserved: Option<Reservation>,
}

impl Places {
    /// Looks up the places of functions.
    pub(crate) fn of(
        symbols: &Symbols,
        list: &[u32],
        sources: &mut Sources<'_>,
        budget: &Budget,
    ) -> Result<Self, StageError> {
        if sources.library.is_empty() && sources.maps.is_none() {
            return Ok(Self::default());
        }
        let reserved = budget.reserve("places of functions", list.len() as u64 * FUNCTION)?;
        let mut places = Self { lines: vec![None; list.len()], _reserved: Some(reserved), ..Self::default() };
        let functions: Vec<&Function> = list.iter().map(|&at| &symbols.functions()[at as usize]).collect();
        places.by_token(symbols, &functions, &mut sources.library)?;
        places.by_name(&functions, &mut sources.library)?;
        let found = places.lines.iter().flatten().count();
        if found > 0 {
            let of = functions.iter().filter(|function| function.line.is_none()).count();
            let sentence = "functions have the lines of their first statements, from PDBs";
            sources.library.remark(format!("{found} of {of} {sentence}"));
        }
        if let Some(maps) = sources.maps {
            places.by_maps(&functions, maps, &mut sources.library, budget)?;
        }
        Ok(places)
    }

    /// Looks up functions of named modules by their tokens.
    fn by_token(
        &mut self,
        symbols: &Symbols,
        functions: &[&Function],
        library: &mut Library<'_>,
    ) -> Result<(), StageError> {
        let mut by_module: BTreeMap<u64, Asked> = BTreeMap::new();
        for (at, function) in functions.iter().enumerate() {
            if function.token >> 24 == METHOD && function.line.is_none() {
                by_module.entry(function.module).or_default().push((at, function.token));
            }
        }
        for (handle, asked) in by_module {
            let Some(module) = symbols.described(handle) else { continue };
            let tokens: Vec<u32> = asked.iter().map(|&(_, token)| token).collect();
            self.add(library.lines(&module, &tokens)?, asked.iter().map(|&(at, _)| at));
        }
        Ok(())
    }

    /// Looks up functions that only have a name, if it is unique among the methods of the assemblies.
    fn by_name(&mut self, functions: &[&Function], library: &mut Library<'_>) -> Result<(), StageError> {
        let asked = functions.iter().enumerate();
        let asked = asked.filter(|(_, function)| function.token == 0 && function.file.is_empty());
        let (positions, names): (Vec<usize>, Vec<&str>) =
            asked.map(|(at, function)| (at, function.name.as_str())).unzip();
        if names.is_empty() || !library.has_assemblies() {
            return Ok(());
        }
        let mut by_file: BTreeMap<&str, (&SymbolFile, Asked)> = BTreeMap::new();
        for (at, found) in positions.into_iter().zip(library.methods(&names)?) {
            let Some((file, row)) = found else { continue };
            by_file.entry(&file.path).or_insert((file, Vec::new())).1.push((at, row));
        }
        for (file, asked) in by_file.into_values() {
            let rows: Vec<u32> = asked.iter().map(|&(_, row)| row).collect();
            self.add(library.lines_of(file, &rows)?, asked.iter().map(|&(at, _)| at));
        }
        Ok(())
    }

    fn add(&mut self, lines: Lines, positions: impl Iterator<Item = usize>) {
        let first = self.files.len() as u32;
        self.files.extend(lines.files);
        for (at, line) in positions.zip(lines.found) {
            self.lines[at] = line.map(|(file, line)| (first + file, line));
        }
    }

    /// Looks up functions of scripts, script by script.
    fn by_maps(
        &mut self,
        functions: &[&Function],
        maps: &SourceMaps,
        library: &mut Library<'_>,
        budget: &Budget,
    ) -> Result<(), StageError> {
        let mut by_script: BTreeMap<&str, Vec<(Place, usize)>> = BTreeMap::new();
        for (at, function) in functions.iter().enumerate().filter(|(_, function)| !function.file.is_empty()) {
            let (Some(line), Some(column)) = (function.line, function.column()) else { continue };
            let place = Place { line: line - 1, column: column - 1, name: function.name.clone() };
            by_script.entry(&function.file).or_default().push((place, at));
        }
        for (url, mut asked) in by_script {
            let Some(map) = of_script(maps, url) else { continue };
            asked.sort_unstable();
            let _reserved = budget.reserve("a source map", map.bytes.saturating_mul(BYTES_PER_BYTE))?;
            let changed =
                |problem: String| StageError::Refused { problem, advice: "run the same command again".to_owned() };
            let content = read(map).map_err(|error| changed(error.to_string()))?;
            let (places, positions): (Vec<Place>, Vec<usize>) = asked.into_iter().unzip();
            match originals(&content, &places) {
                Ok(found) => self.originals.extend(positions.into_iter().zip(found)),
                Err(problem) => library.remark(format!("{} is damaged and not used: {problem}", map.path)),
            }
        }
        Ok(())
    }

    /// File and line of a function, from PDBs.
    pub(crate) fn line(&self, at: usize) -> Option<(&str, u32)> {
        let (file, line) = (*self.lines.get(at)?)?;
        Some((&self.files[file as usize], line))
    }

    /// Original place of a function of a script.
    pub(crate) fn original(&self, at: usize) -> Option<&Original> {
        self.originals.get(&at).filter(|original| original.source.is_some())
    }
}

/// Converts a 0-based number to a 1-based one; [`NONE`] for none.
pub(crate) fn from_one(number: Option<u32>) -> u32 {
    number.map_or(NONE, |number| number.saturating_add(1).min(NONE - 1))
}
