//! The storage toolkit of the stages.
//!
//! It contains a [`Budget`] that bounds the allocations of the process, a [`Scratch`] folder of typed [`mod@column`]
//! files, memory-mapped columns ([`ColumnMap`]), [`mod@array`]s that are paged if they do not fit, a [`Stack`] that
//! spills to disk, [`Offsets`] for grouped columns, a [`spill::PairSpill`] that groups pairs out of core, [`dedup`]
//! that finds nodes with equal values, [`strings`] tables, an [`OrderedPool`] of threads, a [`Context`] with progress
//! and cancellation, and one [`StageError`].
//!
//! `unsafe` is allowed in this crate only, and only in [`allocator`], [`bitset`], [`mod@column`], [`decimals`],
//! [`memory_limit`], [`last_words`], [`threads`], `bus` and `hint`; each use states its reason.
//!
//! ```
//! use heaplake_kit::{Budget, ColumnReader, ColumnWriter, Scratch};
//! use heaplake_schemas::scratch::Column;
//!
//! const SQUARES: Column<u32> = Column::new("squares");
//! let folder = std::env::temp_dir().join(format!("heaplake-kit-doc-{}", std::process::id()));
//! let scratch = Scratch::create(&folder)?;
//! let mut writer = ColumnWriter::create(&scratch, SQUARES)?;
//! for i in 0..1000u32 {
//!     writer.push(i * i)?;
//! }
//! assert_eq!(writer.finish()?, 1000);
//! let mut reader = ColumnReader::open(&scratch, SQUARES)?;
//! assert_eq!((reader.next()?, reader.next()?, reader.next()?), (0, 1, 4));
//!
//! let budget = Budget::new(1 << 20);
//! let numbers = budget.zeroed::<u64>("an example", 1000)?;
//! assert_eq!(budget.used(), 8000);
//! drop(numbers);
//! assert_eq!(budget.used(), 0);
//! scratch.remove()?;
//! # Ok::<(), heaplake_kit::StageError>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("scratch columns are little-endian and read without conversion");

pub mod access;
#[allow(unsafe_code)]
pub mod allocator;
pub mod array;
pub mod array_plan;
#[allow(unsafe_code)]
mod bitset;
pub mod budget;
#[allow(unsafe_code)]
mod bus;
pub mod checksums;
#[allow(unsafe_code)]
pub mod column;
#[allow(unsafe_code)]
pub mod decimals;
pub mod dedup;
pub mod divisible;
pub mod error;
pub mod fs;
pub mod hash_cons;
#[allow(unsafe_code)]
mod hint;
#[allow(unsafe_code)]
pub mod last_words;
pub mod memory_account;
#[allow(unsafe_code)]
pub mod memory_limit;
mod offsets;
pub mod ordered_pool;
pub mod overhead;
mod paged;
pub mod panics;
mod readahead;
mod scheme;
mod scratch;
mod setting;
pub mod sorter;
pub mod spill;
mod stack;
pub mod stage;
pub mod stop;
pub mod storage;
mod storage_mode;
pub mod stream;
mod strings;
pub mod text;
#[allow(unsafe_code)]
pub mod threads;

pub use array::{Array, Lookup, ReadAt, SharedLookup, WriteAt};
pub use array_plan::ArrayPlan;
pub use bitset::{Bitset, Ranks, SharedBitset};
pub use budget::{Budget, BudgetVec, Reservation};
pub use column::{ColumnMap, ColumnPoints, ColumnReader, ColumnWriter, Residents, ReverseReader};
pub use column::{create_all, finish_all, open_all};
pub use error::{InputError, IoAt, StageError};
pub use hint::{give_back_freed, ignore_file_size_signal, keep_little_freed, map_alone, raise_open_files};
pub use offsets::{OffsetBlock, Offsets};
pub use ordered_pool::OrderedPool;
pub use scratch::Scratch;
pub use setting::Setting;
pub use stack::Stack;
pub use stage::{Context, Job, Progress, Stage, Stats};
pub use strings::{StringTable, StringWriter};
