//! Checks the files of a run: its description by seal; its tables by checksum, size, number of rows and schema version.
//!
//! Runs of older versions have neither seal nor checksums: only size, rows and schema version are checked, and a
//! changed byte inside a table goes unnoticed.

use crate::described::{self, ANEW, Difference, has_checksums};
use crate::place::Standing;
use crate::reader::Reader;
use crate::{checksum, commit, packing, packs, stored, whole};
use heaplake_kit::{Context, StageError, storage};
use heaplake_schemas::run::{self, Packed, Run, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

/// A file that differs from its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// File.
    pub path: PathBuf,
    /// Expected state.
    pub expected: String,
    /// Actual state.
    pub found: String,
    /// Advice.
    pub advice: String,
}

/// The description of a run on disk.
#[derive(Debug)]
pub(crate) struct Description {
    /// Identity of the run when it was read.
    pub standing: Option<Standing>,
    /// Text of the file; empty if missing.
    pub text: Vec<u8>,
    /// Parsed description, if valid.
    pub run: Option<Run>,
    /// Problem with the description.
    pub problem: Option<Problem>,
}

/// Maximum attempts to read a description that others replace meanwhile.
const TRIES: u32 = 100;

impl Description {
    /// Reads the description of a run; `None` if its folder is gone. Retries if the run is replaced meanwhile.
    pub(crate) fn read(place: &Path) -> Option<Self> {
        let mut tries = 0;
        loop {
            let description = Self::read_once(place);
            tries += 1;
            let is_same = |read: &Self| {
                storage::is_url(place) || Standing::at(place).is_ok_and(|standing| standing == read.standing)
            };
            if tries >= TRIES || description.as_ref().is_none_or(is_same) {
                return description;
            }
        }
    }

    fn read_once(place: &Path) -> Option<Self> {
        let path = place.join(run::FILE);
        let wrong = |expected: &str, found: String, advice: &str| {
            Some(Problem { path: path.clone(), expected: expected.to_owned(), found, advice: advice.to_owned() })
        };
        let standing = Standing::at(place).ok().flatten();
        let without = |problem| Some(Self { standing: standing.clone(), text: Vec::new(), run: None, problem });
        let text = match commit::text(place) {
            Ok(Some(text)) => text,
            Ok(None) if standing.is_none() && !place.exists() => return None,
            Ok(None) => return without(wrong("the description of a run", "no such file".to_owned(), ANEW)),
            Err(StageError::Table { problem, .. }) => {
                return without(wrong("the description of a run", problem, ANEW));
            }
            Err(error) => return without(wrong("a file that can be read", error.to_string(), &error.advice())),
        };
        let (run, unread) = match commit::parse(place, &text) {
            Ok(run) => (Some(run), None),
            Err(StageError::Table { problem, .. }) => (None, wrong("the description of a run", problem, ANEW)),
            Err(error) => (None, wrong("a version that is known", error.to_string(), &error.advice())),
        };
        let difference = match &run {
            Some(run) => described::difference(place, &text, run),
            None => described::of_broken_seal(&text),
        };
        let problem = match difference {
            Some(Difference { expected, found, advice }) => wrong(&expected, found, advice),
            None => unread,
        };
        Some(Self { standing, text, run, problem })
    }

    /// Returns the parsed description if it has no problem.
    pub(crate) fn intact(&self) -> Option<&Run> {
        self.run.as_ref().filter(|_| self.problem.is_none())
    }
}

/// A run with tables to check.
#[derive(Debug)]
pub(crate) struct Described {
    /// Run folder.
    pub place: PathBuf,
    /// Identity of the run when its description was read.
    pub standing: Option<Standing>,
    /// Schema version.
    pub schema_version: u32,
    /// Tables.
    pub tables: Vec<Table>,
    /// Whether it has a seal and checksums.
    pub has_checksums: bool,
    /// Where tables that its folder lacks are.
    pub packed: Option<Packed>,
}

impl Described {
    /// Creates it from a run description.
    pub(crate) fn new(place: PathBuf, standing: Option<Standing>, run: &Run) -> Self {
        let (tables, schema_version) = (run.tables.clone(), run.schema_version);
        let (has_checksums, packed) = (has_checksums(run), run.packed.clone());
        Self { place, standing, schema_version, tables, has_checksums, packed }
    }

    /// Total bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| sum.saturating_add(table.bytes))
    }

    /// Whether the run has been replaced or removed.
    pub(crate) fn is_gone(&self) -> bool {
        Standing::at(&self.place).is_ok_and(|standing| standing != self.standing)
    }
}

/// Checks the tables of runs in parallel; returns the problems of each run.
pub(crate) fn tables(runs: &[Described], context: &Context<'_>) -> Result<Vec<Vec<Problem>>, StageError> {
    let tables = runs.iter().enumerate().flat_map(|(of, run)| run.tables.iter().map(move |table| (of, (run, table))));
    let tables = ahead(tables, |(_, (run, table))| stored::begin(&run.place, &table.file));
    let check = |&(run, table): &(&Described, &Table), buffer: &mut Vec<u8>| check(run, table, buffer, context);
    let of_tables = whole::each(runs.len(), tables, JOB_BYTES, check, context)?;
    let all = runs.iter().zip(of_tables).map(|(run, of_tables)| unlisted(run).into_iter().chain(of_tables).collect());
    Ok(all.collect())
}

/// Tables whose reads begin before their turn.
const AHEAD: usize = 32;

/// The same elements; `begin` is called for each some elements before its turn.
fn ahead<T>(mut all: impl Iterator<Item = T>, begin: impl Fn(&T)) -> impl Iterator<Item = T> {
    let mut begun = VecDeque::with_capacity(AHEAD);
    std::iter::from_fn(move || {
        while begun.len() < AHEAD
            && let Some(next) = all.next()
        {
            begin(&next);
            begun.push_back(next);
        }
        begun.pop_front()
    })
}

/// Memory per job: read buffer, and the table's footer with page index.
const JOB_BYTES: u64 = (checksum::BUFFER_BYTES as u64) + (1 << 20);

/// Tables in the run folder that the description does not list: query engines would read them.
fn unlisted(run: &Described) -> Vec<Problem> {
    let listed: BTreeSet<&str> = run.tables.iter().map(|table| table.file.as_str()).collect();
    let mut names: Vec<String> = stored::files(&run.place).into_iter().map(|(name, _)| name).collect();
    names.retain(|name| is_table(name) && !name.starts_with('.') && !listed.contains(name.as_str()));
    names.sort();
    let problem = |name: String| Problem {
        path: run.place.join(name),
        expected: format!("no table that {} does not have", run::FILE),
        found: "one".to_owned(),
        advice: "move it out of the run".to_owned(),
    };
    names.into_iter().map(problem).collect()
}

fn is_table(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|ending| ending == "parquet")
}

/// Checks a table.
fn check(
    run: &Described,
    table: &Table,
    buffer: &mut Vec<u8>,
    context: &Context<'_>,
) -> Result<Option<Problem>, StageError> {
    let path = run.place.join(&table.file);
    let problem = |(expected, found): (String, String), advice: &str| {
        Ok(Some(Problem { path: path.clone(), expected, found, advice: advice.to_owned() }))
    };
    // A damaged or hostile description may name any path.
    if Path::new(&table.file).file_name().is_none_or(|name| name != table.file.as_str()) {
        return problem(("the name of a file in the run".to_owned(), format!("{:?}", table.file)), ANEW);
    }
    // A store takes a request to say that it has no file.
    if storage::is_url(&path)
        && packs::may_have(&table.file, Some(table.bytes))
        && let Some(outcome) = in_pack(run, table, context)?
    {
        return outcome.map_or(Ok(None), |difference| problem(difference, ANEW));
    }
    match difference(&path, run, table, buffer, context) {
        Ok(None) => Ok(None),
        Ok(Some(difference)) => problem(difference, ANEW),
        Err(StageError::Cancelled) => Err(StageError::Cancelled),
        Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            match in_pack(run, table, context)? {
                Some(None) => Ok(None),
                Some(Some(difference)) => problem(difference, ANEW),
                None => problem((format!("{} bytes", table.bytes), "no such file".to_owned()), ANEW),
            }
        }
        Err(StageError::Io { source, .. }) => problem(
            ("a file that can be read".to_owned(), source.to_string()),
            "check the disk, and who may read the file",
        ),
        Err(StageError::Table { problem: why, .. }) => problem(("a table of Parquet".to_owned(), why), ANEW),
        Err(error) => problem(("a table of Parquet".to_owned(), error.to_string()), &error.advice()),
    }
}

/// Reads the rows of a table in a pack, whose pages have checksums; returns expected and actual state if they differ.
/// `None` if no pack has them.
fn in_pack(
    run: &Described,
    table: &Table,
    context: &Context<'_>,
) -> Result<Option<Option<(String, String)>>, StageError> {
    let damaged = |found: String| Ok(Some(Some(("rows in a pack of the lake".to_owned(), found))));
    let Some(packed) = &run.packed else { return Ok(None) };
    let slice = match packs::of(&run.place, &table.file, packed, run.schema_version) {
        Ok(Some(slice)) => slice,
        Ok(None) => return Ok(None),
        Err(error) => return damaged(error.to_string()),
    };
    let read = || -> Result<u64, StageError> {
        let reader = Reader::of_slice(&slice);
        let schema = reader.schema().clone();
        let mut rows = reader.columns(&packing::names(&schema))?;
        let mut count = 0;
        while let Some(batch) = rows.batch()? {
            context.check()?;
            count += batch.len() as u64;
        }
        Ok(count)
    };
    context.step(table.bytes)?;
    match read() {
        Ok(rows) if rows == table.rows => Ok(Some(None)),
        Ok(rows) => Ok(Some(Some((format!("{} rows", table.rows), format!("{rows} rows in a pack"))))),
        Err(StageError::Cancelled) => Err(StageError::Cancelled),
        Err(error) => damaged(error.to_string()),
    }
}

/// Returns expected and actual state of a table if they differ.
fn difference(
    path: &Path,
    run: &Described,
    table: &Table,
    buffer: &mut Vec<u8>,
    context: &Context<'_>,
) -> Result<Option<(String, String)>, StageError> {
    let differ = |expected: String, found: String| Ok(Some((expected, found)));
    if path.is_symlink() {
        return differ("a file".to_owned(), "a symbolic link".to_owned());
    }
    let there = stored::bytes(path).map_err(|error| StageError::io(path, "examine", error))?;
    if there != table.bytes {
        return differ(format!("{} bytes", table.bytes), format!("{there} bytes"));
    }
    match &table.xxh3_64 {
        Some(expected) => {
            let content = stored::checksum(path, buffer, |bytes| context.step(bytes))?;
            if content.xxh3_64 != *expected {
                return differ(format!("XXH3-64 {expected}"), content.xxh3_64);
            }
        }
        None if run.has_checksums => return differ(format!("a checksum in {}", run::FILE), "none".to_owned()),
        None => context.step(table.bytes)?,
    }
    if !is_table(&table.file) {
        return Ok(None);
    }
    let reader = Reader::open(path)?;
    if reader.rows() != table.rows {
        return differ(format!("{} rows", table.rows), format!("{} rows", reader.rows()));
    }
    let (expected, found) = (run.schema_version, reader.schema_version());
    if found != Some(expected) {
        let found = found.map_or("none".to_owned(), |found| found.to_string());
        return differ(format!("schema version {expected}"), found);
    }
    Ok(None)
}
