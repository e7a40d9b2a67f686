//! A heap in memory.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    pub classes: Vec<Class>,
    pub objects: Vec<Object>,
    /// Roots; an object may have more than one.
    pub roots: Vec<Root>,
}

/// The shape of a class's instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub numbers: usize,
    pub references: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// An instance: its class, its numbers, and its references, some of them null.
    Instance(usize, Vec<u8>, Vec<Option<usize>>),
    /// An array of references without nulls.
    Array(Vec<usize>),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
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
    #[must_use]
    pub fn object(self) -> usize {
        match self {
            Self::Handle(object) | Self::Static(_, object) => object,
        }
    }
}
