//! Layouts and sizes of the instances of classes.

use super::dump::{Damage, Dump};
use super::fields::Placed;
use super::hidden::HiddenFields;
use super::sizes::Sizes;
use super::types::{DESCRIPTORS, FIELDS, Field, STATICS, Static, TypeDescriptor, load};
use super::value;
use heaplake_input::bytes::MOST_PIECE;
use heaplake_kit::{BudgetVec, Context, Job, Reservation, StageError, StringTable};
use heaplake_schemas::scratch::STRINGS;
use rustc_hash::FxHashMap;

/// Layout of the instances of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Shallow size of an instance, bytes.
    pub size: u64,
    /// Bytes of an instance in the dump.
    pub body: u32,
    /// Its first slot in [`Types`].
    first: u32,
    /// Its number of slots.
    count: u32,
}

/// Position of a reference in the body of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Bytes from the start of the body.
    pub at: u32,
    /// Position in [`Types::fields`], with the bits [`WEAK`] and [`REFERENT`].
    field: u32,
}

/// Marks a reference that does not keep its target alive.
const WEAK: u32 = 1 << 31;
/// Marks the referent of a weak, soft, phantom or final reference.
const REFERENT: u32 = 1 << 30;

impl Slot {
    /// Position in [`Types::fields`].
    #[inline]
    pub(crate) fn field(&self) -> usize {
        (self.field & !(WEAK | REFERENT)) as usize
    }

    /// Whether the reference keeps its target alive.
    #[inline]
    pub(crate) fn is_essential(&self) -> bool {
        self.field & WEAK == 0
    }

    /// Whether it is the referent of a weak, soft, phantom or final reference.
    #[inline]
    pub(crate) fn is_referent(&self) -> bool {
        self.field & REFERENT != 0
    }
}

/// All classes of a dump, in memory.
pub(crate) struct Types {
    /// The classes, in the order of the dump.
    pub descriptors: BudgetVec<TypeDescriptor>,
    /// Fields of their instances.
    pub fields: BudgetVec<Field>,
    /// Their static references.
    pub statics: BudgetVec<Static>,
    layouts: BudgetVec<Layout>,
    slots: BudgetVec<Slot>,
    by_id: FxHashMap<u64, u32>,
    /// With HotSpot's sizes: bytes of an instance of `java.lang.Class` without its static fields.
    mirror: u64,
    /// First inconsistency of superclasses, if damage is tolerated.
    pub damage: Option<Damage>,
    /// Bytes of an id.
    pub id_bytes: usize,
    _reservation: Reservation,
}

/// Limit of the superclass chain of [`Types::all_fields`].
const LEVELS: usize = 64;

/// Position of a class in the dump.
pub(crate) type Position = usize;

/// Placeholder until a class is laid out.
const UNKNOWN: Layout = Layout { size: 0, body: u32::MAX, first: 0, count: 0 };

impl Types {
    /// Loads the classes and lays them out. If damage is tolerated, a class with a missing or cyclic superclass becomes
    /// one without a superclass.
    pub(crate) fn load(dump: &Dump, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let descriptors = load(scratch, context, "classes", DESCRIPTORS)?;
        let reservation =
            context.budget.reserve("classes: by address", 36 * descriptors.len().next_power_of_two() as u64)?;
        let mut by_id = FxHashMap::default();
        by_id.reserve(descriptors.len());
        for (position, class) in descriptors.iter().enumerate() {
            by_id.insert(class.id, position as u32);
        }
        let mut all = Self {
            fields: load(scratch, context, "fields", FIELDS)?,
            statics: load(scratch, context, "static fields", STATICS)?,
            layouts: context.budget.filled("layouts", descriptors.len(), UNKNOWN)?,
            slots: context.budget.growing("layouts: references"),
            descriptors,
            by_id,
            mirror: 0,
            damage: None,
            id_bytes: dump.id_bytes.into(),
            _reservation: reservation,
        };
        all.settle_superclasses(dump, job)?;
        for position in 0..all.descriptors.len() {
            all.lay_out(position, dump)?;
        }
        if dump.sizes.heads.is_some() {
            all.place_fields(&dump.sizes, job)?;
        }
        all.align(&dump.sizes);
        Ok(all)
    }

    /// Returns the position of the class at an address.
    #[inline]
    pub(crate) fn position(&self, id: u64) -> Option<Position> {
        self.by_id.get(&id).map(|&position| position as usize)
    }

    /// Returns the layout of the instances of a class.
    #[inline]
    pub(crate) fn layout(&self, class: Position) -> &Layout {
        &self.layouts[class]
    }

    /// Returns the references in instances of a class, by offset.
    #[inline]
    pub(crate) fn slots(&self, layout: &Layout) -> &[Slot] {
        &self.slots[layout.first as usize..(layout.first + layout.count) as usize]
    }

    /// Shallow size of a class itself: its static fields; with HotSpot's sizes they follow the fields of an instance of
    /// `java.lang.Class`.
    pub(crate) fn static_size(&self, class: &TypeDescriptor, sizes: &Sizes) -> u64 {
        if sizes.heads.is_some() {
            let references = self.statics[class.statics()].iter().filter(|field| field.elsewhere == 0).count() as u64;
            let end = self.mirror + references * sizes.reference;
            let end = if class.has_wide_static == 0 { end } else { end.next_multiple_of(8) };
            return sizes.aligned(end + u64::from(class.static_bytes));
        }
        sizes.aligned(u64::from(class.static_bytes) + u64::from(class.statics) * sizes.reference)
    }

    /// Checks that every superclass exists and that no chain of superclasses is cyclic, on which all later code relies.
    /// If damage is tolerated, cuts the offending superclass. Visits each class at most twice.
    fn settle_superclasses(&mut self, dump: &Dump, job: &Job<'_>) -> Result<(), StageError> {
        // The class whose walk met each class first, plus one; 0 for none.
        let mut met = job.context.budget.filled("classes: superclasses", self.descriptors.len(), 0u32)?;
        for first in 0..self.descriptors.len() {
            let mut class = first;
            while met[class] == 0 {
                met[class] = first as u32 + 1;
                let TypeDescriptor { superclass, offset, .. } = self.descriptors[class];
                let (expected, found) = match self.position(superclass) {
                    _ if superclass == 0 => break,
                    Some(above) if met[above] != first as u32 + 1 => {
                        class = above;
                        continue;
                    }
                    Some(_) => ("a chain of superclasses that ends", "one that leads back to itself".to_owned()),
                    None => ("a superclass that the dump holds", format!("none at {superclass:#x}")),
                };
                let damage = Damage::tolerated(dump, (offset, expected, found), job)?;
                self.damage.get_or_insert(damage);
                self.descriptors[class].superclass = 0;
                break;
            }
        }
        Ok(())
    }

    /// Lays out a class and its superclasses, from the top down.
    fn lay_out(&mut self, class: Position, dump: &Dump) -> Result<(), StageError> {
        let mut path = Vec::new();
        let mut above = Some(class);
        while let Some(class) = above.filter(|&class| self.layouts[class].body == u32::MAX) {
            path.push(class);
            above = self.position(self.descriptors[class].superclass);
        }
        for &class in path.iter().rev() {
            let Some(layout) = self.level(class, above, &dump.sizes)? else {
                let offset = self.descriptors[class].offset;
                return Err(dump.error(offset, "instances of less than 16 MiB", "larger ones"));
            };
            self.layouts[class] = layout;
            above = Some(class);
        }
        Ok(())
    }

    /// Returns the layout of a class whose superclass `above` is laid out; `None` if it exceeds the limit of a class.
    fn level(&mut self, class: Position, above: Option<Position>, sizes: &Sizes) -> Result<Option<Layout>, StageError> {
        let first = self.slots.len() as u32;
        let (mut body, mut own) = (0u32, 0u64);
        for field in self.descriptors[class].fields() {
            let kind = self.fields[field].kind as u8;
            let width = value::width(kind, self.id_bytes).unwrap_or(0) as u32;
            if kind == value::OBJECT {
                self.slots.push(Slot { at: body, field: field as u32 })?;
                own += sizes.reference;
            } else {
                own += u64::from(width);
            }
            body += width;
        }
        let Some(above) = above else {
            let size = sizes.header();
            return Ok(Some(Layout { size, body, first, count: self.slots.len() as u32 - first }));
        };
        let inherited = self.layouts[above];
        for slot in inherited.first..inherited.first + inherited.count {
            let Slot { at, field } = self.slots[slot as usize];
            self.slots.push(Slot { at: at + body, field })?;
        }
        let size = sizes.level(inherited.size, own);
        if u32::try_from(self.slots.len()).is_err() {
            return Err(StageError::Overflow("the number of fields"));
        }
        let layout = Layout { size, body: body + inherited.body, first, count: self.slots.len() as u32 - first };
        Ok(Some(layout).filter(|layout| (layout.body as usize) < MOST_PIECE))
    }

    /// Sets the sizes of layouts by HotSpot's placement of fields.
    fn place_fields(&mut self, sizes: &Sizes, job: &Job<'_>) -> Result<(), StageError> {
        let strings = StringTable::open(job.scratch, STRINGS)?;
        let hidden = HiddenFields::find(&self.descriptors, &strings);
        let mut gaps = job.context.budget.growing("fields: gaps");
        // Range of the gaps of each completed class.
        let mut done = job.context.budget.filled("fields: gaps of classes", self.descriptors.len(), None)?;
        let mut path = Vec::new();
        for class in 0..self.descriptors.len() {
            let mut at = Some(class);
            while let Some(here) = at.filter(|&here| done[here].is_none()) {
                path.push(here);
                at = self.position(self.descriptors[here].superclass);
            }
            let mut placed = Placed { end: sizes.header() as u32, gaps: Vec::new() };
            if let Some((above, (first, count))) = at.and_then(|above| Some((above, done[above]?))) {
                placed.end = self.layouts[above].size as u32;
                placed.gaps.extend_from_slice(&gaps[first as usize..(first + count) as usize]);
            }
            for class in path.drain(..).rev() {
                let own = &self.fields[self.descriptors[class].fields()];
                let (group, apart) = hidden.groups(class, own, &strings);
                placed.place(group, sizes.reference as u32);
                if !apart.is_empty() {
                    placed.place_apart(&apart, sizes.reference as u32);
                }
                self.layouts[class].size = placed.end.into();
                done[class] = Some((gaps.len() as u32, placed.gaps.len() as u32));
                placed.gaps.iter().try_for_each(|&gap| gaps.push(gap))?;
            }
        }
        let mirror = self.named("java.lang.Class", &strings).map_or(sizes.header(), |class| self.layouts[class].size);
        self.mirror = mirror.next_multiple_of(8);
        Ok(())
    }

    /// Rounds the sizes of layouts up to sizes of instances; until here layouts build on each other unaligned.
    fn align(&mut self, sizes: &Sizes) {
        for layout in self.layouts.iter_mut() {
            layout.size = sizes.aligned(layout.size);
        }
    }

    /// Returns which classes are, or extend, one of `tops`.
    pub(crate) fn extending(&self, tops: &[Position], context: &Context<'_>) -> Result<BudgetVec<bool>, StageError> {
        // 0 unknown, 1 no, 2 yes.
        let mut known = context.budget.filled("classes: descent", self.descriptors.len(), 0u8)?;
        tops.iter().for_each(|&top| known[top] = 2);
        let mut path = Vec::new();
        for class in 0..self.descriptors.len() {
            let mut at = Some(class);
            while let Some(here) = at.filter(|&here| known[here] == 0) {
                path.push(here);
                at = self.position(self.descriptors[here].superclass);
            }
            let answer = at.map_or(1, |at| known[at]);
            path.drain(..).for_each(|class| known[class] = answer);
        }
        let mut extending = context.budget.filled("classes: descent", self.descriptors.len(), false)?;
        for (answer, &known) in extending.iter_mut().zip(known.iter()) {
            *answer = known == 2;
        }
        Ok(extending)
    }

    /// Marks a field of a class's instances as a referent; `holds` says whether it keeps its target alive.
    pub(crate) fn refer(&mut self, class: Position, field: usize, holds: bool) {
        let Layout { first, count, .. } = self.layouts[class];
        for slot in &mut self.slots[first as usize..(first + count) as usize] {
            if slot.field() == field {
                slot.field |= if holds { REFERENT } else { REFERENT | WEAK };
            }
        }
    }

    /// Returns the class of this name with the boot loader as its loader, otherwise the first class of this name.
    pub(crate) fn named(&self, name: &str, strings: &StringTable) -> Option<Position> {
        let is = |class: &TypeDescriptor| strings.get(class.name.index()) == name.as_bytes();
        let boot = self.descriptors.iter().position(|class| class.loader == 0 && is(class));
        boot.or_else(|| self.descriptors.iter().position(is))
    }

    /// Returns a field that a class declares: its position in [`Self::fields`], and its offset in the class's own part
    /// of an instance.
    pub(crate) fn own_field(
        &self,
        class: Position,
        name: &str,
        kind: u8,
        strings: &StringTable,
    ) -> Option<(usize, u32)> {
        let mut at = 0;
        for field in self.descriptors[class].fields() {
            let Field { name: called, kind: found } = self.fields[field];
            if found == u32::from(kind) && called.get().is_some_and(|id| strings.get(id as usize) == name.as_bytes()) {
                return Some((field, at));
            }
            at += value::width(found as u8, self.id_bytes).unwrap_or(0) as u32;
        }
        None
    }

    /// Returns the fields of an instance with their offsets, from its class up through the superclasses.
    pub(crate) fn all_fields(&self, class: Position) -> impl Iterator<Item = (Field, usize)> {
        let above = |class: &Position| self.position(self.descriptors[*class].superclass);
        let classes = std::iter::successors(Some(class), above).take(LEVELS);
        let fields = classes.flat_map(|class| &self.fields[self.descriptors[class].fields()]);
        fields.scan(0, |end, field| {
            let at = *end;
            *end += value::width(field.kind as u8, self.id_bytes).unwrap_or(0);
            Some((*field, at))
        })
    }

    /// Returns the offset of a declared or inherited reference field in instances of a class.
    pub(crate) fn reference(&self, class: Position, field: usize) -> Option<u32> {
        self.slots(self.layout(class)).iter().find(|slot| slot.field() == field).map(|slot| slot.at)
    }
}
