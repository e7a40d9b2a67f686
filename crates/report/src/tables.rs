//! First rows of each table on the page. Texts are indices into [`Texts`]; [`Shown`] also has the total number of rows,
//! so that the page can report omissions.

use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Reader, value};
use heaplake_schemas::{classes, owners, snapshot};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::path::Path;

/// Maximum rows shown.
const CLASSES: u64 = 2500;
const CHAINS: u64 = 1200;
const OWNERS: u64 = 300;
const SETS: u64 = 800;
/// Elements shown at each end of a path.
const PATH_ENDS: usize = 24;
/// Maximum bytes of a preview, or of the reason of a set.
const PREVIEW: usize = 240;

/// The first rows of a table.
#[derive(Serialize)]
pub struct Shown<T> {
    /// Total number of rows.
    pub of: u64,
    /// First rows.
    pub rows: Vec<T>,
}

/// Reads the first rows of a table; `None` if the run lacks it.
pub fn shown<T>(
    folder: &Path,
    file: &str,
    columns: &[&str],
    most: u64,
    mut row: impl FnMut(&Batch, usize) -> Result<T, StageError>,
) -> Result<Option<Shown<T>>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(file))? else { return Ok(None) };
    let of = reader.rows();
    let mut batches = reader.first(most).columns(columns)?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.batch()? {
        for at in 0..batch.len() {
            rows.push(row(&batch, at)?);
        }
    }
    Ok(Some(Shown { of, rows }))
}

/// A class.
#[derive(Serialize)]
pub struct Class {
    id: u32,
    name: u32,
    /// Unique key, if it differs from the name.
    key: Option<u32>,
    count: u64,
    shallow: u64,
    retained: u64,
    largest: u64,
    distance: Option<i32>,
    duplicates: Option<u64>,
    big: Option<bool>,
}

/// Reads the largest classes.
pub fn classes(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Class>>, StageError> {
    let columns = [
        "class_id",
        "class",
        "class_key",
        "count",
        "shallow_bytes",
        "retained_bytes",
        "max_retained_bytes",
        "distance",
        "duplicate_bytes",
        "big",
    ];
    shown(folder, classes::TABLE.file, &columns, CLASSES, |rows, at| {
        let (name, key) = (rows.texts("class")?.value(at), rows.texts("class_key")?.value(at));
        Ok(Class {
            id: rows.u32s("class_id")?.value(at),
            name: texts.add(name),
            key: (key != name).then(|| texts.add(key)),
            count: rows.sizes("count")?.value(at),
            shallow: rows.sizes("shallow_bytes")?.value(at),
            retained: rows.sizes("retained_bytes")?.value(at),
            largest: rows.sizes("max_retained_bytes")?.value(at),
            distance: value(rows.i32s("distance")?, at),
            duplicates: value(&rows.sizes("duplicate_bytes")?, at),
            big: value(rows.flags("big")?, at),
        })
    })
}

/// An owner.
#[derive(Serialize)]
pub struct Owner {
    name: u32,
    count: u64,
    shallow: u64,
    retained: u64,
    freed: Option<u64>,
    allocated: Option<u64>,
}

/// Reads the largest owners.
pub fn owners(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Owner>>, StageError> {
    let columns = ["owner", "count", "shallow_bytes", "retained_bytes", "freed_bytes", "allocated_bytes"];
    shown(folder, owners::TABLE.file, &columns, OWNERS, |rows, at| {
        let number = |column| Ok::<_, StageError>(value(&rows.sizes(column)?, at));
        Ok(Owner {
            name: texts.add(rows.texts("owner")?.value(at)),
            count: number("count")?.unwrap_or(0),
            shallow: number("shallow_bytes")?.unwrap_or(0),
            retained: number("retained_bytes")?.unwrap_or(0),
            freed: number("freed_bytes")?,
            allocated: number("allocated_bytes")?,
        })
    })
}

/// An element of a path: edge, class, whether it repeats. No class marks the omitted middle.
type Element = (Option<u32>, Option<u32>, bool);

/// A chain, with its path from the root.
#[derive(Serialize)]
pub struct Chain {
    kind: u32,
    class: u32,
    name: u32,
    count: u64,
    shallow: u64,
    retained: u64,
    example: u32,
    path: Vec<Element>,
}

/// Reads the largest chains.
pub fn chains(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Chain>>, StageError> {
    const FILE: &str = heaplake_schemas::chains::TABLE.file;
    let mut columns = vec!["class_id", "class", "path", "count", "shallow_bytes", "retained_bytes", "example_node"];
    let has_kind = Reader::open_if_present(&folder.join(FILE))?.is_some_and(|reader| reader.has("kind"));
    if has_kind {
        columns.push("kind");
    }
    shown(folder, FILE, &columns, CHAINS, |rows, at| {
        let kind = if has_kind { rows.texts("kind")?.value(at) } else { "reference" };
        Ok(Chain {
            kind: texts.add(kind),
            class: rows.u32s("class_id")?.value(at),
            name: texts.add(rows.texts("class")?.value(at)),
            count: rows.sizes("count")?.value(at),
            shallow: rows.sizes("shallow_bytes")?.value(at),
            retained: rows.sizes("retained_bytes")?.value(at),
            example: rows.u32s("example_node")?.value(at),
            path: path(rows, at, texts)?,
        })
    })
}

fn path(rows: &Batch, at: usize, texts: &mut Texts) -> Result<Vec<Element>, StageError> {
    let elements = rows.elements("path", at)?;
    let (edges, classes) = (elements.texts("edge")?, elements.texts("class")?);
    let repeats = elements.flags("repeats")?;
    let mut path = Vec::new();
    for element in 0..elements.len() {
        if element == PATH_ENDS && elements.len() > 2 * PATH_ENDS {
            path.push((None, None, false));
        }
        if (PATH_ENDS..elements.len().saturating_sub(PATH_ENDS)).contains(&element) {
            continue;
        }
        let edge = value(edges, element).map(|edge| texts.add(edge));
        path.push((edge, Some(texts.add(classes.value(element))), repeats.value(element)));
    }
    Ok(path)
}

/// A set of duplicates.
#[derive(Serialize)]
pub struct Set {
    set: u32,
    class: u32,
    name: u32,
    status: u32,
    reason: Option<u32>,
    trivial: bool,
    members: u64,
    instance: u64,
    additional: u64,
    /// Bounds of the additional bytes, if not known exactly.
    bounds: Option<(u64, u64)>,
    exact: bool,
    holder: Option<u32>,
    example: u32,
    preview: Option<u32>,
}

/// Reads the sets of duplicates with the most additional bytes.
pub fn duplicates(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Set>>, StageError> {
    let columns = [
        "set",
        "class_id",
        "class",
        "status",
        "reason",
        "trivial",
        "members",
        "instance_bytes",
        "additional_bytes",
        "additional_exact",
        "held_by",
        "example_node",
        "preview",
    ];
    const FILE: &str = heaplake_schemas::duplicate_sets::TABLE.file;
    let mut columns = columns.to_vec();
    let bounded =
        Reader::open_if_present(&folder.join(FILE))?.is_some_and(|reader| reader.has("additional_bytes_most"));
    if bounded {
        columns.extend(["additional_bytes_least", "additional_bytes_most"]);
    }
    shown(folder, FILE, &columns, SETS, |rows, at| {
        let bounds = if bounded { bounds(rows, at)? } else { None };
        Ok(Set {
            bounds,
            set: rows.u32s("set")?.value(at),
            class: rows.u32s("class_id")?.value(at),
            name: texts.add(rows.texts("class")?.value(at)),
            status: texts.add(rows.texts("status")?.value(at)),
            reason: value(rows.texts("reason")?, at).map(|reason| texts.add_within(reason, PREVIEW)),
            trivial: rows.flags("trivial")?.value(at),
            members: rows.sizes("members")?.value(at),
            instance: rows.sizes("instance_bytes")?.value(at),
            additional: rows.sizes("additional_bytes")?.value(at),
            exact: rows.flags("additional_exact")?.value(at),
            holder: value(rows.u32s("held_by")?, at),
            example: rows.u32s("example_node")?.value(at),
            preview: value(rows.texts("preview")?, at).map(|preview| texts.add_within(preview, PREVIEW)),
        })
    })
}

/// Bounds of a set's additional bytes, if they differ.
fn bounds(rows: &Batch, at: usize) -> Result<Option<(u64, u64)>, StageError> {
    let most = value(&rows.sizes("additional_bytes_most")?, at);
    let least = rows.sizes("additional_bytes_least")?.value(at);
    Ok(most.map(|most| (least, most)).filter(|(least, most)| least != most))
}

/// A stage of the analysis.
#[derive(Serialize)]
pub struct Stage {
    name: u32,
    seconds: f64,
    rows: u64,
    spilled: u64,
}

/// Reads the cost of each stage.
pub fn stages(folder: &Path, texts: &mut Texts) -> Result<Option<Vec<Stage>>, StageError> {
    let rows = shown(folder, snapshot::TABLE.file, &["stages"], 1, |rows, at| {
        let stages = rows.elements("stages", at)?;
        let (names, seconds) = (stages.texts("name")?, stages.f64s("seconds")?);
        let (done, spilled) = (stages.sizes("rows")?, stages.sizes("spilled_bytes")?);
        let stage = |at: usize| Stage {
            name: texts.add(names.value(at)),
            seconds: seconds.value(at),
            rows: done.value(at),
            spilled: spilled.value(at),
        };
        Ok((0..stages.len()).map(stage).collect())
    })?;
    Ok(rows.and_then(|rows| rows.rows.into_iter().next()))
}

/// A node with its names.
#[derive(Clone, Serialize)]
pub struct Node {
    /// Id in the format, as text: JavaScript numbers are exact only up to 2^53. `None` for an artificial id.
    id: Option<String>,
    class: u32,
    name: Option<u32>,
    retained: u64,
}

/// Displays a node's id; `None` for an artificial one, such as that of the root in some formats.
pub fn shown_id(id: Option<u64>) -> Option<String> {
    const LARGEST: u64 = u64::MAX >> 1;
    id.filter(|&id| id <= LARGEST).map(|id| id.to_string())
}

impl Node {
    /// Name of its class.
    pub fn class(&self) -> u32 {
        self.class
    }
}

/// Reads nodes; `nodes` ascends.
pub fn some_nodes(folder: &Path, nodes: &[u32], texts: &mut Texts) -> Result<FxHashMap<u32, Node>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(heaplake_schemas::nodes::TABLE.file))? else {
        return Ok(FxHashMap::default());
    };
    let mut batches = reader.only(nodes)?.columns(&["node", "id", "class", "name", "retained_bytes"])?;
    let mut found = FxHashMap::default();
    while let Some(rows) = batches.batch()? {
        let (classes, names) = (rows.texts("class")?, rows.texts("name")?);
        for at in 0..rows.len() {
            let class = texts.add(classes.value(at));
            let name = value(names, at).map(|name| texts.add_within(name, 80)).filter(|&name| name != class);
            let id = shown_id(value(rows.u64s("id")?, at));
            let retained = rows.sizes("retained_bytes")?.value(at);
            found.insert(rows.u32s("node")?.value(at), Node { id, class, name, retained });
        }
    }
    Ok(found)
}
