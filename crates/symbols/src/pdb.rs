//! Portable PDBs: lines of methods.

use crate::build::Build;
use heaplake_kit::panics;
use symbolic_ppdb::{PortablePdb, PortablePdbCache, PortablePdbCacheConverter};

/// Bytes of memory per byte of a PDB: a sequence point has at least five bytes in the file, and some 70 in memory while
/// sorted.
pub const BYTES_PER_BYTE: u64 = 16;

/// First bytes of a PDB of Windows.
pub(crate) const OF_WINDOWS: &[u8] = b"Microsoft C/C++ ";

/// One more than the greatest instruction offset.
const NO_OFFSET: u32 = 1 << 29;

/// Lines of all methods of a module.
pub struct Pdb {
    /// Cache format of `symbolic-ppdb`, in words because it must be aligned.
    words: Vec<u64>,
    bytes: usize,
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// File, as the compiler knew it.
    pub file: &'a str,
    /// Line from 1.
    pub line: u32,
}

/// Returns the build id of a PDB.
pub(crate) fn build(bytes: &[u8]) -> Result<Option<Build>, String> {
    guarded(|| {
        let pdb = PortablePdb::parse(bytes).map_err(|error| error.to_string())?;
        Ok(pdb.pdb_id().map(|id| id.uuid().to_bytes_le()))
    })
    .map(|guid| guid.and_then(Build::new))
}

/// Treats a panic of the library as a damaged file.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panics::silent(work).unwrap_or_else(|| Err("its contents do not fit together".to_owned()))
}

impl Pdb {
    /// Reads the lines of all methods.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        guarded(|| {
            let pdb = PortablePdb::parse(bytes).map_err(|error| error.to_string())?;
            let mut lines = PortablePdbCacheConverter::new();
            lines.process_portable_pdb(&pdb).map_err(|error| error.to_string())?;
            let mut ordered = Vec::new();
            lines.serialize(&mut ordered).map_err(|error| error.to_string())?;
            let mut words = vec![0; ordered.len().div_ceil(8)];
            bytemuck::cast_slice_mut(&mut words)[..ordered.len()].copy_from_slice(&ordered);
            let pdb = Self { words, bytes: ordered.len() };
            pdb.lines().map(|_| ()).ok_or("its lines cannot be read")?;
            Ok(pdb)
        })
    }

    fn lines(&self) -> Option<PortablePdbCache<'_>> {
        PortablePdbCache::parse(&bytemuck::cast_slice(&self.words)[..self.bytes]).ok()
    }

    /// Line of an instruction, by the method's row in the assembly and the instruction's offset in intermediate
    /// language.
    pub fn line(&self, method: u32, offset: u32) -> Option<Line<'_>> {
        let found = self.lines()?.lookup(method, offset)?;
        Some(Line { file: found.file_name, line: found.line })
    }

    /// Line of the first statement of a method. Instructions before it may have no line, such as those that resume an
    /// asynchronous method.
    pub fn first_line(&self, method: u32) -> Option<Line<'_>> {
        let (mut from, mut to) = (0, NO_OFFSET);
        self.line(method, to)?;
        // Binary search for the least offset with a line.
        while from < to {
            let middle = u32::midpoint(from, to);
            if self.line(method, middle).is_some() { to = middle } else { from = middle + 1 }
        }
        self.line(method, to)
    }
}
