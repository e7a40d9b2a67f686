//! First pass over a dump: its classes, names, threads, and marks of other tools.

use super::classes::{Class, ClassKey, Classes, MOST_WORD, word};
use super::marks::Marks;
use super::walk::Visitor;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashSet;

/// Limit of the number of threads whose names are looked for.
const MOST_THREADS: usize = 1 << 20;

/// Result of the first pass.
pub(super) struct Gather {
    pub classes: Classes,
    pub marks: Marks,
    /// Objects of threads.
    pub threads: FxHashSet<u64>,
    /// Number of heap dumps before the current one.
    heap: u32,
    is_begun: bool,
    class: ClassKey,
}

impl Gather {
    /// Starts empty.
    pub(super) fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            classes: Classes::new(budget)?,
            marks: Marks::default(),
            threads: FxHashSet::default(),
            heap: 0,
            is_begun: false,
            class: (0, 0),
        })
    }
}

impl Visitor for Gather {
    fn unknown(&mut self, tag: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        self.marks.record(tag);
        cursor.skip(length)
    }

    fn text(&mut self, id: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        if length > MOST_WORD {
            return cursor.skip(length);
        }
        if let Some(word) = word(cursor.take(length as usize)?) {
            self.classes.grow()?;
            self.classes.words.insert(id, word);
        }
        Ok(())
    }

    fn names(&mut self, class: Option<u64>, names: &[u64]) -> Result<(), StageError> {
        names.iter().try_for_each(|&name| self.classes.name(name))?;
        if let (Some(class), Some(&name)) = (class, names.first()) {
            self.classes.grow()?;
            self.classes.named.insert(class, name);
        }
        Ok(())
    }

    fn heap(&mut self) {
        self.heap += u32::from(self.is_begun);
        self.is_begun = true;
    }

    fn thread(&mut self, object: u64) {
        if self.threads.len() < MOST_THREADS {
            self.threads.insert(object);
        }
    }

    fn class(&mut self, id: u64, superclass: u64) -> Result<(), StageError> {
        self.class = (self.heap, id);
        self.classes.grow()?;
        self.classes.classes.insert(self.class, Class { superclass, fields: Vec::new() });
        Ok(())
    }

    fn value(&mut self, name: Option<u64>, _: u8, _: &[u8]) -> Result<(), StageError> {
        name.map_or(Ok(()), |name| self.classes.name(name))
    }

    fn field(&mut self, name: u64, kind: u8) -> Result<(), StageError> {
        self.classes.name(name)?;
        self.classes.grow()?;
        if let Some(class) = self.classes.classes.get_mut(&self.class) {
            class.fields.push((name, kind));
        }
        Ok(())
    }

    fn array(&mut self, _: u64, element: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        self.marks.array(element, cursor.ahead(), length);
        cursor.skip(length)
    }
}
