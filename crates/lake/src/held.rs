//! The file of a table being written. Its end is held back until checksums are added.

use crate::checked::{Checked, Opened};
use crate::tail::{self, Page};
use bytes::Bytes;
use heaplake_kit::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The file.
pub(crate) struct Held {
    file: File,
    /// Bytes written.
    written: u64,
    /// The part held back.
    end: Option<Vec<u8>>,
}

impl Held {
    /// Wraps a new file.
    pub(crate) fn new(file: File) -> Self {
        Self { file, written: 0, end: None }
    }

    /// The file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Holds back all further writes: indexes and footer.
    pub(crate) fn hold(&mut self) {
        self.end = Some(Vec::new());
    }

    /// Writes the part held back, with page checksums per column in file order; computes missing ones from the file.
    pub(crate) fn release(&mut self, path: &Path, sums: Vec<Option<Vec<u32>>>) -> io::Result<()> {
        let end = Bytes::from(self.end.take().unwrap_or_default());
        let length = self.written + end.len() as u64;
        let pages = match Checked::open(&end, length).map_err(io::Error::other)? {
            Opened::Done(checked) => tail::pages(checked.metadata()),
            Opened::Needs(bytes) => {
                return Err(io::Error::other(format!("expected an end of {} bytes, found {bytes}", end.len())));
            }
        };
        let sums = self.sums(path, &pages, sums)?;
        let sealed = tail::sealed(&end, self.written, &sums);
        self.write_all(&sealed.ok_or_else(|| io::Error::other("expected a footer at the end"))?)
    }

    fn sums(&self, path: &Path, pages: &[Page], known: Vec<Option<Vec<u32>>>) -> io::Result<Vec<u32>> {
        let mut sums = Vec::with_capacity(pages.len());
        let columns = pages.chunk_by(|a, b| (a.group, a.column) == (b.group, b.column));
        let mut known = known.into_iter();
        let mut buffer = Vec::new();
        for pages in columns {
            match known.next().flatten() {
                Some(known) if known.len() == pages.len() => sums.extend(known),
                Some(_) => return Err(io::Error::other("the pages of a column are not those that were written")),
                None => {
                    let file = File::open(path)?;
                    for page in pages {
                        buffer.resize(page.bytes as usize, 0);
                        file.read_exact_at(&mut buffer, page.start)?;
                        sums.push(crc32fast::hash(&buffer));
                    }
                }
            }
        }
        Ok(sums)
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(end) = &mut self.end {
            return end.write(bytes);
        }
        let count = self.file.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
