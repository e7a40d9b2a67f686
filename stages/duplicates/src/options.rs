//! What the user can choose.

/// How far to go, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Whether references are looked into, of all classes.
    pub all: bool,
    /// Classes (by `ClassId`) of which they are looked into in any case; one flag for each class, or none at all.
    pub classes: Vec<bool>,
    /// How many pairs of slots may be compared where nothing quicker decides.
    pub work: u64,
}

impl Choices {
    /// Whether references of a class are looked into.
    #[must_use]
    pub fn looks_into(&self, class: usize) -> bool {
        self.all || self.classes.get(class).copied().unwrap_or(false)
    }

    /// Whether those of any class are.
    #[must_use]
    pub fn looks_into_any(&self) -> bool {
        self.all || self.classes.contains(&true)
    }
}
