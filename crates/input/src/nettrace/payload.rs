//! Payloads that several readers understand. All return `None` if the payload ends too early.

use super::cursor::Cursor;

/// Head of an event with many entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Number of the event among those of its kind in one heap walk; 0 if the kind is not numbered.
    pub index: u32,
    /// Number of entries.
    pub count: u32,
}

impl Bulk {
    /// Reads the head; `numbered` tells whether the kind is numbered.
    pub fn read(fields: &mut Cursor<'_>, numbered: bool) -> Option<Self> {
        let index = if numbered { fields.u32()? } else { 0 };
        let count = fields.u32()?;
        fields.u16()?; // instance of the runtime
        Some(Self { index, count })
    }
}

/// A type of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Address of its type descriptor, by which objects refer to it.
    pub id: u64,
    /// Address of its module.
    pub module: u64,
    /// Its metadata token in the module.
    pub token: u32,
    /// See [`Self::is_array`].
    flags: u32,
    /// Element kind, as in metadata.
    element: u8,
    /// Its name; empty if recorded without names.
    pub name: String,
    /// Element type, or generic arguments.
    pub parameters: Vec<u64>,
}

impl Type {
    /// Reads the next entry.
    pub fn read(fields: &mut Cursor<'_>) -> Option<Self> {
        let (id, module, token) = (fields.u64()?, fields.u64()?, fields.u32()?);
        let (flags, element, name) = (fields.u32()?, fields.u8()?, fields.utf16()?);
        let count = fields.u32()? as usize;
        let mut parameters = Cursor(fields.take(count.checked_mul(8)?)?);
        let parameters = std::iter::from_fn(|| parameters.u64()).collect();
        Some(Self { id, module, token, flags, element, name, parameters })
    }

    /// Creates a type of which only name and module are known.
    pub fn named(id: u64, module: u64, name: String) -> Self {
        Self { id, module, token: 0, flags: 0, element: 0, name, parameters: Vec::new() }
    }

    /// True if its objects are arrays.
    pub fn is_array(&self) -> bool {
        self.flags & 8 != 0
    }

    /// True if its objects are strings.
    pub fn is_string(&self) -> bool {
        const ELEMENT_TYPE_STRING: u8 = 14;
        self.element == ELEMENT_TYPE_STRING
    }

    /// Returns its display name: that of an array ends with brackets.
    pub fn display(&self) -> String {
        match self.is_array() && !self.name.is_empty() && !self.name.ends_with(']') {
            true => format!("{}[]", self.name),
            false => self.name.clone(),
        }
    }
}

/// A reference from outside the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Address of the object; 0 for none.
    pub object: u64,
    /// 0 stack, 1 finalizer queue, 2 handle, others beyond.
    pub kind: u8,
    /// Combination of the constants.
    pub flags: u32,
    /// Address of the reference.
    pub place: u64,
}

impl Root {
    /// The object must not move.
    pub const PINNED: u32 = 1;
    /// The reference does not keep the object alive.
    pub const WEAK: u32 = 2;
    /// The object is reference-counted by native code.
    pub const COUNTED: u32 = 8;

    /// Reads the next entry.
    pub fn read(fields: &mut Cursor<'_>, wide: bool) -> Option<Self> {
        let (object, kind, flags) = (fields.pointer(wide)?, fields.u8()?, fields.u32()?);
        Some(Self { object, kind, flags, place: fields.pointer(wide)? })
    }
}

/// An object of a heap walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its address.
    pub address: u64,
    /// Its size, bytes.
    pub size: u64,
    /// Its type.
    pub type_id: u64,
    /// Number of its references.
    pub references: u64,
}

impl Node {
    /// Reads the next entry.
    #[inline]
    pub fn read(fields: &mut Cursor<'_>, wide: bool) -> Option<Self> {
        let address = fields.pointer(wide)?;
        Some(Self { address, size: fields.u64()?, type_id: fields.u64()?, references: fields.u64()? })
    }
}

/// A module of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its address, by which types and methods refer to it.
    pub id: u64,
    /// Path of its file.
    pub path: String,
    /// GUID of its PDB; `None` in older versions of the event.
    pub pdb: Option<[u8; 16]>,
}

impl Module {
    /// Reads the whole event.
    pub fn read(fields: &mut Cursor<'_>) -> Option<Self> {
        let id = fields.u64()?;
        fields.u64()?; // assembly
        fields.take(8)?; // flags, reserved
        let (managed, native) = (fields.utf16()?, fields.utf16());
        let pdb = native.as_ref().and_then(|_| {
            fields.u16()?; // instance of the runtime
            fields.take(16)?.try_into().ok()
        });
        Some(Self { id, path: if managed.is_empty() { native? } else { managed }, pdb })
    }
}
