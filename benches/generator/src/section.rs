//! Sinks that turn a walk into the rows of one section.
//!
//! A row's separator precedes it, the newline included, as V8 writes it.

use std::io::Write;

use crate::header::NODE_FIELDS;
use crate::shared::FIRST_BLOCK_NODE;
use crate::sink::{EdgeType, NodeType, Sink};
use crate::write::Out;

/// Id of a node: odd and slightly out of order for heap objects, even for native ones, always unique.
pub(crate) fn id(ordinal: u64, native: bool) -> u64 {
    // Swapping within aligned groups of four keeps ids unique; the shared nodes keep V8's fixed ids.
    let fixed = FIRST_BLOCK_NODE.next_multiple_of(4);
    match (native, ordinal < fixed) {
        (true, _) => 2 * ordinal,
        (false, true) => 2 * ordinal + 1,
        (false, false) => 2 * (ordinal ^ 3) + 1,
    }
}

/// How nodes are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeLayout {
    /// Levels of the trace tree, if nodes refer to it.
    pub trace_depth: Option<u64>,
}

impl NodeLayout {
    /// The fields in order; recent V8 omits the trace node unless allocations were tracked.
    pub(crate) fn fields(self) -> &'static [&'static str] {
        if self.trace_depth.is_some() {
            &NODE_FIELDS
        } else {
            &["type", "name", "id", "self_size", "edge_count", "detachedness"]
        }
    }

    pub(crate) fn width(self) -> u64 {
        self.fields().len() as u64
    }
}

struct Row {
    kind: NodeType,
    name: u64,
    self_size: u64,
    edges: u64,
    detachedness: u64,
}

/// Writes the nodes. A row is held back until the next node, since its edges must be counted first.
pub(crate) struct NodeRows<'a, W: Write> {
    out: &'a mut Out<W>,
    layout: NodeLayout,
    next: u64,
    row: Option<Row>,
}

impl<'a, W: Write> NodeRows<'a, W> {
    /// Starts at the node with ordinal `first`.
    pub(crate) fn new(out: &'a mut Out<W>, layout: NodeLayout, first: u64) -> Self {
        Self { out, layout, next: first, row: None }
    }

    /// Writes the row held back; returns the writer.
    pub(crate) fn flush(&mut self) -> &mut Out<W> {
        if let Some(row) = self.row.take() {
            let ordinal = self.next - 1;
            if ordinal > 0 {
                self.out.bytes(b",");
            }
            self.out.number(row.kind as u64);
            self.out.comma_number(row.name);
            self.out.comma_number(id(ordinal, row.kind == NodeType::Native));
            self.out.comma_number(row.self_size);
            self.out.comma_number(row.edges);
            if let Some(depth) = self.layout.trace_depth {
                self.out.comma_number(1 + ordinal * 7919 % depth);
            }
            self.out.comma_number(row.detachedness);
            self.out.bytes(b"\n");
        }
        self.out
    }
}

impl<W: Write> Sink for NodeRows<'_, W> {
    #[inline]
    fn node(&mut self, kind: NodeType, name: u64, self_size: u64) {
        self.flush();
        self.next += 1;
        self.row = Some(Row { kind, name, self_size, edges: 0, detachedness: 0 });
    }

    #[inline]
    fn edge(&mut self, _kind: EdgeType, _name: u64, _to: u64) {
        if let Some(row) = &mut self.row {
            row.edges += 1;
        }
    }

    fn detachedness(&mut self, state: u64) {
        if let Some(row) = &mut self.row {
            row.detachedness = state;
        }
    }
}

pub(crate) struct EdgeRows<'a, W: Write> {
    out: &'a mut Out<W>,
    width: u64,
    first: bool,
}

impl<'a, W: Write> EdgeRows<'a, W> {
    /// Nodes take `width` numbers each; `first` says whether the section is still empty.
    pub(crate) fn new(out: &'a mut Out<W>, width: u64, first: bool) -> Self {
        Self { out, width, first }
    }

    pub(crate) fn out(&mut self) -> &mut Out<W> {
        self.out
    }
}

impl<W: Write> Sink for EdgeRows<'_, W> {
    fn node(&mut self, _kind: NodeType, _name: u64, _self_size: u64) {}

    #[inline]
    fn edge(&mut self, kind: EdgeType, name: u64, to: u64) {
        if self.first {
            self.first = false;
        } else {
            self.out.bytes(b",");
        }
        self.out.number(kind as u64);
        self.out.comma_number(name);
        self.out.comma_number(to * self.width);
        self.out.bytes(b"\n");
    }
}

pub(crate) struct LocationRows<'a, W: Write> {
    out: &'a mut Out<W>,
    width: u64,
    next: u64,
    first: bool,
}

impl<'a, W: Write> LocationRows<'a, W> {
    /// Starts at the node with ordinal `next`; `first` says whether the section is still empty.
    pub(crate) fn new(out: &'a mut Out<W>, width: u64, next: u64, first: bool) -> Self {
        Self { out, width, next, first }
    }

    pub(crate) fn out(&mut self) -> &mut Out<W> {
        self.out
    }
}

impl<W: Write> Sink for LocationRows<'_, W> {
    #[inline]
    fn node(&mut self, _kind: NodeType, _name: u64, _self_size: u64) {
        self.next += 1;
    }

    #[inline]
    fn edge(&mut self, _kind: EdgeType, _name: u64, _to: u64) {}

    fn location(&mut self, script: u64, line: u64, column: u64) {
        if self.first {
            self.first = false;
        } else {
            self.out.bytes(b",");
        }
        self.out.number((self.next - 1) * self.width);
        self.out.comma_number(script);
        self.out.comma_number(line);
        self.out.comma_number(column);
        self.out.bytes(b"\n");
    }
}
