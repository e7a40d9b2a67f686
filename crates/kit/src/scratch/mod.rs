//! The scratch folder, through which the stages of a run exchange data.

mod documents;
mod names;

use crate::IoAt;
use crate::StageError;
use crate::checksums::{Checksum, Checksums};
use crate::column::Residents;
use crate::fs::{self, File};
use crate::threads::locked;
use heaplake_schemas::scratch::Column;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// A scratch folder. Columns are files inside it; nothing else may write there during a run.
///
/// Each stage gets a view of the folder ([`Self::view`]) that refuses undeclared files.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: PathBuf,
    /// The outermost scratch folder; differs from `folder` for a subfolder.
    whole: PathBuf,
    peak: Arc<AtomicU64>,
    refused: Option<Arc<Refused>>,
    /// Suffix of the file names of columns.
    suffix: &'static str,
    /// Expected lengths of files opened for reading.
    lengths: Arc<BTreeMap<OsString, u64>>,
    checksums: Arc<Checksums>,
    /// First damage found where no error could be returned.
    damage: Arc<OnceLock<StageError>>,
    /// Unnamed files, which take space, too.
    unnamed: Arc<Mutex<Vec<Weak<File>>>>,
    /// Columns and documents in memory.
    residents: Option<Residents>,
}

/// Files refused by a view.
#[derive(Debug)]
struct Refused {
    stage: String,
    files: Arc<BTreeSet<&'static str>>,
}

/// Suffix of the original of a column while a stage rewrites it.
const ORIGINAL: &str = ".original";

impl Scratch {
    fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            whole: folder.to_owned(),
            peak: Arc::new(AtomicU64::new(0)),
            refused: None,
            suffix: "",
            lengths: Arc::default(),
            checksums: Arc::default(),
            damage: Arc::default(),
            unnamed: Arc::default(),
            residents: None,
        }
    }

    /// Creates an empty folder; removes files of an earlier run.
    pub fn create(folder: &Path) -> Result<Self, StageError> {
        let scratch = Self::at(folder);
        if folder.exists() {
            scratch.clear()?;
        }
        fs::create_dir_all(folder).at(folder, "create")?;
        Ok(scratch)
    }

    /// Opens or creates a subfolder with its own columns, which refuses no file.
    pub fn within(&self, name: &str) -> Result<Self, StageError> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).at(&folder, "create")?;
        Ok(Self { folder, refused: None, ..self.clone() })
    }

    /// Returns a view for a stage. `refused` are the files declared by other stages only.
    pub fn view(&self, stage: &str, refused: impl Into<Arc<BTreeSet<&'static str>>>) -> Self {
        let refused = Refused { stage: stage.to_owned(), files: refused.into() };
        Self { refused: Some(Arc::new(refused)), ..self.clone() }
    }

    /// Adds the expected lengths of files: those of another length cannot be opened.
    #[must_use]
    pub fn expecting(self, lengths: BTreeMap<OsString, u64>) -> Self {
        Self { lengths: Arc::new(lengths), ..self }
    }

    /// Keeps columns and documents in memory, within the limit of `residents`.
    #[must_use]
    pub fn with_residents(self, residents: Residents) -> Self {
        Self { residents: Some(residents), ..self }
    }

    /// Columns and documents in memory, if enabled.
    pub fn residents(&self) -> Option<&Residents> {
        self.residents.as_ref()
    }

    /// Sets the memory limit of columns, see [`Residents`]; writes those beyond it to files. Call while no column is
    /// read or written. A column that fails to be written stays in memory.
    pub fn limit_residents(&self, limit: u64) -> Result<(), StageError> {
        let gone = self.residents.as_ref().map_or_else(|| Ok(Vec::new()), |residents| residents.limit_to(limit))?;
        gone.into_iter().for_each(|(path, sum)| self.note(Path::new(&path), Some(sum)));
        Ok(())
    }

    /// [`Self::residents`] for a path to be written, unless it is refused: refused paths lie outside this folder.
    pub(crate) fn residents_for(&self, path: &Path) -> Option<&Residents> {
        self.residents.as_ref().filter(|_| path.parent() == Some(&self.folder))
    }

    /// True if the path exists, in memory or on disk.
    pub fn exists(&self, path: &Path) -> bool {
        self.length(path).is_some()
    }

    /// Records that the folder gets a named file. Call it before creating one other than a column or a document.
    pub fn note_file(&self) {
        self.residents.iter().for_each(Residents::note_file);
    }

    /// False if the folder has no named files, so the file system need not be asked.
    fn may_have_files(&self) -> bool {
        self.residents.as_ref().is_none_or(Residents::has_files)
    }

    /// Removes a named file, if it exists.
    fn remove_named(&self, path: &Path) -> io::Result<()> {
        if self.may_have_files() { fs::remove_file_if_any(path) } else { Ok(()) }
    }

    /// True if the column is in memory.
    pub fn is_resident<T>(&self, column: Column<T>) -> bool {
        self.residents.as_ref().is_some_and(|residents| residents.length(&self.path(column)).is_some())
    }

    /// Length of a path's content, in memory or on disk, bytes.
    pub fn length(&self, path: &Path) -> Option<u64> {
        let resident = self.residents.as_ref().and_then(|residents| residents.length(path));
        let in_file = || self.may_have_files().then(|| std::fs::metadata(path).ok().map(|file| file.len())).flatten();
        resident.or_else(in_file)
    }

    /// Checksum of a file, if recorded.
    pub fn sum(&self, path: &Path) -> Option<Checksum> {
        self.checksums.get(path)
    }

    /// Records the checksum of a file.
    pub fn note(&self, path: &Path, sum: Option<Checksum>) {
        self.checksums.set(path, sum);
    }

    /// Records damage where no error can be returned.
    pub(crate) fn note_damage(&self, error: StageError) {
        // The first one is the cause of others.
        let _ = self.damage.set(error);
    }

    /// Fails if damage was recorded. Called after each stage: output computed from damaged columns is useless.
    pub fn undamaged(&self) -> Result<(), StageError> {
        match self.damage.get() {
            Some(StageError::Scratch { path, problem }) => Err(StageError::scratch(path, problem)),
            Some(error) => Err(StageError::scratch(&self.folder, error.to_string())),
            None => Ok(()),
        }
    }

    /// Creates an unnamed file for random reads and writes. Nobody else can truncate it; it disappears on drop or when
    /// the process ends.
    pub fn unnamed(&self) -> Result<Arc<File>, StageError> {
        let file = File::unnamed(&self.folder).map(Arc::new);
        let file = file.at(&self.folder, "create a file in")?;
        let mut all = locked(&self.unnamed);
        all.retain(|file| file.strong_count() > 0);
        all.push(Arc::downgrade(&file));
        Ok(file)
    }

    /// Fails if a file does not have its expected length.
    pub(crate) fn check_length(&self, path: &Path, bytes: u64) -> Result<(), StageError> {
        match self.lengths.get(path.as_os_str()) {
            Some(&length) if length != bytes => Err(StageError::cut_off(path, length, bytes)),
            _ => Ok(()),
        }
    }

    /// Returns a view of the originals of columns that a stage rewrites.
    pub fn originals(&self) -> Self {
        Self { suffix: ORIGINAL, ..self.clone() }
    }

    /// Path of the original of a file that a stage rewrites.
    pub fn original(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ORIGINAL}"))
    }

    /// Path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Path of a column's file.
    pub fn path<T>(&self, column: Column<T>) -> PathBuf {
        self.file(&format!("{}{}", column.name, self.suffix))
    }

    /// Path of a file other than a column of [`heaplake_schemas::scratch`].
    pub fn file(&self, name: &str) -> PathBuf {
        match &self.refused {
            // An impossible path: opening it fails with an error that names the undeclared file.
            Some(refused) if refused.files.contains(name) => {
                self.folder.join(format!("{name} is not declared by stage {}", refused.stage)).join(name)
            }
            _ => self.folder.join(name),
        }
    }

    /// True if the column exists.
    pub fn has<T>(&self, column: Column<T>) -> bool {
        self.exists(&self.path(column))
    }

    /// Removes a column that no later stage needs, if it exists.
    pub fn discard<T>(&self, column: Column<T>) {
        self.discard_file(column.name);
    }

    /// As [`Self::discard`], by name.
    pub fn discard_file(&self, name: &str) {
        // Failure only wastes disk space; the whole folder is removed at the end.
        let _ = self.remove_file(name);
    }

    /// Measures the disk space of the folder. Called after each stage, and at peaks of temporary disk space.
    pub fn measure(&self) {
        let unnamed = locked(&self.unnamed);
        let unnamed = unnamed.iter().filter_map(Weak::upgrade).filter_map(|file| file.metadata().ok());
        let unnamed: u64 = unnamed.map(|file| file.blocks() * 512).sum();
        let named = if self.may_have_files() { taken(&self.whole, &mut BTreeSet::new()) } else { 0 };
        self.peak.fetch_max(named + unnamed, Ordering::Relaxed);
    }

    /// Peak of the measured disk space, bytes.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Opens the folder of an earlier run.
    pub fn reopen(folder: &Path) -> Result<Self, StageError> {
        fs::read_dir(folder).at(folder, "read")?;
        Ok(Self::at(folder))
    }

    fn clear(&self) -> Result<(), StageError> {
        fs::remove_dir_all(&self.folder).at(&self.folder, "remove")
    }

    /// Removes the folder recursively.
    pub fn remove(self) -> Result<(), StageError> {
        self.clear()
    }
}

/// Returns the disk space of a folder, bytes. Hard links count once: `seen` has their inodes.
fn taken(folder: &Path, seen: &mut BTreeSet<u64>) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.filter_map(|entry| {
        let file = entry.metadata().ok()?;
        if file.is_dir() {
            return Some(taken(&entry.path(), seen));
        }
        let is_counted = file.nlink() > 1 && !seen.insert(file.ino());
        Some(if is_counted { 0 } else { file.blocks() * 512 })
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnReader, ColumnWriter};

    const MINE: Column<u8> = Column::new("mine");
    const THEIRS: Column<u8> = Column::new("theirs");

    fn write(scratch: &Scratch, column: Column<u8>, element: u8) -> Result<u64, StageError> {
        let mut writer = ColumnWriter::create(scratch, column)?;
        writer.push(element)?;
        writer.finish()
    }

    #[test]
    fn a_view_refuses_what_is_not_declared() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        write(&scratch, THEIRS, 1).unwrap();
        let view = scratch.view("mine", BTreeSet::from([THEIRS.name]));
        assert!(write(&view, MINE, 2).is_ok() && !view.has(THEIRS));
        let Err(error) = ColumnReader::open(&view, THEIRS) else { panic!("it was opened") };
        assert!(error.to_string().contains("theirs is not declared by stage mine"), "{error}");
        assert!(write(&view, THEIRS, 3).is_err());
        // A subfolder has its own columns, also under refused names.
        assert!(write(&view.within("inner").unwrap(), THEIRS, 4).is_ok());
    }

    #[test]
    fn files_beside_columns_in_memory_are_found_once_they_are_noted() {
        let folder = tempfile::tempdir().unwrap();
        let residents = Residents::new(1 << 20);
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap().with_residents(residents.clone());
        write(&scratch, MINE, 1).unwrap();
        scratch.measure();
        assert!(scratch.has(MINE) && scratch.peak() == 0);
        // A file created by a stage itself.
        scratch.note_file();
        let own = scratch.file("own");
        std::fs::write(&own, [7; 10_000]).unwrap();
        scratch.measure();
        assert!(scratch.length(&own) == Some(10_000) && scratch.peak() > 0);
        scratch.discard_file("own");
        assert!(!own.exists());
        // A column beyond the limit.
        let other = Scratch::create(&folder.path().join("other")).unwrap().with_residents(residents.clone());
        other.limit_residents(0).unwrap();
        write(&other, THEIRS, 2).unwrap();
        assert!(other.path(THEIRS).exists() && other.has(THEIRS));
        other.discard(THEIRS);
        assert!(!other.path(THEIRS).exists());
    }

    #[test]
    fn a_second_name_takes_no_disk() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, MINE).unwrap();
        writer.extend(&[7; 100_000]).unwrap();
        writer.finish().unwrap();
        scratch.measure();
        let peak = scratch.peak();
        scratch.share(MINE, THEIRS).unwrap();
        scratch.measure();
        assert!(peak >= 100_000 && scratch.peak() == peak);
        scratch.copy(MINE, Column::new("copy")).unwrap();
        scratch.measure();
        assert!(scratch.peak() > peak);
    }

    #[test]
    fn what_is_written_anew_is_there_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let read = |scratch: &Scratch| ColumnReader::open(scratch, MINE).unwrap().next().unwrap();
        write(&scratch, MINE, 1).unwrap();
        scratch.set_aside(MINE.name).unwrap();
        write(&scratch, MINE, 2).unwrap();
        // The stage is killed and starts again.
        scratch.set_aside(MINE.name).unwrap();
        assert_eq!((read(&scratch.originals()), read(&scratch)), (1, 2));
        scratch.take_back(MINE).unwrap();
        assert_eq!(read(&scratch), 1);
        scratch.set_aside(MINE.name).unwrap();
        scratch.forget_aside(MINE.name).unwrap();
        assert!(!scratch.has(MINE) && !scratch.originals().has(MINE));
    }
}
