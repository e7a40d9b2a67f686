//! Stage `texts`: names of nodes.
//!
//! * Computes: the text of every string, if there is a table of nodes; names of classes, threads and variables.
//! * Resident memory: two bits per node; offsets, 8 bytes per array of bytes or characters, paged if they do not fit;
//!   [`PAGES`](super::content::PAGES) pages of the content; the cache of recent texts.
//! * Passes over disk: one over the strings; random reads of the content, mostly forwards, since the text of a string
//!   lies near it.
//! * Worst case: linear in strings and the kept length of their texts.
//! * Fails when: the content can no longer be read.
//! * Determinism: order of the dump.
//! * Reference: `java.lang.String`: Latin-1 or UTF-16 by its coder; before Java 9 always UTF-16.

use super::big_endian::u32_at;
use super::content::Content;
use super::dump::{BOOT_LOADER, Dump};
use super::recent::Recent;
use super::record::PRIMITIVE_ARRAY;
use super::strings::{ARRAY_NODE, ARRAY_OFFSET, LATIN_1, NO_CODER, STRING_CODER, STRING_NODE, STRING_VALUE};
use super::threads::THREAD_STRING;
use super::types::DESCRIPTORS;
use super::value;
use super::variables::VARIABLE_STRINGS;
use crate::output::Wanted;
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{
    ArrayPlan, Bitset, BudgetVec, ColumnMap, ColumnPoints, ColumnReader, ColumnWriter, Context, Job, Lookup, Ranks,
    ReadAt, Scratch, Stage, StageError, Stats, open_all,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, STRINGS, documents};

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "texts",
    reads: &[
        document(documents::METADATA),
        Dump::DOCUMENT,
        Dump::CONTENT,
        column(DESCRIPTORS),
        column(STRING_NODE),
        column(STRING_VALUE),
        column(STRING_CODER),
        column(ARRAY_NODE),
        column(ARRAY_OFFSET),
        column(columns::THREAD_NODE),
        column(THREAD_STRING),
        column(VARIABLE_STRINGS),
    ],
    writes: &[column(columns::NODE_NAME)],
    appends: &[texts(STRINGS)],
    // In heaps of programs at most half of all objects are arrays of bytes or characters.
    arrays: &[&[per_node::<u32>()]],
    least: &[bits_per_node(2)],
    fixed: 16 << 20,
    shares: true,
    passes: "strings once, their contents nearby",
    run,
    ..Stage::NEW
};

/// Limit of the kept characters of a text.
const MOST_TEXT: usize = 256;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let nodes = job.metadata()?.node_count;
    // Strings get names only for the table of nodes.
    let strings = if Wanted::of(&job.setting).nodes { column_length(scratch)? } else { 0 };
    context.progress.begin(STAGE.name, strings);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut reader = TextReader::open(nodes, &mut plan, job)?;
    let mut table = Recent::append(scratch, context)?;
    let others = others(&mut reader, &mut table, job)?;
    let mut names = NodeNames::create(others, scratch)?;
    if strings > 0 {
        name_strings(&mut names, &mut reader, &mut table, job)?;
    }
    names.finish(nodes)?;
    table.finish()?;
    Ok(Stats { rows: strings, spilled_bytes: plan.spilled_bytes() })
}

/// Number of strings.
fn column_length(scratch: &Scratch) -> Result<u64, StageError> {
    Ok(ColumnReader::open(scratch, STRING_NODE)?.remaining())
}

/// Returns the names of classes, threads and variables.
fn others(
    reader: &mut TextReader,
    table: &mut Recent,
    job: &Job<'_>,
) -> Result<BudgetVec<(NodeId, StringId)>, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut others = context.budget.growing("names of classes, threads and variables");
    let mut types = ColumnReader::open(scratch, DESCRIPTORS)?;
    while let Some(class) = types.pop()? {
        others.push((class.node, class.name))?;
    }
    others.push((NodeId(BOOT_LOADER), table.intern(b"boot loader")?))?;
    let strings = Strings::open(scratch)?;
    let threads = ColumnMap::uncounted(scratch, columns::THREAD_NODE)?;
    let names = ColumnMap::uncounted(scratch, THREAD_STRING)?;
    for (&thread, &string) in threads.iter().zip(names.iter()) {
        if let Some(text) = strings.text(string, reader)? {
            others.push((thread, table.intern(text)?))?;
        }
    }
    let mut variables = ColumnReader::open(scratch, VARIABLE_STRINGS)?;
    while let Some([variable, namespace, name]) = variables.pop()? {
        let mut whole = strings.text(namespace, reader)?.map_or_else(Vec::new, |text| [text, b"/"].concat());
        if let Some(name) = strings.text(name, reader)? {
            whole.extend_from_slice(name);
            others.push((variable, table.intern(&whole)?))?;
        }
    }
    Ok(others)
}

/// Names all strings.
fn name_strings(
    names: &mut NodeNames,
    reader: &mut TextReader,
    table: &mut Recent,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let (mut nodes, mut values, mut coders) = open_all(job.scratch, (STRING_NODE, STRING_VALUE, STRING_CODER))?;
    for number in 0..nodes.remaining() {
        let (node, value, coder) = (nodes.next()?, values.next()?, coders.next()?);
        let name = match reader.text(value, coder)? {
            Some(text) => table.intern(text)?,
            None => StringId::NONE,
        };
        names.string(node, name)?;
        job.context.step_every(1 << 16, number)?;
    }
    Ok(())
}

/// Columns of the strings: text array and encoding.
struct Strings {
    nodes: ColumnPoints<NodeId>,
    values: ColumnPoints<NodeId>,
    coders: ColumnPoints<u8>,
}

impl Strings {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            nodes: ColumnPoints::open(scratch, STRING_NODE)?,
            values: ColumnPoints::open(scratch, STRING_VALUE)?,
            coders: ColumnPoints::open(scratch, STRING_CODER)?,
        })
    }

    /// Returns the text of a string; `None` if the node is not a string.
    fn text<'t>(&self, string: NodeId, reader: &'t mut TextReader) -> Result<Option<&'t [u8]>, StageError> {
        let Some(at) = self.nodes.position(string) else { return Ok(None) };
        reader.text(self.values.at(at), self.coders.at(at))
    }
}

/// Reads texts from arrays.
struct TextReader {
    content: Content,
    id_bytes: usize,
    ranks: Ranks,
    offsets: Lookup<u64>,
    buffer: Vec<u8>,
}

impl TextReader {
    fn open(nodes: u64, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<Self, StageError> {
        let dump = Dump::load(job.scratch)?;
        let content = Content::open(&dump, job.context)?;
        let ranks = ranks(nodes, job.scratch, job.context)?;
        let offsets = plan.one(lookup(ARRAY_OFFSET))?;
        Ok(Self { content, id_bytes: dump.id_bytes.into(), ranks, offsets, buffer: Vec::new() })
    }

    /// Returns the text in an array; `None` if the node is not an array of text.
    fn text(&mut self, array: NodeId, coder: u8) -> Result<Option<&[u8]>, StageError> {
        let Some(rank) = self.ranks.rank(array.index()) else { return Ok(None) };
        let offset = self.offsets.get(rank)?;
        let found = text(&mut self.content, self.id_bytes, (offset, coder), &mut self.buffer)?;
        Ok(found.then_some(&self.buffer[..]))
    }
}

/// Maps the ordinal of an array of bytes or characters to its rank among these arrays.
fn ranks(nodes: u64, scratch: &Scratch, context: &Context<'_>) -> Result<Ranks, StageError> {
    let mut set = Bitset::new(&context.budget, "arrays of bytes", nodes as usize)?;
    let mut arrays = ColumnReader::open(scratch, ARRAY_NODE)?;
    while arrays.remaining() > 0 {
        set.insert(arrays.next()?.index());
    }
    set.ranked(&context.budget, "arrays of bytes")
}

/// Decodes the text of the array record at an offset into `out`, as UTF-8; returns false if it is no array of text.
fn text(
    content: &mut Content,
    id_bytes: usize,
    (offset, coder): (u64, u8),
    out: &mut Vec<u8>,
) -> Result<bool, StageError> {
    out.clear();
    let size = 10 + id_bytes;
    let head = content.window(offset, size)?;
    if head.len() < size || head[0] != PRIMITIVE_ARRAY {
        return Ok(false);
    }
    let (length, element) = (u32_at(head, 5 + id_bytes) as usize, head[9 + id_bytes]);
    let (width, latin) = match (element, coder) {
        (value::CHAR, _) => (2, false),
        // Android's runtime has no coder and stores ASCII.
        (value::BYTE, LATIN_1 | NO_CODER) => (1, true),
        (value::BYTE, _) => (1, false),
        _ => return Ok(false),
    };
    let most = MOST_TEXT * if latin { 1 } else { 2 };
    let bytes = content.window(offset + size as u64, length.saturating_mul(width).min(most))?;
    out.extend_from_slice(bytes);
    if latin {
        if !out.is_ascii() {
            *out = out.iter().map(|&byte| byte as char).collect::<String>().into_bytes();
        }
    } else {
        // Character arrays are in the dump's byte order, bytes of a string in the machine's.
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if element == value::CHAR { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        *out = String::from_utf16_lossy(&out.chunks_exact(2).map(unit).collect::<Vec<_>>()).into_bytes();
    }
    Ok(true)
}

/// Writes names of all nodes in node order, merging strings with classes and threads.
struct NodeNames {
    column: ColumnWriter<StringId>,
    /// Names of classes and threads, by node, descending.
    others: BudgetVec<(NodeId, StringId)>,
}

impl NodeNames {
    fn create(others: BudgetVec<(NodeId, StringId)>, scratch: &Scratch) -> Result<Self, StageError> {
        let mut others = others;
        others.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Self { column: ColumnWriter::create(scratch, columns::NODE_NAME)?, others })
    }

    /// Names all nodes before this one.
    #[inline]
    fn up_to(&mut self, node: u64) -> Result<(), StageError> {
        while self.column.len() < node {
            let next = self.column.len();
            let name = match self.others.last() {
                Some(&(other, name)) if u64::from(other.0) == next => name,
                _ => StringId::NONE,
            };
            while self.others.last().is_some_and(|&(other, _)| u64::from(other.0) <= next) {
                self.others.pop();
            }
            self.column.push(name)?;
        }
        Ok(())
    }

    #[inline]
    fn string(&mut self, node: NodeId, name: StringId) -> Result<(), StageError> {
        self.up_to(node.0.into())?;
        self.column.push(name)
    }

    /// Names the remaining nodes and completes the column.
    fn finish(mut self, nodes: u64) -> Result<(), StageError> {
        self.up_to(nodes)?;
        self.column.finish().map(drop)
    }
}
