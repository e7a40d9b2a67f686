//! Packed column files: format, writer and readers.
//!
//! Elements form blocks ([`packing`](super::packing)), and blocks form groups of [`BLOCKS`], as many elements as a
//! reader shows at a time. A group begins with the lengths of its blocks, two bytes each. The groups are followed by an
//! index with their start positions, eight bytes each, the number of elements, and a mark. So a reader holds eight
//! bytes per 128 KiB of elements, and a random access finds its block with one additional read.
//!
//! Only columns per node or edge are packed. Others are small, are appended to, or hold text and records.

use super::packing::{BLOCK, Width};
use crate::IoAt;
use crate::StageError;
use crate::fs::File;
use heaplake_schemas::scratch::{Column, Per};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocks per group.
pub(super) const BLOCKS: usize = 32;
/// Bytes of elements per group.
pub(crate) const GROUP: usize = BLOCKS * BLOCK;
/// Maximum bytes of a packed group: elements, worst-case overhead of blocks, and lengths.
pub(crate) const MOST: u64 = (GROUP + BLOCKS * (BLOCK / 64 + 2)) as u64;
/// Magic number at the end of a packed file.
const MARK: u64 = u64::from_le_bytes(*b"heappack");
const END: u64 = 16;

/// Returns the element width of a packed column; `None` for a plain one.
pub(crate) fn width_of<T>(column: Column<T>) -> Option<Width> {
    match column.per {
        Per::Node | Per::Edge => Width::of::<T>(),
        Per::Few => None,
    }
}

/// Packs elements into a file.
pub(crate) struct Packer {
    width: Width,
    /// The incomplete block, as words for alignment.
    block: Vec<u64>,
    /// Bytes in `block`.
    filled: usize,
    /// Blocks of the current group, and their lengths.
    group: Vec<u8>,
    lengths: Vec<u16>,
    /// Start positions of groups, and of the next one.
    starts: Vec<u64>,
    end: u64,
    bytes: u64,
}

impl Packer {
    pub(crate) fn new(width: Width) -> Self {
        Self {
            width,
            block: Vec::new(),
            filled: 0,
            group: Vec::new(),
            lengths: Vec::new(),
            starts: Vec::new(),
            end: 0,
            bytes: 0,
        }
    }

    /// Packs whole, aligned elements; passes complete groups to `write`.
    pub(crate) fn push(
        &mut self,
        mut elements: &[u8],
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.bytes += elements.len() as u64;
        while !elements.is_empty() {
            let part;
            (part, elements) = elements.split_at(elements.len().min(BLOCK - self.filled));
            if part.len() == BLOCK {
                self.pack(part);
            } else {
                self.block.resize(BLOCK / size_of::<u64>(), 0);
                let block = bytemuck::cast_slice_mut(&mut self.block);
                block[self.filled..self.filled + part.len()].copy_from_slice(part);
                self.filled += part.len();
                self.pack_pending(BLOCK);
            }
            if self.lengths.len() == BLOCKS {
                self.end_group(&mut write)?;
            }
        }
        Ok(())
    }

    /// Packs the pending block if it has at least `least` bytes.
    fn pack_pending(&mut self, least: usize) {
        if self.filled >= least {
            let block = std::mem::take(&mut self.block);
            self.pack(&bytemuck::cast_slice(&block)[..self.filled]);
            (self.block, self.filled) = (block, 0);
        }
    }

    fn pack(&mut self, block: &[u8]) {
        let start = self.group.len();
        self.width.pack(block, &mut self.group);
        // The length fits: packing adds a few bytes at most.
        self.lengths.push((self.group.len() - start) as u16);
    }

    fn end_group(&mut self, write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let lengths: &[u8] = bytemuck::cast_slice(&self.lengths);
        write(lengths)?;
        write(&self.group)?;
        self.starts.push(self.end);
        self.end += (lengths.len() + self.group.len()) as u64;
        self.lengths.clear();
        self.group.clear();
        Ok(())
    }

    /// Packs the rest and writes the index.
    pub(crate) fn finish(mut self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.pack_pending(1);
        if !self.lengths.is_empty() {
            self.end_group(&mut write)?;
        }
        write(bytemuck::cast_slice(&self.starts))?;
        write(bytemuck::bytes_of(&[self.bytes / self.width.bytes() as u64, MARK]))
    }
}

/// An open packed file.
pub(crate) struct Packed {
    path: PathBuf,
    file: Arc<File>,
    width: Width,
    count: u64,
    /// Start of each group, and end of the last one.
    starts: Vec<u64>,
}

impl Packed {
    /// Reads the number of elements of a packed file of `length` bytes.
    pub(crate) fn count(path: &Path, file: &File, length: u64) -> Result<u64, StageError> {
        let mut end = [0u64; 2];
        if length >= END {
            file.read_exact_at(bytemuck::bytes_of_mut(&mut end), length - END).at(path, "read")?;
        }
        if end[1] == MARK { Ok(end[0]) } else { Err(StageError::scratch(path, "it is not packed to its end")) }
    }

    pub(crate) fn open(path: &Path, file: Arc<File>, length: u64, width: Width) -> Result<Self, StageError> {
        let count = Self::count(path, &file, length)?;
        let groups = count.div_ceil((GROUP / width.bytes()) as u64);
        let index = groups.checked_mul(8).and_then(|bytes| (length - END).checked_sub(bytes));
        let index = index.ok_or_else(|| StageError::scratch(path, "it has fewer groups than elements need"))?;
        let mut starts = vec![0; groups as usize + 1];
        file.read_exact_at(bytemuck::cast_slice_mut(&mut starts[..groups as usize]), index).at(path, "read")?;
        starts[groups as usize] = index;
        if starts[0] != 0 || starts.windows(2).any(|pair| pair[1].checked_sub(pair[0]).is_none_or(|it| it > MOST)) {
            return Err(StageError::scratch(path, "its groups do not follow each other"));
        }
        Ok(Self { path: path.to_owned(), file, width, count, starts })
    }

    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Number of blocks in the file.
    pub(super) fn all_blocks(&self) -> usize {
        (self.count as usize * self.width.bytes()).div_ceil(BLOCK)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Number of blocks of a group.
    pub(super) fn blocks(&self, group: usize) -> usize {
        let bytes = (self.count as usize * self.width.bytes()) - group * GROUP;
        bytes.div_ceil(BLOCK).min(BLOCKS)
    }

    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), StageError> {
        self.file.read_exact_at(bytes, at).at(&self.path, "read")
    }

    pub(super) fn unpack(&self, block: Option<&[u8]>, elements: &mut [u8]) -> Result<(), StageError> {
        let unpacked = block.and_then(|block| self.width.unpack(block, elements));
        unpacked.ok_or_else(|| StageError::scratch(&self.path, "a block of it does not unpack"))
    }

    /// End of the groups in the file.
    pub(super) fn groups_end(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the group of an element, and its byte position among the group's elements.
    pub(super) fn place(&self, element: u64) -> (usize, usize) {
        let at = element as usize * self.width.bytes();
        (at / GROUP, at % GROUP)
    }

    /// Returns the file range of a group.
    pub(super) fn group(&self, group: usize) -> Range<u64> {
        self.starts[group]..self.starts[group + 1]
    }

    /// Unpacks elements of a group from byte position `at`. Partially requested blocks go through `block`.
    pub(super) fn unpack_group(
        &self,
        group: usize,
        bytes: &[u8],
        mut at: usize,
        mut elements: &mut [u8],
        block: &mut [u64],
    ) -> Result<(), StageError> {
        let count = self.blocks(group);
        let lengths = bytes.get(..2 * count).unwrap_or_default().as_chunks::<2>().0;
        let length = |block: &[u8; 2]| usize::from(u16::from_le_bytes(*block));
        let mut start = 2 * count + lengths.iter().take(at / BLOCK).map(length).sum::<usize>();
        // The last block of the column may be short.
        let whole = self.count as usize * self.width.bytes() - group * GROUP;
        for (nth, length) in lengths.iter().map(length).enumerate().skip(at / BLOCK) {
            if elements.is_empty() {
                break;
            }
            let there = BLOCK.min(whole - nth * BLOCK);
            let skipped = at - nth * BLOCK;
            let (part, rest) = elements.split_at_mut(elements.len().min(there - skipped));
            let source = bytes.get(start..start + length);
            if part.len() == there {
                self.unpack(source, part)?;
            } else {
                let block = &mut bytemuck::cast_slice_mut(block)[..there];
                self.unpack(source, block)?;
                part.copy_from_slice(&block[skipped..skipped + part.len()]);
            }
            (start, at, elements) = (start + length, (nth + 1) * BLOCK, rest);
        }
        if elements.is_empty() {
            Ok(())
        } else {
            Err(StageError::scratch(&self.path, "a group has fewer blocks than it should"))
        }
    }
}

/// Sequential reader of a packed file, one group at a time.
pub(crate) struct Groups {
    packed: Packed,
    /// The last group read, and its bytes.
    group: Option<usize>,
    bytes: Vec<u8>,
    /// Buffer for a partially requested block.
    block: Vec<u64>,
}

impl Groups {
    pub(crate) fn new(packed: Packed) -> Self {
        Self { packed, group: None, bytes: Vec::new(), block: vec![0; BLOCK / size_of::<u64>()] }
    }

    /// Fills `elements` (whole and aligned) from element `first` on.
    pub(crate) fn read(&mut self, first: u64, mut elements: &mut [u8]) -> Result<(), StageError> {
        let (mut group, mut at) = self.packed.place(first);
        while !elements.is_empty() {
            let (part, rest) = elements.split_at_mut(elements.len().min(GROUP - at));
            self.bring(group)?;
            self.packed.unpack_group(group, &self.bytes, at, part, &mut self.block)?;
            (group, at, elements) = (group + 1, 0, rest);
        }
        Ok(())
    }

    fn bring(&mut self, group: usize) -> Result<(), StageError> {
        if self.group != Some(group) {
            self.group = None;
            let range = self.packed.group(group);
            self.bytes.resize((range.end - range.start) as usize, 0);
            self.packed.read(range.start, &mut self.bytes)?;
            self.group = Some(group);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::column::packed_blocks::Blocks;
    use crate::column::packed_memory::PackedMemory;
    use std::io::Write;

    fn packed(folder: &Path, elements: &[u32], parts: usize) -> PathBuf {
        let path = folder.join("packed");
        let mut file = File::create(&path).unwrap();
        let mut packer = Packer::new(Width::Four);
        for part in elements.chunks(parts) {
            packer.push(bytemuck::cast_slice(part), |bytes| file.write_all(bytes)).unwrap();
        }
        packer.finish(|bytes| file.write_all(bytes)).unwrap();
        path
    }

    fn open(path: &Path) -> Result<Packed, StageError> {
        let file = File::open(path).unwrap();
        let length = file.metadata().unwrap().len();
        Packed::open(path, Arc::new(file), length, Width::Four)
    }

    #[test]
    fn any_part_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 1000, 1024, 32_768, 32_769, 100_001] {
            let numbers: Vec<u32> = (0..count).map(|at: u32| at.wrapping_mul(2_654_435_761) >> (at % 23)).collect();
            let mut files = Vec::new();
            for parts in [1, 7, 1000, 1024, 5000, 200_000] {
                let path = packed(folder.path(), &numbers, parts);
                files.push(std::fs::read(&path).unwrap());
                let packed = open(&path).unwrap();
                assert_eq!(packed.len(), numbers.len() as u64);
                let mut groups = Groups::new(packed);
                for (first, length) in [(0, count), (5, 3), (1000, 50), (1023, 2), (32_000, 40_000), (99_000, 1001)] {
                    let (first, end) = (first.min(count) as usize, (first + length).min(count) as usize);
                    let mut part = vec![0u32; end.saturating_sub(first)];
                    groups.read(first as u64, bytemuck::cast_slice_mut(&mut part)).unwrap();
                    assert_eq!(part, numbers[first..end.max(first)]);
                }
                let mut blocks = Blocks::new(open(&path).unwrap());
                let all: Vec<_> = numbers.chunks(1024).enumerate().collect();
                let orders = [1, 2, 3, 40].map(|step| all.iter().step_by(step));
                for &(nth, block) in orders.into_iter().flatten().chain(all.iter().rev()) {
                    blocks.will_need(nth, 64);
                    let mut part = vec![0u32; block.len()];
                    blocks.read(nth, bytemuck::cast_slice_mut(&mut part)).unwrap();
                    assert_eq!(part, block);
                }
                let mut memory = PackedMemory::read(open(&path).unwrap(), &Budget::new(1 << 20), "packed").unwrap();
                for &(nth, block) in all.iter().rev() {
                    let mut part = vec![0u32; block.len()];
                    memory.unpack(1024 * nth as u64, bytemuck::cast_slice_mut(&mut part)).unwrap();
                    assert_eq!(part, block);
                }
            }
            assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "however it was written");
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<u32> = (0..70_000).collect();
        let path = packed(folder.path(), &numbers, 70_000);
        let bytes = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut part = vec![0u32; numbers.len()];
            let packed = open(&path)?;
            let part = &mut part[..numbers.len().min(packed.len() as usize)];
            Groups::new(packed).read(0, bytemuck::cast_slice_mut(part))
        };
        assert!(read(&bytes).is_ok());
        for length in [0, 7, 15, 16, 100, bytes.len() / 2, bytes.len() - 1] {
            assert!(matches!(read(&bytes[..length]), Err(StageError::Scratch { .. })), "{length}");
        }
        for at in (0..bytes.len()).step_by(97).chain(bytes.len() - 48..bytes.len()) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x81;
            // An error or wrong numbers, never a panic.
            let _ = read(&damaged);
        }
    }
}
