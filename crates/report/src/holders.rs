//! Holder trees of big classes on the page. Texts are indices into [`Texts`].
//!
//! Classes named by findings come first, in the order of the findings, then the others, largest first. If a tree has
//! too many branches, those furthest from the instances are left out.

use crate::tables::Shown;
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_schemas::retainer_trees::TABLE;
use serde::Serialize;
use std::path::Path;

/// Maximum trees of classes that no finding names.
const TREES: usize = 40;
/// Maximum branches per tree.
const BRANCHES: usize = 60;
/// Once this many branches are shown, no further tree begins.
const ALL: usize = 2000;

/// Holder tree of a class.
#[derive(Serialize)]
pub struct Tree {
    class: u32,
    name: u32,
    /// Instances from which the walk began.
    looked_at: u64,
    /// Branches, each after its parent.
    branches: Shown<Branch>,
}

/// Holders of one class by one label. Sizes are bytes.
#[derive(Serialize)]
pub struct Branch {
    /// Index of the branch nearer to the instances.
    parent: Option<u32>,
    level: u32,
    kind: u32,
    holder: Option<u32>,
    edge: Option<u32>,
    merged: u64,
    holders: u64,
    example: u32,
    count: u64,
    shallow: u64,
    retained: u64,
    /// Instances held through this branch alone, and their retained bytes.
    alone: (u64, u64),
    cut: bool,
}

/// A branch, with the rows of itself and of its parent.
struct Numbered {
    row: u32,
    parent: Option<u32>,
    branch: Branch,
}

/// A tree with all branches.
struct Whole {
    class: u32,
    name: String,
    looked_at: u64,
    branches: Vec<Numbered>,
}

const COLUMNS: [&str; 18] = [
    "branch",
    "class_id",
    "class",
    "looked_at",
    "parent",
    "level",
    "kind",
    "holder_class",
    "edge",
    "merged",
    "holders",
    "example_node",
    "count",
    "shallow_bytes",
    "retained_bytes",
    "exclusive_count",
    "exclusive_retained_bytes",
    "is_cut",
];

/// Reads the trees, those of `named` classes first; `None` if the run has no such table.
pub fn read(folder: &Path, named: &[u32], texts: &mut Texts) -> Result<Option<Shown<Tree>>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(TABLE.file))? else { return Ok(None) };
    let mut batches = reader.columns(&COLUMNS)?;
    let (mut of, mut others, mut before) = (0, 0, None);
    let mut wanted = false;
    let mut trees: Vec<Whole> = Vec::new();
    while let Some(rows) = batches.batch()? {
        for at in 0..rows.len() {
            let class = rows.u32s("class_id")?.value(at);
            if before != Some(class) {
                before = Some(class);
                of += 1;
                let is_named = named.contains(&class);
                wanted = is_named || others < TREES;
                others += usize::from(!is_named);
                if wanted {
                    let (name, looked_at) = (rows.texts("class")?.value(at), rows.sizes("looked_at")?.value(at));
                    trees.push(Whole { class, name: name.to_owned(), looked_at, branches: Vec::new() });
                }
            }
            if let Some(tree) = trees.last_mut().filter(|_| wanted) {
                tree.branches.push(branch(&rows, at, texts)?);
            }
        }
    }
    let rank = |tree: &Whole| named.iter().position(|&class| class == tree.class).unwrap_or(usize::MAX);
    trees.sort_by_key(rank);
    let (mut shown, mut left) = (Vec::new(), ALL);
    for tree in trees {
        if left > 0 {
            let tree = lowest(tree, texts);
            left = left.saturating_sub(tree.branches.rows.len());
            shown.push(tree);
        }
    }
    Ok(Some(Shown { of, rows: shown }))
}

fn branch(rows: &Batch, at: usize, texts: &mut Texts) -> Result<Numbered, StageError> {
    let size = |column| Ok::<_, StageError>(rows.sizes(column)?.value(at));
    let branch = Branch {
        parent: None,
        level: rows.u32s("level")?.value(at),
        kind: texts.add(rows.texts("kind")?.value(at)),
        holder: value(rows.texts("holder_class")?, at).map(|class| texts.add(class)),
        edge: value(rows.texts("edge")?, at).map(|edge| texts.add(edge)),
        merged: size("merged")?,
        holders: size("holders")?,
        example: rows.u32s("example_node")?.value(at),
        count: size("count")?,
        shallow: size("shallow_bytes")?,
        retained: size("retained_bytes")?,
        alone: (size("exclusive_count")?, size("exclusive_retained_bytes")?),
        cut: rows.flags("is_cut")?.value(at),
    };
    Ok(Numbered { row: rows.u32s("branch")?.value(at), parent: value(rows.u32s("parent")?, at), branch })
}

/// Keeps the branches nearest to the instances.
fn lowest(tree: Whole, texts: &mut Texts) -> Tree {
    let of = tree.branches.len() as u64;
    let mut kept = tree.branches;
    // A parent has a lower level than its children, so it stays if they do.
    kept.sort_by_key(|one| (one.branch.level, one.row));
    kept.truncate(BRANCHES);
    kept.sort_by_key(|one| one.row);
    let rows: Vec<u32> = kept.iter().map(|one| one.row).collect();
    let place = |row: u32| rows.binary_search(&row).ok().map(|place| place as u32);
    let branches = kept.into_iter().map(|one| Branch { parent: one.parent.and_then(place), ..one.branch }).collect();
    let name = texts.add(&tree.name);
    Tree { class: tree.class, name, looked_at: tree.looked_at, branches: Shown { of, rows: branches } }
}
