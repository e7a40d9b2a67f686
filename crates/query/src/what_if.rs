//! `heaplake what-if`: the objects that would be freed if some references were not there.
//!
//! The answer is exact: objects that the root reaches over essential edges, but no longer if the cut ones are removed.
//! All cuts are searched at once ([`reach`](crate::reach)). Circles that no root reaches are no part of the heap here,
//! although the table of nodes has them below the root.
//!
//! The answer also has the frontier of a cut: the targets of cut references and of freed objects that remain reachable,
//! by class, with the references that keep them. Objects that dominate a target of the cut (a parent to which children
//! refer) are left out.
//!
//! Cost: memory of 57 bytes per node, 4 per essential edge, and about 24 per cut one; three passes over the table of edges.

mod heap;

use crate::asked::Asked;
use crate::cut::{Cut, What};
use crate::edges::{Edge, each};
use crate::error::QueryError;
use crate::reach::{Forward, Variants};
use heap::Heap;
use heaplake_kit::StageError;
use heaplake_lake::nearest::{clause, nearest};
use heaplake_lake::reader::{Reader, damaged};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

/// Most cuts of a question: each has a bit, and so have all of them together and none.
pub const MOST: usize = 62;

/// Answer: for each cut, the objects that it would free.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WhatIf {
    /// Bytes of all objects that the root reaches.
    pub heap_bytes: u64,
    /// Each cut by itself, as asked.
    pub cuts: Vec<Freed>,
    /// All cuts together, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<Freed>,
}

/// Objects that a cut would free. Sizes are in bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Freed {
    /// The cut; that of all together is their list.
    pub cut: String,
    /// References that it cuts.
    pub references: u64,
    /// Objects that they lead to.
    pub targets: u64,
    /// Shallow size of the objects that it frees.
    pub freed_bytes: u64,
    /// Their number.
    pub freed_objects: u64,
    /// Their classes, the largest first.
    pub classes: Vec<FreedClass>,
    /// Reachable objects that are targets of cut references or of freed objects, by class, in descending order of the
    /// bytes that they retain.
    pub kept: Vec<Kept>,
}

/// Freed objects of a class.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FreedClass {
    /// Class name.
    pub class: String,
    /// Their number.
    pub objects: u64,
    /// Their shallow size.
    pub bytes: u64,
}

/// Objects of a class that stay.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Kept {
    /// Class name.
    pub class: String,
    /// Their number.
    pub objects: u64,
    /// Bytes that they retain, each counted once.
    pub retained_bytes: u64,
    /// References that keep them, by class of the holder, the most first.
    pub holders: Vec<Holder>,
}

/// References that keep objects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Holder {
    /// Class of the objects that have them.
    pub class: String,
    /// Their label; `[]` for elements, `*` for several, null for none.
    pub edge: Option<String>,
    /// Their number.
    pub references: u64,
    /// An object that has one.
    pub node: u32,
}

/// Asks which objects cuts would free; at most `most` classes and holders are listed of each.
///
/// # Errors
/// [`QueryError`] also if the run has no table of edges, if there are more than [`MOST`] cuts, or if one cuts nothing.
pub fn ask(asked: &Asked, cuts: &[Cut], most: usize) -> Result<WhatIf, QueryError> {
    let Some(edges) = asked.edges() else {
        let cause = format!("{}: this run has no table of edges", asked.folder.display());
        return Err(QueryError::usage(cause, &format!("make it again: {}", asked.command_for_edges())));
    };
    if cuts.len() > MOST {
        return Err(QueryError::usage(format!("{} cuts are too many", cuts.len()), "ask for at most 62 at a time"));
    }
    let heap = Heap::read(asked, cuts)?;
    let mut question = Question::new(cuts, heap);
    question.read(&edges)?;
    question.assert_all_cut(asked, &edges)?;
    let reached = question.search();
    question.answer(&asked.nodes(), &edges, &reached, most).map_err(QueryError::from)
}

/// A question with the graph.
struct Question<'a> {
    cuts: &'a [Cut],
    heap: Heap,
    /// Cuts of elements.
    elements: Variants,
    /// Cuts of fields, by name, as far as they were asked for.
    fields: RefCell<FxHashMap<String, Variants>>,
    forward: Forward,
    /// References that each cut takes, and those of all together, which come last.
    references: Vec<u64>,
    /// Targets of each.
    targets: Vec<Vec<u32>>,
}

impl<'a> Question<'a> {
    fn new(cuts: &'a [Cut], heap: Heap) -> Self {
        let is_of_elements = |cut: &Cut| matches!(cut.what, What::Elements { .. });
        let elements = (0..).zip(cuts).filter(|(_, cut)| is_of_elements(cut)).fold(0, |bits, (at, _)| bits | 1 << at);
        Self {
            cuts,
            elements,
            fields: RefCell::default(),
            forward: Forward::new(),
            references: vec![0; cuts.len() + 1],
            targets: vec![Vec::new(); cuts.len() + 1],
            heap,
        }
    }

    /// The bit of all cuts together. That of none is the next one.
    fn together(&self) -> usize {
        self.cuts.len()
    }

    /// Cuts of the class of an object, or of the object that it is a part of.
    fn of_holder(&self, node: u32) -> Variants {
        let of = |class: u32| self.heap.of_class.get(&class).copied().unwrap_or(0);
        of(self.heap.class[node as usize]) | of(self.heap.holder[node as usize])
    }

    /// Variants that lack an edge.
    fn lacking(&self, edge: &Edge<'_>) -> Variants {
        let of_class = self.of_holder(edge.from);
        let mut lacking = self.heap.of_node.get(&edge.to).copied().unwrap_or(0);
        if of_class != 0 {
            let elements = if edge.label() == Some("[]") { self.elements } else { 0 };
            lacking |= of_class & (elements | edge.name.map_or(0, |name| self.of_field(name)));
        }
        if lacking == 0 { 0 } else { lacking | 1 << self.together() }
    }

    /// Cuts of a field, whatever the class.
    fn of_field(&self, name: &str) -> Variants {
        if let Some(known) = self.fields.borrow().get(name) {
            return *known;
        }
        let is_cut = |cut: &Cut| matches!(&cut.what, What::Field { field, .. } if field.matches(name));
        let bits = (0..).zip(self.cuts).filter(|(_, cut)| is_cut(cut)).fold(0, |bits, (at, _)| bits | 1 << at);
        let mut fields = self.fields.borrow_mut();
        if fields.len() < FIELDS {
            fields.insert(name.to_owned(), bits);
        }
        bits
    }

    /// Reads the graph.
    fn read(&mut self, table: &Path) -> Result<(), StageError> {
        let count = self.heap.len();
        let read = each(table, count, true, |edge| {
            if edge.from < self.forward.last() {
                return Err(damaged(table, format!("expected edges by source, found one from {}", edge.from)));
            }
            let lacking = self.lacking(edge);
            self.forward.add(edge.from, edge.to, lacking);
            self.heap.is_held[edge.to as usize] = false;
            for at in (0..=self.cuts.len()).filter(|at| lacking >> at & 1 == 1) {
                self.references[at] += 1;
                self.targets[at].push(edge.to);
            }
            Ok(())
        });
        for targets in &mut self.targets {
            targets.sort_unstable();
            targets.dedup();
        }
        read
    }

    /// Refuses a cut that takes no reference; names the fields of its classes that are near.
    fn assert_all_cut(&self, asked: &Asked, table: &Path) -> Result<(), QueryError> {
        let Some(at) = (0..self.cuts.len()).find(|&at| self.references[at] == 0) else { return Ok(()) };
        if let What::Object(_) = self.cuts[at].what {
            let cause = format!("{}: no reference leads to {}", asked.folder.display(), self.cuts[at]);
            return Err(QueryError::usage(cause, "the root itself holds it, or nothing does: cut references below it"));
        }
        let mut fields = BTreeSet::new();
        each(table, self.heap.len(), true, |edge| {
            if self.of_holder(edge.from) >> at & 1 == 1 {
                fields.extend(edge.label().filter(|_| fields.len() < FIELDS).map(str::to_owned));
            }
            Ok(())
        })?;
        let near = match &self.cuts[at].what {
            What::Field { field, .. } => clause(&nearest(field.as_str(), fields.iter().cloned())),
            What::Elements { .. } | What::Object(_) => String::new(),
        };
        let some: Vec<&str> = fields.iter().map(String::as_str).take(SHOWN).collect();
        let there = if some.is_empty() { String::new() } else { format!("; there are {}", some.join(", ")) };
        let cause = format!("{}: no reference is {}{near}{there}", asked.folder.display(), self.cuts[at]);
        Err(QueryError::usage(cause, "name a field as Class.field, elements as Class[], an object as @ and its id"))
    }

    /// Which variants reach each node; the bit after that of all together is for no cut.
    fn search(&mut self) -> Vec<Variants> {
        let all = Variants::MAX >> (63 - (self.together() + 1));
        let held = (0..).zip(&self.heap.is_held).filter(|(_, is_held)| **is_held).map(|(node, _)| node);
        let roots: Vec<u32> = [self.heap.root].into_iter().chain(held).collect();
        self.forward.reached(self.heap.len(), &roots, all)
    }

    fn answer(&self, nodes: &Path, edges: &Path, reached: &[Variants], most: usize) -> Result<WhatIf, StageError> {
        let (base, frontier) = (self.together() + 1, self.frontier(edges, reached)?);
        let (mut heap_bytes, mut retained) = (0, FxHashMap::default());
        let mut freed: Vec<FxHashMap<u32, (u64, u64)>> = vec![FxHashMap::default(); base];
        let mut batches = Reader::open(nodes)?.columns(&["shallow_bytes", "retained_bytes"])?;
        while let Some(batch) = batches.batch()? {
            let (shallow, all) = (batch.sizes("shallow_bytes")?, batch.sizes("retained_bytes")?);
            for row in 0..batch.len() {
                let node = batch.first_row() as usize + row;
                let (bits, bytes) = (reached[node], shallow.value(row));
                if frontier[node] != 0 {
                    retained.insert(node as u32, all.value(row));
                }
                if bits >> base & 1 == 0 {
                    continue;
                }
                heap_bytes = u64::saturating_add(heap_bytes, bytes);
                for (_, freed) in freed.iter_mut().enumerate().filter(|(at, _)| bits >> at & 1 == 0) {
                    let class: &mut (u64, u64) = freed.entry(self.heap.class[node]).or_default();
                    *class = (class.0 + 1, class.1.saturating_add(bytes));
                }
            }
        }
        let mut kept = self.kept(&frontier, &retained, most);
        self.read_holders(edges, (reached, &frontier), &mut kept)?;
        let mut cuts = Vec::with_capacity(base);
        for (at, (freed, kept)) in freed.into_iter().zip(kept).enumerate() {
            let all = || self.cuts.iter().map(Cut::to_string).collect::<Vec<_>>().join(" and ");
            cuts.push(Freed {
                cut: self.cuts.get(at).map_or_else(all, Cut::to_string),
                references: self.references[at],
                targets: self.targets[at].len() as u64,
                freed_bytes: freed.values().fold(0, |sum, class| sum.saturating_add(class.1)),
                freed_objects: freed.values().map(|class| class.0).sum(),
                classes: self.classes(freed, most),
                kept: kept.into_iter().map(|(class, kept)| self.named(class, kept, most)).collect(),
            });
        }
        let together = cuts.pop().filter(|_| self.cuts.len() > 1);
        Ok(WhatIf { heap_bytes, cuts, together })
    }

    /// For each node, the cuts whose frontier it is in.
    fn frontier(&self, edges: &Path, reached: &[Variants]) -> Result<Vec<Variants>, StageError> {
        let base = self.together() + 1;
        let mut frontier: Vec<Variants> = vec![0; self.heap.len()];
        each(edges, self.heap.len(), true, |edge| {
            let from = reached[edge.from as usize];
            let lacking = self.lacking(edge);
            if from >> base & 1 == 1 && (lacking != 0 || !edge.is_to_class()) {
                let gone = !from | lacking;
                frontier[edge.to as usize] |= gone & reached[edge.to as usize] & !(1 << base);
            }
            Ok(())
        })?;
        for (at, targets) in self.targets.iter().enumerate() {
            let mut positions: Vec<u32> = targets.iter().map(|&node| self.heap.place[node as usize].0).collect();
            positions.sort_unstable();
            let is_in = |(_, bits): &(u32, &mut Variants)| **bits >> at & 1 == 1;
            for (node, bits) in (0..).zip(&mut frontier).filter(is_in) {
                // A target that stays is in it, an object above one is not.
                if targets.binary_search(&node).is_err() && self.heap.dominates_any(node, &positions) {
                    *bits &= !(1 << at);
                }
            }
        }
        Ok(frontier)
    }

    /// Number and retained bytes of the frontier of each cut, for the classes that retain most.
    fn kept(&self, frontier: &[Variants], retained: &FxHashMap<u32, u64>, most: usize) -> Vec<Vec<(u32, Keeping)>> {
        let cuts = self.together() + 1;
        let mut kept: Vec<FxHashMap<u32, Keeping>> = vec![FxHashMap::default(); cuts];
        for node in self.heap.preorder().into_iter().filter(|&node| frontier[node as usize] != 0) {
            let (position, end) = self.heap.place[node as usize];
            let bytes = retained.get(&node).copied().unwrap_or(0);
            for (_, kept) in kept.iter_mut().enumerate().filter(|(at, _)| frontier[node as usize] >> at & 1 == 1) {
                let keeping = kept.entry(self.heap.class[node as usize]).or_default();
                keeping.objects += 1;
                // The bytes of an object below another of its class are part of the other's retained size.
                if position >= keeping.end {
                    (keeping.end, keeping.bytes) = (end, keeping.bytes.saturating_add(bytes));
                }
            }
        }
        let largest = |kept: FxHashMap<u32, Keeping>| {
            let mut kept: Vec<(u32, Keeping)> = kept.into_iter().collect();
            kept.sort_by_key(|(class, keeping)| (Reverse(keeping.bytes), Reverse(keeping.objects), self.name(*class)));
            kept.truncate(most);
            kept
        };
        kept.into_iter().map(largest).collect()
    }

    /// Adds the references that keep the frontier of each cut.
    fn read_holders(
        &self,
        edges: &Path,
        (reached, frontier): (&[Variants], &[Variants]),
        kept: &mut [Vec<(u32, Keeping)>],
    ) -> Result<(), StageError> {
        each(edges, self.heap.len(), true, |edge| {
            let bits = frontier[edge.to as usize] & reached[edge.from as usize];
            // An object that only the target keeps does not keep it.
            if bits == 0 || self.heap.dominates(edge.to, edge.from) {
                return Ok(());
            }
            let bits = bits & !self.lacking(edge);
            let (class, holder) = (self.heap.class[edge.to as usize], self.heap.holder[edge.from as usize]);
            for (_, kept) in kept.iter_mut().enumerate().filter(|(at, _)| bits >> at & 1 == 1) {
                if let Some((_, keeping)) = kept.iter_mut().find(|(of, _)| *of == class) {
                    keeping.add(holder, edge);
                }
            }
            Ok(())
        })
    }

    fn name(&self, class: u32) -> String {
        self.heap.names.get(&class).cloned().unwrap_or_default()
    }

    fn classes(&self, freed: FxHashMap<u32, (u64, u64)>, most: usize) -> Vec<FreedClass> {
        let mut classes: Vec<FreedClass> = freed
            .into_iter()
            .map(|(class, (objects, bytes))| FreedClass { class: self.name(class), objects, bytes })
            .collect();
        classes.sort_by(|a, b| (Reverse(a.bytes), &a.class).cmp(&(Reverse(b.bytes), &b.class)));
        classes.truncate(most);
        classes
    }

    fn named(&self, class: u32, keeping: Keeping, most: usize) -> Kept {
        let holder = |(class, (references, node, edge)): (u32, (u64, u32, Option<String>))| Holder {
            class: self.name(class),
            edge,
            references,
            node,
        };
        let mut holders: Vec<Holder> = keeping.holders.into_iter().map(holder).collect();
        holders
            .sort_by(|a, b| (Reverse(a.references), &a.class, a.node).cmp(&(Reverse(b.references), &b.class, b.node)));
        holders.truncate(most);
        Kept { class: self.name(class), objects: keeping.objects, retained_bytes: keeping.bytes, holders }
    }
}

/// The frontier of a cut in one class.
#[derive(Clone, Debug, Default)]
struct Keeping {
    objects: u64,
    bytes: u64,
    /// Position behind the last object whose bytes were counted.
    end: u32,
    /// By class of the holder: references, an object with one, their label.
    holders: FxHashMap<u32, (u64, u32, Option<String>)>,
}

impl Keeping {
    /// Adds a reference of a holder.
    fn add(&mut self, holder: u32, edge: &Edge<'_>) {
        let new = || (0, edge.from, edge.label().map(str::to_owned));
        let (references, _, label) = self.holders.entry(holder).or_insert_with(new);
        *references += 1;
        if label.as_deref() != edge.label() && label.as_deref() != Some("*") {
            *label = Some("*".to_owned());
        }
    }
}

/// Field names remembered, or collected for an error.
const FIELDS: usize = 10_000;
/// Field names shown in an error.
const SHOWN: usize = 8;
