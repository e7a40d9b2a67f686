//! Types of a trace: from the runtime's handle to a dense number.

use heaplake_kit::charge::{Charge, allocated};
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Bytes of an entry besides its name, also while lists grow.
const ENTRY: u64 = 128;

/// Bytes of a row at the end, and of a size in the pool of all sizes.
const ROW: u64 = 120;

/// What a type without a name is called.
const UNNAMED: &str = "[type without a name]";

/// All types that occurred.
pub struct Types {
    numbers: FxHashMap<u64, u32>,
    names: Vec<Option<Box<[u8]>>>,
    charge: Charge,
    /// For the rows at the end, which are made in memory.
    later: Charge,
    /// Handles that were defined again with another name: the memory of an unloaded type was reused.
    pub redefined: u64,
}

impl Types {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let charge = Charge::new(budget, "the types of the trace")?;
        let later = Charge::new(budget, "the rows of types at the end")?;
        Ok(Self { numbers: FxHashMap::default(), names: Vec::new(), charge, later, redefined: 0 })
    }

    /// Gives up what was kept for the end.
    pub fn begin_end(&mut self) {
        self.later.release();
    }

    /// Number of types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of a handle.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn number(&mut self, handle: u64) -> Result<u32, StageError> {
        match self.numbers.get(&handle) {
            Some(&number) => Ok(number),
            None => self.add(handle),
        }
    }

    #[cold]
    fn add(&mut self, handle: u64) -> Result<u32, StageError> {
        self.charge.add(ENTRY)?;
        self.later.add(ROW)?;
        let number = self.names.len() as u32;
        self.names.push(None);
        self.numbers.insert(handle, number);
        Ok(number)
    }

    /// Names a handle. Under another name it is another type from now on.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn name(&mut self, handle: u64, name: &[u8]) -> Result<(), StageError> {
        let mut number = self.number(handle)?;
        match &self.names[number as usize] {
            Some(old) if **old == *name => return Ok(()),
            Some(_) => {
                self.redefined += 1;
                number = self.add(handle)?;
            }
            None => {}
        }
        self.charge.add(allocated(name.len()))?;
        self.names[number as usize] = Some(name.into());
        Ok(())
    }

    /// The name of a type; what is no UTF-8 in it is replaced.
    #[must_use]
    pub fn text(&self, number: u32) -> String {
        match &self.names[number as usize] {
            Some(name) if !name.is_empty() => String::from_utf8_lossy(name).into_owned(),
            _ => UNNAMED.to_owned(),
        }
    }

    /// Whether objects of a type differ in size, as far as the name tells: arrays and strings do, and what has no name
    /// may.
    #[must_use]
    pub fn varies(&self, number: u32) -> bool {
        let Some(name) = self.names[number as usize].as_deref().filter(|name| !name.is_empty()) else { return true };
        // An array of any rank; arguments of a generic type also end with a bracket.
        let array = name.strip_suffix(b"]").map(<[u8]>::trim_ascii_end);
        let array = array.map(|rest| &rest[..rest.iter().rposition(|&byte| byte != b',').map_or(0, |at| at + 1)]);
        array.is_some_and(|rest| rest.ends_with(b"[")) || name == b"System.String"
    }

    /// Whether some type has a name.
    #[must_use]
    pub fn any_named(&self) -> bool {
        self.names.iter().flatten().any(|name| !name.is_empty())
    }
}
