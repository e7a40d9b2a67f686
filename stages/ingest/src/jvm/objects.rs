//! The objects of a dump, one after the other: class, size and edges of each.

use super::classes::{Class, Position};
use super::containers::Writer;
use super::cursor::{Cursor, MOST_PIECE};
use super::keys::Ids;
use super::kinds::{EdgeNames, edge_kind, node_kind};
use super::link::Heap;
use super::records::{PrimitiveArray, Record, Records, Visitor, header, id, value};
use super::roots::Roots;
use super::texts::Strings;
use super::{BOOT_LOADER, Dump, FIRST, HINT};
use crate::index::{Index, Word};
use crate::output::{Holding, Output};
use crate::source::Source;
use crate::ways::Way;
use heaplake_kit::{BudgetVec, Context, ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::{ClassId, NodeId, StringId};

/// Does the second pass.
pub(super) struct Linker<'a, W, L, D> {
    heap: &'a Heap<'a>,
    dump: &'a Dump,
    index: Index<W, L>,
    output: Output<D>,
    roots: &'a Roots,
    names: Names,
    /// Whether the root holds each class.
    rooted: BudgetVec<bool>,
    cache: Cache,
    ids: Ids,
    strings: Strings,
    /// Where rules of findings look at collections.
    containers: Option<Writer>,
    /// The strings that are the names of the threads so far.
    thread_names: BudgetVec<NodeId>,
    /// The next local of a thread.
    local: usize,
    /// The next class of the dump.
    class: Position,
}

/// What edges are called.
pub(super) struct Names {
    /// The kinds of roots.
    pub roots: Vec<StringId>,
    /// Edges that have no name in the dump.
    pub pseudo: EdgeNames,
    /// Static fields with their classes, where that is asked for.
    pub statics: BudgetVec<u32>,
}

/// What is left of it.
pub(super) struct Linked<W, L> {
    /// Number of edges.
    pub edges: u64,
    /// Number of those that are written as holding.
    pub holding: u64,
    /// The index.
    pub index: Index<W, L>,
    /// The strings that are the names of the threads.
    pub thread_names: BudgetVec<NodeId>,
}

impl<'a, W: ReadAt<Word>, L: ReadAt<u32>, D: WriteAt<u8>> Linker<'a, W, L, D> {
    /// Prepares the pass. `rooted` says of each class whether the root holds it.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub(super) fn create(
        heap: &'a Heap<'a>,
        dump: &'a Dump,
        index: Index<W, L>,
        output: Output<D>,
        roots: &'a Roots,
        names: Names,
        rooted: BudgetVec<bool>,
    ) -> Result<Self, StageError> {
        Ok(Self {
            heap,
            dump,
            index,
            output,
            roots,
            names,
            rooted,
            cache: Cache::new(),
            ids: Ids::new(heap.classes.classes.len()),
            strings: Strings::create(heap.scratch)?,
            containers: if heap.containers.is_some() { Some(Writer::create(heap.scratch)?) } else { None },
            thread_names: heap.context.budget.growing("names of threads"),
            local: 0,
            class: 0,
        })
    }

    /// Goes through the dump, whose ids have `ID` bytes, with or without a table of edges.
    ///
    /// # Errors
    /// [`StageError::Input`], [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
    pub fn all<const ID: usize, const EDGES: bool>(mut self) -> Result<Linked<W, L>, StageError> {
        self.root::<EDGES>()?;
        self.boot_loader::<EDGES>()?;
        let source = Source::raw(&self.dump.content, &self.dump.name)?;
        let mut cursor = Cursor::new(source, self.heap.context, HINT);
        header(&mut cursor)?;
        let mut records = Records::<ID>::new(cursor, self.dump.content_bytes);
        let nodes = self.dump.facts.node_count as u32;
        let mut objects = Objects::<W, L, D, EDGES> { linker: self, nodes };
        records.visit(&mut objects)?;
        let Objects { linker, .. } = objects;
        if linker.output.node().0 < nodes {
            let offset = records.cursor.offset();
            return Err(linker.dump.error(offset, "the objects that the first pass found", "the end of the content"));
        }
        let Self { strings, containers, output, heap, index, thread_names, .. } = linker;
        strings.finish()?;
        if let Some(containers) = containers {
            containers.finish()?;
        }
        let (edges, holding) = output.finish(heap.scratch)?;
        Ok(Linked { edges, holding, index, thread_names })
    }

    /// The root, which holds the roots of the dump.
    fn root<const EDGES: bool>(&mut self) -> Result<(), StageError> {
        for edge in self.roots.edges.iter() {
            let name = self.names.roots[edge.kind as usize].0;
            self.output.edge::<EDGES>(edge.to, edge_kind::ROOT, || name, (Holding::Yes, Way::Unnamed))?;
        }
        self.output.end(node_kind::ROOT, self.ids.root(), 0)
    }

    /// What stands for the loader of classes that have none.
    fn boot_loader<const EDGES: bool>(&mut self) -> Result<(), StageError> {
        let (class, size) = match self.heap.special.loader {
            Some(class) => (Ids::of(class), self.heap.classes.layout(class).size),
            // Nothing is known of its fields.
            None => (self.ids.boot_loader(), 0),
        };
        self.class_edge::<EDGES>(self.heap.special.loader)?;
        self.output.end(node_kind::INSTANCE, class, size)
    }

    #[inline]
    fn class_edge<const EDGES: bool>(&mut self, class: Option<Position>) -> Result<(), StageError> {
        let Some(class) = class else { return Ok(()) };
        let holding = if self.rooted[class] { Holding::Implied } else { Holding::Yes };
        self.output.edge::<EDGES>(self.heap.classes.classes[class].node, edge_kind::CLASS, || 0, (holding, Way::Class))
    }

    #[inline]
    fn instance<const ID: usize, const EDGES: bool>(
        &mut self,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        let classes = &self.heap.classes;
        let Some(class) = self.cache.position(class, |id| classes.position(id)) else {
            return self.instance_of_nothing::<ID, EDGES>(class, length, records);
        };
        let layout = classes.layout(class);
        if layout.body != length && !self.dump.choices.salvage {
            let expected = format!("an instance with {} bytes of fields, as its class says", layout.body);
            return Err(self.dump.error(records.start(), expected, length.to_string()));
        }
        if length as usize > MOST_PIECE {
            return self.instance_of_nothing::<ID, EDGES>(0, length, records);
        }
        let body = records.cursor.take(length as usize)?;
        self.class_edge::<EDGES>(Some(class))?;
        for (position, slot) in classes.slots(layout).iter().enumerate() {
            let at = slot.at as usize;
            // Only a damaged dump has instances that are too short for their fields.
            if at + ID > body.len() {
                continue;
            }
            let address = id::<ID>(body, at);
            if address == 0 {
                continue;
            }
            if let Some(to) = self.index.find(address)? {
                let holding = if slot.holds() { Holding::Yes } else { Holding::No };
                let name = || classes.fields[slot.field()].name.0;
                self.output.edge::<EDGES>(to, edge_kind::FIELD, name, (holding, Way::Slot(position)))?;
            }
        }
        match self.heap.special.string {
            Some(string) if string.class == class => {
                let value = string.value as usize;
                if value + ID <= body.len()
                    && let Some(array) = self.index.find(id::<ID>(body, value))?
                {
                    let coder = string.coder.and_then(|at| body.get(at as usize)).copied();
                    self.strings.push(self.output.node(), array, coder)?;
                }
            }
            _ => {}
        }
        if let (Some(writer), Some(containers)) = (&mut self.containers, &self.heap.containers) {
            writer.instance::<ID>(containers, class, self.output.node(), body, &mut self.index)?;
        }
        if self.is_thread() {
            let field = self.heap.special.thread_name;
            let at = field.and_then(|field| classes.reference(class, field)).map(|at| at as usize);
            let address = at.filter(|at| at + ID <= body.len()).map_or(0, |at| id::<ID>(body, at));
            let name = self.index.find(address)?;
            self.thread::<EDGES>(name)?;
        }
        self.output.end(node_kind::INSTANCE, Ids::of(class), layout.size)
    }

    /// An instance of which only the length is known.
    #[cold]
    fn instance_of_nothing<const ID: usize, const EDGES: bool>(
        &mut self,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        self.missing(class, records.start())?;
        records.cursor.skip(length.into())?;
        if self.is_thread() {
            self.thread::<EDGES>(None)?;
        }
        let sizes = &self.dump.sizes;
        self.output.end(node_kind::INSTANCE, self.ids.instance(), sizes.aligned(sizes.header() + u64::from(length)))
    }

    /// An object whose class the dump does not hold.
    fn missing(&self, class: u64, offset: u64) -> Result<(), StageError> {
        if self.dump.choices.salvage {
            return Ok(());
        }
        Err(self.dump.error(offset, "an object of a class that the dump holds", format!("one of {class:#x}")))
    }

    fn array<const ID: usize, const EDGES: bool>(
        &mut self,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        let classes = &self.heap.classes;
        let class = match self.cache.position(class, |id| classes.position(id)) {
            Some(class) => Some(class),
            None => self.missing(class, records.start()).map(|()| None)?,
        };
        self.class_edge::<EDGES>(class)?;
        let (mut left, mut number) = (u64::from(length) * ID as u64, 0);
        while left > 0 {
            let piece = records.cursor.some(ID, left)?;
            for element in piece.chunks_exact(ID) {
                let address = id::<ID>(element, 0);
                if address != 0
                    && let Some(to) = self.index.find(address)?
                {
                    self.output.edge::<EDGES>(to, edge_kind::ELEMENT, || number, (Holding::Yes, Way::Element))?;
                }
                number += 1;
            }
            left -= piece.len() as u64;
        }
        if self.is_thread() {
            self.thread::<EDGES>(None)?;
        }
        let size = self.dump.sizes.array(u64::from(length) * self.dump.sizes.reference);
        let class = class.map_or(self.ids.object_array(), Ids::of);
        self.output.end(node_kind::OBJECT_ARRAY, class, size)
    }

    #[inline]
    fn primitive_array<const ID: usize, const EDGES: bool>(
        &mut self,
        element: u8,
        length: u32,
    ) -> Result<(), StageError> {
        let class = self.heap.special.arrays.get(element as usize).copied().flatten();
        self.class_edge::<EDGES>(class)?;
        if self.is_thread() {
            self.thread::<EDGES>(None)?;
        }
        // The first pass has seen that the type has a width.
        let bytes = u64::from(length) * value::width(element, ID).unwrap_or(1) as u64;
        let id = class.map_or(self.ids.primitive_array(element), Ids::of);
        self.output.end(node_kind::PRIMITIVE_ARRAY, id, self.dump.sizes.array(bytes))
    }

    fn class<const EDGES: bool>(&mut self, id: u64, offset: u64) -> Result<(), StageError> {
        let classes = &self.heap.classes;
        let Some(class) = classes.classes[..].get(self.class).filter(|class| class.id == id) else {
            return Err(self.dump.error(offset, "the class that the first pass found", format!("{id:#x}")));
        };
        self.class += 1;
        let Class { superclass, loader, first_static, statics, .. } = *class;
        self.class_edge::<EDGES>(self.heap.special.class)?;
        let (superclass_way, loader_way) =
            (Way::Named(self.names.pseudo.superclass.0), Way::Named(self.names.pseudo.loader.0));
        if let Some(superclass) = classes.position(superclass) {
            let to = classes.classes[superclass].node;
            self.output.edge::<EDGES>(to, edge_kind::SUPERCLASS, || 0, (Holding::Yes, superclass_way))?;
        }
        let loader = if loader == 0 { Some(NodeId(BOOT_LOADER)) } else { self.index.find(loader)? };
        if let Some(loader) = loader {
            self.output.edge::<EDGES>(loader, edge_kind::LOADER, || 0, (Holding::Yes, loader_way))?;
        }
        for position in first_static as usize..(first_static + statics) as usize {
            let field = &classes.statics[position];
            if field.value != 0
                && let Some(to) = self.index.find(field.value)?
            {
                let way = self.names.statics[..].get(position).map_or(Way::Unnamed, |&name| Way::Named(name));
                self.output.edge::<EDGES>(to, edge_kind::STATIC, || field.name.0, (Holding::Yes, way))?;
            }
        }
        if self.is_thread() {
            self.thread::<EDGES>(None)?;
        }
        let id = self.heap.special.class.map_or(self.ids.class(), Ids::of);
        self.output.end(node_kind::CLASS, id, classes.static_size(class, &self.dump.sizes))
    }

    /// Whether the node at hand is a thread.
    #[inline]
    fn is_thread(&self) -> bool {
        let next = self.roots.threads[..].get(self.thread_names.len());
        next.is_some_and(|thread| thread.node == self.output.node())
    }

    /// What the stack of the thread at hand refers to. An object may stand for several threads.
    #[cold]
    fn thread<const EDGES: bool>(&mut self, name: Option<NodeId>) -> Result<(), StageError> {
        let node = self.output.node();
        while self.is_thread() {
            self.thread_names.push(name.unwrap_or(NodeId::NONE))?;
        }
        while let Some(local) = self.roots.locals[..].get(self.local).filter(|local| local.thread == node) {
            self.local += 1;
            let frame = local.frame.get().unwrap_or(self.names.roots[local.kind as usize].0);
            self.output.edge::<EDGES>(local.to, edge_kind::LOCAL, || frame, (Holding::Yes, Way::Named(frame)))?;
        }
        Ok(())
    }
}

/// The linker, with or without a table of edges, going through so many nodes.
struct Objects<'a, W, L, D, const EDGES: bool> {
    linker: Linker<'a, W, L, D>,
    nodes: u32,
}

impl<W, L, D, const ID: usize, const EDGES: bool> Visitor<ID> for Objects<'_, W, L, D, EDGES>
where
    W: ReadAt<Word>,
    L: ReadAt<u32>,
    D: WriteAt<u8>,
{
    #[inline]
    fn instance(&mut self, _id: u64, class: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.linker.instance::<ID, EDGES>(class, length, records)
    }

    #[inline]
    fn object_array(
        &mut self,
        _id: u64,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        self.linker.array::<ID, EDGES>(class, length, records)
    }

    #[inline]
    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        records.cursor.skip(array.bytes)?;
        if matches!(array.element, value::BYTE | value::CHAR) {
            self.linker.strings.array(self.linker.output.node(), records.start())?;
        }
        self.linker.primitive_array::<ID, EDGES>(array.element, array.length)
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        records.skip(&record)?;
        match record {
            Record::Class { id, .. } => self.linker.class::<EDGES>(id, records.start()),
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.linker.output.node().0 >= self.nodes
    }
}

/// Where the record of a node begins. Goes through the dump up to it, so it is for errors.
///
/// # Errors
/// [`StageError::Input`], [`StageError::Io`], [`StageError::Cancelled`].
pub(super) fn offset_of(dump: &Dump, node: NodeId, context: &Context<'_>) -> Result<u64, StageError> {
    fn of<const ID: usize>(cursor: Cursor<'_>, dump: &Dump, node: NodeId) -> Result<u64, StageError> {
        let mut records = Records::<ID>::new(cursor, dump.content_bytes);
        records.visit(&mut Until { left: node.0 + 1 - FIRST })?;
        Ok(records.start())
    }
    let mut cursor = Cursor::new(Source::raw(&dump.content, &dump.name)?, context, HINT);
    header(&mut cursor)?;
    if dump.id_bytes == 4 { of::<4>(cursor, dump, node) } else { of::<8>(cursor, dump, node) }
}

/// Passes over so many objects.
struct Until {
    left: u32,
}

impl<const ID: usize> Visitor<ID> for Until {
    fn instance(&mut self, _: u64, _: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= 1;
        records.cursor.skip(length.into())
    }

    fn object_array(&mut self, _: u64, _: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= 1;
        records.cursor.skip(u64::from(length) * ID as u64)
    }

    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= 1;
        records.cursor.skip(array.bytes)
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.left -= u32::from(matches!(record, Record::Class { .. }));
        records.skip(&record)
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// Positions of the classes that were looked up last.
struct Cache {
    entries: Vec<(u64, u32)>,
}

/// Entries, as a power of two.
const CACHE: u32 = 12;

impl Cache {
    fn new() -> Self {
        Self { entries: vec![(0, u32::MAX); 1 << CACHE] }
    }

    /// Position of the class at an address, which `find` knows.
    #[inline]
    fn position(&mut self, id: u64, find: impl FnOnce(u64) -> Option<Position>) -> Option<Position> {
        // Fibonacci hashing: addresses have patterns.
        let entry = &mut self.entries[(id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CACHE)) as usize];
        if entry.0 != id {
            *entry = (id, find(id).map_or(u32::MAX, |position| position as u32));
        }
        if entry.1 == u32::MAX { None } else { Some(entry.1 as usize) }
    }
}

/// The first node that a record stands for comes after the two that none does.
const _: () = assert!(FIRST == BOOT_LOADER + 1);

impl Ids {
    /// Of a class of the dump.
    #[inline]
    #[must_use]
    pub fn of(class: Position) -> ClassId {
        ClassId(class as u32)
    }
}
