//! The second pass over a dump: class, size and edges of each object.

use super::big_endian::id;
use super::containers::ContainerWriter;
use super::dump::{BOOT_LOADER, Damage};
use super::heap::Heap;
use super::keys::{Ids, synthetic};
use super::kinds::{EdgeNames, edge_kind, node_kind};
use super::layouts::Position;
use super::record::{PrimitiveArray, Record};
use super::records::{Records, Visitor};
use super::references::UnlistedWriter;
use super::roots::Roots;
use super::sizes::Sizes;
use super::special::Text;
use super::strings::StringsWriter;
use super::targets::Targets;
use super::type_cache::TypeCache;
use super::types::TypeDescriptor;
use super::value;
use super::variables::Variables;
use crate::index::Find;
use crate::labels::Label;
use crate::output::{EdgeCounts, Essential, Output};
use heaplake_input::bytes::MOST_PIECE;
use heaplake_input::source::Source;
use heaplake_kit::{BudgetVec, StageError, WriteAt};
use heaplake_schemas::ids::{NodeId, StringId};

/// Runs the second pass, with or without a table of edges.
pub(super) struct Linker<'a, I, D, const EDGES: bool> {
    heap: &'a Heap<'a>,
    targets: Targets<'a, I, D, EDGES>,
    roots: &'a Roots,
    names: SpecialNames,
    /// Whether an edge from the root leads to each class.
    rooted: BudgetVec<bool>,
    cache: TypeCache,
    ids: Ids,
    strings: StringsWriter,
    /// Set if rules of findings read containers.
    containers: Option<ContainerWriter>,
    /// Strings that name the threads so far.
    thread_names: BudgetVec<NodeId>,
    /// Variables so far.
    variables: Variables,
    /// The next local of a thread.
    local: usize,
    /// The next class of the dump.
    class: Position,
    /// Whether a stack chunk of a virtual thread occurred.
    has_stacks: bool,
    /// First inconsistency, if damage is tolerated.
    damage: Option<Damage>,
}

/// Names of edges.
pub(super) struct SpecialNames {
    /// Names of the kinds of roots.
    pub roots: Vec<StringId>,
    /// Synthetic names of edges without a name in the dump.
    pub pseudo: EdgeNames,
    /// Static fields with their classes, if requested.
    pub statics: BudgetVec<u32>,
}

/// Result of the pass.
pub(super) struct Linked<I> {
    /// Numbers of edges.
    pub edges: EdgeCounts,
    /// The index.
    pub index: I,
    /// Strings that name the threads.
    pub thread_names: BudgetVec<NodeId>,
    /// Variables of Clojure.
    pub variables: Variables,
    /// Whether a stack chunk of a virtual thread occurred, with its size in the virtual machine.
    pub has_stacks: bool,
    /// First inconsistency, if damage is tolerated.
    pub damage: Option<Damage>,
}

impl<'a, I: Find, D: WriteAt<u8>, const EDGES: bool> Linker<'a, I, D, EDGES> {
    /// Prepares the pass.
    pub(super) fn create(
        heap: &'a Heap<'a>,
        index: I,
        output: Output<D>,
        roots: &'a Roots,
        names: SpecialNames,
    ) -> Result<Self, StageError> {
        let types = &heap.types.descriptors;
        let mut rooted = heap.job.context.budget.filled("rooted classes", types.len(), false)?;
        for (class, rooted) in types.iter().zip(rooted.iter_mut()) {
            *rooted = roots.edges.binary_search_by_key(&class.node, |edge| edge.to).is_ok();
        }
        Ok(Self {
            targets: Targets::new(&heap.types, index, output, UnlistedWriter::create(&rooted, heap.job)?),
            heap,
            roots,
            names,
            rooted,
            cache: TypeCache::new(),
            ids: Ids::new(types.len()),
            strings: StringsWriter::create(heap.job.scratch)?,
            containers: if heap.containers.is_some() { Some(ContainerWriter::create(heap.job.scratch)?) } else { None },
            thread_names: heap.job.context.budget.growing("names of threads"),
            variables: Variables::new(heap.special.variables, &heap.job.context.budget),
            local: 0,
            class: 0,
            has_stacks: false,
            damage: heap.types.damage.clone(),
        })
    }

    /// Visits the dump.
    pub(super) fn all(self) -> Result<Linked<I>, StageError> {
        match self.heap.dump.id_bytes {
            4 => self.visit::<4>(),
            _ => self.visit::<8>(),
        }
    }

    fn visit<const ID: usize>(mut self) -> Result<Linked<I>, StageError> {
        self.root()?;
        self.boot_loader()?;
        let source = Source::raw(&self.heap.dump.content, &self.heap.dump.name, true)?;
        let mut records = Records::<ID>::of(self.heap.dump, source, self.heap.job.context)?;
        records.visit(&mut self)?;
        records.cursor.drain()?;
        self.heap.dump.same(records.cursor.identity())?;
        if self.targets.node.0 < self.heap.nodes as u32 {
            let offset = records.cursor.offset();
            return Err(self.heap.dump.error(
                offset,
                "the objects that the first pass found",
                "the end of the content",
            ));
        }
        let Self { strings, containers, targets, heap, thread_names, variables, has_stacks, damage, .. } = self;
        strings.finish()?;
        if let Some(containers) = containers {
            containers.finish()?;
        }
        let (edges, index) = targets.finish(heap.job.scratch)?;
        Ok(Linked { edges, index, thread_names, variables, has_stacks, damage })
    }

    /// Adds the root and its edges.
    fn root(&mut self) -> Result<(), StageError> {
        for edge in self.roots.edges.iter() {
            let name = self.names.roots[edge.kind as usize].0;
            self.targets.edge(edge.to, edge_kind::ROOT, || name, (Essential::Yes, Label::Unnamed))?;
        }
        self.targets.end(node_kind::ROOT, self.ids.synthetic(synthetic::ROOT), 0)
    }

    /// Adds the boot loader, the loader of classes without one.
    fn boot_loader(&mut self) -> Result<(), StageError> {
        let (class, size) = match self.heap.special.loader {
            Some(class) => (Ids::of(class), self.heap.types.layout(class).size),
            // Its fields are unknown.
            None => (self.ids.synthetic(synthetic::BOOT_LOADER), 0),
        };
        self.class_edge(self.heap.special.loader)?;
        self.targets.end(node_kind::INSTANCE, class, size)
    }

    #[inline]
    fn class_edge(&mut self, class: Option<Position>) -> Result<(), StageError> {
        let Some(class) = class else { return Ok(()) };
        let essential = if self.rooted[class] { Essential::Implied } else { Essential::Yes };
        self.targets.class(self.heap.types.descriptors[class].node, essential)
    }

    /// Records a string and the array of its text.
    #[inline]
    fn string<const ID: usize>(&mut self, string: Text, body: &[u8]) -> Result<(), StageError> {
        let value = string.value as usize;
        if value + ID <= body.len()
            && let Some(array) = self.targets.index.find(id::<ID>(body, value))?
        {
            let coder = string.coder.and_then(|at| body.get(at as usize)).copied();
            self.strings.push(self.targets.node, array, coder)?;
        }
        Ok(())
    }

    /// Returns the string that names a thread.
    #[cold]
    fn thread_name<const ID: usize>(&mut self, class: Position, body: &[u8]) -> Result<Option<NodeId>, StageError> {
        let field = self.heap.special.thread_name;
        let at = field.and_then(|field| self.heap.types.reference(class, field)).map(|at| at as usize);
        let address = at.filter(|at| at + ID <= body.len()).map_or(0, |at| id::<ID>(body, at));
        Ok(self.targets.index.find(address)?)
    }

    /// Adds an instance of a missing class; only its length is known.
    #[cold]
    fn instance_of_nothing<const ID: usize>(
        &mut self,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        self.missing(class, records.start)?;
        records.cursor.skip(length.into())?;
        if self.is_thread() {
            self.thread(None)?;
        }
        let sizes = &self.heap.dump.sizes;
        self.targets.end(
            node_kind::INSTANCE,
            self.ids.synthetic(synthetic::INSTANCE),
            sizes.aligned(sizes.header() + u64::from(length)),
        )
    }

    /// Handles an object of a missing class as damage.
    fn missing(&mut self, class: u64, offset: u64) -> Result<(), StageError> {
        self.tolerate(offset, "an object of a class that the dump holds".to_owned(), format!("one of {class:#x}"))
    }

    /// Skips damage if it is tolerated, and records the first.
    #[cold]
    fn tolerate(&mut self, offset: u64, expected: String, found: String) -> Result<(), StageError> {
        let damage = Damage::tolerated(self.heap.dump, (offset, expected, found), self.heap.job)?;
        self.damage.get_or_insert(damage);
        Ok(())
    }

    fn class(&mut self, id: u64, offset: u64) -> Result<(), StageError> {
        let types = &self.heap.types;
        let Some(class) = types.descriptors[..].get(self.class).filter(|class| class.id == id) else {
            return Err(self.heap.dump.error(offset, "the class that the first pass found", format!("{id:#x}")));
        };
        self.class += 1;
        let TypeDescriptor { superclass, loader, .. } = *class;
        self.class_edge(self.heap.special.class)?;
        let (superclass_label, loader_label) =
            (Label::Named(self.names.pseudo.superclass.0), Label::Named(self.names.pseudo.loader.0));
        if let Some(superclass) = types.position(superclass) {
            let to = types.descriptors[superclass].node;
            self.targets.edge(to, edge_kind::SUPERCLASS, || 0, (Essential::Yes, superclass_label))?;
        }
        let loader = if loader == 0 { Some(NodeId(BOOT_LOADER)) } else { self.targets.index.find(loader)? };
        if let Some(loader) = loader {
            self.targets.edge(loader, edge_kind::LOADER, || 0, (Essential::Yes, loader_label))?;
        }
        for position in class.statics() {
            let field = &types.statics[position];
            if field.value != 0
                && let Some(to) = self.targets.index.find(field.value)?
            {
                let label = self.names.statics[..].get(position).map_or(Label::Unnamed, |&name| Label::Named(name));
                self.targets.edge(to, edge_kind::STATIC, || field.name.0, (Essential::Yes, label))?;
            }
        }
        if self.is_thread() {
            self.thread(None)?;
        }
        let id = self.heap.special.class.map_or(self.ids.synthetic(synthetic::CLASS), Ids::of);
        self.targets.end(node_kind::CLASS, id, types.static_size(class, &self.heap.dump.sizes))
    }

    /// Whether the current node is a thread.
    #[inline]
    fn is_thread(&self) -> bool {
        let next = self.roots.threads[..].get(self.thread_names.len());
        next.is_some_and(|thread| thread.node == self.targets.node)
    }

    /// Adds the locals of the current thread's stack. One object may represent several threads.
    #[cold]
    fn thread(&mut self, name: Option<NodeId>) -> Result<(), StageError> {
        let node = self.targets.node;
        while self.is_thread() {
            self.thread_names.push(name.unwrap_or(NodeId::NONE))?;
        }
        while let Some(local) = self.roots.locals[..].get(self.local).filter(|local| local.thread == node) {
            self.local += 1;
            let frame = local.frame.get().unwrap_or(self.names.roots[local.kind as usize].0);
            self.targets.edge(local.to, edge_kind::LOCAL, || frame, (Essential::Yes, Label::Named(frame)))?;
        }
        Ok(())
    }
}

impl<I, D, const ID: usize, const EDGES: bool> Visitor<ID> for Linker<'_, I, D, EDGES>
where
    I: Find,
    D: WriteAt<u8>,
{
    #[inline]
    fn instance(&mut self, _id: u64, class: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        let types = &self.heap.types;
        let Some(class) = self.cache.position(class, |id| types.position(id)) else {
            return self.instance_of_nothing::<ID>(class, length, records);
        };
        let layout = types.layout(class);
        if layout.body != length {
            let expected = format!("an instance with {} bytes of fields, as its class says", layout.body);
            self.tolerate(records.start, expected, length.to_string())?;
        }
        if length as usize > MOST_PIECE {
            return self.instance_of_nothing::<ID>(0, length, records);
        }
        let body = records.cursor.take(length as usize)?;
        self.class_edge(Some(class))?;
        for (position, slot) in types.slots(layout).iter().enumerate() {
            let at = slot.at as usize;
            // Only a damaged dump has instances shorter than their fields.
            if at + ID > body.len() {
                continue;
            }
            let address = id::<ID>(body, at);
            if address == 0 {
                continue;
            }
            self.targets.field(address, *slot, position)?;
        }
        if let Some(string) = self.heap.special.string.filter(|string| string.class == class) {
            self.string::<ID>(string, body)?;
        }
        if let (Some(writer), Some(containers)) = (&mut self.containers, &self.heap.containers) {
            writer.instance::<ID>(containers, class, self.targets.node, body, &mut self.targets.index)?;
        }
        self.variables.instance::<ID>(class, self.targets.node, body, &mut self.targets.index)?;
        if self.is_thread() {
            let name = self.thread_name::<ID>(class, body)?;
            self.thread(name)?;
        }
        let size = match self.heap.special.stack.filter(|stack| stack.class == class) {
            Some(stack) => {
                self.has_stacks = true;
                stack.size(body, &self.heap.dump.sizes)
            }
            None => layout.size,
        };
        self.targets.end(node_kind::INSTANCE, Ids::of(class), size)
    }

    #[inline]
    fn object_array(
        &mut self,
        _id: u64,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        let types = &self.heap.types;
        let class = match self.cache.position(class, |id| types.position(id)) {
            Some(class) => Some(class),
            None => self.missing(class, records.start).map(|()| None)?,
        };
        self.class_edge(class)?;
        let (mut left, mut number) = (u64::from(length) * ID as u64, 0);
        while left > 0 {
            let piece = records.cursor.some(ID, left)?;
            for element in piece.chunks_exact(ID) {
                let address = id::<ID>(element, 0);
                if address != 0 {
                    self.targets.element(address, number)?;
                }
                number += 1;
            }
            left -= piece.len() as u64;
        }
        if self.is_thread() {
            self.thread(None)?;
        }
        let Sizes { reference, .. } = self.heap.dump.sizes;
        let size = self.heap.dump.sizes.array(u64::from(length) * reference, reference);
        let class = class.map_or(self.ids.synthetic(synthetic::OBJECT_ARRAY), Ids::of);
        self.targets.end(node_kind::OBJECT_ARRAY, class, size)
    }

    #[inline]
    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        records.cursor.skip(array.bytes)?;
        let PrimitiveArray { element, length, .. } = array;
        if matches!(element, value::BYTE | value::CHAR) {
            self.strings.array(self.targets.node, records.start)?;
        }
        let class = self.heap.special.arrays.get(element as usize).copied().flatten();
        self.class_edge(class)?;
        if self.is_thread() {
            self.thread(None)?;
        }
        // The first pass has checked the width of the type.
        let width = value::width(element, ID).unwrap_or(1) as u64;
        let id = class.map_or(self.ids.synthetic(element.into()), Ids::of);
        self.targets.end(node_kind::PRIMITIVE_ARRAY, id, self.heap.dump.sizes.array(u64::from(length) * width, width))
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        records.skip(&record)?;
        match record {
            Record::Class { id, .. } => self.class(id, records.start),
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.targets.node.0 >= self.heap.nodes as u32
    }
}
