//! Rows of subjects, in a scratch file.

use crate::rows::{Group, NO_ONE};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::StageError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Maximum number of hosts named.
pub(crate) const NAMED: usize = 5;

/// Identity of a subject, and the hosts on which it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Head {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class it leads to; 0 if none.
    pub class: u64,
    /// Run and row of an example.
    pub example: [u32; 2],
    /// Number of hosts (or runs) of the last side on which the first measure changed.
    pub changed_on: u32,
    /// Runs of the last side on which it changed most, padded with [`NO_ONE`].
    pub named: [u32; NAMED],
}

impl Head {
    /// Head of a group. `changed` has the runs on which it changed, largest change first.
    pub(crate) fn of(group: &Group<'_>, changed: &[u32]) -> Self {
        let record = group.head();
        let mut named = [NO_ONE; NAMED];
        named.iter_mut().zip(changed).for_each(|(named, run)| *named = *run);
        Self {
            fingerprint: record.fingerprint,
            class: record.class,
            example: group.example(),
            changed_on: group.hosts_of(changed.iter().copied()) as u32,
            named,
        }
    }
}

/// A subject: head and values, such as its measures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row<V> {
    /// Head.
    pub head: Head,
    /// Values, the same number in each row of a table.
    pub values: Vec<V>,
}

/// Writes rows.
pub(crate) struct RowWriter {
    out: BufWriter<File>,
    folder: PathBuf,
}

impl RowWriter {
    /// Creates a file without name in a folder.
    pub(crate) fn create(folder: &Path) -> Result<Self, StageError> {
        let file = tempfile::tempfile_in(folder).map_err(|error| StageError::io(folder, "write to", error))?;
        Ok(Self { out: BufWriter::with_capacity(256 << 10, file), folder: folder.to_owned() })
    }

    /// Appends a row.
    pub(crate) fn push<V: Pod>(&mut self, row: &Row<V>) -> Result<(), StageError> {
        let head = self.out.write_all(bytemuck::bytes_of(&row.head));
        let written = head.and_then(|()| self.out.write_all(bytemuck::cast_slice(&row.values)));
        written.map_err(|error| StageError::io(&self.folder, "write to", error))
    }

    /// Finishes the file of rows with `values` values each.
    pub(crate) fn finish<V>(self, values: usize) -> Result<RowFile<V>, StageError> {
        let Self { out, folder } = self;
        let file = out.into_inner().map_err(|error| StageError::io(&folder, "write to", error.into_error()))?;
        Ok(RowFile { file, folder, values, of: PhantomData })
    }
}

/// Rows by number. Their parts consist of whole words.
pub(crate) struct RowFile<V> {
    file: File,
    folder: PathBuf,
    /// Values of each row.
    values: usize,
    of: PhantomData<V>,
}

impl<V: Pod> RowFile<V> {
    /// Reads a row.
    pub(crate) fn row(&self, number: u32) -> Result<Row<V>, StageError> {
        let words_of = |bytes: usize| bytes / size_of::<u64>();
        let mut words = vec![0_u64; words_of(size_of::<Head>() + size_of::<V>() * self.values)];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let start = u64::from(number) * bytes.len() as u64;
        self.file.read_exact_at(bytes, start).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        let (head, values) = words.split_at(words_of(size_of::<Head>()));
        Ok(Row { head: bytemuck::cast_slice(head)[0], values: bytemuck::cast_slice(values).to_vec() })
    }
}
