//! What nodes and edges mean for the value of a node, by kinds and names. Used by [`super::equality`].

use super::header::Header;
use super::names;
use super::shown::{self, Encoding, Seen, Texts};
use super::slots::Meaning;
use super::snapshot::Snapshot;
use super::survey::{self, Survey, traits};
use heaplake_kit::{Bitset, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::limits;

/// What edges of a kind are.
mod edges {
    /// They do not count.
    pub const SKIPPED: u8 = 1;
    /// They have positions instead of names.
    pub const PLACED: u8 = 2;
    pub const ELEMENT: u8 = 4;
    pub const INTERNAL: u8 = 8;
    pub const PROPERTY: u8 = 16;
    pub const WEAK: u8 = 32;
}

/// By edge kind, what its edges are.
fn edge_kinds(header: &Header) -> [u8; 256] {
    const NAMED: [(&str, u8); 5] = [
        ("element", edges::PLACED | edges::ELEMENT),
        ("hidden", edges::PLACED),
        ("internal", edges::INTERNAL),
        ("property", edges::PROPERTY),
        ("weak", edges::WEAK),
    ];
    let mut kinds = [0; 256];
    for (name, bits) in NAMED {
        header.edge_type(name).into_iter().for_each(|kind| kinds[usize::from(kind)] = bits);
    }
    let skipped = header.edge_types.iter().map(|name| name == "shortcut");
    kinds.iter_mut().zip(skipped).filter(|(_, skipped)| *skipped).for_each(|(kind, _)| *kind = edges::SKIPPED);
    kinds
}

/// What kinds and names mean.
pub struct Rules {
    /// By node kind: strings of all sorts.
    text: Vec<bool>,
    /// By edge kind: what its edges are, the bits of [`edges`].
    edges: [u8; 256],
    /// By node kind: whether edges are looked at for what the file does not tell.
    sees: [bool; 256],
    string: Option<u8>,
    sliced: Option<u8>,
    number: Option<u8>,
    bigint: Option<u8>,
    array: Option<u8>,
    object: Option<u8>,
    map: u32,
    /// `__proto__` and `constructor`.
    inherited: [u32; 2],
    value: u32,
    elements: u32,
    properties: u32,
    table: u32,
    zero: u32,
    smi: StringId,
    /// Whether small integers are in the file.
    captured: bool,
    /// Whether edges of any node may be missing, because the file is damaged.
    damaged: bool,
    /// Bytes of a slot.
    slot: u64,
}

impl Rules {
    /// For a snapshot that was surveyed.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn new(snapshot: &Snapshot, survey: &Survey, scratch: &Scratch) -> Result<Self, StageError> {
        const NAMES: [&str; 9] =
            ["map", "__proto__", "constructor", "value", "elements", "properties", "table", "0", "smi number"];
        let header = &snapshot.header;
        let of = |types: &[String], names: &[&str]| types.iter().map(|name| names.contains(&name.as_str())).collect();
        let ids = names::find(scratch, &NAMES)?;
        let mut sees = [false; 256];
        let seen: &[&str] =
            if survey.captured { &["string", "number", "object", "array"] } else { &["string", "number"] };
        seen.iter().filter_map(|name| header.node_type(name)).for_each(|kind| sees[usize::from(kind)] = true);
        Ok(Self {
            text: of(&header.node_types, &survey::TEXT),
            edges: edge_kinds(header),
            sees,
            string: header.node_type("string"),
            sliced: header.node_type("sliced string"),
            number: header.node_type("number"),
            bigint: header.node_type("bigint"),
            array: header.node_type("array"),
            object: header.node_type("object"),
            map: ids[0].0,
            inherited: [ids[1].0, ids[2].0],
            value: ids[3].0,
            elements: ids[4].0,
            properties: ids[5].0,
            table: ids[6].0,
            zero: ids[7].0,
            smi: ids[8],
            captured: survey.captured,
            damaged: snapshot.facts.partial.is_some(),
            slot: survey.slot,
        })
    }

    /// Whether [`Self::slot`] asks for names of many nodes: of captured numbers, whose text it is. Else of hardly any.
    #[must_use]
    pub fn looks_up_names(&self) -> bool {
        self.captured
    }

    /// What an edge means for the equality of its source.
    ///
    /// # Errors
    /// What `names` returns.
    #[inline]
    pub fn slot(
        &self,
        kind: u8,
        edge: Edge,
        opaque: &Bitset,
        names: impl FnOnce() -> Result<StringId, StageError>,
    ) -> Result<Meaning, StageError> {
        let is = |bits: u8| self.edges[usize::from(edge.kind)] & bits != 0;
        if is(edges::SKIPPED) {
            return Ok(Meaning::Nothing);
        }
        if edge.name == self.map && is(edges::INTERNAL) {
            return Ok(if self.text[kind as usize] { Meaning::Nothing } else { Meaning::Identity(edge.to.0) });
        }
        let named = !is(edges::PLACED);
        if named && Some(kind) == self.number && edge.name == self.value {
            return Ok(Meaning::Text(names()?.0));
        }
        let inherited = || named && self.inherited.contains(&edge.name);
        let identity = is(edges::WEAK) || inherited() || opaque.contains(edge.to.index());
        Ok(if identity { Meaning::Identity(edge.to.0) } else { Meaning::Followed(edge.to.0) })
    }

    /// Whether edges of nodes of a kind show anything: whether [`Self::limits`] asks for it.
    #[inline]
    #[must_use]
    pub fn sees(&self, kind: u8) -> bool {
        self.sees[usize::from(kind)]
    }

    /// Notes what an edge of a node of this kind shows; `all` gives the traits of a node.
    ///
    /// # Errors
    /// What `all` returns.
    #[inline]
    pub fn see(
        &self,
        seen: &mut Seen,
        kind: u8,
        edge: Edge,
        meaning: Meaning,
        mut all: impl FnMut(usize) -> Result<u8, StageError>,
    ) -> Result<(), StageError> {
        let is = |bits: u8| self.edges[usize::from(edge.kind)] & bits != 0;
        let internal = is(edges::INTERNAL);
        if internal && edge.name == self.map {
            seen.map = all(edge.to.index())?;
            seen.encoding = match seen.map {
                map if map & traits::ONE_BYTE != 0 => Encoding::OneByte,
                map if map & traits::TWO_BYTE != 0 => Encoding::TwoByte,
                _ => Encoding::Unknown,
            };
        } else if let Meaning::Text(text) = meaning {
            seen.number = true;
            seen.zero = text == self.zero;
        } else if Some(kind) == self.object {
            if internal && edge.name == self.elements {
                seen.elements = true;
            } else if internal && edge.name == self.table {
                seen.table = Some(all(edge.to.index())?);
            } else if is(edges::PROPERTY) {
                seen.properties |= edge.name != self.inherited[0];
                // Properties of the engine's own may have its arrays: what an error knows of its stack.
                if self.captured && matches!(meaning, Meaning::Followed(_)) {
                    seen.partial |= all(edge.to.index())? & traits::PARTIAL != 0;
                }
            } else {
                let is_known = is(edges::ELEMENT) || (internal && edge.name == self.properties);
                seen.foreign |= !is_known && meaning != Meaning::Nothing;
            }
        } else if Some(kind) == self.array && matches!(meaning, Meaning::Followed(_)) {
            seen.partial |= all(edge.to.index())? & traits::PARTIAL != 0;
        }
        Ok(())
    }

    /// What the file does not tell of a node with these traits, and so many slots whose targets are compared.
    #[must_use]
    pub fn limits(&self, node: Node, own: u8, seen: &Seen, degree: u32, texts: &mut Texts<'_>) -> u8 {
        let is = |kind: Option<u8>| Some(node.kind) == kind;
        if is(self.string) {
            return texts.limits(node.name, node.bytes, seen.encoding, self.slot);
        }
        if self.damaged {
            return limits::CONTENTS;
        }
        if self.text[node.kind as usize] {
            return if is(self.sliced) || degree == 0 { limits::CONTENTS } else { 0 };
        }
        if is(self.number) {
            let is_lost = !seen.number || (seen.zero && node.name != self.smi);
            return if is_lost { limits::NUMBERS } else { 0 };
        }
        if is(self.bigint) {
            return limits::CONTENTS;
        }
        if !self.captured {
            return limits::NUMBERS;
        }
        match () {
            () if is(self.object) => shown::object(own, seen),
            () if is(self.array) => shown::array(own, seen),
            () => limits::STATE,
        }
    }
}

/// What belongs to the value of a node, whatever it refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Kind.
    pub kind: u8,
    /// Name.
    pub name: StringId,
    /// The file's own size, bytes.
    pub bytes: u64,
}

impl Node {
    /// The words with which its value begins.
    #[inline]
    #[must_use]
    pub fn words(self) -> [u64; 2] {
        [u64::from(self.name.0) << 8 | u64::from(self.kind), self.bytes]
    }
}

/// An edge of such a node.
#[derive(Clone, Copy)]
pub struct Edge {
    /// Kind.
    pub kind: u8,
    /// A string id or a position.
    pub name: u32,
    /// Its target.
    pub to: NodeId,
}
