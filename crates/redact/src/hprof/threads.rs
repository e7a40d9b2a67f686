//! Finds the arrays with the names of threads: from the objects of threads by their field `name`, and from a string to
//! its array by the field `value`. Each step is a pass over the dump.

use super::classes::{ClassKey, Classes};
use super::gather::Gather;
use super::pass::pass;
use super::walk::{OBJECT, Visitor, number, width};
use crate::content::Content;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Context, StageError};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the ids of the arrays.
pub(super) fn names(
    content: &mut Content,
    bytes: u64,
    gather: &Gather,
    context: &Context<'_>,
) -> Result<FxHashSet<u64>, StageError> {
    let mut strings = Follow::new(&gather.classes, "name", &gather.threads);
    pass("threads", content, bytes, &mut strings, context)?;
    let found = strings.found;
    let mut arrays = Follow::new(&gather.classes, "value", &found);
    pass("names of threads", content, bytes, &mut arrays, context)?;
    // Old libraries have the array in the thread.
    Ok(arrays.found.union(&found).copied().collect())
}

/// Follows a reference of some objects.
struct Follow<'a> {
    classes: &'a Classes,
    field: &'static str,
    from: &'a FxHashSet<u64>,
    /// Text ids of the field's name.
    ids: FxHashSet<u64>,
    places: FxHashMap<ClassKey, Option<usize>>,
    found: FxHashSet<u64>,
    heap: u32,
    is_begun: bool,
}

impl<'a> Follow<'a> {
    fn new(classes: &'a Classes, field: &'static str, from: &'a FxHashSet<u64>) -> Self {
        let (ids, places, found) = (FxHashSet::default(), FxHashMap::default(), FxHashSet::default());
        Self { classes, field, from, ids, places, found, heap: 0, is_begun: false }
    }

    /// Returns the offset of the field in instances of a class: the first of this name from the class upwards.
    fn place(&self, (heap, class): ClassKey) -> Option<usize> {
        let (mut at, mut offset) = (class, 0);
        for _ in 0..LEVELS {
            let class = self.classes.classes.get(&(heap, at))?;
            for &(name, kind) in &class.fields {
                if kind == OBJECT && self.ids.contains(&name) {
                    return Some(offset);
                }
                offset += width(kind, self.classes.id)?;
            }
            at = class.superclass;
        }
        None
    }
}

/// Superclasses followed.
const LEVELS: usize = 1 << 10;

impl Visitor for Follow<'_> {
    fn text(&mut self, id: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        if length != self.field.len() as u64 {
            return cursor.skip(length);
        }
        if cursor.take(length as usize)? == self.field.as_bytes() {
            self.ids.insert(id);
        }
        Ok(())
    }

    fn heap(&mut self) {
        self.heap += u32::from(self.is_begun);
        self.is_begun = true;
    }

    fn instance(&mut self, id: u64, class: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        if !self.from.contains(&id) {
            return cursor.skip(length);
        }
        let key = (self.heap, class);
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.place(key);
                self.places.insert(key, place);
                place
            }
        };
        let body = cursor.take(length as usize)?;
        let reference = place.and_then(|at| body.get(at..at + self.classes.id)).map_or(0, number);
        if reference != 0 {
            self.found.insert(reference);
        }
        Ok(())
    }
}
