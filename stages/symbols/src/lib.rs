//! Names and lines that a trace or walk of .NET leaves to other files.
//!
//! * [`find`] looks for assemblies and portable PDBs in files and folders.
//! * [`Library`] answers what types, methods and lines the tokens of a module stand for. It takes a file only for the
//!   module of its name and, where both say which build they are of, of the same build.
//!
//! PDBs are read by `symbolic-ppdb`, which its authors keep up. Of assemblies three tables are needed; the crates that read
//! them take damaged files for whole ones and panic, so [`assembly`] has a reader of its own.
//!
//! Reference: ECMA-335, partition II, sections 22 to 25; the portable PDB format v1.0 of the .NET runtime.

pub mod assembly;
mod build;
mod bytes;
mod files;
mod library;
mod metadata;
mod pdb;
mod pe;

pub use build::Build;
pub use files::{Found, MOST_FILES, beside, find, merged};
pub use library::{Library, Lines, Module};
pub use pdb::{BYTES_PER_BYTE, Pdb};
