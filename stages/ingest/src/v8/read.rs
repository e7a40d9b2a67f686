//! Stage `read`: the file into raw columns.
//!
//! * Computes: nothing; parses the file and checks its numbers as far as possible.
//! * Resident memory: fixed buffers, with several threads 1.5 MiB for each chunk in flight (twice the number of
//!   threads, plus one, if the budget allows); 20 bytes per source location while they are sorted; 4 bytes per level
//!   of the trace tree; 20 bytes per weak-map entry name.
//! * Passes over disk: one read of the input, one write of the columns. A section that comes before the header is
//!   copied to scratch and read from there.
//! * Worst case: linear in the input.
//! * Fails when: the input is not such a file, its counts are wrong, or it refers to rows that do not exist.
//! * Determinism: one thread parses, a second one reads ahead, others parse chunks of rows, whose columns are written
//!   in the order of the input; output and errors depend on the input alone.
//! * Reference: V8, `heap-snapshot-generator.cc` (the writer); Chrome DevTools, `HeapSnapshotLoader` (a reader).

use super::edge_rows::{EdgeColumns, EdgeRows, EdgeWriter};
use super::header::{Header, is_indexed};
use super::node_rows::{NodeColumns, NodeRows, NodeWriter};
use super::rows::LargestName;
use super::snapshot::{
    DETACHEDNESS, DOCUMENT, EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE, HINT, Snapshot, TAG_STRING,
};
use super::strings::Strings;
use super::{locations, roles, trace};
use crate::format;
use heaplake_input::json::Scanner;
use heaplake_input::numbers::Sign;
use heaplake_input::source::{Identity, Input, Opened, Source};
use heaplake_kit::access::{Access, column, document, texts};
use heaplake_kit::fs::{self, File};
use heaplake_kit::{Context, Job, Scratch, Stage, StageError, Stats};
use heaplake_schemas::ids::{MAX_NODES, NodeId};
use heaplake_schemas::scratch::{self as columns, EdgeKind, Facts, STRING_HASH, STRINGS, documents};
use std::io::{BufWriter, Write};

/// What the engine knows of this stage.
pub const STAGE: Stage =
    Stage { name: "read", version: 2, writes: WRITES, fixed: 4 << 20, passes: "input once", run, ..Stage::NEW };

/// Every section has columns of its own.
const WRITES: &[Access] = &[
    document(documents::FACTS),
    document(DOCUMENT),
    texts(STRINGS),
    column(STRING_HASH),
    column(TAG_STRING),
    column(EPHEMERON_STRING),
    column(EPHEMERON_TABLE),
    column(EPHEMERON_SHARED),
    column(columns::NODE_KIND),
    column(columns::NODE_NAME),
    column(columns::NODE_ID),
    column(columns::NODE_SELF),
    column(columns::NODE_EDGE_COUNT),
    column(columns::NODE_TRACE).if_any(),
    column(columns::NODE_NATIVE).if_any(),
    column(DETACHEDNESS).if_any(),
    column(columns::EDGE_KIND),
    column(columns::EDGE_NAME),
    column(columns::EDGE_TO),
    column(columns::LOCATION_NODE),
    column(columns::LOCATION_SCRIPT),
    column(columns::LOCATION_LINE),
    column(columns::LOCATION_COLUMN),
    column(columns::TRACE_ID).if_any(),
    column(columns::TRACE_PARENT).if_any(),
    column(columns::TRACE_FUNCTION).if_any(),
    column(columns::TRACE_COUNT).if_any(),
    column(columns::TRACE_SIZE).if_any(),
    column(columns::FUNCTION_ID).if_any(),
    column(columns::FUNCTION_NAME).if_any(),
    column(columns::FUNCTION_SCRIPT_NAME).if_any(),
    column(columns::FUNCTION_SCRIPT).if_any(),
    column(columns::FUNCTION_LINE).if_any(),
    column(columns::FUNCTION_COLUMN).if_any(),
    column(columns::SAMPLE_TIME).if_any(),
    column(columns::SAMPLE_LAST_ID).if_any(),
];

/// Longest header that makes sense, bytes.
const MOST_HEADER: usize = 4 << 20;
/// Longest key of the file's object that makes sense, bytes.
const MOST_KEY: usize = 1 << 10;

/// The sections that heaplake understands; what else a file has is passed over.
const SECTIONS: [&str; 8] =
    ["snapshot", "nodes", "edges", "strings", "locations", "trace_function_infos", "trace_tree", "samples"];

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let Opened { input, source } = format::opened(job.input)?;
    let size = match input {
        Input::File(path) => std::fs::metadata(path).map_or(0, |file| file.len()),
        Input::Stdin => 0,
    };
    context.progress.begin(STAGE.name, size);
    let mut scanner = Scanner::new(source, context, 0, HINT);
    let mut reader = Reader {
        scratch,
        context,
        admit: job.admit,
        header: None,
        spooled: Vec::new(),
        nodes: None,
        edges: None,
        strings: None,
        names: LargestName::default(),
    };
    reader.object(&mut scanner)?;
    let identity = scanner.identity().cloned().unwrap_or_default();
    let content_bytes = scanner.offset();
    reader.unspool(&scanner)?;
    let snapshot = reader.finish(&scanner, &identity, content_bytes)?;
    snapshot.save(scratch)?;
    context.progress.end();
    Ok(Stats { rows: snapshot.facts.node_count + snapshot.facts.edge_count, spilled_bytes: 0 })
}

/// Reads no further than the header: the numbers of nodes and edges that the input promises.
///
/// # Errors
/// [`StageError::Input`] when the input has no header, [`StageError::Io`].
pub fn peek(source: Source, context: &Context<'_>) -> Result<(u64, u64), StageError> {
    let mut scanner = Scanner::new(source, context, 0, HINT);
    scanner.expect(b'{', "a V8 heap snapshot, which begins with {")?;
    loop {
        let key = scanner.short_string(MOST_KEY)?;
        scanner.expect(b':', "a colon")?;
        if key == b"snapshot" {
            let header = read_header(&mut scanner)?;
            return Ok((header.node_count, header.edge_count));
        }
        scanner.skip_value()?;
        scanner.expect(b',', "a comma and \"snapshot\"")?;
    }
}

/// The object of the section `snapshot`.
fn read_header(scanner: &mut Scanner<'_>) -> Result<Header, StageError> {
    scanner.peek_token()?;
    let offset = scanner.offset();
    let mut text = Vec::new();
    let mut too_long = false;
    scanner.raw_value(|piece| {
        too_long |= text.len() + piece.len() > MOST_HEADER;
        if !too_long {
            text.extend_from_slice(piece);
        }
        Ok(())
    })?;
    if too_long {
        return Err(scanner.error_at(offset, "a snapshot object of some kilobytes", "a huge one".to_owned()));
    }
    let header = Header::parse(&text).map_err(|(expected, found)| scanner.error_at(offset, &expected, found))?;
    if header.node_count > MAX_NODES {
        let expected = format!("snapshot.node_count of at most {MAX_NODES}");
        return Err(scanner.error_at(offset, &expected, header.node_count.to_string()));
    }
    Ok(header)
}

struct Reader<'a> {
    scratch: &'a Scratch,
    context: &'a Context<'a>,
    /// Checks that the budget suffices for so many nodes.
    admit: &'a (dyn Fn(u64) -> Result<(), StageError> + Sync),
    header: Option<Header>,
    /// Sections that came before the header, with the offset at which they began.
    spooled: Vec<(&'static str, u64)>,
    nodes: Option<u64>,
    edges: Option<u64>,
    strings: Option<u64>,
    names: LargestName,
}

impl Reader<'_> {
    /// The whole file: one object of sections, in any order, each at most once.
    fn object(&mut self, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        scanner.expect(b'{', "a V8 heap snapshot, which begins with {")?;
        let mut seen: Vec<&str> = Vec::new();
        if !scanner.accept(b'}')? {
            loop {
                scanner.peek_token()?;
                let offset = scanner.offset();
                let key = scanner.short_string(MOST_KEY)?;
                scanner.expect(b':', "a colon")?;
                if let Some(section) = SECTIONS.into_iter().find(|section| section.as_bytes() == key) {
                    if seen.contains(&section) {
                        return Err(scanner.error_at(offset, "each key once", format!("a second \"{section}\"")));
                    }
                    seen.push(section);
                    self.section(section, scanner)?;
                } else {
                    scanner.skip_value()?;
                }
                if scanner.accept(b'}')? {
                    break;
                }
                scanner.expect(b',', "a comma or the end of the snapshot (})")?;
            }
        }
        match scanner.peek_token()? {
            None => Ok(()),
            Some(_) => Err(scanner.error("the end of the input")),
        }
    }

    fn section(&mut self, section: &'static str, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        match (section, self.header.take()) {
            ("snapshot", _) => {
                let header = read_header(scanner)?;
                (self.admit)(header.node_count)?;
                self.header = Some(header);
            }
            ("strings", header) => {
                self.header = header;
                let mut sink = Strings::create(self.scratch, self.context)?;
                scanner.string_array(&mut sink)?;
                self.strings = Some(sink.finish()?);
            }
            // Without the number of nodes, offsets of nodes cannot be checked.
            ("edges" | "locations", Some(header)) if header.node_count == 0 && self.nodes.is_none() => {
                self.header = Some(header);
                scanner.peek_token()?;
                self.spooled.push((section, scanner.offset()));
                self.spool(section, scanner)?;
            }
            (_, None) => {
                // The copy begins behind any white space, and so does the offset.
                scanner.peek_token()?;
                self.spooled.push((section, scanner.offset()));
                self.spool(section, scanner)?;
            }
            (_, Some(mut header)) => {
                self.rows(section, &mut header, scanner)?;
                self.header = Some(header);
            }
        }
        Ok(())
    }

    /// A section whose rows cannot be understood yet: copied to scratch.
    fn spool(&self, section: &str, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        let path = self.scratch.file(&spool_name(section));
        let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
        let mut file = BufWriter::new(file);
        scanner.raw_value(|piece| file.write_all(piece).map_err(|error| StageError::io(&path, "write", error)))?;
        let whole = file.flush().and_then(|()| file.get_ref().whole());
        whole.map_err(|error| StageError::io(&path, "write", error))
    }

    /// The sections that came too early.
    fn unspool(&mut self, scanner: &Scanner<'_>) -> Result<(), StageError> {
        // Nodes first: others refer to them.
        self.spooled.sort_by_key(|&(section, _)| section != "nodes");
        for (section, offset) in std::mem::take(&mut self.spooled) {
            let Some(mut header) = self.header.take() else { break };
            let path = self.scratch.file(&spool_name(section));
            let source = Source::open(&Input::File(path.clone()))?.named(scanner.name());
            self.rows(section, &mut header, &mut Scanner::new(source, self.context, offset, HINT))?;
            self.header = Some(header);
            // A file that stays is only space; the whole folder goes at the end.
            let _ = fs::remove_file(&path);
        }
        Ok(())
    }

    fn rows(&mut self, section: &str, header: &mut Header, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        match section {
            "nodes" => {
                let (nodes, names) = (NodeRows::new(header), &mut self.names);
                let mut writer = NodeWriter::create(header, self.scratch)?;
                let read = |rows: &[u64], columns: &mut NodeColumns| nodes.read(rows, columns);
                let width = (header.node.width, Sign::Unsigned);
                let rows = scanner.number_columns(width, read, |columns| writer.write(columns, names))?;
                if header.node_count == 0 {
                    if rows > MAX_NODES {
                        return Err(scanner.error(&format!("at most {MAX_NODES} nodes")));
                    }
                    (self.admit)(rows)?;
                }
                expect_rows(scanner, "node", &mut header.node_count, rows)?;
                self.nodes = Some(writer.finish()?);
            }
            "edges" => {
                let (edges, names) = (EdgeRows::new(header), &mut self.names);
                let mut writer = EdgeWriter::create(self.scratch)?;
                let read = |rows: &[u64], columns: &mut EdgeColumns| edges.read(rows, columns);
                let width = (header.edge.width, Sign::Signed);
                let rows = scanner.number_columns(width, read, |columns| writer.write(columns, names))?;
                expect_rows(scanner, "edge", &mut header.edge_count, rows)?;
                writer.finish()?;
                self.edges = Some(rows);
            }
            "locations" => locations::read(header, scanner, self.scratch, self.context)?,
            "trace_tree" => trace::tree(header, scanner, self.scratch, self.context)?,
            "trace_function_infos" => trace::functions(header, scanner, &mut self.names, self.scratch)?,
            _ => trace::samples(header, scanner, self.scratch)?,
        }
        Ok(())
    }

    /// Checks what can only be checked at the end, and sums up.
    fn finish(
        mut self,
        scanner: &Scanner<'_>,
        identity: &Identity,
        content_bytes: u64,
    ) -> Result<Snapshot, StageError> {
        let missing = |section: &str| {
            scanner.error_at(scanner.offset(), &format!("\"{section}\" somewhere before the end"), "none".to_owned())
        };
        let header = self.header.take().ok_or_else(|| missing("snapshot"))?;
        let announced = self.nodes.ok_or_else(|| missing("nodes"))?;
        let edge_count = self.edges.ok_or_else(|| missing("edges"))?;
        let string_count = self.strings.ok_or_else(|| missing("strings"))?;
        let at_end = |expected: &str, found: String| Err(scanner.error_at(scanner.offset(), expected, found));
        if announced != edge_count {
            let expected = format!("the nodes' edge_count fields to sum up to {edge_count} edges");
            return at_end(&expected, announced.to_string());
        }
        let LargestName { index, section, row } = &self.names;
        if *index >= string_count && !section.is_empty() {
            let expected = format!("string indexes below {string_count}");
            return at_end(&expected, format!("{index} in row {row} of {section}"));
        }
        if header.node_count == 0 || header.root >= header.node_count {
            let found = format!("root {} of {} nodes", header.root, header.node_count);
            return at_end("a root node", found);
        }
        if !self.scratch.has(columns::LOCATION_NODE) {
            locations::write_none(self.scratch)?;
        }
        let facts = facts(&header, identity, content_bytes, string_count);
        Ok(Snapshot { header, facts })
    }
}

/// What is known of the input by now.
fn facts(header: &Header, identity: &Identity, content_bytes: u64, string_count: u64) -> Facts {
    Facts {
        format: "v8-heapsnapshot".to_owned(),
        input_bytes: identity.bytes,
        content_bytes,
        input_hash: identity.hash.clone(),
        node_count: header.node_count,
        edge_count: header.edge_count,
        string_count,
        root: NodeId(header.root as u32),
        node_kinds: header.node_types.clone(),
        edge_kinds: header
            .edge_types
            .iter()
            .map(|name| EdgeKind { name: name.clone(), indexed: is_indexed(name) })
            .collect(),
        synthetic_kinds: header.node_type("synthetic").into_iter().collect(),
        internal_kinds: ["synthetic", "hidden"].into_iter().filter_map(|name| header.node_type(name)).collect(),
        roles: roles::roles(),
        has_native: header.node.native_size.is_some(),
        has_trace_nodes: header.node.trace_node.is_some(),
        ..Facts::default()
    }
}

fn spool_name(section: &str) -> String {
    format!("spool.{section}")
}

/// Checks a count of the header. 0 is what Hermes writes, which does not know it yet: then it becomes what was found.
fn expect_rows(scanner: &Scanner<'_>, what: &str, promised: &mut u64, rows: u64) -> Result<(), StageError> {
    if *promised == rows || *promised == 0 {
        *promised = rows;
        return Ok(());
    }
    let expected = format!("{promised} {what}s as snapshot.{what}_count promises");
    Err(scanner.error_at(scanner.offset(), &expected, format!("{rows}")))
}
