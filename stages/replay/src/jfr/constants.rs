//! The constants of a chunk: their offsets and texts.
//!
//! Checkpoint events have pools of constants, one per class. A constant is found by class and key, and parsed on
//! demand. Of constants written repeatedly, which are equal, the first one counts.

use super::chunk::{Chunk, Failure, Window, bad};
use super::cursor::Cursor;
use super::fields::{Plan, Value};
use super::metadata::{Kind, Types};
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Bytes of a constant, table growth included.
const ENTRY: u64 = 80;

/// Most constants on the way to a text: names are a symbol and its text.
const MOST_STEPS: usize = 8;

/// All constants.
pub(crate) struct Constants<'a> {
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Its classes.
    pub types: &'a Types,
    places: FxHashMap<(u32, i64), (u64, u32)>,
    account: MemoryAccount,
    window: Window,
}

impl<'a> Constants<'a> {
    /// Returns an empty set.
    pub(crate) fn new(chunk: &'a Chunk, types: &'a Types, budget: &Budget) -> Result<Self, StageError> {
        let (account, window) = (MemoryAccount::new(budget, "the constants of a chunk")?, Window::new(budget)?);
        Ok(Self { chunk, types, places: FxHashMap::default(), account, window })
    }

    /// Adds the constants of a checkpoint event at `start`.
    pub(crate) fn add(&mut self, event: &[u8], start: u64) -> Result<(), Failure> {
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
                    self.account.add(ENTRY)?;
                    entry.insert((start + begin as u64, length));
                }
            }
        }
        Ok(())
    }

    /// Returns the fields of a constant, if it exists.
    pub(crate) fn of(&mut self, class: u32, key: i64) -> Result<Option<Cursor<'_>>, Failure> {
        let Some(&(at, length)) = self.places.get(&(class, key)) else { return Ok(None) };
        let bytes = self.window.view(self.chunk, at, length.into())?;
        Ok(Some(Cursor::new(bytes, self.chunk.header.compressed)))
    }

    /// Returns the selected fields of a constant; `None` if it is missing or of another class.
    pub(crate) fn read<const N: usize>(
        &mut self,
        plan: &Plan,
        (class, key): (u32, i64),
    ) -> Result<Option<[Value; N]>, Failure> {
        let types = self.types;
        let fields = self.of(class, key)?.filter(|_| plan.is_of(class));
        Ok(fields.and_then(|mut fields| plan.read(types, &mut fields)))
    }

    /// Returns the text of a value: of a constant its own, or that of its first field.
    pub(crate) fn text(&mut self, value: &Value) -> Result<Option<String>, Failure> {
        let mut value = value.clone();
        for _ in 0..=MOST_STEPS {
            match value {
                Value::Text(text) => return Ok(Some(text)),
                Value::Constant(class, key) => value = self.first(class, key)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the text that a constant is, or its first field.
    fn first(&mut self, class: u32, key: i64) -> Result<Value, Failure> {
        let types = self.types;
        let kind = match types.classes[class as usize].fields.first() {
            _ if Some(class) == types.texts => Kind::Text,
            Some(field) if !field.list => field.kind,
            _ => return Ok(Value::None),
        };
        let Some(mut fields) = self.of(class, key)? else { return Ok(Value::None) };
        let value = match kind {
            Kind::Text => fields.text().map(|text| Value::of_text(text, types.texts)),
            Kind::Constant(of) => fields.long().map(|key| Value::Constant(of, key)),
            _ => None,
        };
        Ok(value.unwrap_or_default())
    }
}

/// Skips the head of a checkpoint; returns its number of pools.
fn pools(fields: &mut Cursor<'_>) -> Option<usize> {
    fields.int()?;
    // Event class, start, duration, distance to the previous checkpoint.
    for _ in 0..4 {
        fields.long()?;
    }
    fields.byte()?;
    fields.count()
}

fn unknown(id: Option<i64>) -> String {
    id.map_or_else(|| "the end of the event".to_owned(), |id| format!("class {id}"))
}
