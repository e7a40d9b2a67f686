//! Questions about a run that is in the lake, answered from its tables.
//!
//! [`why`] says what holds one object, [`top`] which objects retain most, [`tree`] what an object holds. They read single
//! columns of the table of nodes front to back, and the rows that they show by themselves. In memory is at most what a
//! walk needs: 4 bytes per node for dominators, 9 more for a shortest path.

pub mod rows;
pub mod top;
pub mod tree;
pub mod why;

use crate::summary::{shorten, size};
use heaplake_kit::StageError;
use heaplake_publish::commit;
use heaplake_schemas::run::Run;
use heaplake_schemas::{edges, nodes};
use rows::{Lines, NodeRow};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why there is no answer.
#[derive(Debug)]
pub struct Unanswered {
    /// What is wrong, in one line.
    pub cause: String,
    /// What to do.
    pub advice: String,
    /// Whether the question is at fault rather than the run.
    pub usage: bool,
}

impl Unanswered {
    /// A question that cannot be asked.
    pub(crate) fn usage(cause: String, advice: &str) -> Self {
        Self { cause, advice: advice.to_owned(), usage: true }
    }

    /// A folder that is no run.
    #[must_use]
    pub fn no_run(folder: &Path) -> Self {
        let cause = format!("{}: no run: there is no run.json", folder.display());
        Self::usage(cause, "name a folder LAKE/release=…/snapshot=…")
    }

    fn damaged(path: &Path, why: impl std::fmt::Display) -> Self {
        let cause = format!("{}: {why}", path.display()).replace(['\n', '\r'], " ");
        Self { cause, advice: "analyse the snapshot again with --force".to_owned(), usage: false }
    }
}

impl From<StageError> for Unanswered {
    fn from(error: StageError) -> Self {
        Self { cause: error.to_string(), advice: error.advice(), usage: false }
    }
}

/// An object as people name it: its number in the table of nodes, or `@` and the format's own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Row of the table of nodes.
    Node(u32),
    /// The format's id or address.
    Id(u64),
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |_| format!("{text:?} is neither the number of a node nor @ and an id");
        match text.strip_prefix('@') {
            None => text.parse().map(Self::Node).map_err(bad),
            Some(id) => match id.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).map(Self::Id).map_err(bad),
                None => id.parse().map(Self::Id).map_err(bad),
            },
        }
    }
}

/// A run that is asked.
pub struct Asked {
    folder: PathBuf,
    run: Run,
}

impl Asked {
    /// Opens a run.
    ///
    /// # Errors
    /// [`Unanswered`] where there is none, or none with a table of nodes.
    pub fn open(folder: &Path) -> Result<Self, Unanswered> {
        let run = commit::read(folder)?.ok_or_else(|| Unanswered::no_run(folder))?;
        let asked = Self { folder: folder.to_owned(), run };
        match asked.has(nodes::FILE) {
            true => Ok(asked),
            false => Err(Unanswered::usage(
                format!("{}: this run has no table of nodes", folder.display()),
                "analyse the snapshot again with --force, and without --tables",
            )),
        }
    }

    fn has(&self, file: &str) -> bool {
        self.run.tables.iter().any(|table| table.file == file)
    }

    fn nodes(&self) -> PathBuf {
        self.folder.join(nodes::FILE)
    }

    fn edges(&self) -> Option<PathBuf> {
        self.has(edges::FILE).then(|| self.folder.join(edges::FILE))
    }

    /// What makes a run that has edges.
    fn command_for_edges(&self) -> String {
        let lake = self.folder.parent().and_then(Path::parent).unwrap_or(Path::new("LAKE"));
        let Run { source, release, snapshot, .. } = &self.run;
        let place = format!("--release {release} --snapshot {snapshot}");
        format!("heaplake analyze {source} --out {} {place} --edges --force", lake.display())
    }

    /// The node that is meant.
    fn find(&self, subject: Subject) -> Result<u32, Unanswered> {
        // As many as the table has, whatever else is said of the run.
        let nodes = Lines::open(&self.nodes(), &["id"])?.rows();
        match subject {
            Subject::Node(node) if u64::from(node) < nodes => Ok(node),
            Subject::Node(node) => {
                let cause =
                    format!("{}: there is no node {node}: the last is {}", self.folder.display(), nodes.max(1) - 1);
                Err(Unanswered::usage(cause, "take a number from the column node of the tables, or @ and an id"))
            }
            Subject::Id(id) => {
                let mut found = None;
                Lines::open(&self.nodes(), &["id"])?.each(|batch, first| {
                    let ids = rows::u64s(batch, 0)?;
                    if found.is_none() {
                        found = ids.iter().position(|&other| other == id).map(|at| first + at as u32);
                    }
                    Ok(found.is_none())
                })?;
                found.ok_or_else(|| {
                    let cause = format!("{}: no node has the id {id}", self.folder.display());
                    Unanswered::usage(cause, "take an id from the column id of the table of nodes")
                })
            }
        }
    }
}

/// One line of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// The edge that leads here, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
    /// How far it is indented.
    #[serde(skip)]
    pub depth: usize,
    /// Remarks below the line, and how far each is indented.
    #[serde(skip)]
    pub more: Vec<(usize, String)>,
}

/// Lines with sizes in columns.
fn table(lines: &[Line]) -> String {
    let mut text = format!("  {:>12} {:>12} {:>12}  object\n", "retained", "shallow", "node");
    let indent = |depth: usize| "  ".repeat(depth.min(60));
    for Line { node, edge, depth, more } in lines {
        let (retained, shallow) = (size(node.retained_bytes), size(node.shallow_bytes));
        let edge = edge.as_ref().map_or_else(String::new, |edge| format!("{} → ", shorten(edge, 40)));
        let indent_here = indent(*depth);
        let label = node.label();
        text += &format!("  {retained:>12} {shallow:>12} {:>12}  {indent_here}{edge}{label}\n", node.node);
        for (depth, more) in more {
            text += &format!("  {:>12} {:>12} {:>12}  {}{more}\n", "", "", "", indent(*depth));
        }
    }
    text
}
