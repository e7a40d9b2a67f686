//! Stage `texts`: names of nodes.
//!
//! * Computes: the text of every string, where there is a table of nodes; names of classes and threads.
//! * Reads: strings and the arrays of their text; the places of such arrays in the content; the content there.
//! * Writes: `node.name`; strings.
//! * Resident memory: two bits per node; the places, 8 bytes for each array of bytes or characters, where the budget allows,
//!   paged where not; [`PAGES`] of the content; the texts that came by last.
//! * Passes over disk: one over the strings; the content at random, but mostly forwards, since the text of a string lies
//!   near it.
//! * Worst case: linear in strings and the length of their texts that is kept.
//! * Fails when: the content cannot be read any more.
//! * Determinism: order of the dump.
//! * Reference: `java.lang.String`: Latin-1 or UTF-16 by its coder; before Java 9 always UTF-16.

use super::classes::CLASSES;
use super::records::{PRIMITIVE_ARRAY, u32_at, value};
use super::threads::THREAD_STRING;
use super::{BOOT_LOADER, Dump};
use heaplake_kit::array::column_bytes;
use heaplake_kit::{
    ArrayPlan, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, ReadAt, Reservation, Scratch, StageError,
    StageInfo, Stats, StringWriter,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "texts",
    version: 1,
    // A quarter of all objects are arrays of bytes or characters at most, in heaps of programs.
    bytes_per_node: 2,
    bytes_per_edge: 0,
    least_bits_per_node: 2,
    least_fixed: 16 << 20,
    scratch_per_node: 4,
    scratch_per_edge: 0,
    passes: "strings once, their contents nearby",
};

/// Nodes that are strings, ascending.
const STRING_NODE: Column<NodeId> = Column::new("jvm.string.node");
/// The arrays of their text.
const STRING_VALUE: Column<NodeId> = Column::new("jvm.string.value");
/// How it is encoded there: [`LATIN_1`], or UTF-16; [`NO_CODER`] where the array's type says it.
const STRING_CODER: Column<u8> = Column::new("jvm.string.coder");
/// Arrays of bytes or characters, ascending.
const ARRAY_NODE: Column<NodeId> = Column::new("jvm.array.node");
/// Where their records begin in the content.
const ARRAY_OFFSET: Column<u64> = Column::new("jvm.array.offset");
/// See [`STRING_CODER`].
const LATIN_1: u8 = 0;
/// See [`STRING_CODER`].
const NO_CODER: u8 = u8::MAX;

/// Characters of a text that are kept.
const MOST_TEXT: usize = 256;

/// Files that nobody reads when this stage is done, the content of compressed inputs among them.
pub const RELEASES: [&str; 6] =
    [STRING_NODE.name, STRING_VALUE.name, STRING_CODER.name, ARRAY_NODE.name, ARRAY_OFFSET.name, super::spool::CONTENT];

/// Takes the strings down as they come.
pub struct Strings {
    node: ColumnWriter<NodeId>,
    value: ColumnWriter<NodeId>,
    coder: ColumnWriter<u8>,
    array: ColumnWriter<NodeId>,
    offset: ColumnWriter<u64>,
}

impl Strings {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            node: ColumnWriter::create(scratch, STRING_NODE)?,
            value: ColumnWriter::create(scratch, STRING_VALUE)?,
            coder: ColumnWriter::create(scratch, STRING_CODER)?,
            array: ColumnWriter::create(scratch, ARRAY_NODE)?,
            offset: ColumnWriter::create(scratch, ARRAY_OFFSET)?,
        })
    }

    /// An array of bytes or characters, and where its record begins.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn array(&mut self, node: NodeId, offset: u64) -> Result<(), StageError> {
        self.array.push(node)?;
        self.offset.push(offset)
    }

    /// A string, the array of its text, and how that is encoded, where it says so.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn push(&mut self, node: NodeId, value: NodeId, coder: Option<u8>) -> Result<(), StageError> {
        self.node.push(node)?;
        self.value.push(value)?;
        self.coder.push(coder.unwrap_or(NO_CODER))
    }

    /// Ends the columns.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.node.finish()?;
        self.value.finish()?;
        self.coder.finish()?;
        self.array.finish()?;
        self.offset.finish().map(drop)
    }
}

/// Gives the nodes their names.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let dump = Dump::load(scratch)?;
    let mut nodes = ColumnReader::open(scratch, STRING_NODE)?;
    let mut values = ColumnReader::open(scratch, STRING_VALUE)?;
    let mut coders = ColumnReader::open(scratch, STRING_CODER)?;
    // Without a table of nodes only classes and threads have names.
    let strings = if dump.choices.nodes { nodes.remaining() } else { 0 };
    context.progress.begin(STAGE.name, strings);
    let mut content = Content::open(&dump, context)?;
    let mut table = Recent::append(scratch, context)?;
    let ranks = Ranks::load(dump.facts.node_count, scratch, context)?;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[column_bytes(scratch, ARRAY_OFFSET)]);
    let mut offsets = room.lookup(ARRAY_OFFSET)?;
    let mut offset = |value: NodeId| ranks.rank(value).map(|rank| offsets.get(rank)).transpose();
    let mut buffer = Vec::new();
    let mut others = context.budget.growing("names of classes and threads");
    let mut classes = ColumnReader::open(scratch, CLASSES)?;
    while classes.remaining() > 0 {
        let class = classes.next()?;
        others.push((class.node, class.name))?;
    }
    others.push((NodeId(BOOT_LOADER), table.intern(b"boot loader")?))?;
    for (thread, string) in threads(scratch)? {
        if let Some((value, coder)) = string
            && let Some(offset) = offset(value)?
            && content.text(offset, coder, &mut buffer)?
        {
            others.push((thread, table.intern(&buffer)?))?;
        }
    }
    let mut names = NodeNames::create(others, scratch)?;
    for number in 0..strings {
        let (node, value, coder) = (nodes.next()?, values.next()?, coders.next()?);
        let found = match offset(value)? {
            Some(offset) => content.text(offset, coder, &mut buffer)?,
            None => false,
        };
        let name = if found { table.intern(&buffer)? } else { StringId::NONE };
        names.string(node, name)?;
        if number % (1 << 16) == 0 && number > 0 {
            context.step(1 << 16)?;
        }
    }
    names.up_to(dump.facts.node_count)?;
    names.column.finish()?;
    table.strings.finish()?;
    context.progress.end();
    Ok(Stats { rows: strings, spilled_bytes: room.spilled_bytes() })
}

/// The threads, each with the array of the text of its name and how that is encoded.
type Threads = Vec<(NodeId, Option<(NodeId, u8)>)>;

fn threads(scratch: &Scratch) -> Result<Threads, StageError> {
    let nodes = ColumnMap::open(scratch, STRING_NODE, None)?;
    let values = ColumnMap::open(scratch, STRING_VALUE, None)?;
    let coders = ColumnMap::open(scratch, STRING_CODER, None)?;
    let threads = ColumnMap::open(scratch, columns::THREAD_NODE, None)?;
    let names = ColumnMap::open(scratch, THREAD_STRING, None)?;
    let text = |string: &NodeId| nodes.binary_search(string).ok().map(|at| (values[at], coders[at]));
    Ok(threads.iter().zip(names.iter()).map(|(&thread, string)| (thread, text(string))).collect())
}

/// Which nodes are arrays of bytes or characters, 64 at a time.
#[derive(Clone, Copy)]
struct Rank {
    bits: u64,
    /// Those in the words before.
    before: u64,
}

/// From the ordinal of an array to its number among the arrays.
struct Ranks(BudgetVec<Rank>);

impl Ranks {
    fn load(nodes: u64, scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let words = nodes.div_ceil(64) as usize;
        let mut ranks = context.budget.filled("arrays of bytes", words, Rank { bits: 0, before: 0 })?;
        let mut arrays = ColumnReader::open(scratch, ARRAY_NODE)?;
        while arrays.remaining() > 0 {
            let node = arrays.next()?;
            ranks[node.index() / 64].bits |= 1 << (node.index() % 64);
        }
        let mut before = 0;
        for rank in ranks.iter_mut() {
            rank.before = before;
            before += u64::from(rank.bits.count_ones());
        }
        Ok(Self(ranks))
    }

    #[inline]
    fn rank(&self, node: NodeId) -> Option<usize> {
        let Rank { bits, before } = *self.0[..].get(node.index() / 64)?;
        let bit = 1 << (node.index() % 64);
        (bits & bit != 0).then(|| before as usize + (bits & (bit - 1)).count_ones() as usize)
    }
}

/// Bytes of a page of the content.
const PAGE: u64 = 64 << 10;

/// Pages that are held.
const PAGES: u64 = 64;

/// The content, read at random. A page has one place where it can be: reading moves forwards with few and short jumps.
pub(super) struct Content {
    file: File,
    path: PathBuf,
    bytes: u64,
    id_bytes: usize,
    /// Page at each place.
    pages: Vec<u64>,
    data: Vec<u8>,
    /// What lies in several pages.
    joint: Vec<u8>,
    _reservation: Reservation,
}

impl Content {
    pub(super) fn open(dump: &Dump, context: &Context<'_>) -> Result<Self, StageError> {
        let path = dump.content.clone();
        let file = File::open(&path).map_err(|error| StageError::io(&path, "open", error))?;
        let _reservation = context.budget.reserve("pages of the content", PAGE * PAGES)?;
        Ok(Self {
            file,
            path,
            bytes: dump.content_bytes,
            id_bytes: dump.id_bytes.into(),
            pages: vec![u64::MAX; PAGES as usize],
            data: vec![0; (PAGE * PAGES) as usize],
            joint: Vec::new(),
            _reservation,
        })
    }

    /// The bytes at an offset, as many as there are, at most `count`.
    #[inline]
    pub(super) fn window(&mut self, offset: u64, count: usize) -> Result<&[u8], StageError> {
        let (page, end) = (offset / PAGE, (offset + count as u64).min(self.bytes));
        if offset < end && (end - 1) / PAGE == page {
            let from = self.place(page)? + (offset % PAGE) as usize;
            return Ok(&self.data[from..from + (end - offset) as usize]);
        }
        self.joint.clear();
        let mut at = offset;
        while at < end {
            let page = at / PAGE;
            let part = (end - at).min((page + 1) * PAGE - at);
            let from = self.place(page)? + (at % PAGE) as usize;
            self.joint.extend_from_slice(&self.data[from..from + part as usize]);
            at += part;
        }
        Ok(&self.joint)
    }

    /// Where a page begins in `data`.
    #[inline]
    fn place(&mut self, page: u64) -> Result<usize, StageError> {
        let place = page % PAGES;
        if self.pages[place as usize] != page {
            self.bring(page, place)?;
        }
        Ok((place * PAGE) as usize)
    }

    #[cold]
    fn bring(&mut self, page: u64, place: u64) -> Result<(), StageError> {
        let start = page * PAGE;
        let length = PAGE.min(self.bytes - start) as usize;
        let data = &mut self.data[(place * PAGE) as usize..][..length];
        self.pages[place as usize] = u64::MAX;
        self.file.read_exact_at(data, start).map_err(|error| StageError::io(&self.path, "read", error))?;
        self.pages[place as usize] = page;
        Ok(())
    }

    /// Puts the text in the array whose record begins at an offset into `out`, as UTF-8; false where that is no array of
    /// text.
    fn text(&mut self, offset: u64, coder: u8, out: &mut Vec<u8>) -> Result<bool, StageError> {
        out.clear();
        let (id_bytes, size) = (self.id_bytes, 10 + self.id_bytes);
        let head = self.window(offset, size)?;
        if head.len() < size || head[0] != PRIMITIVE_ARRAY {
            return Ok(false);
        }
        let (length, element) = (u32_at(head, 5 + id_bytes) as usize, head[9 + id_bytes]);
        let (width, latin) = match (element, coder) {
            (value::CHAR, _) => (2, false),
            // Without a coder it is a text of Android's runtime, which is ASCII.
            (value::BYTE, LATIN_1 | NO_CODER) => (1, true),
            (value::BYTE, _) => (1, false),
            _ => return Ok(false),
        };
        let most = MOST_TEXT * if latin { 1 } else { 2 };
        let bytes = self.window(offset + size as u64, length.saturating_mul(width).min(most))?;
        out.extend_from_slice(bytes);
        if latin {
            if !out.is_ascii() {
                *out = out.iter().map(|&byte| byte as char).collect::<String>().into_bytes();
            }
        } else {
            // Characters of a dump's own arrays are in its byte order, bytes of a string in that of the machine.
            let unit = |pair: &[u8]| {
                let pair = [pair[0], pair[1]];
                if element == value::CHAR { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
            };
            *out = String::from_utf16_lossy(&out.chunks_exact(2).map(unit).collect::<Vec<_>>()).into_bytes();
        }
        Ok(true)
    }
}

/// Texts that came by last, as a power of two.
const RECENT: u32 = 17;

/// The longest of them, bytes.
const SHORT: usize = 59;

/// The string table, to which a short text that came by lately is not added again. How many are remembered does not
/// depend on the memory, so neither does the result.
struct Recent {
    strings: StringWriter,
    /// By some bits of the hash.
    entries: BudgetVec<Entry>,
    /// Other bits of the hash of each entry. They lie in the cache, and tell most texts that did not come by.
    tags: BudgetVec<u16>,
}

#[derive(Clone, Copy)]
struct Entry {
    id: StringId,
    length: u8,
    text: [u8; SHORT],
}

impl Recent {
    fn append(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let empty = Entry { id: StringId::NONE, length: 0, text: [0; SHORT] };
        Ok(Self {
            strings: StringWriter::append(scratch, STRINGS)?,
            entries: context.budget.filled("texts that came by", 1 << RECENT, empty)?,
            tags: context.budget.zeroed("texts that came by", 1 << RECENT)?,
        })
    }

    fn intern(&mut self, text: &[u8]) -> Result<StringId, StageError> {
        if text.len() > SHORT {
            return self.add(text);
        }
        let hash = xxh3_64(text);
        let (at, tag) = ((hash >> (64 - RECENT)) as usize, hash as u16);
        if self.tags[at] == tag {
            let entry = &self.entries[at];
            if !entry.id.is_none() && &entry.text[..entry.length as usize] == text {
                return Ok(entry.id);
            }
        }
        let id = self.add(text)?;
        self.tags[at] = tag;
        let entry = &mut self.entries[at];
        entry.text[..text.len()].copy_from_slice(text);
        (entry.id, entry.length) = (id, text.len() as u8);
        Ok(id)
    }

    fn add(&mut self, text: &[u8]) -> Result<StringId, StageError> {
        let id = u32::try_from(self.strings.count()).ok().filter(|&id| id != u32::MAX);
        self.strings.push(text)?;
        id.map(StringId).ok_or(StageError::Overflow("the string table"))
    }
}

/// Names of all nodes, in order: strings as they are given, classes and threads by themselves.
struct NodeNames {
    column: ColumnWriter<StringId>,
    /// Names of classes and threads, by node, the last one first.
    others: BudgetVec<(NodeId, StringId)>,
}

impl NodeNames {
    fn create(others: BudgetVec<(NodeId, StringId)>, scratch: &Scratch) -> Result<Self, StageError> {
        let mut others = others;
        others.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Self { column: ColumnWriter::create(scratch, columns::NODE_NAME)?, others })
    }

    /// Names all nodes up to, but without, this one.
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
}
