//! Stage `scripts`: from which script objects and functions come, for the table of owners.
//!
//! * Computes: the scripts, and for each the package that its path is in: the innermost `node_modules/NAME`, or
//!   [`owners::NODE`] for scripts of Node itself, or [`owners::APPLICATION`]. For each function, and what V8 keeps of it (shared
//!   function info, scope info, contexts), the script that it is written in; for each object with a location the script
//!   of its constructor.
//! * Reads: `node.{kind,name,edge_count}`, `edge.{kind,name,to}`, `location.{node,script}`, `function.script_name`, strings.
//! * Writes: `origin.{node,of_node}`, `origin`, `function.origin`; new strings.
//! * Resident memory: 4 bytes per node where the budget allows, paged where not; some 100 bytes per script and its path.
//! * Passes over disk: one over the nodes and the edges of functions; their targets at random.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread; the first script that an object is said to come from counts.
//! * Reference: V8's `heap-snapshot-generator.cc`, for the names of edges, and for locations: that of an object is the
//!   place of its constructor, and both that and a function's own bear the number of the script. Which number a script
//!   has is nowhere but with the functions, so they are looked at first.

use super::{Snapshot, names};
use heaplake_kit::{
    Array, ArrayPlan, ColumnMap, ColumnReader, ColumnWriter, Context, ReadAt, Reservation, Scratch, StageError,
    StageInfo, Stats, StringTable, WriteAt,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::owners::{self, Origin};
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};
use rustc_hash::FxHashMap;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "scripts",
    version: 1,
    bytes_per_node: 4,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 1,
    scratch_per_edge: 0,
    passes: "edges of functions once",
};

/// Comes from nowhere.
const NOWHERE: u32 = u32::MAX;

/// Names of the edges that matter, by [`Link`].
const EDGES: [(&str, Link); 6] = [
    ("script", Link::Script),
    // Until 2023, and since 2024.
    ("script_or_debug_info", Link::Script),
    ("raw_script", Link::Script),
    ("name_or_scope_info", Link::Scope),
    ("scope_info", Link::Scope),
    ("shared", Link::Shared),
];

/// What an edge says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// From what functions share to their script.
    Script,
    /// From that, or from a context, to a scope.
    Scope,
    /// From a function to what it shares with others.
    Shared,
}

/// Such edges, source and target, between the two halves of this stage: from shared infos to scripts and to scopes, from
/// contexts to scopes, from functions to shared infos.
const PAIRS: [Column<[NodeId; 2]>; 4] = [
    Column::new("scripts.script"),
    Column::new("scripts.scope"),
    Column::new("scripts.context"),
    Column::new("scripts.function"),
];

/// Finds the scripts.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.facts.node_count;
    context.progress.begin(STAGE.name, nodes);
    collect(snapshot, scratch, context)?;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4]);
    let mut origins = room.array(nodes as usize, NOWHERE)?;
    let mut scripts = Scripts::new(scratch, context)?;
    match &mut origins {
        Array::Resident(origins) => settle(origins, &mut scripts, scratch, context)?,
        origins @ Array::Paged(_) => settle(origins, &mut scripts, scratch, context)?,
    }
    PAIRS.into_iter().for_each(|pairs| scratch.discard(pairs));
    // Not every file has functions of a trace.
    if scratch.has(columns::FUNCTION_SCRIPT_NAME) {
        let mut functions = ColumnReader::open(scratch, columns::FUNCTION_SCRIPT_NAME)?;
        let mut of_function = ColumnWriter::create(scratch, columns::FUNCTION_ORIGIN)?;
        while functions.remaining() > 0 {
            of_function.push(scripts.of(functions.next()?)?)?;
        }
        of_function.finish()?;
    }
    let rows = scripts.finish(scratch)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: room.spilled_bytes() })
}

/// Picks out the edges that matter.
fn collect(snapshot: &Snapshot, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let header = &snapshot.header;
    let (closure, code, object) = (header.node_type("closure"), header.node_type("code"), header.node_type("object"));
    let internal = header.edge_type("internal");
    let found = names::find(scratch, &EDGES.map(|(name, _)| name))?;
    let link = |name: u32| EDGES.iter().zip(&found).find(|(_, id)| id.get() == Some(name)).map(|((_, link), _)| *link);
    let context_name = names::find(scratch, &["system / Context"])?[0];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[snapshot.facts.node_count]);
    let mut kind_of = room.lookup(columns::NODE_KIND)?;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut name_reader = ColumnReader::open(scratch, columns::NODE_NAME)?;
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut edge_kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut edge_names = ColumnReader::open(scratch, columns::EDGE_NAME)?;
    let mut targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
    let mut pairs = Vec::with_capacity(PAIRS.len());
    for column in PAIRS {
        pairs.push(ColumnWriter::create(scratch, column)?);
    }
    for node in 0..snapshot.facts.node_count as u32 {
        let (kind, name, count) = (Some(kinds.next()?), name_reader.next()?, counts.next()?);
        if node.is_multiple_of(1 << 16) {
            context.step(1 << 16)?;
        }
        let is_context = kind == object && name == context_name;
        if !(is_context || kind == closure || kind == code) {
            edge_kinds.skip(count.into())?;
            edge_names.skip(count.into())?;
            targets.skip(count.into())?;
            continue;
        }
        for _ in 0..count {
            let (edge_kind, name, to) = (Some(edge_kinds.next()?), edge_names.next()?, targets.next()?);
            if edge_kind != internal {
                continue;
            }
            let column = match link(name) {
                Some(Link::Script) if kind == code => 0,
                Some(Link::Scope) if kind == code => 1,
                Some(Link::Scope) if is_context => 2,
                Some(Link::Shared) if kind == closure => 3,
                _ => continue,
            };
            if Some(kind_of.get(to.index())?) == code {
                pairs[column].push([NodeId(node), to])?;
            }
        }
    }
    pairs.into_iter().try_for_each(|column| column.finish().map(drop))
}

/// Follows the edges from the scripts on, and the numbers of scripts from functions to objects; writes what comes out.
fn settle(
    origins: &mut impl WriteAt<u32>,
    scripts: &mut Scripts,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let name = ColumnMap::open(scratch, columns::NODE_NAME, None)?;
    let [of_script, of_scope, of_context, of_function] = PAIRS.map(|column| ColumnReader::open(scratch, column));
    let mut pairs = of_script?;
    while pairs.remaining() > 0 {
        let [shared, script] = pairs.next()?;
        let origin = scripts.of(name[script.index()])?;
        take(origins, shared, origin)?;
        take(origins, script, origin)?;
    }
    for (pairs, forwards) in [(of_scope, true), (of_context, false), (of_function, false)] {
        let mut pairs = pairs?;
        while pairs.remaining() > 0 {
            let [from, to] = pairs.next()?;
            let (to, from) = if forwards { (to, from) } else { (from, to) };
            let origin = origins.get(from.index())?;
            take(origins, to, origin)?;
        }
        context.check()?;
    }
    let mut by_number = FxHashMap::default();
    each_location(scratch, |node, script| {
        let origin = origins.get(node.index())?;
        if origin != NOWHERE && !by_number.contains_key(&script) {
            scripts.charge(48)?;
            by_number.insert(script, origin);
        }
        Ok(())
    })?;
    each_location(scratch, |node, script| take(origins, node, by_number.get(&script).copied().unwrap_or(NOWHERE)))?;
    let mut nodes = ColumnWriter::create(scratch, columns::ORIGIN_NODE)?;
    let mut of_node = ColumnWriter::create(scratch, columns::ORIGIN_OF_NODE)?;
    for node in 0..origins.count() {
        let origin = origins.get(node)?;
        if origin != NOWHERE {
            nodes.push(NodeId(node as u32))?;
            of_node.push(origin)?;
        }
    }
    nodes.finish()?;
    of_node.finish().map(drop)
}

/// A node comes from there, unless something else is known of it.
fn take(origins: &mut impl WriteAt<u32>, node: NodeId, origin: u32) -> Result<(), StageError> {
    if origin != NOWHERE && origins.get(node.index())? == NOWHERE {
        origins.set(node.index(), origin)?;
    }
    Ok(())
}

/// Shows all locations: the node and the number of the script.
fn each_location(
    scratch: &Scratch,
    mut show: impl FnMut(NodeId, u32) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut nodes = ColumnReader::open(scratch, columns::LOCATION_NODE)?;
    let mut scripts = ColumnReader::open(scratch, columns::LOCATION_SCRIPT)?;
    while nodes.remaining() > 0 {
        show(nodes.next()?, scripts.next()?)?;
    }
    Ok(())
}

/// The scripts by their names.
struct Scripts {
    strings: StringTable,
    by_name: FxHashMap<StringId, u32>,
    paths: Vec<String>,
    packages: Vec<String>,
    reservation: Reservation,
}

impl Scripts {
    fn new(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            by_name: FxHashMap::default(),
            paths: Vec::new(),
            packages: Vec::new(),
            reservation: context.budget.reserve("scripts", 0)?,
        })
    }

    fn charge(&mut self, bytes: u64) -> Result<(), StageError> {
        self.reservation.grow(bytes)
    }

    /// Row of the script whose node has this name; [`NOWHERE`] where that is no path.
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

    /// Writes them; how many there are.
    fn finish(self, scratch: &Scratch) -> Result<u64, StageError> {
        let Self { strings, paths, packages, reservation: _reservation, .. } = self;
        drop(strings);
        let paths = names::intern(scratch, &paths)?;
        let packages = names::intern(scratch, &packages)?;
        let mut column = ColumnWriter::create(scratch, columns::ORIGIN)?;
        for (path, package) in paths.into_iter().zip(packages) {
            column.push(Origin { script: path.0, package: package.0, loader: NOWHERE, platform: 0 })?;
        }
        column.finish()
    }
}

/// The path in the name of a script's node. What stands for parts of V8 is called `system / …`, and since 2025 scripts
/// are so, too. A script without a path was made by `eval` and the like.
fn path(name: &str) -> &str {
    match name.strip_prefix("system / ") {
        None => name,
        Some(part) => part.strip_prefix("Script / ").unwrap_or(""),
    }
}

/// The package that a script is in.
fn package(path: &str) -> &str {
    const MODULES: &str = "node_modules";
    if path.starts_with("node:") {
        return owners::NODE;
    }
    let is_separator = |c: char| c == '/' || c == '\\';
    // Ends of the parts of the path, from the innermost one outwards.
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
