//! Declarations of the scratch files that a stage reads and writes.

use crate::setting::Setting;
use heaplake_schemas::scratch::{Column, Per, StringColumns};

/// A size in bits per node or per edge, or a small size that counts as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    bits: u64,
    per: Per,
}

impl Size {
    /// Bytes for `nodes` and `edges`, rounded down. Small sizes count as 0.
    #[must_use]
    pub const fn bytes(self, nodes: u64, edges: u64) -> u64 {
        let elements = match self.per {
            Per::Node => nodes,
            Per::Edge => edges,
            Per::Few => 0,
        };
        self.bits.saturating_mul(elements) / 8
    }
}

/// One `T` per node.
pub const fn per_node<T>() -> Size {
    Size { bits: 8 * size_of::<T>() as u64, per: Per::Node }
}

/// One `T` per edge.
pub const fn per_edge<T>() -> Size {
    Size { bits: 8 * size_of::<T>() as u64, per: Per::Edge }
}

/// `bits` bits per node.
pub const fn bits_per_node(bits: u64) -> Size {
    Size { bits, per: Per::Node }
}

/// `bits` bits per edge.
pub const fn bits_per_edge(bits: u64) -> Size {
    Size { bits, per: Per::Edge }
}

/// `bytes` bytes per edge.
pub const fn bytes_per_edge(bytes: u64) -> Size {
    Size { bits: 8 * bytes, per: Per::Edge }
}

/// A file inside the scratch folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchFile {
    /// Its name.
    pub name: &'static str,
    /// Its size.
    pub size: Size,
    /// Subfolder of scratch that contains it; `None` for the working folder of the stage.
    pub folder: Option<&'static str>,
}

impl ScratchFile {
    const fn of<T>(column: Column<T>) -> Self {
        Self { name: column.name, size: Size { bits: 8 * size_of::<T>() as u64, per: column.per }, folder: None }
    }

    /// Returns its path inside the scratch folder for a stage that works in subfolder `working_folder`, if any.
    pub fn path_name(&self, working_folder: Option<&str>) -> String {
        match self.folder.or(working_folder) {
            Some(folder) => format!("{folder}/{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

/// A column, a string table or a document that a stage reads or writes.
#[derive(Clone, Copy)]
pub struct Access {
    files: [Option<ScratchFile>; 2],
    when: fn(&Setting<'_>) -> bool,
    optional: bool,
}

fn always(_: &Setting<'_>) -> bool {
    true
}

/// A column.
pub const fn column<T>(column: Column<T>) -> Access {
    Access { files: [Some(ScratchFile::of(column)), None], when: always, optional: false }
}

/// Both columns of a string table.
pub const fn texts(columns: StringColumns) -> Access {
    let files = [Some(ScratchFile::of(columns.bytes)), Some(ScratchFile::of(columns.start))];
    Access { files, when: always, optional: false }
}

/// A document.
pub const fn document(name: &'static str) -> Access {
    let file = ScratchFile { name, size: Size { bits: 0, per: Per::Few }, folder: None };
    Access { files: [Some(file), None], when: always, optional: false }
}

impl Access {
    /// Restricts the access to runs for which the condition holds.
    #[must_use]
    pub const fn when(mut self, when: fn(&Setting<'_>) -> bool) -> Self {
        self.when = when;
        self
    }

    /// Marks the access optional. An optional read happens only if some stage of the run writes the file; a run omits a
    /// stage if nothing writes one of its mandatory reads. An optional write happens only if the input has such data.
    #[must_use]
    pub const fn if_any(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Places the files in a subfolder of scratch, which the stage opens with
    /// [`Scratch::within`](crate::Scratch::within).
    #[must_use]
    pub const fn in_folder(mut self, folder: &'static str) -> Self {
        let mut i = 0;
        while i < self.files.len() {
            if let Some(file) = &mut self.files[i] {
                file.folder = Some(folder);
            }
            i += 1;
        }
        self
    }

    /// Whether the access is optional.
    pub const fn is_optional(&self) -> bool {
        self.optional
    }

    /// Returns the files of the access in this run; empty if the run does not use it.
    pub fn files(&self, setting: &Setting<'_>) -> impl Iterator<Item = ScratchFile> + use<> {
        let used = (self.when)(setting);
        self.files.into_iter().flatten().filter(move |_| used)
    }

    /// Returns the files in any run.
    pub fn all_files(&self) -> impl Iterator<Item = ScratchFile> + use<> {
        self.files.into_iter().flatten()
    }
}
