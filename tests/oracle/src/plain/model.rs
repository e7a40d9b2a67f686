//! A heap in memory.

/// A heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Classes of instances.
    pub classes: Vec<Class>,
    /// Objects, by number.
    pub objects: Vec<Object>,
    /// Roots; an object may have more than one.
    pub roots: Vec<Root>,
}

/// The shape of a class's instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Fields with numbers.
    pub numbers: usize,
    /// Fields with references.
    pub references: usize,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// An instance: its class, its numbers, and its references, some of them null.
    Instance(usize, Vec<u8>, Vec<Option<usize>>),
    /// An array of references without nulls.
    Array(Vec<usize>),
    /// A text.
    Text(String),
}

/// A root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A handle.
    Handle(usize),
    /// A static field of a class.
    Static(usize, usize),
}

impl Object {
    /// The objects that it refers to, in order, with repetitions.
    pub fn targets(&self) -> Vec<usize> {
        match self {
            Self::Instance(_, _, references) => references.iter().copied().flatten().collect(),
            Self::Array(elements) => elements.clone(),
            Self::Text(_) => Vec::new(),
        }
    }
}

impl Root {
    /// The object.
    #[must_use]
    pub fn object(self) -> usize {
        match self {
            Self::Handle(object) | Self::Static(_, object) => object,
        }
    }
}
