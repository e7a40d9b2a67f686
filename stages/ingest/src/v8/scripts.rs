//! Stage `scripts`: scripts of objects and functions, for the tables of owners and of scripts.
//!
//! * Computes: the scripts, each with the package of its path: the innermost `node_modules/NAME`, [`owners::NODE`] for
//!   scripts of Node itself, or [`owners::APPLICATION`]. For each function and its parts in V8 (shared function info,
//!   scope info, contexts) its script; for each object with a location the script of its constructor. For each script
//!   number its path, if known.
//! * Resident memory: 4 bytes per node, paged if they do not fit; about 100 bytes per script and its path, 64 per
//!   script number.
//! * Passes over disk: one over the nodes and the edges of functions; random reads of their targets.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; the first script found for an object counts.
//! * Reference: V8's `heap-snapshot-generator.cc`, for the names of edges and for locations: an object has the location
//!   of its constructor, and every location has a script number. Only functions link a number to a script, so they are
//!   read first.

use super::edges::{Edge, Edges};
use super::kinds::Kinds;
use super::snapshot::{DOCUMENT, Snapshot};
use super::{locations, names};
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{
    ArrayPlan, ColumnPoints, ColumnReader, ColumnWriter, Context, Job, ReadAt, Reservation, Scratch, Stage, StageError,
    Stats, StringTable, WriteAt, create_all, finish_all, on_resident, open_all,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::options::TableName;
use heaplake_schemas::owners::{self, Origin};
use heaplake_schemas::scratch::{self as columns, Column, STRING_HASH, STRINGS};
use rustc_hash::FxHashMap;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "scripts",
    version: 2,
    when: |setting| {
        let tables = [TableName::Owners, TableName::Scripts, TableName::Nodes];
        tables.into_iter().any(|table| setting.has(table)) || setting.class_signatures()
    },
    reads: &[
        document(DOCUMENT),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
        column(columns::LOCATION_NODE),
        column(columns::LOCATION_SCRIPT),
        column(columns::FUNCTION_SCRIPT_NAME).if_any(),
        column(columns::FUNCTION_SCRIPT).if_any(),
    ],
    writes: &[
        column(columns::ORIGIN_NODE),
        column(columns::ORIGIN_OF_NODE),
        column(columns::ORIGIN),
        column(columns::FUNCTION_ORIGIN).if_any(),
        column(columns::SCRIPT_ID),
        column(columns::SCRIPT_URL),
    ],
    appends: &[texts(STRINGS), column(STRING_HASH)],
    arrays: &[&[per_node::<u8>()], &[per_node::<u32>()]],
    fixed: 8 << 20,
    temporary: &[per_node::<u8>()],
    passes: "edges of functions once",
    run,
    ..Stage::NEW
};

/// No script.
const NOWHERE: u32 = u32::MAX;

/// Names of the edges that matter, by [`Link`].
const EDGES: [(&str, Link); 7] = [
    ("script", Link::Script),
    // Until 2023, and since 2024.
    ("script_or_debug_info", Link::Script),
    ("raw_script", Link::Script),
    ("name_or_scope_info", Link::Scope),
    ("scope_info", Link::Scope),
    ("shared", Link::Shared),
    ("source_url", Link::Url),
];

/// Meaning of an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// From shared function info to its script.
    Script,
    /// From shared function info, or from a context, to a scope.
    Scope,
    /// From a function to its shared function info.
    Shared,
    /// From a script without a path to the URL in its last line (`//# sourceURL=`).
    Url,
}

/// Source and target of such edges, between the two halves of this stage: from shared infos to scripts and to scopes,
/// from contexts to scopes, from functions to shared infos, from scripts to their URLs.
const PAIRS: [Column<[NodeId; 2]>; 5] = [
    Column::new("scripts.script"),
    Column::new("scripts.scope"),
    Column::new("scripts.context"),
    Column::new("scripts.function"),
    Column::new("scripts.url"),
];
/// Index of the last of [`PAIRS`].
const URLS: usize = 4;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.metadata.node_count;
    context.progress.begin(STAGE.name, nodes);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    collect(snapshot, &mut plan, job)?;
    let mut origins = plan.one(filled(nodes as usize, NOWHERE))?;
    let mut scripts = Scripts::new(scratch, context)?;
    on_resident!(origins => settle(origins, &mut scripts, scratch, context))?;
    PAIRS.into_iter().for_each(|pairs| scratch.discard(pairs));
    // Only snapshots with a trace have its functions.
    if scratch.has(columns::FUNCTION_SCRIPT_NAME) {
        let (mut functions, mut numbers) =
            open_all(scratch, (columns::FUNCTION_SCRIPT_NAME, columns::FUNCTION_SCRIPT))?;
        let mut of_function = ColumnWriter::create(scratch, columns::FUNCTION_ORIGIN)?;
        while functions.remaining() > 0 {
            let origin = scripts.of(functions.next()?)?;
            scripts.number(numbers.next()?, origin)?;
            of_function.push(origin)?;
        }
        of_function.finish()?;
    }
    let rows = scripts.finish(scratch)?;
    Ok(Stats { rows, spilled_bytes: plan.spilled_bytes() })
}

/// Selects the edges that matter.
struct Links {
    kinds: Kinds,
    /// Name of contexts.
    context: StringId,
    /// Ids of the names in [`EDGES`].
    names: [StringId; EDGES.len()],
}

impl Links {
    fn find(snapshot: &Snapshot, scratch: &Scratch) -> Result<Self, StageError> {
        let header = &snapshot.header;
        Ok(Self {
            kinds: Kinds::of(header),
            context: names::find(scratch, ["system / Context"])?[0],
            names: names::find(scratch, EDGES.map(|(name, _)| name))?,
        })
    }

    fn is_context(&self, kind: Option<u8>, name: StringId) -> bool {
        kind == self.kinds.object && name == self.context
    }

    /// Whether edges of a node may matter.
    fn looks_into(&self, kind: Option<u8>, name: StringId) -> bool {
        kind == self.kinds.closure || kind == self.kinds.code || self.is_context(kind, name)
    }

    /// Returns the index in [`PAIRS`] of an edge from such a node.
    fn column(&self, (kind, name): (Option<u8>, StringId), edge: Edge) -> Option<usize> {
        if Some(edge.kind) != self.kinds.internal {
            return None;
        }
        let (_, (_, link)) = self.names.iter().zip(EDGES).find(|(id, _)| id.get() == Some(edge.name))?;
        match link {
            Link::Script if kind == self.kinds.code => Some(0),
            Link::Scope if kind == self.kinds.code => Some(1),
            Link::Scope if self.is_context(kind, name) => Some(2),
            Link::Shared if kind == self.kinds.closure => Some(3),
            Link::Url if kind == self.kinds.code => Some(URLS),
            _ => None,
        }
    }
}

/// Collects the edges that matter.
fn collect(snapshot: &Snapshot, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let links = Links::find(snapshot, scratch)?;
    let mut kind_of = plan.one(lookup(columns::NODE_KIND))?;
    let (mut kinds, mut name_reader, mut counts) =
        open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME, columns::NODE_EDGE_COUNT))?;
    let mut edges = Edges::open(scratch)?;
    let mut pairs = Vec::with_capacity(PAIRS.len());
    for column in PAIRS {
        pairs.push(ColumnWriter::create(scratch, column)?);
    }
    for node in 0..snapshot.metadata.node_count as u32 {
        let (kind, name, count) = (Some(kinds.next()?), name_reader.next()?, counts.next()?);
        context.step_every(1 << 16, node)?;
        if !links.looks_into(kind, name) {
            edges.skip(count.into())?;
            continue;
        }
        for _ in 0..count {
            let edge = edges.next()?;
            let Some(column) = links.column((kind, name), edge) else { continue };
            if column == URLS || Some(kind_of.get(edge.to.index())?) == links.kinds.code {
                pairs[column].push([NodeId(node), edge.to])?;
            }
        }
    }
    pairs.into_iter().try_for_each(|column| column.finish().map(drop))
}

/// Follows the edges back from the scripts, and script numbers from functions to objects; writes the results.
fn settle(
    mut origins: impl WriteAt<u32>,
    scripts: &mut Scripts,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    // Only names of scripts are read, and these are few.
    let name = ColumnPoints::open(scratch, columns::NODE_NAME)?;
    let [of_script, of_scope, of_context, of_function, urls] = PAIRS.map(|column| ColumnReader::open(scratch, column));
    let (mut urls, mut url_of) = (urls?, FxHashMap::default());
    while let Some([script, url]) = urls.pop()? {
        scripts.reservation.grow(16)?;
        url_of.insert(script, name.at(url.index()));
    }
    let mut pairs = of_script?;
    while let Some([shared, script]) = pairs.pop()? {
        let origin = match (scripts.of(name.at(script.index()))?, url_of.get(&script)) {
            (NOWHERE, Some(&url)) => scripts.of(url)?,
            (origin, _) => origin,
        };
        take(&mut origins, shared, origin)?;
        take(&mut origins, script, origin)?;
    }
    for (pairs, forwards) in [(of_scope, true), (of_context, false), (of_function, false)] {
        let mut pairs = pairs?;
        while let Some([from, to]) = pairs.pop()? {
            let (to, from) = if forwards { (to, from) } else { (from, to) };
            let origin = origins.get(from.index())?;
            take(&mut origins, to, origin)?;
        }
        context.check()?;
    }
    locations::each(scratch, |node, script| scripts.number(script, origins.get(node.index())?))?;
    locations::each(scratch, |node, script| {
        take(&mut origins, node, scripts.by_number.get(&script).copied().unwrap_or(NOWHERE))
    })?;
    let (mut nodes, mut of_node) = create_all(scratch, (columns::ORIGIN_NODE, columns::ORIGIN_OF_NODE))?;
    for node in 0..origins.count() {
        let origin = origins.get(node)?;
        if origin != NOWHERE {
            nodes.push(NodeId(node as u32))?;
            of_node.push(origin)?;
        }
    }
    finish_all((nodes, of_node))
}

/// Sets the origin of a node, unless it has one.
fn take(origins: &mut impl WriteAt<u32>, node: NodeId, origin: u32) -> Result<(), StageError> {
    if origin != NOWHERE && origins.get(node.index())? == NOWHERE {
        origins.set(node.index(), origin)?;
    }
    Ok(())
}

/// The scripts by name.
struct Scripts {
    strings: StringTable,
    by_name: FxHashMap<StringId, u32>,
    /// Rows by script number; [`NOWHERE`] for those without a known path.
    by_number: FxHashMap<u32, u32>,
    paths: Vec<String>,
    packages: Vec<String>,
    reservation: Reservation,
}

impl Scripts {
    fn new(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            by_name: FxHashMap::default(),
            by_number: FxHashMap::default(),
            paths: Vec::new(),
            packages: Vec::new(),
            reservation: context.budget.reserve("scripts", 0)?,
        })
    }

    /// Links a script number to a row; the first known row counts.
    fn number(&mut self, number: u32, origin: u32) -> Result<(), StageError> {
        match self.by_number.get_mut(&number) {
            Some(known) if *known == NOWHERE => *known = origin,
            Some(_) => {}
            None => {
                self.reservation.grow(64)?;
                self.by_number.insert(number, origin);
            }
        }
        Ok(())
    }

    /// Returns the row of the script with this node name; [`NOWHERE`] if the name is no path.
    fn of(&mut self, name: StringId) -> Result<u32, StageError> {
        if let Some(&known) = self.by_name.get(&name) {
            return Ok(known);
        }
        let text = name.get().map_or("".into(), |id| self.strings.text(id as usize));
        let path = path(&text);
        let row = if path.is_empty() {
            NOWHERE
        } else {
            let package = package(path).replace('\\', "/");
            self.reservation.grow(144 + (2 * package.len() + path.len()) as u64)?;
            self.paths.push(path.to_owned());
            self.packages.push(package);
            (self.paths.len() - 1) as u32
        };
        self.reservation.grow(32)?;
        self.by_name.insert(name, row);
        Ok(row)
    }

    /// Writes the scripts; returns their number.
    fn finish(self, scratch: &Scratch) -> Result<u64, StageError> {
        let Self { strings, paths, packages, by_number, reservation: _reservation, .. } = self;
        drop(strings);
        let paths = names::intern(scratch, &paths)?;
        write_numbers(by_number, &paths, scratch)?;
        let packages = names::intern(scratch, &packages)?;
        let origin = |(path, package): (StringId, StringId)| Origin {
            script: path.0,
            package: package.0,
            loader: NOWHERE,
            platform: 0,
        };
        ColumnWriter::write_each(scratch, columns::ORIGIN, paths.into_iter().zip(packages).map(origin))
    }
}

/// Writes the script numbers and their paths.
fn write_numbers(by_number: FxHashMap<u32, u32>, paths: &[StringId], scratch: &Scratch) -> Result<(), StageError> {
    let mut by_number: Vec<(u32, u32)> = by_number.into_iter().collect();
    by_number.sort_unstable();
    let (mut numbers, mut urls) = create_all(scratch, (columns::SCRIPT_ID, columns::SCRIPT_URL))?;
    for (number, origin) in by_number {
        numbers.push(number)?;
        urls.push(paths.get(origin as usize).copied().unwrap_or(StringId::NONE))?;
    }
    finish_all((numbers, urls))
}

/// Returns the path in the name of a script's node. Parts of V8 are named `system / …`, and since 2025 so are scripts.
/// A script without a path comes from `eval` and the like.
pub(super) fn path(name: &str) -> &str {
    match name.strip_prefix("system / ") {
        None => name,
        Some(part) => part.strip_prefix("Script / ").unwrap_or(""),
    }
}

/// Returns the package of a script.
fn package(path: &str) -> &str {
    const MODULES: &str = "node_modules";
    if path.starts_with("node:") {
        return owners::NODE;
    }
    let is_separator = |c: char| c == '/' || c == '\\';
    // From the innermost part of the path outwards.
    for (at, _) in path.rmatch_indices(MODULES) {
        let whole = path[..at].chars().next_back().is_none_or(is_separator);
        let Some(rest) = path[at + MODULES.len()..].strip_prefix(is_separator).filter(|_| whole) else { continue };
        let mut ends = rest.match_indices(is_separator).map(|(end, _)| end);
        let first = ends.next().unwrap_or(rest.len());
        let end = if rest.starts_with('@') { ends.next().unwrap_or(rest.len()) } else { first };
        // `.bin`, `.pnpm` and the like are folders of package managers.
        if !rest.starts_with('.') && end > 0 {
            return &rest[..end];
        }
    }
    owners::APPLICATION
}

#[cfg(test)]
mod tests {
    use super::{package, path};

    #[test]
    fn paths_of_scripts() {
        for (name, expected) in [
            ("/srv/a.js", "/srv/a.js"),
            ("system / Script / https://x.example/a.js", "https://x.example/a.js"),
            ("system / Script", ""),
            ("system / DebugInfo", ""),
            ("", ""),
        ] {
            assert_eq!(path(name), expected, "{name}");
        }
    }

    #[test]
    fn packages_of_paths() {
        for (path, expected) in [
            ("/srv/app/node_modules/lru/index.js", "lru"),
            ("/srv/app/node_modules/@acme/ui/lib/a.js", "@acme/ui"),
            ("/srv/app/node_modules/@acme/ui/node_modules/deep/i.js", "deep"),
            ("file:///srv/node_modules/esm/a.mjs", "esm"),
            ("C:\\app\\node_modules\\win\\a.js", "win"),
            ("C:\\app\\node_modules\\@s\\win\\a.js", "@s\\win"),
            ("/app/node_modules/.pnpm/a@1/node_modules/a/x.js", "a"),
            ("/app/node_modules/.bin/tool.js", "(application)"),
            ("node_modules/bare", "bare"),
            ("node:internal/timers", "node"),
            ("/srv/my_node_modules/x/a.js", "(application)"),
            ("/srv/node_modules", "(application)"),
            ("/srv/node_modules/", "(application)"),
            ("/srv/node_modules//x.js", "(application)"),
            ("https://cdn.example/app.js", "(application)"),
        ] {
            assert_eq!(package(path), expected, "{path}");
        }
    }
}
