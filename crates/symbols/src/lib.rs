//! Symbol files: names and lines that a .NET trace or walk lacks.
//!
//! * [`find`] searches files and folders for assemblies and portable PDBs.
//! * [`Library`] resolves tokens of a module to types, methods and lines. It uses a file only for the module of its
//!   name and, if both state a build, of the same build.
//!
//! PDBs are read by the maintained crate `symbolic-ppdb`. Assemblies need only three tables; the crates that read them
//! accept damaged files and panic, so [`assembly`] has its own reader.
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
pub use files::{SymbolFiles, beside, find, merged};
pub use library::{Library, Lines, Module};
pub use pdb::{BYTES_PER_BYTE, Pdb};
