//! Rules by kinds and names for the meaning of nodes and edges in a node's value. Used by [`super::equality`].

use super::edges::Edge;
use super::header::Header;
use super::kinds::Kinds;
use super::names;
use super::shown::{self, Encoding, Seen, Texts};
use super::slots::Meaning;
use super::snapshot::Snapshot;
use super::survey::{self, Survey, traits};
use heaplake_kit::{Bitset, Scratch, StageError};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::limits;

/// Properties of edge kinds.
mod edges {
    /// The edges do not count.
    pub(super) const SKIPPED: u8 = 1;
    /// They have positions instead of names.
    pub(super) const PLACED: u8 = 2;
    pub(super) const ELEMENT: u8 = 4;
    pub(super) const INTERNAL: u8 = 8;
    pub(super) const PROPERTY: u8 = 16;
    pub(super) const WEAK: u8 = 32;
}

/// Returns the properties of each edge kind.
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

/// Kinds and names that matter here.
pub struct Rules {
    /// Per node kind, whether it is a string.
    text: Vec<bool>,
    /// Per edge kind, the bits of [`edges`].
    edges: [u8; 256],
    /// Per node kind, whether edges matter for the limits.
    pub sees: [bool; 256],
    kinds: Kinds,
    map: u32,
    /// Ids of `__proto__` and `constructor`.
    inherited: [u32; 2],
    value: u32,
    elements: u32,
    properties: u32,
    table: u32,
    zero: u32,
    smi: StringId,
    /// Whether the file has small integers.
    pub captured: bool,
    /// Whether edges of any node may be missing, because the file is damaged.
    damaged: bool,
    /// Bytes of a slot.
    slot: u64,
}

impl Rules {
    /// Creates the rules after the survey.
    pub fn new(snapshot: &Snapshot, survey: &Survey, scratch: &Scratch) -> Result<Self, StageError> {
        let header = &snapshot.header;
        let of = |types: &[String], names: &[&str]| types.iter().map(|name| names.contains(&name.as_str())).collect();
        let [map, proto, constructor, value, elements, properties, table, zero, smi] = names::find(
            scratch,
            ["map", "__proto__", "constructor", "value", "elements", "properties", "table", "0", "smi number"],
        )?;
        let mut sees = [false; 256];
        let seen: &[&str] =
            if survey.captured { &["string", "number", "object", "array"] } else { &["string", "number"] };
        seen.iter().filter_map(|name| header.node_type(name)).for_each(|kind| sees[usize::from(kind)] = true);
        Ok(Self {
            text: of(&header.node_types, &survey::TEXT),
            edges: edge_kinds(header),
            sees,
            kinds: Kinds::of(header),
            map: map.0,
            inherited: [proto.0, constructor.0],
            value: value.0,
            elements: elements.0,
            properties: properties.0,
            table: table.0,
            zero: zero.0,
            smi,
            captured: survey.captured,
            damaged: snapshot.metadata.partial.is_some(),
            slot: survey.slot,
        })
    }

    /// Returns the meaning of an edge for the equality of its source.
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
        if named && Some(kind) == self.kinds.number && edge.name == self.value {
            return Ok(Meaning::Text(names()?.0));
        }
        let inherited = || named && self.inherited.contains(&edge.name);
        let identity = is(edges::WEAK) || inherited() || opaque.contains(edge.to.index());
        Ok(if identity { Meaning::Identity(edge.to.0) } else { Meaning::Followed(edge.to.0) })
    }

    /// Records an edge of a node of this kind; `all` returns the traits of a node.
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
        } else if Some(kind) == self.kinds.object {
            if internal && edge.name == self.elements {
                seen.elements = true;
            } else if internal && edge.name == self.table {
                seen.table = Some(all(edge.to.index())?);
            } else if is(edges::PROPERTY) {
                seen.properties |= edge.name != self.inherited[0];
                // Properties of the engine may refer to its arrays, such as the stack of an error.
                if self.captured && matches!(meaning, Meaning::Followed(_)) {
                    seen.partial |= all(edge.to.index())? & traits::PARTIAL != 0;
                }
            } else {
                let is_known = is(edges::ELEMENT) || (internal && edge.name == self.properties);
                seen.foreign |= !is_known && meaning != Meaning::Nothing;
            }
        } else if Some(kind) == self.kinds.array && matches!(meaning, Meaning::Followed(_)) {
            seen.partial |= all(edge.to.index())? & traits::PARTIAL != 0;
        }
        Ok(())
    }

    /// Returns the limits of a node with these traits and this number of followed slots.
    pub fn limits(&self, node: Node, own: u8, seen: &Seen, degree: u32, texts: &mut Texts<'_>) -> u8 {
        let is = |kind: Option<u8>| Some(node.kind) == kind;
        if is(self.kinds.string) {
            return texts.limits(node.name, node.bytes, seen.encoding, self.slot);
        }
        if self.damaged {
            return limits::CONTENTS;
        }
        if self.text[node.kind as usize] {
            return if is(self.kinds.sliced) || degree == 0 { limits::CONTENTS } else { 0 };
        }
        if is(self.kinds.number) {
            let is_lost = !seen.number || (seen.zero && node.name != self.smi);
            return if is_lost { limits::NUMBERS } else { 0 };
        }
        if is(self.kinds.bigint) {
            return limits::CONTENTS;
        }
        if !self.captured {
            return limits::NUMBERS;
        }
        match () {
            () if is(self.kinds.object) => shown::object(own, seen),
            () if is(self.kinds.array) => shown::array(own, seen),
            () => limits::STATE,
        }
    }
}

/// The node's own part of its value, apart from its references.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Kind.
    pub kind: u8,
    /// Name.
    pub name: StringId,
    /// Self size in the file, bytes.
    pub bytes: u64,
}

impl Node {
    /// The first words of its value.
    #[inline]
    #[must_use]
    pub fn words(self) -> [u64; 2] {
        [u64::from(self.name.0) << 8 | u64::from(self.kind), self.bytes]
    }
}
