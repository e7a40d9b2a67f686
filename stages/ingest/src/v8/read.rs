//! Stage `read`: the file into raw columns.
//!
//! * Computes: nothing; parses the file and checks its numbers as far as possible.
//! * Resident memory: fixed buffers, with several threads 1.5 MiB per chunk in flight (twice the number of threads,
//!   plus one, if the budget allows); 20 bytes per source location while they are sorted; 4 bytes per level of the
//!   trace tree; 20 bytes per weak-map entry name; 3.5 bits per string to [mask](super::masked) texts.
//! * Passes over disk: one read of the input, one write of the columns. A section before the header is copied to
//!   scratch and read from there.
//! * Worst case: linear in the input.
//! * Fails when: the input is no snapshot, its counts are wrong, or it refers to missing rows; with `--salvage`
//!   ([`salvage`](super::salvage)) only when no node can be read.
//! * Determinism: one thread parses, a second one reads ahead, others parse chunks of rows, and the columns are written
//!   in the order of the input; output and errors depend on the input alone.
//! * Reference: V8, `heap-snapshot-generator.cc` (the writer); Chrome DevTools, `HeapSnapshotLoader` (a reader).

use super::edge_rows::{EdgeColumns, EdgeRows, EdgeWriter};
use super::header::{self, Header};
use super::node_rows::{NodeColumns, NodeRows, NodeWriter};
use super::parts::Parts;
use super::salvage::{BadReferences, Damage, columns_of};
use super::snapshot::{DETACHEDNESS, DOCUMENT, EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE, HINT, TAG_STRING};
use super::strings::Strings;
use super::{locations, masked, trace};
use crate::format;
use crate::masking::Masking;
use heaplake_input::bytes::Bytes;
use heaplake_input::chunks::Place;
use heaplake_input::numbers::Sign;
use heaplake_input::source::{self, Identity, Input, Opened, Source};
use heaplake_kit::access::{Access, column, document, texts};
use heaplake_kit::fs::{self, File};
use heaplake_kit::{Context, Job, Scratch, Stage, StageError, Stats, storage};
use heaplake_schemas::ids::MAX_NODES;
use heaplake_schemas::scratch::{self as columns, STRING_HASH, STRINGS, documents};
use std::io::{BufWriter, Write};

/// Declaration of the stage.
pub const STAGE: Stage =
    Stage { name: "read", version: 3, writes: WRITES, fixed: 4 << 20, passes: "input once", run, ..Stage::NEW };

/// Columns of every section.
const WRITES: &[Access] = &[
    document(documents::METADATA),
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

/// Length limit of a key of the file's object, bytes.
const MOST_KEY: usize = 1 << 10;

/// Remark about text behind the snapshot that must not be quoted.
const BEHIND: &str = "text behind the end of the JSON is left out";

/// Sections that are read; others are skipped.
const SECTIONS: [&str; 8] =
    ["snapshot", "nodes", "edges", "strings", "locations", "trace_function_infos", "trace_tree", "samples"];

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let Opened { input, source } = format::opened(job.input)?;
    let size = match &input {
        Input::File(path) => storage::input(path).map_or(0, |file| file.bytes),
        Input::Stdin => 0,
    };
    context.progress.begin(STAGE.name, size);
    let mut scanner = Bytes::new(source, context).with_hint(HINT);
    let mut reader = Reader {
        scratch,
        context,
        admit: job.admit,
        section: "",
        spooled: Vec::new(),
        masking: Masking::of(job)?,
        parts: Parts { damage: job.analysis().salvage.then(Damage::default), ..Parts::default() },
    };
    reader.all(&mut scanner)?;
    let content_bytes = scanner.offset();
    reader.unspool(&scanner)?;
    reader.parts.remarks.extend(reader.masking.as_ref().map(Masking::remark));
    let identity = match (scanner.identity(), input) {
        (Some(identity), _) => identity.clone(),
        // The end of the compressed input was not reached.
        (None, input @ Input::File(_)) => source::identify(&input, context.cancel)?,
        (None, Input::Stdin) => Identity::default(),
    };
    let snapshot = reader.parts.finish(&scanner, &identity, content_bytes, scratch)?;
    snapshot.save(scratch)?;
    Ok(Stats { rows: snapshot.metadata.node_count + snapshot.metadata.edge_count, spilled_bytes: 0 })
}

/// Reads up to the header; returns its numbers of nodes and edges.
pub fn peek(source: Source, context: &Context<'_>) -> Result<(u64, u64), StageError> {
    let mut scanner = Bytes::new(source, context).with_hint(HINT);
    scanner.skip_byte_order_mark()?;
    scanner.expect(b'{', "a V8 heap snapshot, which begins with {")?;
    loop {
        let key = scanner.short_string(MOST_KEY)?;
        scanner.expect(b':', "a colon")?;
        if key == b"snapshot" {
            let header = header::read(&mut scanner)?;
            return Ok((header.node_count, header.edge_count));
        }
        scanner.skip_value()?;
        scanner.expect(b',', "a comma and \"snapshot\"")?;
    }
}

struct Reader<'a> {
    scratch: &'a Scratch,
    context: &'a Context<'a>,
    /// Checks that the budget suffices for a number of nodes.
    admit: &'a (dyn Fn(u64) -> Result<(), StageError> + Sync),
    /// The current section.
    section: &'static str,
    /// Sections before the header, with their offsets.
    spooled: Vec<(&'static str, u64)>,
    /// Masks of texts, for a run without texts.
    masking: Option<Masking>,
    /// The sections so far.
    parts: Parts,
}

impl Reader<'_> {
    /// Reads the whole file. If damage is tolerated, continues after it with the next section.
    fn all(&mut self, scanner: &mut Bytes<'_>) -> Result<(), StageError> {
        let mut seen: Vec<&'static str> = Vec::new();
        let mut result = self.object(scanner, None, &mut seen);
        while let Err(error) = result {
            self.tolerate(error)?;
            let unseen: Vec<&str> = SECTIONS.into_iter().filter(|section| !seen.contains(section)).collect();
            result = match scanner.seek_key(&unseen) {
                Ok(None) => Ok(()),
                Ok(Some(section)) => self.object(scanner, Some(section), &mut seen),
                // Compressed data with further damage.
                Err(StageError::Input(_)) => Ok(()),
                Err(other) => return Err(other),
            };
        }
        Ok(())
    }

    /// Records an error in the current section, if damage is tolerated.
    fn tolerate(&mut self, error: StageError) -> Result<(), StageError> {
        match (&mut self.parts.damage, error) {
            (Some(damage), StageError::Input(error)) => {
                let rows = match self.section {
                    "nodes" => self.parts.header.as_ref().map(|header| header.node_count),
                    "edges" => self.parts.edges,
                    "strings" => self.parts.strings,
                    _ => None,
                };
                damage.cut(*error, self.section, rows);
                columns_of(self.section).iter().for_each(|column| self.scratch.discard_file(column));
                self.section = "";
                Ok(())
            }
            (_, error) => Err(error),
        }
    }

    /// Splits off an error after which a section's rows remain usable.
    fn flaw<T>(&self, read: Result<T, StageError>) -> Result<Option<StageError>, StageError> {
        match read {
            Ok(_) => Ok(None),
            Err(error @ StageError::Input(_)) if self.parts.damage.is_some() => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Reads an object of sections in any order, each at most once; `within` starts at the value of a section.
    fn object(
        &mut self,
        scanner: &mut Bytes<'_>,
        mut within: Option<&'static str>,
        seen: &mut Vec<&'static str>,
    ) -> Result<(), StageError> {
        if within.is_none() {
            scanner.skip_byte_order_mark()?;
            scanner.expect(b'{', "a V8 heap snapshot, which begins with {")?;
        }
        if within.is_some() || !scanner.accept(b'}')? {
            loop {
                let section = match within.take() {
                    Some(section) => Some(section),
                    None => self.key(scanner, seen)?,
                };
                if let Some(section) = section {
                    seen.push(section);
                    self.section = section;
                    self.section(section, scanner)?;
                    self.section = "";
                } else {
                    scanner.skip_value()?;
                }
                if scanner.accept(b'}')? {
                    break;
                }
                scanner.expect(b',', "a comma or the end of the snapshot (})")?;
            }
        }
        // The remark quotes it.
        let shown = |remark| if self.masking.is_none() { remark } else { BEHIND.to_owned() };
        let behind = scanner.behind()?.map(shown);
        self.parts.remarks.extend(behind);
        Ok(())
    }

    /// Reads the next key and its colon; returns the section of that name, if it is one.
    fn key(&self, scanner: &mut Bytes<'_>, seen: &[&str]) -> Result<Option<&'static str>, StageError> {
        scanner.peek_token()?;
        let offset = scanner.offset();
        let key = scanner.short_string(MOST_KEY)?;
        scanner.expect(b':', "a colon")?;
        match SECTIONS.into_iter().find(|section| section.as_bytes() == key) {
            Some(section) if seen.contains(&section) => {
                Err(scanner.error(offset, "each key once", format!("a second \"{section}\"")))
            }
            section => Ok(section),
        }
    }

    fn section(&mut self, section: &'static str, scanner: &mut Bytes<'_>) -> Result<(), StageError> {
        match (section, self.parts.header.take()) {
            ("snapshot", _) => {
                let header = header::read(scanner)?;
                // Counts in a damaged header are no reason to refuse the rest.
                if self.parts.damage.is_none() {
                    (self.admit)(header.node_count)?;
                }
                self.parts.header = Some(header);
            }
            ("strings", header) => {
                self.parts.header = header;
                if let Some(masking) = &self.masking {
                    self.parts.strings = Some(self.masked(masking, scanner)?);
                    return Ok(());
                }
                let mut sink = Strings::create(self.scratch, self.context)?;
                let flaw = self.flaw(scanner.string_array(&mut sink))?;
                self.parts.strings = Some(sink.finish()?);
                return flaw.map_or(Ok(()), Err);
            }
            // Offsets of nodes can be checked only with the number of nodes.
            ("edges" | "locations", Some(header))
                if (header.node_count == 0 || self.parts.damage.is_some()) && self.parts.announced.is_none() =>
            {
                self.parts.header = Some(header);
                scanner.peek_token()?;
                self.spooled.push((section, scanner.offset()));
                self.spool(section, scanner)?;
            }
            (_, None) => {
                // The copy begins after any white space, and so does the offset.
                scanner.peek_token()?;
                self.spooled.push((section, scanner.offset()));
                self.spool(section, scanner)?;
            }
            (_, Some(mut header)) => {
                let read = self.rows(section, &mut header, scanner);
                self.parts.header = Some(header);
                read?;
            }
        }
        Ok(())
    }

    /// Reads the strings and writes their masks; returns their number.
    fn masked(&self, masking: &Masking, scanner: &mut Bytes<'_>) -> Result<u64, StageError> {
        let Parts { header: Some(header), announced: Some(_), edges: Some(_), damage: None, .. } = &self.parts else {
            return Err(masked::unordered(scanner));
        };
        masked::strings(header, scanner, masking, (self.scratch, self.context))
    }

    /// Copies a section to scratch that cannot be parsed yet.
    fn spool(&self, section: &str, scanner: &mut Bytes<'_>) -> Result<(), StageError> {
        let path = self.scratch.file(&spool_name(section));
        self.scratch.note_file();
        let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
        let mut file = BufWriter::new(file);
        let copied = scanner.raw_value(|piece| {
            let written = file.write_all(piece);
            written.map_err(|error| StageError::io(&path, "write", error))
        });
        let flaw = self.flaw(copied)?;
        let whole = file.flush().and_then(|()| file.get_ref().whole());
        whole.map_err(|error| StageError::io(&path, "write", error))?;
        flaw.map_or(Ok(()), Err)
    }

    /// Reads the sections that came before the header.
    fn unspool(&mut self, scanner: &Bytes<'_>) -> Result<(), StageError> {
        // Nodes first: others refer to them.
        self.spooled.sort_by_key(|&(section, _)| section != "nodes");
        for (section, offset) in std::mem::take(&mut self.spooled) {
            let Some(mut header) = self.parts.header.take() else { break };
            let path = self.scratch.file(&spool_name(section));
            let source = Source::open(&Input::File(path.clone()))?.named(scanner.name());
            let read = self.rows(
                section,
                &mut header,
                &mut Bytes::new(source, self.context).with_hint(HINT).from_offset(offset),
            );
            self.parts.header = Some(header);
            self.section = section;
            read.or_else(|error| self.tolerate(error))?;
            // A remaining file costs only space; the whole folder is deleted at the end.
            let _ = fs::remove_file(&path);
        }
        Ok(())
    }

    fn rows(&mut self, section: &str, header: &mut Header, scanner: &mut Bytes<'_>) -> Result<(), StageError> {
        match section {
            "nodes" => self.nodes(header, scanner),
            "edges" => self.edges(header, scanner),
            "locations" => {
                let bad = self.parts.damage.as_mut().map(|damage| &mut damage.bad);
                locations::read(header, scanner, bad, self.scratch, self.context)
            }
            "trace_tree" => trace::tree(header, scanner, self.scratch, self.context),
            "trace_function_infos" => trace::functions(header, scanner, &mut self.parts.names, self.scratch),
            _ => trace::samples(header, scanner, self.scratch),
        }
    }

    fn nodes(&mut self, header: &mut Header, scanner: &mut Bytes<'_>) -> Result<(), StageError> {
        let (nodes, names) = (NodeRows::new(header, self.parts.damage.is_some()), &mut self.parts.names);
        let mut none = BadReferences::default();
        let bad = self.parts.damage.as_mut().map_or(&mut none, |damage| &mut damage.bad);
        let mut writer = NodeWriter::create(header, self.scratch)?;
        let read = |rows: &[u64], place: &Place<'_>, columns: &mut NodeColumns| nodes.read(rows, place, columns);
        let width = (header.node.width, Sign::Unsigned);
        let read = scanner.number_columns(width, read, |columns| writer.write(columns, names, bad));
        let flaw = self.flaw(read)?;
        let rows = writer.rows;
        if let Some((count, types)) = writer.unnamed() {
            self.parts.remarks.push(header.remark_types(count, types));
        }
        if header.node_count == 0 || self.parts.damage.is_some() {
            if rows > MAX_NODES {
                return Err(scanner.unexpected(format!("at most {MAX_NODES} nodes")));
            }
            (self.admit)(rows)?;
        }
        self.expect_rows(scanner, "node", &mut header.node_count, rows, flaw.is_some())?;
        self.parts.announced = Some(writer.finish()?);
        flaw.map_or(Ok(()), Err)
    }

    fn edges(&mut self, header: &mut Header, scanner: &mut Bytes<'_>) -> Result<(), StageError> {
        let (edges, names) = (EdgeRows::new(header, self.parts.damage.is_some()), &mut self.parts.names);
        let mut none = BadReferences::default();
        let bad = self.parts.damage.as_mut().map_or(&mut none, |damage| &mut damage.bad);
        let mut writer = EdgeWriter::create(self.scratch)?;
        let read = |rows: &[u64], place: &Place<'_>, columns: &mut EdgeColumns| edges.read(rows, place, columns);
        let width = (header.edge.width, Sign::Signed);
        let read = scanner.number_columns(width, read, |columns| writer.write(columns, names, bad));
        let flaw = self.flaw(read)?;
        let rows = writer.rows;
        self.expect_rows(scanner, "edge", &mut header.edge_count, rows, flaw.is_some())?;
        writer.finish()?;
        self.parts.edges = Some(rows);
        flaw.map_or(Ok(()), Err)
    }

    /// Checks a count of the header. Hermes writes 0 before it knows the count; then the actual count replaces it, as
    /// it does if damage is tolerated. `cut` says that the section is known to be damaged.
    fn expect_rows(
        &mut self,
        scanner: &Bytes<'_>,
        what: &str,
        promised: &mut u64,
        rows: u64,
        cut: bool,
    ) -> Result<(), StageError> {
        let promise = std::mem::replace(promised, rows);
        if promise == rows || promise == 0 {
            return Ok(());
        }
        match &mut self.parts.damage {
            Some(damage) if cut => {
                damage.lies.push(format!("of {promise} {what}s that the header promises {rows} are there"));
            }
            Some(damage) => damage.lies.push(format!("the header promises {promise} {what}s, and there are {rows}")),
            None => {
                let expected = format!("{promise} {what}s as snapshot.{what}_count promises");
                return Err(scanner.error(scanner.offset(), &expected, format!("{rows}")));
            }
        }
        Ok(())
    }
}

fn spool_name(section: &str) -> String {
    format!("spool.{section}")
}
