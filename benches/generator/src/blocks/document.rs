//! DOM-like trees of native nodes: attached ones under the document trees, and detached ones that a script retains.
//!
//! A parent knows its first and last child, siblings know each other, and every child knows its parent. So the parent
//! dominates each child, and the middle child is farthest. Only the topmost node records whether it is attached;
//! readers must propagate that through native nodes.

use super::structure::{HEAD_DISTANCE, Place, Size, Structure, fact};
use crate::answers::{Answers, Fact};
use crate::names as n;
use crate::shared::{DOCUMENT_TREES, class, instance_of};
use crate::sink::EdgeType::{Internal, Property};
use crate::sink::{NodeType, Sink};

const TOP: u64 = 240;
const ROW: u64 = 120;
const CELL: u64 = 96;
const HTML_ELEMENT: u64 = 28;

/// Rows of cells under one topmost node.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Rows, at least one.
    pub rows: u64,
    /// Cells per row, at least one.
    pub cells: u64,
}

/// Relatives of a native node, as far as its edges show them.
struct Kin {
    me: u64,
    parent: u64,
    place: u64,
    siblings: u64,
    stride: u64,
    /// Number of children and distance between them; the first child follows its parent.
    children: (u64, u64),
}

impl Grid {
    fn nodes(&self) -> u64 {
        1 + self.rows * (1 + self.cells)
    }

    /// Edges below the topmost node, plus its own two to its children.
    fn edges(&self) -> u64 {
        let siblings = |count: u64| 2 * (count - 1) + count;
        2 + siblings(self.rows) + self.rows * (2 + siblings(self.cells))
    }

    fn row(&self, top: u64, i: u64) -> u64 {
        top + 1 + i * (1 + self.cells)
    }

    fn bytes(&self) -> u64 {
        TOP + self.rows * self.row_bytes()
    }

    fn row_bytes(&self) -> u64 {
        ROW + self.cells * CELL
    }

    fn walk<S: Sink>(&self, top: u64, out: &mut S) {
        children_of(top, (self.rows, 1 + self.cells), out);
    }

    fn walk_rows<S: Sink>(&self, top: u64, out: &mut S) {
        for i in 0..self.rows {
            let me = self.row(top, i);
            out.node(NodeType::Native, n::DIV, ROW);
            let stride = 1 + self.cells;
            Kin { me, parent: top, place: i, siblings: self.rows, stride, children: (self.cells, 1) }.walk(out);
            for j in 0..self.cells {
                out.node(NodeType::Native, n::SPAN, CELL);
                let me = me + 1 + j;
                let parent = self.row(top, i);
                Kin { me, parent, place: j, siblings: self.cells, stride: 1, children: (0, 1) }.walk(out);
            }
        }
    }

    /// Adds the answers below the topmost node, which is at `distance`.
    fn metadata(&self, top: u64, distance: u64, classes: [&str; 2], out: &mut Answers) {
        let row = self.rows / 2;
        let cell = self.cells / 2;
        let steps = |i: u64, count: u64| 1 + i.min(count - 1 - i);
        let row_distance = distance + steps(row, self.rows);
        out.checkpoint(Fact {
            ordinal: self.row(top, row),
            shallow: ROW,
            retained: self.row_bytes(),
            distance: Some(row_distance),
            dominator: top,
        });
        out.checkpoint(Fact {
            ordinal: self.row(top, row) + 1 + cell,
            shallow: CELL,
            retained: CELL,
            distance: Some(row_distance + steps(cell, self.cells)),
            dominator: self.row(top, row),
        });
        let cells = self.rows * self.cells;
        out.class(classes[0], self.rows, self.rows * ROW, self.rows * self.row_bytes(), distance + 1);
        out.class(classes[1], cells, cells * CELL, cells * CELL, distance + 2);
    }
}

fn children_of<S: Sink>(me: u64, (count, stride): (u64, u64), out: &mut S) {
    if count > 0 {
        out.edge(Internal, n::FIRST_CHILD, me + 1);
        out.edge(Internal, n::LAST_CHILD, me + 1 + (count - 1) * stride);
    }
}

impl Kin {
    fn walk<S: Sink>(&self, out: &mut S) {
        children_of(self.me, self.children, out);
        if self.place + 1 < self.siblings {
            out.edge(Internal, n::NEXT_SIBLING, self.me + self.stride);
        }
        if self.place > 0 {
            out.edge(Internal, n::PREVIOUS_SIBLING, self.me - self.stride);
        }
        out.edge(Internal, n::PARENT, self.parent);
    }
}

/// A document under the document trees.
#[derive(Debug, Clone)]
pub struct Attached {
    pub grid: Grid,
}

impl Structure for Attached {
    fn kind(&self) -> &'static str {
        "attached document"
    }

    fn size(&self) -> Size {
        Size { nodes: self.grid.nodes(), edges: self.grid.edges(), ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        out.node(NodeType::Native, n::DOCUMENT, TOP);
        out.detachedness(1);
        self.grid.walk(at.head, out);
        self.grid.walk_rows(at.head, out);
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let retained = self.grid.bytes();
        out.document(Fact { ordinal: at.head, shallow: TOP, retained, distance: Some(2), dominator: DOCUMENT_TREES });
        self.grid.metadata(at.head, 2, [",<div>", ",<span>"], out);
        out.class(",#document", 1, TOP, retained, 2);
    }

    fn in_shard(&self) -> bool {
        false
    }
}

/// A script's `HTMLDivElement` with an element that is in no document any more.
#[derive(Debug, Clone)]
pub struct Detached {
    pub grid: Grid,
}

impl Structure for Detached {
    fn kind(&self) -> &'static str {
        "detached element"
    }

    fn size(&self) -> Size {
        Size { nodes: 1 + self.grid.nodes(), edges: 3 + 1 + self.grid.edges(), ..Size::default() }
    }

    fn walk<S: Sink>(&self, at: &Place, out: &mut S) {
        let top = at.head + 1;
        out.node(NodeType::Object, n::C_HTML_DIV, HTML_ELEMENT);
        out.edge(Property, n::ELEMENT, top);
        instance_of(class::C_HTML_DIV, out);
        out.node(NodeType::Native, n::DIV, TOP);
        out.detachedness(2);
        self.grid.walk(top, out);
        out.edge(Internal, n::WRAPPER, at.head);
        self.grid.walk_rows(top, out);
    }

    fn metadata(&self, at: &Place, out: &mut Answers) {
        let grid = &self.grid;
        let top = fact(at.head + 1, TOP, grid.bytes(), 1, at.head);
        out.head(at.head_fact(HTML_ELEMENT, HTML_ELEMENT + grid.bytes()));
        out.checkpoint(top);
        let rows = grid.rows * grid.row_bytes();
        grid.metadata(top.ordinal, HEAD_DISTANCE + 1, [",Detached <div>", ",Detached <span>"], out);
        out.class(",HTMLDivElement", 1, HTML_ELEMENT, HTML_ELEMENT + grid.bytes(), HEAD_DISTANCE);
        // The topmost element has the rows' class and dominates them: its bytes replace theirs.
        out.class_inside(",Detached <div>", TOP, grid.bytes(), rows, HEAD_DISTANCE + 1);
    }
}
