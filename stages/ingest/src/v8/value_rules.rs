//! What nodes and edges mean for the value of a node, by kinds and names. Used by [`super::equality`].

use super::names;
use super::shown::{self, Encoding, Seen, Texts};
use super::slots::Meaning;
use super::snapshot::Snapshot;
use super::survey::{self, Survey, traits};
use heaplake_kit::{Bitset, Lookup, ReadAt, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::limits;

/// What kinds and names mean.
pub struct Rules {
    /// By node kind: strings of all sorts.
    text: Vec<bool>,
    /// By edge kind: edges that do not count.
    skipped: Vec<bool>,
    string: Option<u8>,
    sliced: Option<u8>,
    number: Option<u8>,
    bigint: Option<u8>,
    array: Option<u8>,
    object: Option<u8>,
    internal: Option<u8>,
    property: Option<u8>,
    weak: Option<u8>,
    element: Option<u8>,
    hidden_edge: Option<u8>,
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
        Ok(Self {
            text: of(&header.node_types, &survey::TEXT),
            skipped: of(&header.edge_types, &["shortcut"]),
            string: header.node_type("string"),
            sliced: header.node_type("sliced string"),
            number: header.node_type("number"),
            bigint: header.node_type("bigint"),
            array: header.node_type("array"),
            object: header.node_type("object"),
            internal: header.edge_type("internal"),
            property: header.edge_type("property"),
            weak: header.edge_type("weak"),
            element: header.edge_type("element"),
            hidden_edge: header.edge_type("hidden"),
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
        let named = !self.is_element(edge.kind);
        if self.skipped[edge.kind as usize] {
            return Ok(Meaning::Nothing);
        }
        if named && edge.name == self.map && Some(edge.kind) == self.internal {
            return Ok(if self.text[kind as usize] { Meaning::Nothing } else { Meaning::Identity(edge.to.0) });
        }
        if Some(kind) == self.number && named && edge.name == self.value {
            return Ok(Meaning::Text(names()?.0));
        }
        let is_weak = Some(edge.kind) == self.weak;
        let identity = is_weak || opaque.contains(edge.to.index()) || (named && self.inherited.contains(&edge.name));
        Ok(if identity { Meaning::Identity(edge.to.0) } else { Meaning::Followed(edge.to.0) })
    }

    /// Whether edges of a kind have positions instead of names.
    #[inline]
    fn is_element(&self, kind: u8) -> bool {
        Some(kind) == self.element || Some(kind) == self.hidden_edge
    }

    /// Notes what an edge of a node of this kind shows.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn see(
        &self,
        seen: &mut Seen,
        kind: u8,
        edge: Edge,
        meaning: Meaning,
        all: &mut Lookup<u8>,
    ) -> Result<(), StageError> {
        let internal = Some(edge.kind) == self.internal;
        if internal && edge.name == self.map {
            seen.map = all.get(edge.to.index())?;
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
                seen.table = Some(all.get(edge.to.index())?);
            } else if Some(edge.kind) == self.property {
                seen.properties |= edge.name != self.inherited[0];
                // Properties of the engine's own may have its arrays: what an error knows of its stack.
                if self.captured && matches!(meaning, Meaning::Followed(_)) {
                    seen.partial |= all.get(edge.to.index())? & traits::PARTIAL != 0;
                }
            } else {
                let is_known = Some(edge.kind) == self.element || (internal && edge.name == self.properties);
                seen.foreign |= !is_known && meaning != Meaning::Nothing;
            }
        } else if Some(kind) == self.array && matches!(meaning, Meaning::Followed(_)) {
            seen.partial |= all.get(edge.to.index())? & traits::PARTIAL != 0;
        }
        Ok(())
    }

    /// What the file does not tell of a node with these traits, and so many slots whose targets are compared.
    #[must_use]
    pub fn limits(&self, node: Node, own: u8, seen: &Seen, degree: u32, texts: &mut Texts<'_>) -> u8 {
        let is = |kind: Option<u8>| Some(node.kind) == kind;
        if is(self.string) {
            return texts.get(node.name).limits(node.bytes, seen.encoding, self.slot);
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
#[derive(Clone, Copy)]
pub struct Node {
    /// Kind.
    pub kind: u8,
    /// Name.
    pub name: StringId,
    /// The file's own size, bytes.
    pub bytes: u64,
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
