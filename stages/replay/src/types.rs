//! Types of a trace: from the runtime's handles to dense numbers.

use crate::symbols::Symbols;
use heaplake_input::nettrace::payload::Type;
use heaplake_kit::memory_account::{MemoryAccount, allocated};
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes per entry without its name, list growth included.
const ENTRY: u64 = 128;

/// Bytes per row at the end, and per size in the pool of all sizes.
const ROW: u64 = 120;

/// Name of unnamed types.
const UNNAMED: &str = "[type without a name]";

/// Deepest nesting of types in a name, and its length in bytes after which arguments are left out.
const DEEPEST: usize = 32;
const LONGEST: usize = 1000;

/// Names from symbol files, by module and token; and the modules.
pub(crate) struct TokenNames<'a> {
    /// Names of types.
    pub names: &'a FxHashMap<(u64, u32), String>,
    /// The modules.
    pub symbols: &'a Symbols,
}

/// A type without a name in the trace.
struct Description {
    module: u64,
    token: u32,
    is_array: bool,
    /// Handles of the element type, or of generic arguments.
    parameters: Vec<u64>,
}

/// All types that occurred.
pub struct Types {
    numbers: FxHashMap<u64, u32>,
    names: Vec<Option<Box<[u8]>>>,
    account: MemoryAccount,
    /// Account of the rows at the end, which are made in memory.
    later: MemoryAccount,
    /// Descriptions of unnamed types.
    described: FxHashMap<u32, Description>,
    /// Names found for these.
    found: FxHashMap<u32, Box<str>>,
    /// Handles redefined with another name: memory of an unloaded type was reused.
    pub redefined: u64,
}

impl Types {
    /// Returns an empty set.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let account = MemoryAccount::new(budget, "the types of the trace")?;
        let later = MemoryAccount::new(budget, "the rows of types at the end")?;
        Ok(Self {
            numbers: FxHashMap::default(),
            names: Vec::new(),
            described: FxHashMap::default(),
            found: FxHashMap::default(),
            account,
            later,
            redefined: 0,
        })
    }

    /// Releases the reserve for the end.
    pub fn begin_end(&mut self) {
        self.later.release();
    }

    /// Number of types.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no types.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the number of a handle.
    #[inline]
    pub fn number(&mut self, handle: u64) -> Result<u32, StageError> {
        match self.numbers.get(&handle) {
            Some(&number) => Ok(number),
            None => self.add(handle),
        }
    }

    #[cold]
    fn add(&mut self, handle: u64) -> Result<u32, StageError> {
        self.account.add(ENTRY)?;
        self.later.add(ROW)?;
        let number = self.names.len() as u32;
        self.names.push(None);
        self.numbers.insert(handle, number);
        Ok(number)
    }

    /// Names a handle. With another name it is another type from now on.
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
        self.account.add(allocated(name.len()))?;
        self.names[number as usize] = Some(name.into());
        Ok(())
    }

    /// Returns the name of a type; invalid UTF-8 is replaced.
    pub fn text(&self, number: u32) -> String {
        match &self.names[number as usize] {
            Some(name) if !name.is_empty() => String::from_utf8_lossy(name).into_owned(),
            _ => self.found.get(&number).map_or(UNNAMED, |name| name).to_owned(),
        }
    }

    /// Describes an unnamed type.
    pub fn describe(&mut self, definition: Type) -> Result<(), StageError> {
        let number = self.number(definition.id)?;
        let (module, token, is_array) = (definition.module, definition.token, definition.is_array());
        self.account.add(ENTRY + allocated(8 * definition.parameters.len()))?;
        self.described.insert(number, Description { module, token, is_array, parameters: definition.parameters });
        Ok(())
    }

    /// Returns modules and tokens of the described but unnamed types.
    pub fn unnamed(&self) -> BTreeMap<u64, BTreeSet<u32>> {
        let mut unnamed: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        let is_unnamed = |number: u32| self.names[number as usize].is_none();
        for (_, of) in self.described.iter().filter(|(number, _)| is_unnamed(**number)) {
            // An array is named after its elements.
            if of.is_array && !of.parameters.is_empty() {
                continue;
            }
            unnamed.entry(of.module).or_default().insert(of.token);
        }
        unnamed
    }

    /// Names the described types from `names`; `[MODULE!TOKEN]` if no file has a name.
    pub(crate) fn find(&mut self, names: &TokenNames<'_>) -> Result<(), StageError> {
        let mut numbers: Vec<u32> = self.described.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let mut name = String::new();
            self.spell(number, names, 0, &mut name);
            self.account.add(ENTRY + allocated(name.len()))?;
            self.found.insert(number, name.into());
        }
        Ok(())
    }

    /// Appends the name of a type with those of its element type or arguments.
    fn spell(&self, number: u32, names: &TokenNames<'_>, depth: usize, name: &mut String) {
        let named = self.names[number as usize].as_deref().is_some_and(|name| !name.is_empty());
        let of = self.described.get(&number).filter(|_| !named && depth < DEEPEST);
        let Some(of) = of else { return name.push_str(&self.text(number)) };
        if let (true, [element, ..]) = (of.is_array, of.parameters.as_slice()) {
            self.spell_handle(*element, names, depth, name);
            return name.push_str("[]");
        }
        let Some(found) = names.names.get(&(of.module, of.token)) else {
            let file = names.symbols.described(of.module).map_or("?", |module| module.name);
            return *name += &format!("[{file}!{:#010x}]", of.token);
        };
        name.push_str(found);
        for (at, &argument) in of.parameters.iter().enumerate() {
            name.push(if at == 0 { '[' } else { ',' });
            if name.len() > LONGEST {
                name.push('…');
                break;
            }
            self.spell_handle(argument, names, depth, name);
        }
        if !of.parameters.is_empty() {
            name.push(']');
        }
    }

    fn spell_handle(&self, handle: u64, names: &TokenNames<'_>, depth: usize, name: &mut String) {
        match self.numbers.get(&handle) {
            Some(&number) => self.spell(number, names, depth + 1, name),
            None => name.push('?'),
        }
    }

    /// Whether objects of a type differ in size, by its name: arrays do, strings of .NET, classes of Java as
    /// objects; unnamed types may.
    pub fn varies(&self, number: u32) -> bool {
        let Some(name) = self.names[number as usize].as_deref().filter(|name| !name.is_empty()) else { return true };
        // An array of any rank; arguments of a generic type also end with a bracket.
        let array = name.strip_suffix(b"]").map(<[u8]>::trim_ascii_end);
        let array = array.map(|rest| &rest[..rest.iter().rposition(|&byte| byte != b',').map_or(0, |at| at + 1)]);
        array.is_some_and(|rest| rest.ends_with(b"[")) || [&b"System.String"[..], b"java.lang.Class"].contains(&name)
    }

    /// Whether any type has a name.
    pub fn any_named(&self) -> bool {
        self.names.iter().flatten().any(|name| !name.is_empty())
    }
}
