//! Assemblies: names of types and methods, by token.

use crate::build::Build;
use crate::metadata::{METHOD_DEF, Metadata, NESTED_CLASS, TYPE_DEF};
use crate::pe::Image;
use rustc_hash::FxHashMap;

/// Bytes of memory per byte of an assembly: its content, and the nesting of types.
pub const BYTES_PER_BYTE: u64 = 3;

/// Table of types in a token's upper byte.
const TYPE_DEF_TOKEN: u32 = 0x02;

/// Maximum nesting of types: more is a cycle.
const DEEPEST: usize = 64;

/// Columns of the table of types.
const NAME: usize = 1;
const NAMESPACE: usize = 2;
const FIRST_METHOD: usize = 5;

/// Column of names in the table of methods.
const METHOD_NAME: usize = 3;

/// An assembly.
pub struct Assembly<'a> {
    image: Image<'a>,
    metadata: Metadata<'a>,
    /// Maps each nested type to the type around it.
    around: FxHashMap<u32, u32>,
}

impl<'a> Assembly<'a> {
    /// Finds the tables of an assembly; `None` for a file of another kind that may be whole.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Self>, String> {
        let image = Image::parse(bytes).ok_or("expected an assembly, found what is none")?;
        if !image.is_assembly() {
            return Ok(None);
        }
        let metadata = image.metadata().ok_or("it ends before its metadata")?;
        let metadata = Metadata::parse(metadata)?;
        let rows = 1..=metadata.rows(NESTED_CLASS);
        let nested = |row| Some((metadata.cell(NESTED_CLASS, row, 0)?, metadata.cell(NESTED_CLASS, row, 1)?));
        let around = rows.filter_map(nested).collect();
        Ok(Some(Self { image, metadata, around }))
    }

    /// Build id, as in its PDB.
    pub fn build(&self) -> Option<Build> {
        self.image.build()
    }

    /// Whether it contains a PDB.
    pub fn has_pdb(&self) -> bool {
        self.image.has_pdb()
    }

    /// The PDB inside, up to this many bytes.
    pub fn pdb(&self, most: u64) -> Option<Result<Vec<u8>, String>> {
        self.image.pdb(most)
    }

    /// Name of a type, as the runtime writes it: `Namespace.Outer+Inner`.
    pub fn type_name(&self, token: u32) -> Option<String> {
        (token >> 24 == TYPE_DEF_TOKEN).then(|| self.type_of_row(token & 0x00ff_ffff)).flatten()
    }

    fn type_of_row(&self, row: u32) -> Option<String> {
        let mut rows = vec![row];
        while let Some(&outer) = rows.last().and_then(|row| self.around.get(row)) {
            if rows.len() == DEEPEST {
                return None;
            }
            rows.push(outer);
        }
        let names = rows.iter().rev().map(|&row| self.metadata.text(TYPE_DEF, row, NAME));
        let name = names.collect::<Option<Vec<_>>>()?.join("+");
        // Only the outermost one has a namespace.
        let namespace = self.metadata.text(TYPE_DEF, *rows.last()?, NAMESPACE)?;
        Some(if namespace.is_empty() { name } else { format!("{namespace}.{name}") })
    }

    /// Rows of the wanted methods, by name `Namespace.Type::Method`; 0 for an ambiguous name.
    pub fn methods(&self, wanted: &FxHashMap<&str, usize>) -> Vec<(usize, u32)> {
        let mut found: FxHashMap<usize, u32> = FxHashMap::default();
        let types = self.metadata.rows(TYPE_DEF);
        for row in 1..=types {
            let Some(first) = self.metadata.cell(TYPE_DEF, row, FIRST_METHOD) else { continue };
            let end = if row == types { None } else { self.metadata.cell(TYPE_DEF, row + 1, FIRST_METHOD) };
            let end = end.unwrap_or(u32::MAX).min(self.metadata.rows(METHOD_DEF) + 1);
            if first >= end {
                continue;
            }
            let Some(of_type) = self.type_of_row(row) else { continue };
            for method in first..end {
                let Some(name) = self.metadata.text(METHOD_DEF, method, METHOD_NAME) else { continue };
                if let Some(&at) = wanted.get(format!("{of_type}::{name}").as_str()) {
                    found.entry(at).and_modify(|row| *row = 0).or_insert(method);
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        found
    }
}
