//! Last pass over a dump: writes it with masked contents.

use super::classes::{Care, ClassKey, Classes, Plan, Step};
use super::contents::{Contents, Of};
use super::walk::{BOOLEAN, BYTE, CHAR, HINT, OBJECT, Visitor};
use crate::options::Options;
use crate::sink::Sink;
use crate::summary::{Masked, Summary};
use heaplake_input::bytes::Bytes;
use heaplake_kit::StageError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Kinds of masked things.
#[derive(Clone, Copy)]
enum Kind {
    Bytes,
    Chars,
    Numbers,
    Fields,
    Boxed,
    Statics,
    Texts,
    Unknown,
    Foreign,
}

/// Their names in the summary.
const KINDS: [&str; 9] = [
    "byte arrays",
    "char arrays",
    "arrays of numbers",
    "fields",
    "boxed values",
    "static fields and constants",
    "texts of the dump",
    "records with unknown tags",
    "instances of unknown classes",
];

/// Writes a dump.
pub(super) struct Write<'a, 's> {
    classes: &'a Classes,
    contents: Contents<'a>,
    /// Arrays that stay: names of threads.
    kept: &'a FxHashSet<u64>,
    sink: &'a mut Sink<'s>,
    plans: FxHashMap<ClassKey, Option<Plan>>,
    heap: u32,
    is_begun: bool,
    /// The current class, and its number of values so far.
    class: u64,
    values: u32,
    body: Vec<u8>,
    counts: [Masked; KINDS.len()],
}

impl<'a, 's> Write<'a, 's> {
    /// Starts the output.
    pub(super) fn new(
        classes: &'a Classes,
        options: &'a Options,
        kept: &'a FxHashSet<u64>,
        sink: &'a mut Sink<'s>,
    ) -> Self {
        Self {
            classes,
            contents: Contents::new(options),
            kept,
            sink,
            plans: FxHashMap::default(),
            heap: 0,
            is_begun: false,
            class: 0,
            values: 0,
            body: Vec::new(),
            counts: [Masked::default(); KINDS.len()],
        }
    }

    /// Adds the counts to a summary.
    pub(super) fn finish(self, summary: &mut Summary) -> Result<(), StageError> {
        self.sink.flush()?;
        let counts = KINDS.into_iter().zip(self.counts).filter(|(_, masked)| masked.count > 0);
        summary.masked.extend(counts);
        Ok(())
    }

    #[inline]
    fn count(&mut self, kind: Kind, bytes: u64) {
        let masked = &mut self.counts[kind as usize];
        masked.count += 1;
        masked.bytes += bytes;
    }

    /// Writes zeros in place of a body.
    fn zeros(&mut self, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        const ZEROS: [u8; 4096] = [0; 4096];
        cursor.skip(length)?;
        let mut left = length;
        while left > 0 {
            let piece = left.min(ZEROS.len() as u64);
            self.sink.put(&ZEROS[..piece as usize])?;
            left -= piece;
        }
        Ok(())
    }

    /// Masks the fields of an instance in the buffer.
    fn fields(&mut self, key: ClassKey, offset: u64, name: &str) -> Result<(), StageError> {
        let Some(Some(plan)) = self.plans.get(&key) else { return Ok(()) };
        if plan.bytes != self.body.len() as u64 {
            let expected = format!("an instance of {} bytes, as its class says", plan.bytes);
            return Err(StageError::input(name, offset, expected, format!("{} bytes", self.body.len()), HINT));
        }
        for step in &plan.steps {
            let at = step.at as usize;
            if self.contents.value(step, &mut self.body[at..at + usize::from(step.width)]) {
                let kind = if step.care == Care::Boxed { Kind::Boxed } else { Kind::Fields };
                let masked = &mut self.counts[kind as usize];
                masked.count += 1;
                masked.bytes += u64::from(step.width);
            }
        }
        Ok(())
    }
}

impl Visitor for Write<'_, '_> {
    #[inline]
    fn keep(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        self.sink.put(bytes)
    }

    fn body(&mut self, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        let mut left = length;
        while left > 0 {
            let piece = cursor.some(1, left)?;
            left -= piece.len() as u64;
            self.sink.put(piece)?;
        }
        Ok(())
    }

    fn unknown(&mut self, _: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        self.count(Kind::Unknown, length);
        self.zeros(length, cursor)
    }

    fn text(&mut self, id: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        if self.classes.is_name(id) {
            return self.body(length, cursor);
        }
        self.count(Kind::Texts, length);
        self.contents.mask(Of::Text, length, cursor, self.sink)
    }

    fn heap(&mut self) {
        self.heap += u32::from(self.is_begun);
        self.is_begun = true;
    }

    fn class(&mut self, id: u64, _: u64) -> Result<(), StageError> {
        (self.class, self.values) = (id, 0);
        Ok(())
    }

    fn value(&mut self, name: Option<u64>, kind: u8, value: &[u8]) -> Result<(), StageError> {
        self.values += 1;
        if kind == OBJECT {
            return self.sink.put(value);
        }
        let care = name.map_or(Care::Number, |name| self.classes.care(self.class, name, kind));
        let step = Step { at: self.values, width: value.len() as u8, is_boolean: kind == BOOLEAN, care };
        let mut masked = [0; 8];
        let masked = &mut masked[..value.len()];
        masked.copy_from_slice(value);
        if self.contents.value(&step, masked) {
            self.count(Kind::Statics, value.len() as u64);
        }
        self.sink.put(masked)
    }

    fn instance(&mut self, _: u64, class: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        let key = (self.heap, class);
        let plan = self.plans.entry(key).or_insert_with(|| self.classes.plan(key));
        if plan.is_none() {
            self.count(Kind::Foreign, length);
            return self.zeros(length, cursor);
        }
        let offset = cursor.offset();
        self.body.clear();
        self.body.extend_from_slice(cursor.take(length as usize)?);
        self.fields(key, offset, cursor.name())?;
        self.sink.put(&self.body)
    }

    fn array(&mut self, id: u64, element: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        if !self.contents.masks_array(element) || self.kept.contains(&id) {
            return self.body(length, cursor);
        }
        let kind = match element {
            BYTE => Kind::Bytes,
            CHAR => Kind::Chars,
            _ => Kind::Numbers,
        };
        self.count(kind, length);
        self.contents.mask(Of::Array(element), length, cursor, self.sink)
    }
}
