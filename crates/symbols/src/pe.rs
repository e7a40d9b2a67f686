//! Parts of a PE file that an assembly needs: its metadata, and the entries of its debug directory.

use crate::build::Build;
use crate::bytes::{array, offset, part, u16, u32};
use flate2::read::DeflateDecoder;
use std::io::Read;

/// First bytes of a PE file.
pub(crate) const MAGIC: &[u8] = b"MZ";

/// Positions of directories.
const DEBUG: usize = 6;
const CLI: usize = 14;

/// Kinds of entries of the debug directory.
const CODE_VIEW: u32 = 2;
const EMBEDDED: u32 = 17;

/// Bytes of an entry of the debug directory.
const ENTRY: usize = 28;

/// Bytes of a section's header.
const SECTION: usize = 40;

/// A section: its position in memory and in the file.
struct Section {
    address: usize,
    length: usize,
    place: usize,
}

/// A PE file.
pub(crate) struct Image<'a> {
    bytes: &'a [u8],
    sections: Vec<Section>,
    /// Addresses and lengths.
    debug: (usize, usize),
    cli: (usize, usize),
}

impl<'a> Image<'a> {
    /// Parses the headers; `None` if they are truncated or no PE headers.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        const SIGNATURE: &[u8] = b"PE\0\0";
        let signature = offset(bytes, 0x3c)?;
        if !bytes.starts_with(MAGIC) || part(bytes, signature, 4)? != SIGNATURE {
            return None;
        }
        let header = signature + 4;
        let (count, length) = (u16(bytes, header + 2)?, u16(bytes, header + 16)?);
        let optional = header + 20;
        let directories = match u16(bytes, optional)? {
            0x10b => 96,
            0x20b => 112,
            _ => return None,
        };
        let present = offset(bytes, optional + directories - 4)?;
        let directory = |number: usize| {
            if number >= present {
                return Some((0, 0));
            }
            let at = optional + directories + 8 * number;
            Some((offset(bytes, at)?, offset(bytes, at + 4)?))
        };
        let sections = (0..usize::from(count)).map(|number| {
            let at = optional + usize::from(length) + SECTION * number;
            let (memory, file) = (offset(bytes, at + 8)?, offset(bytes, at + 16)?);
            Some(Section { address: offset(bytes, at + 12)?, length: memory.max(file), place: offset(bytes, at + 20)? })
        });
        let sections = sections.collect::<Option<Vec<_>>>()?;
        Some(Self { bytes, sections, debug: directory(DEBUG)?, cli: directory(CLI)? })
    }

    /// Whether it is an assembly, not native code.
    pub(crate) fn is_assembly(&self) -> bool {
        self.cli.0 != 0
    }

    fn at(&self, address: usize, length: usize) -> Option<&'a [u8]> {
        let section = self
            .sections
            .iter()
            .find(|section| section.address <= address && address - section.address < section.length)?;
        part(self.bytes, (address - section.address).checked_add(section.place)?, length)
    }

    /// The metadata of an assembly.
    pub(crate) fn metadata(&self) -> Option<&'a [u8]> {
        let header = self.at(self.cli.0, 16)?;
        self.at(offset(header, 8)?, offset(header, 12)?)
    }

    /// Entries of the debug directory of one kind.
    fn entries(&self, kind: u32) -> impl Iterator<Item = &'a [u8]> {
        let table = self.at(self.debug.0, self.debug.1).unwrap_or_default();
        table.chunks_exact(ENTRY).filter_map(move |entry| {
            let (length, place) = (offset(entry, 16)?, offset(entry, 24)?);
            (u32(entry, 12)? == kind).then(|| part(self.bytes, place, length)).flatten()
        })
    }

    /// Build id, as in its PDB.
    pub(crate) fn build(&self) -> Option<Build> {
        let of = |entry: &[u8]| entry.starts_with(b"RSDS").then(|| array(entry, 4)).flatten();
        self.entries(CODE_VIEW).find_map(of).and_then(Build::new)
    }

    /// Whether it contains a PDB.
    pub(crate) fn has_pdb(&self) -> bool {
        self.entries(EMBEDDED).next().is_some()
    }

    /// The PDB inside, up to this many bytes.
    pub(crate) fn pdb(&self, most: u64) -> Option<Result<Vec<u8>, String>> {
        let entry = self.entries(EMBEDDED).next()?;
        Some(expanded(entry, most).map_err(|problem| format!("the PDB in it is damaged: {problem}")))
    }
}

fn expanded(entry: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let packed = entry.strip_prefix(b"MPDB").and_then(|rest| rest.split_at_checked(4));
    let Some((length, packed)) = packed else { return Err("expected MPDB".to_owned()) };
    let length = u64::from(u32(length, 0).unwrap_or_default());
    if length > most {
        return Err(format!("it has {length} bytes, more than --memory allows"));
    }
    let mut pdb = Vec::new();
    DeflateDecoder::new(packed).take(length + 1).read_to_end(&mut pdb).map_err(|error| error.to_string())?;
    if pdb.len() as u64 == length { Ok(pdb) } else { Err(format!("expected {length} bytes, found {}", pdb.len())) }
}
