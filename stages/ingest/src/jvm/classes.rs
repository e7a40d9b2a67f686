//! The classes of a dump: what they are called, how their instances are laid out, and how large those are.
//!
//! Classes are held in memory: some 80 bytes each, 8 per field and 16 per static reference, all of it counted.

use super::names::{Texts, class_name};
use super::records::{ClassPart, value};
use super::sizes::Sizes;
use crate::names::Names;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{BudgetVec, ColumnReader, ColumnWriter, Context, Reservation, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::Column;
use rustc_hash::FxHashMap;

/// A class as the dump has it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Class {
    /// Its address.
    pub id: u64,
    /// That of the class that it extends; 0 for none.
    pub superclass: u64,
    /// That of its loader; 0 for the boot loader.
    pub loader: u64,
    /// Where the dump has it.
    pub offset: u64,
    /// Its node.
    pub node: NodeId,
    /// Its name for people.
    pub name: StringId,
    /// Its first one of [`FIELDS`].
    pub first_field: u32,
    /// How many they are.
    pub fields: u32,
    /// Its first one of [`STATICS`].
    pub first_static: u32,
    /// How many they are.
    pub statics: u32,
    /// Bytes of its other static fields.
    pub static_bytes: u32,
    /// Not used.
    pub padding: u32,
}

/// A field of instances.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Field {
    /// Its name; [`StringId::NONE`] where the dump has none.
    pub name: StringId,
    /// Its type, as the format numbers them.
    pub kind: u32,
}

/// A static field that is a reference.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Static {
    /// What it refers to.
    pub value: u64,
    /// Its name; [`StringId::NONE`] where the dump has none.
    pub name: StringId,
    /// Not used.
    pub padding: u32,
}

/// The classes, in the order of the dump.
pub const CLASSES: Column<Class> = Column::new("jvm.class");
/// Fields of their instances, those of one class together, in the order in which instances have them.
pub const FIELDS: Column<Field> = Column::new("jvm.field");
/// Their static references, those of one class together.
pub const STATICS: Column<Static> = Column::new("jvm.static");

/// Takes down the classes of a dump as they come.
pub struct ClassWriter {
    classes: BudgetVec<Class>,
    fields: BudgetVec<Field>,
    statics: BudgetVec<Static>,
    /// Ids of the names of fields and of static fields, which may be known later only.
    field_names: BudgetVec<u64>,
    static_names: BudgetVec<u64>,
    /// Class and name of the records of loading.
    loaded: BudgetVec<(u64, u64)>,
    /// Serial number and class of the same.
    serials: BudgetVec<(u32, u64)>,
}

impl ClassWriter {
    /// None yet.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
        let budget = &context.budget;
        Self {
            classes: budget.growing("classes"),
            fields: budget.growing("fields"),
            statics: budget.growing("static fields"),
            field_names: budget.growing("names of fields"),
            static_names: budget.growing("names of static fields"),
            loaded: budget.growing("loaded classes"),
            serials: budget.growing("loaded classes"),
        }
    }

    /// A class got loaded.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn load(&mut self, serial: u32, class: u64, name: u64) -> Result<(), StageError> {
        self.loaded.push((class, name))?;
        self.serials.push((serial, class))
    }

    /// Where the fields of the next class begin, among fields and static fields.
    #[must_use]
    pub fn mark(&self) -> (u32, u32) {
        (self.fields.len() as u32, self.statics.len() as u32)
    }

    /// A part of the next class; gives the bytes of a static field that is no reference.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn part(&mut self, part: ClassPart) -> Result<u32, StageError> {
        match part {
            ClassPart::Field { name, kind } => {
                self.field_names.push(name)?;
                self.fields.push(Field { name: StringId::NONE, kind: kind.into() })?;
            }
            ClassPart::Static { name, kind: value::OBJECT, value } => {
                self.static_names.push(name)?;
                self.statics.push(Static { value, name: StringId::NONE, padding: 0 })?;
            }
            ClassPart::Static { kind, .. } => return Ok(value::width(kind, 0).unwrap_or(0) as u32),
        }
        Ok(0)
    }

    /// A class whose parts were given since `mark`.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn class(&mut self, class: Class, mark: (u32, u32)) -> Result<(), StageError> {
        let (first_field, first_static) = mark;
        let (fields, statics) = (self.fields.len() as u32 - first_field, self.statics.len() as u32 - first_static);
        self.classes.push(Class { first_field, fields, first_static, statics, ..class })
    }

    /// Gives everything its name and writes it.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn finish(mut self, texts: &Texts, names: &mut Names, scratch: &Scratch) -> Result<Loaded, StageError> {
        let mut name_of = |id: u64| texts.get(id).map_or(Ok(StringId::NONE), |text| names.intern(text));
        for (field, &name) in self.fields.iter_mut().zip(self.field_names.iter()) {
            field.name = name_of(name)?;
        }
        for (field, &name) in self.statics.iter_mut().zip(self.static_names.iter()) {
            field.name = name_of(name)?;
        }
        let loaded = Loaded::new(self.loaded, self.serials);
        for class in self.classes.iter_mut() {
            class.name = match loaded.name(class.id, texts) {
                Some(text) => names.intern(&class_name(text))?,
                None => names.intern(format!("(unnamed class {:#x})", class.id).as_bytes())?,
            };
        }
        write(scratch, CLASSES, &self.classes)?;
        write(scratch, FIELDS, &self.fields)?;
        write(scratch, STATICS, &self.statics)?;
        Ok(loaded)
    }
}

/// What the dump calls its classes.
pub struct Loaded {
    /// Class and id of its name, by class.
    names: BudgetVec<(u64, u64)>,
    /// Serial number and class, by number.
    serials: BudgetVec<(u32, u64)>,
}

impl Loaded {
    fn new(mut names: BudgetVec<(u64, u64)>, mut serials: BudgetVec<(u32, u64)>) -> Self {
        names.sort_unstable();
        serials.sort_unstable();
        Self { names, serials }
    }

    /// Name of a class.
    #[must_use]
    pub fn name<'a>(&self, class: u64, texts: &'a Texts) -> Option<&'a [u8]> {
        let at = self.names.partition_point(|&(id, _)| id < class);
        self.names.get(at).filter(|&&(id, _)| id == class).and_then(|&(_, name)| texts.get(name))
    }

    /// Name of the class with a serial number.
    #[must_use]
    pub fn name_by_serial<'a>(&self, serial: u32, texts: &'a Texts) -> Option<&'a [u8]> {
        let at = self.serials.binary_search_by_key(&serial, |&(serial, _)| serial).ok()?;
        self.name(self.serials[at].1, texts)
    }
}

fn write<T: Pod>(scratch: &Scratch, column: Column<T>, items: &[T]) -> Result<(), StageError> {
    let mut writer = ColumnWriter::create(scratch, column)?;
    writer.extend(items)?;
    writer.finish().map(drop)
}

/// Reads a column into memory.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`].
pub fn load<T: Pod>(
    scratch: &Scratch,
    context: &Context<'_>,
    who: &'static str,
    column: Column<T>,
) -> Result<BudgetVec<T>, StageError> {
    let mut reader = ColumnReader::open(scratch, column)?;
    let mut items = context.budget.zeroed(who, reader.remaining() as usize)?;
    reader.read_into(&mut items)?;
    Ok(items)
}

/// How the instances of a class are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Shallow size of an instance, bytes.
    pub size: u64,
    /// Bytes of an instance in the dump.
    pub body: u32,
    /// Its first one of the references of [`Classes`].
    first: u32,
    /// How many they are.
    count: u32,
}

/// Where a reference lies in the body of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Bytes from the beginning of the body.
    pub at: u32,
    /// Position in [`Classes::fields`], and [`WEAK`].
    field: u32,
}

/// Marks a reference that does not hold what it refers to.
const WEAK: u32 = 1 << 31;

impl Slot {
    /// Position in [`Classes::fields`].
    #[inline]
    #[must_use]
    pub fn field(&self) -> usize {
        (self.field & !WEAK) as usize
    }

    /// Whether the reference holds what it refers to.
    #[inline]
    #[must_use]
    pub fn holds(&self) -> bool {
        self.field & WEAK == 0
    }
}

/// All classes of a dump, in memory.
pub struct Classes {
    /// The classes, in the order of the dump.
    pub classes: BudgetVec<Class>,
    /// Fields of their instances.
    pub fields: BudgetVec<Field>,
    /// Their static references.
    pub statics: BudgetVec<Static>,
    layouts: BudgetVec<Layout>,
    slots: BudgetVec<Slot>,
    by_id: FxHashMap<u64, u32>,
    _reservation: Reservation,
}

/// Position of a class in the dump.
pub type Position = usize;

/// A class that cannot be laid out: its position, what should be and what is.
pub struct Misfit(pub Position, pub &'static str, pub String);

/// What a class is while its superclasses are being laid out.
const UNKNOWN: Layout = Layout { size: 0, body: u32::MAX, first: 0, count: 0 };

impl Classes {
    /// Loads the classes and lays them out. With `lenient`, a class whose superclass is missing counts as one without.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`]; inside, [`Misfit`].
    pub fn load(
        scratch: &Scratch,
        context: &Context<'_>,
        id_bytes: usize,
        sizes: &Sizes,
        lenient: bool,
    ) -> Result<Result<Self, Misfit>, StageError> {
        let classes = load(scratch, context, "classes", CLASSES)?;
        let reservation =
            context.budget.reserve("classes: by address", 36 * classes.len().next_power_of_two() as u64)?;
        let mut by_id = FxHashMap::default();
        by_id.reserve(classes.len());
        for (position, class) in classes.iter().enumerate() {
            by_id.insert(class.id, position as u32);
        }
        let mut all = Self {
            fields: load(scratch, context, "fields", FIELDS)?,
            statics: load(scratch, context, "static fields", STATICS)?,
            layouts: context.budget.filled("layouts", classes.len(), UNKNOWN)?,
            slots: context.budget.growing("layouts: references"),
            classes,
            by_id,
            _reservation: reservation,
        };
        for position in 0..all.classes.len() {
            if let Err(misfit) = all.lay_out(position, id_bytes, sizes, lenient)? {
                return Ok(Err(misfit));
            }
        }
        all.align(sizes);
        Ok(Ok(all))
    }

    /// Position of the class at an address.
    #[inline]
    #[must_use]
    pub fn position(&self, id: u64) -> Option<Position> {
        self.by_id.get(&id).map(|&position| position as usize)
    }

    /// Layout of the instances of a class.
    #[inline]
    #[must_use]
    pub fn layout(&self, class: Position) -> &Layout {
        &self.layouts[class]
    }

    /// The references in instances of a class, in the order in which they lie there.
    #[inline]
    #[must_use]
    pub fn slots(&self, layout: &Layout) -> &[Slot] {
        &self.slots[layout.first as usize..(layout.first + layout.count) as usize]
    }

    /// Shallow size of a class itself: that of its static fields.
    #[must_use]
    pub fn static_size(&self, class: &Class, sizes: &Sizes) -> u64 {
        sizes.aligned(u64::from(class.static_bytes) + u64::from(class.statics) * sizes.reference)
    }

    /// Lays out a class and all above it, from the top down.
    fn lay_out(
        &mut self,
        class: Position,
        id_bytes: usize,
        sizes: &Sizes,
        lenient: bool,
    ) -> Result<Result<(), Misfit>, StageError> {
        let mut path = vec![class];
        let mut above = loop {
            let lowest = path[path.len() - 1];
            if self.layouts[lowest].body != u32::MAX {
                path.pop();
                break Some(lowest);
            }
            let superclass = self.classes[lowest].superclass;
            match self.position(superclass) {
                _ if superclass == 0 => break None,
                None if lenient => break None,
                None => {
                    let found = format!("none at {superclass:#x}");
                    return Ok(Err(Misfit(lowest, "a superclass that the dump holds", found)));
                }
                Some(superclass) => path.push(superclass),
            }
            if path.len() > self.classes.len() {
                let found = "one that leads back to itself".to_owned();
                return Ok(Err(Misfit(lowest, "a chain of superclasses that ends", found)));
            }
        };
        for &class in path.iter().rev() {
            match self.level(class, above, id_bytes, sizes)? {
                Some(layout) => self.layouts[class] = layout,
                None => return Ok(Err(Misfit(class, "instances of less than 16 MiB", "larger ones".to_owned()))),
            }
            above = Some(class);
        }
        Ok(Ok(()))
    }

    /// Layout of a class below one that is laid out; nothing when it is larger than any class can be.
    fn level(
        &mut self,
        class: Position,
        above: Option<Position>,
        id_bytes: usize,
        sizes: &Sizes,
    ) -> Result<Option<Layout>, StageError> {
        let first = self.slots.len() as u32;
        let Class { first_field, fields, .. } = self.classes[class];
        let (mut body, mut own) = (0u32, 0u64);
        for field in first_field..first_field + fields {
            let kind = self.fields[field as usize].kind as u8;
            let width = value::width(kind, id_bytes).unwrap_or(0) as u32;
            if kind == value::OBJECT {
                self.slots.push(Slot { at: body, field })?;
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
        Ok(Some(layout).filter(|layout| (layout.body as usize) < super::cursor::MOST_PIECE))
    }

    /// Turns the sizes of layouts into those of instances. Layouts build on each other unaligned.
    fn align(&mut self, sizes: &Sizes) {
        for layout in self.layouts.iter_mut() {
            layout.size = sizes.aligned(layout.size);
        }
    }

    /// Classes that are or extend one of these.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn extending(&self, tops: &[Position], context: &Context<'_>) -> Result<BudgetVec<bool>, StageError> {
        // 0 not known yet, 1 no, 2 yes.
        let mut known = context.budget.filled("classes: descent", self.classes.len(), 0u8)?;
        tops.iter().for_each(|&top| known[top] = 2);
        let mut path = Vec::new();
        for class in 0..self.classes.len() {
            let mut at = Some(class);
            while let Some(here) = at.filter(|&here| known[here] == 0) {
                path.push(here);
                at = self.position(self.classes[here].superclass);
            }
            let answer = at.map_or(1, |at| known[at]);
            path.drain(..).for_each(|class| known[class] = answer);
        }
        let mut extending = context.budget.filled("classes: descent", self.classes.len(), false)?;
        for (answer, &known) in extending.iter_mut().zip(known.iter()) {
            *answer = known == 2;
        }
        Ok(extending)
    }

    /// Lets a field hold nothing in the instances of a class.
    pub fn weaken(&mut self, class: Position, field: usize) {
        let Layout { first, count, .. } = self.layouts[class];
        for slot in &mut self.slots[first as usize..(first + count) as usize] {
            if slot.field() == field {
                slot.field |= WEAK;
            }
        }
    }

    /// The first class of this name that has no loader but the boot loader, or else the first of this name.
    #[must_use]
    pub fn named(&self, name: &str, strings: &StringTable) -> Option<Position> {
        let is = |class: &Class| strings.get(class.name.index()) == name.as_bytes();
        let boot = self.classes.iter().position(|class| class.loader == 0 && is(class));
        boot.or_else(|| self.classes.iter().position(is))
    }

    /// The field of this name that a class declares: its position in [`Self::fields`], and where it lies in the part of
    /// an instance that belongs to the class.
    #[must_use]
    pub fn own_field(
        &self,
        class: Position,
        name: &str,
        kind: u8,
        id_bytes: usize,
        strings: &StringTable,
    ) -> Option<(usize, u32)> {
        let Class { first_field, fields, .. } = self.classes[class];
        let mut at = 0;
        for field in first_field as usize..(first_field + fields) as usize {
            let Field { name: called, kind: found } = self.fields[field];
            if found == u32::from(kind) && called.get().is_some_and(|id| strings.get(id as usize) == name.as_bytes()) {
                return Some((field, at));
            }
            at += value::width(found as u8, id_bytes).unwrap_or(0) as u32;
        }
        None
    }

    /// Where a reference that a class declares, or one above it, lies in its instances.
    #[must_use]
    pub fn reference(&self, class: Position, field: usize) -> Option<u32> {
        self.slots(self.layout(class)).iter().find(|slot| slot.field() == field).map(|slot| slot.at)
    }
}
