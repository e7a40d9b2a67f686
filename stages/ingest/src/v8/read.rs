//! Stage `read`: the file into raw columns.
//!
//! * Computes: nothing; understands the file and checks all that can be checked of its numbers.
//! * Reads: the input, once, front to back.
//! * Writes: `node.{kind,name,id,self,edge_count}` and, where the file has them, `node.{trace,detached,native}`;
//!   `edge.{kind,name,to}`; the string table with hashes; `location.*`; `trace.*`, `function.*`, `sample.*`;
//!   the names that other stages look for ([`TAG_STRING`], [`EPHEMERON_STRING`]).
//! * Resident memory: fixed buffers, with several threads 1.5 MiB for each of the chunks under way (twice as many as
//!   threads and one, if the budget has room for them); 20 bytes per source location while they are sorted; 4 bytes per
//!   level of the trace tree; 20 bytes per weak-map entry name.
//! * Passes over disk: one read of the input, one write of the columns. A section that comes before the header is
//!   copied to scratch and read from there.
//! * Worst case: linear in the input.
//! * Fails when: the input is no such file, promises other counts than it holds, or refers to what is not there.
//! * Determinism: one thread understands, a second one reads ahead, more take chunks of rows apart whose columns are
//!   written in the order of the input; output and errors depend on the input alone.
//! * Reference: V8, `heap-snapshot-generator.cc` (the writer); Chrome DevTools, `HeapSnapshotLoader` (a reader).

use super::header::{Header, position};
use super::rows::{
    EdgeColumns, EdgeRows, EdgeWriter, LargestName, Location, LocationRows, NodeColumns, NodeRows, NodeWriter,
    is_indexed,
};
use super::{HINT, Snapshot, ephemerons, trace};
use crate::Admission;
use crate::chunks::BadNumber;
use crate::json::{Scanner, StringSink};
use crate::source::{Identity, Input, Source};
use heaplake_kit::{BudgetVec, ColumnWriter, Context, Scratch, StageError, StageInfo, Stats, StringWriter};
use heaplake_schemas::ids::{MAX_NODES, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Column, EdgeKind, Facts, STRING_HASH, STRINGS};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "read",
    version: 1,
    bytes_per_node: 4,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 4 << 20,
    scratch_per_node: 30,
    scratch_per_edge: 9,
    passes: "input once",
};

/// Strings that begin with `<` or `Detached <`: names of DOM elements, which classes cut at the first space.
pub(super) const TAG_STRING: Column<StringId> = Column::new("v8.tag_string");
/// Strings that name the edges of weak-map entries, with the entry's table and a hash of what both edges share.
pub(super) const EPHEMERON_STRING: Column<StringId> = Column::new("v8.ephemeron_string");
/// See [`EPHEMERON_STRING`].
pub(super) const EPHEMERON_TABLE: Column<u64> = Column::new("v8.ephemeron_table");
/// See [`EPHEMERON_STRING`].
pub(super) const EPHEMERON_SHARED: Column<u64> = Column::new("v8.ephemeron_shared");

/// Longest header that makes sense, bytes.
const MOST_HEADER: usize = 4 << 20;
/// Longest key of the file's object that makes sense, bytes.
const MOST_KEY: usize = 1 << 10;

/// The sections that heaplake understands; what else a file has is passed over.
const SECTIONS: [&str; 8] =
    ["snapshot", "nodes", "edges", "strings", "locations", "trace_function_infos", "trace_tree", "samples"];

/// Reads the input, on which `source` is opened; nothing was taken from it.
///
/// # Errors
/// [`StageError::Input`] with offset for everything wrong with the input; [`StageError::Io`] and
/// [`StageError::Budget`]; what `admission` returns.
pub fn run(
    input: &Input,
    source: Source,
    scratch: &Scratch,
    context: &Context<'_>,
    admission: Admission<'_>,
) -> Result<Stats, StageError> {
    let size = match input {
        Input::File(path) => fs::metadata(path).map_or(0, |file| file.len()),
        Input::Stdin => 0,
    };
    context.progress.begin(STAGE.name, size);
    let mut scanner = Scanner::new(source, context, 0, HINT);
    let mut reader = Reader {
        scratch,
        context,
        admission,
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
    admission: Admission<'a>,
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
                (self.admission)(header.node_count)?;
                self.header = Some(header);
            }
            ("strings", header) => {
                self.header = header;
                let mut sink = Strings::create(self.scratch, self.context)?;
                scanner.string_array(&mut sink)?;
                self.strings = Some(sink.finish()?);
            }
            (_, None) => {
                // The copy begins behind any white space, and so does the offset.
                scanner.peek_token()?;
                self.spooled.push((section, scanner.offset()));
                self.spool(section, scanner)?;
            }
            (_, Some(header)) => {
                self.rows(section, &header, scanner)?;
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
        file.flush().map_err(|error| StageError::io(&path, "write", error))
    }

    /// The sections that came too early.
    fn unspool(&mut self, scanner: &Scanner<'_>) -> Result<(), StageError> {
        for (section, offset) in std::mem::take(&mut self.spooled) {
            let Some(header) = self.header.take() else { break };
            let path = self.scratch.file(&spool_name(section));
            let source = Source::open(&Input::File(path.clone()))?.named(scanner.name());
            self.rows(section, &header, &mut Scanner::new(source, self.context, offset, HINT))?;
            self.header = Some(header);
            // A file that stays is only space; the whole folder goes at the end.
            let _ = fs::remove_file(&path);
        }
        Ok(())
    }

    fn rows(&mut self, section: &str, header: &Header, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        match section {
            "nodes" => {
                let (nodes, names) = (NodeRows::new(header), &mut self.names);
                let mut writer = NodeWriter::create(header, self.scratch)?;
                let read = |rows: &[u64], columns: &mut NodeColumns| nodes.read(rows, columns);
                let rows = scanner.number_columns(header.node.width, read, |columns| writer.write(columns, names))?;
                expect_rows(scanner, "node", header.node_count, rows)?;
                self.nodes = Some(writer.finish()?);
            }
            "edges" => {
                let (edges, names) = (EdgeRows::new(header), &mut self.names);
                let mut writer = EdgeWriter::create(self.scratch)?;
                let read = |rows: &[u64], columns: &mut EdgeColumns| edges.read(rows, columns);
                let rows = scanner.number_columns(header.edge.width, read, |columns| writer.write(columns, names))?;
                expect_rows(scanner, "edge", header.edge_count, rows)?;
                writer.finish()?;
                self.edges = Some(rows);
            }
            "locations" => self.locations(header, scanner)?,
            "trace_tree" => {
                trace::read(header, scanner, self.scratch, self.context)?;
            }
            "trace_function_infos" => self.functions(header, scanner)?,
            _ => self.samples(header, scanner)?,
        }
        Ok(())
    }

    fn locations(&self, header: &Header, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        let Some(rows) = LocationRows::new(header) else { return scanner.skip_value() };
        let mut locations = self.context.budget.growing::<Location>("source locations");
        scanner.number_array(rows.width, |numbers| {
            rows.read(numbers, |location| {
                let order = locations.len() as u32;
                locations.push(Location { order, ..location })
            })
        })?;
        locations.sort_unstable();
        write_locations(&locations, self.scratch)
    }

    fn functions(&mut self, header: &Header, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        let fields = &header.trace_function_fields;
        let at = |name| position(fields, name);
        let (Some(id), Some(name), Some(script_name), Some(script), Some(line), Some(column)) =
            (at("function_id"), at("name"), at("script_name"), at("script_id"), at("line"), at("column"))
        else {
            return scanner.skip_value();
        };
        let create = |column| ColumnWriter::create(self.scratch, column);
        let mut plain = [
            (id, create(columns::FUNCTION_ID)?),
            (script, create(columns::FUNCTION_SCRIPT)?),
            (line, create(columns::FUNCTION_LINE)?),
            (column, create(columns::FUNCTION_COLUMN)?),
        ];
        let mut names = [
            (name, ColumnWriter::create(self.scratch, columns::FUNCTION_NAME)?),
            (script_name, ColumnWriter::create(self.scratch, columns::FUNCTION_SCRIPT_NAME)?),
        ];
        let largest = &mut self.names;
        let mut row = 0;
        scanner.number_array(fields.len(), |rows| {
            if let Some(index) = rows.iter().position(|&value| value > u64::from(u32::MAX)) {
                return Ok(Err(BadNumber { index, expected: "a number below 2^32".to_owned() }));
            }
            for numbers in rows.chunks_exact(fields.len()) {
                plain.iter_mut().try_for_each(|(at, column)| column.push(numbers[*at] as u32))?;
                for (at, column) in &mut names {
                    column.push(StringId(numbers[*at] as u32))?;
                    if numbers[*at] > largest.index {
                        *largest = LargestName { index: numbers[*at], section: "trace_function_infos", row };
                    }
                }
                row += 1;
            }
            Ok(Ok(()))
        })?;
        plain.into_iter().try_for_each(|(_, column)| column.finish().map(drop))?;
        names.into_iter().try_for_each(|(_, column)| column.finish().map(drop))
    }

    fn samples(&self, header: &Header, scanner: &mut Scanner<'_>) -> Result<(), StageError> {
        let fields = &header.sample_fields;
        let (Some(time), Some(last)) = (position(fields, "timestamp_us"), position(fields, "last_assigned_id")) else {
            return scanner.skip_value();
        };
        let mut times = ColumnWriter::create(self.scratch, columns::SAMPLE_TIME)?;
        let mut ids = ColumnWriter::create(self.scratch, columns::SAMPLE_LAST_ID)?;
        scanner.number_array(fields.len(), |rows| {
            for numbers in rows.chunks_exact(fields.len()) {
                times.push(numbers[time])?;
                ids.push(numbers[last])?;
            }
            Ok(Ok(()))
        })?;
        times.finish()?;
        ids.finish().map(drop)
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
            write_locations(&[], self.scratch)?;
        }
        let facts = Facts {
            format: "v8-heapsnapshot".to_owned(),
            input_bytes: identity.bytes,
            content_bytes,
            input_hash: identity.hash.clone(),
            node_count: header.node_count,
            edge_count,
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
            has_native: header.node.native_size.is_some(),
            has_trace_nodes: header.node.trace_node.is_some(),
            ..Facts::default()
        };
        Ok(Snapshot { header, facts })
    }
}

fn spool_name(section: &str) -> String {
    format!("spool.{section}")
}

fn expect_rows(scanner: &Scanner<'_>, what: &str, promised: u64, rows: u64) -> Result<(), StageError> {
    if promised == rows {
        return Ok(());
    }
    let expected = format!("{promised} {what}s as snapshot.{what}_count promises");
    Err(scanner.error_at(scanner.offset(), &expected, format!("{rows}")))
}

/// Writes sorted locations; the last one of a node counts.
fn write_locations(locations: &[Location], scratch: &Scratch) -> Result<(), StageError> {
    let mut node = ColumnWriter::create(scratch, columns::LOCATION_NODE)?;
    let mut script = ColumnWriter::create(scratch, columns::LOCATION_SCRIPT)?;
    let mut line = ColumnWriter::create(scratch, columns::LOCATION_LINE)?;
    let mut column = ColumnWriter::create(scratch, columns::LOCATION_COLUMN)?;
    for (i, location) in locations.iter().enumerate() {
        if locations.get(i + 1).is_some_and(|next| next.node == location.node) {
            continue;
        }
        node.push(NodeId(location.node))?;
        script.push(location.script)?;
        line.push(location.line)?;
        column.push(location.column)?;
    }
    node.finish()?;
    script.finish()?;
    line.finish()?;
    column.finish().map(drop)
}

/// Writes the string table with hashes, and notes the names that later stages look for.
struct Strings {
    table: StringWriter,
    hash: ColumnWriter<u64>,
    tag: ColumnWriter<StringId>,
    ephemeron: ColumnWriter<StringId>,
    ephemeron_table: ColumnWriter<u64>,
    ephemeron_shared: ColumnWriter<u64>,
    /// The current string, as long as it is short.
    text: Vec<u8>,
    /// The hash of the current string, once it is long.
    long: Option<Box<Xxh3>>,
    room: BudgetVec<u8>,
}

impl Strings {
    /// Bytes up to which a string is kept in one piece. V8 cuts the names that are looked for at 1,024 characters.
    const SHORT: usize = 64 << 10;

    fn create(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        Ok(Self {
            table: StringWriter::create(scratch, STRINGS)?,
            hash: ColumnWriter::create(scratch, STRING_HASH)?,
            tag: ColumnWriter::create(scratch, TAG_STRING)?,
            ephemeron: ColumnWriter::create(scratch, EPHEMERON_STRING)?,
            ephemeron_table: ColumnWriter::create(scratch, EPHEMERON_TABLE)?,
            ephemeron_shared: ColumnWriter::create(scratch, EPHEMERON_SHARED)?,
            text: Vec::new(),
            long: None,
            room: context.budget.zeroed("strings: one string", 2 * Self::SHORT)?,
        })
    }

    fn finish(self) -> Result<u64, StageError> {
        drop(self.room);
        self.hash.finish()?;
        self.tag.finish()?;
        self.ephemeron.finish()?;
        self.ephemeron_table.finish()?;
        self.ephemeron_shared.finish()?;
        self.table.finish()
    }
}

impl StringSink for Strings {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        if self.long.is_none() && self.text.len() + bytes.len() <= Self::SHORT {
            self.text.extend_from_slice(bytes);
            return Ok(());
        }
        let hash = self.long.get_or_insert_with(|| Box::new(Xxh3::new()));
        for piece in [&self.text, bytes] {
            hash.update(piece);
            self.table.extend(piece)?;
        }
        self.text.clear();
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        let hash = match self.long.take() {
            Some(hash) => hash.digest(),
            None => {
                let id = StringId(self.table.count().min(u64::from(u32::MAX)) as u32);
                if matches!(self.text.first(), Some(b'<' | b'D'))
                    && (self.text[0] == b'<' || self.text.starts_with(b"Detached <"))
                {
                    self.tag.push(id)?;
                } else if self.text.first().is_some_and(u8::is_ascii_digit)
                    && let Some(ephemeron) = ephemerons::parse(&self.text)
                {
                    self.ephemeron.push(id)?;
                    self.ephemeron_table.push(ephemeron.table)?;
                    self.ephemeron_shared.push(xxh3_64(ephemeron.shared))?;
                }
                self.table.extend(&self.text)?;
                xxh3_64(&self.text)
            }
        };
        self.text.clear();
        self.hash.push(hash)?;
        self.table.end()
    }
}
