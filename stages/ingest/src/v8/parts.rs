//! The sections of a snapshot after reading: cross-checks at the end, and their summary.

use super::edge_rows::EdgeWriter;
use super::header::{Header, is_indexed};
use super::repair::repair;
use super::rows::LargestName;
use super::salvage::{Damage, UNKNOWN};
use super::snapshot::Snapshot;
use super::strings::Strings;
use super::{locations, roles};
use heaplake_input::bytes::Bytes;
use heaplake_input::source::Identity;
use heaplake_kit::{Scratch, StageError, text};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, EdgeKind, Metadata};

/// The sections read; `None` for a missing one.
#[derive(Default)]
pub struct Parts {
    /// Damage, if it is tolerated.
    pub damage: Option<Damage>,
    /// The header.
    pub header: Option<Header>,
    /// Number of edges that the nodes announce.
    pub announced: Option<u64>,
    /// Number of edges read.
    pub edges: Option<u64>,
    /// Number of strings.
    pub strings: Option<u64>,
    /// The largest string index in use.
    pub names: LargestName,
    /// Remarks on harmless irregularities.
    pub remarks: Vec<String>,
}

impl Parts {
    /// Checks the sections against each other and summarizes them. If damage is tolerated, repairs them instead.
    ///
    /// # Errors
    /// [`StageError::Input`] if a section is missing or contradicts others; if damage is tolerated, only if there are
    /// no nodes.
    pub fn finish(
        mut self,
        scanner: &Bytes<'_>,
        identity: &Identity,
        content_bytes: u64,
        scratch: &Scratch,
    ) -> Result<Snapshot, StageError> {
        if let Some(damage) = self.damage.take() {
            return self.salvage(damage, scanner, identity, content_bytes, scratch);
        }
        let header = self.header.ok_or_else(|| missing("snapshot", scanner))?;
        let announced = self.announced.ok_or_else(|| missing("nodes", scanner))?;
        let edge_count = self.edges.ok_or_else(|| missing("edges", scanner))?;
        let string_count = self.strings.ok_or_else(|| missing("strings", scanner))?;
        let at_end = |expected: &str, found: String| Err(scanner.error(scanner.offset(), expected, found));
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
        if !scratch.has(columns::LOCATION_NODE) {
            locations::write_none(scratch)?;
        }
        self.remarks.extend(outside(&header));
        let metadata = metadata(&header, identity, content_bytes, string_count);
        Ok(Snapshot { header, metadata: Metadata { remarks: self.remarks, ..metadata } })
    }

    /// Summarizes a damaged snapshot after repairing it.
    fn salvage(
        self,
        mut damage: Damage,
        scanner: &Bytes<'_>,
        identity: &Identity,
        content_bytes: u64,
        scratch: &Scratch,
    ) -> Result<Snapshot, StageError> {
        let Some(mut header) = self.header else { return Err(damage.hopeless(missing("snapshot", scanner))) };
        let Some(announced) = self.announced else { return Err(damage.hopeless(missing("nodes", scanner))) };
        if header.node_count == 0 || identity.hash.is_empty() {
            let error = scanner.error(scanner.offset(), "a root node", "no nodes".to_owned());
            return Err(damage.hopeless(error));
        }
        let edges = match self.edges {
            Some(edges) => edges,
            None => {
                damage.missing.push("edges");
                EdgeWriter::create(scratch)?.finish()?;
                0
            }
        };
        let mut strings = match self.strings {
            Some(strings) => strings,
            None => {
                damage.missing.push("strings");
                Strings::create(scratch, scanner.context())?.finish()?
            }
        };
        if header.root >= header.node_count {
            damage.lies.push(format!("the header names root {} of {} nodes", header.root, header.node_count));
            header.root = 0;
        }
        if !scratch.has(columns::LOCATION_NODE) {
            locations::write_none(scratch)?;
        }
        let largest = if self.names.section.is_empty() { None } else { Some(self.names.index) };
        let nameless = largest.is_some_and(|largest| largest >= strings);
        if damage.is_any() || announced != edges || nameless {
            strings = repair(&mut header, (edges, strings, nameless), &mut damage, scratch, scanner.context())?;
            header.name_node_types(header.most_node_types());
            if header.node_types.len() < 256 {
                header.node_types.push(UNKNOWN.to_owned());
            }
        }
        let metadata = metadata(&header, identity, content_bytes, strings);
        let mut remarks = damage.bad.first.clone();
        remarks.extend(self.remarks);
        remarks.extend(outside(&header));
        let metadata = Metadata { partial: damage.left_out(), remarks, ..metadata };
        Ok(Snapshot { header, metadata })
    }
}

/// Returns the remark on memory outside the heap, from the header.
fn outside(header: &Header) -> Option<String> {
    let bytes = header.extra_native_bytes;
    (bytes > 0).then(|| {
        format!(
            "{} of native memory belong to no node (extra_native_bytes): they are in no size below",
            text::size(bytes)
        )
    })
}

/// Returns the error of a snapshot without this section.
fn missing(section: &str, scanner: &Bytes<'_>) -> StageError {
    scanner.error(scanner.offset(), format!("\"{section}\" somewhere before the end"), "none".to_owned())
}

/// Returns the metadata known so far.
fn metadata(header: &Header, identity: &Identity, content_bytes: u64, string_count: u64) -> Metadata {
    Metadata {
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
        ..Metadata::default()
    }
}
