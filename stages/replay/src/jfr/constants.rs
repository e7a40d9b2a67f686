//! The constants of a chunk: where each is, and what texts they are.
//!
//! Checkpoint events hold pools of constants, one for each class. A constant is found by its class and its key; what it
//! holds is read when it is asked for. Where one is written again, the first one counts: they are the same.

use super::chunk::{Chunk, Failure, Window, bad};
use super::cursor::{Cursor, Written};
use super::fields::{Plan, Value};
use super::metadata::{Kind, TEXT, Types};
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Bytes of a constant, also while the table grows.
const ENTRY: u64 = 80;

/// Constants that a text goes through, at most: those of a name are a symbol and its text.
const MOST_STEPS: usize = 8;

/// All constants.
pub struct Constants<'a> {
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Its classes.
    pub types: &'a Types,
    texts: Option<u32>,
    places: FxHashMap<(u32, i64), (u64, u32)>,
    charge: Charge,
    window: Window,
}

/// A field of a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    #[default]
    None,
    /// A number.
    Number(i64),
    /// The key of another constant.
    Constant(u32, i64),
    /// A text.
    Text(String),
}

impl Held {
    /// A number.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

/// Where a text goes on.
enum Next {
    Text(Option<String>),
    Constant(u32, i64),
}

impl<'a> Constants<'a> {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(chunk: &'a Chunk, types: &'a Types, budget: &Budget) -> Result<Self, StageError> {
        let (charge, window) = (Charge::new(budget, "the constants of a chunk")?, Window::new(budget)?);
        Ok(Self { chunk, types, texts: types.named(TEXT), places: FxHashMap::default(), charge, window })
    }

    /// Those of a checkpoint event, which begins at `start`.
    ///
    /// # Errors
    /// [`Bad`](super::chunk::Bad) for what is not of the format, [`StageError::Budget`].
    pub fn add(&mut self, event: &[u8], start: u64) -> Result<(), Failure> {
        let mut fields = Cursor::new(event, self.chunk.header.compressed);
        let at = |fields: &Cursor<'_>| start + fields.at() as u64;
        let pools = pools(&mut fields);
        let pools = pools.ok_or_else(|| bad(at(&fields), "pools of constants", "the end of the event"))?;
        for _ in 0..pools {
            let id = fields.long();
            let class = id.and_then(|id| self.types.number(id));
            let class = class.ok_or_else(|| bad(at(&fields), "constants of a class that is described", unknown(id)))?;
            let count = fields.count();
            let count = count.ok_or_else(|| bad(at(&fields), "a number of constants", "more than there are"))?;
            for _ in 0..count {
                let key = fields.long();
                let begin = fields.at();
                let key = key.filter(|_| self.types.skip_object(class, &mut fields, 0).is_some());
                let key = key.ok_or_else(|| bad(at(&fields), "a constant", "the end of the event"))?;
                let length = (fields.at() - begin) as u32;
                if let std::collections::hash_map::Entry::Vacant(entry) = self.places.entry((class, key)) {
                    self.charge.add(ENTRY)?;
                    entry.insert((start + begin as u64, length));
                }
            }
        }
        Ok(())
    }

    /// The fields of a constant, if there is such a one.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn of(&mut self, class: u32, key: i64) -> Result<Option<Cursor<'_>>, Failure> {
        let Some(&(at, length)) = self.places.get(&(class, key)) else { return Ok(None) };
        let bytes = self.window.view(self.chunk, at, length.into())?;
        Ok(Some(Cursor::new(bytes, self.chunk.header.compressed)))
    }

    /// The fields of a constant that are wanted; nothing where it is not there or of another class.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn read<const N: usize>(
        &mut self,
        plan: &Plan,
        (class, key): (u32, i64),
    ) -> Result<Option<[Held; N]>, Failure> {
        let (types, texts) = (self.types, self.texts);
        let Some(mut fields) = self.of(class, key)?.filter(|_| plan.is_of(class)) else { return Ok(None) };
        let Some(values) = plan.read::<N>(types, &mut fields) else { return Ok(None) };
        Ok(Some(values.map(|value| match value {
            Value::Number(number) => Held::Number(number),
            Value::Constant(class, key) => Held::Constant(class, key),
            Value::Text(at) => match written(fields.from(at).text(), texts) {
                Next::Text(text) => text.map_or(Held::None, Held::Text),
                Next::Constant(class, key) => Held::Constant(class, key),
            },
            _ => Held::None,
        })))
    }

    /// The text of such a field.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn resolve(&mut self, held: Held) -> Result<Option<String>, Failure> {
        match held {
            Held::Text(text) => Ok(Some(text)),
            Held::Constant(class, key) => self.text(class, key),
            _ => Ok(None),
        }
    }

    /// The text of a constant: its own, or that of its first field.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn text(&mut self, mut class: u32, mut key: i64) -> Result<Option<String>, Failure> {
        for _ in 0..MOST_STEPS {
            match self.next(class, key)? {
                Next::Text(text) => return Ok(text),
                Next::Constant(next, of) => (class, key) = (next, of),
            }
        }
        Ok(None)
    }

    fn next(&mut self, class: u32, key: i64) -> Result<Next, Failure> {
        let (types, texts) = (self.types, self.texts);
        let kind = match types.classes[class as usize].fields.first() {
            _ if Some(class) == texts => Kind::Text,
            Some(field) if !field.list => field.kind,
            _ => return Ok(Next::Text(None)),
        };
        let Some(mut fields) = self.of(class, key)? else { return Ok(Next::Text(None)) };
        Ok(match kind {
            Kind::Text => written(fields.text(), texts),
            Kind::Constant(of) => fields.long().map_or(Next::Text(None), |key| Next::Constant(of, key)),
            _ => Next::Text(None),
        })
    }

    /// The text of a value that was read from some bytes.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn text_of(&mut self, value: Value, fields: &Cursor<'_>) -> Result<Option<String>, Failure> {
        match value {
            Value::Constant(class, key) => self.text(class, key),
            Value::Text(at) => match written(fields.from(at).text(), self.texts) {
                Next::Text(text) => Ok(text),
                Next::Constant(class, key) => self.text(class, key),
            },
            _ => Ok(None),
        }
    }
}

fn written(written: Option<Written<'_>>, texts: Option<u32>) -> Next {
    match (written, texts) {
        (Some(Written::Constant(key)), Some(class)) => Next::Constant(class, key),
        (None | Some(Written::Null | Written::Constant(_)), _) => Next::Text(None),
        (Some(written), _) => Next::Text(Some(written.text())),
    }
}

/// What stands before the pools of a checkpoint, and their number.
fn pools(fields: &mut Cursor<'_>) -> Option<usize> {
    fields.int()?;
    // Class of the event, start, duration, distance to the checkpoint before.
    for _ in 0..4 {
        fields.long()?;
    }
    fields.byte()?;
    fields.count()
}

fn unknown(id: Option<i64>) -> String {
    id.map_or_else(|| "the end of the event".to_owned(), |id| format!("class {id}"))
}
