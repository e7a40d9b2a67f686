//! Roles of classes and kinds of nodes, by number rather than by name.

use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::roles::{NamePatterns, Roles};
use heaplake_schemas::scratch::Metadata;
use std::borrow::Cow;

/// Roles of classes, see [`Roles`].
pub(super) mod role {
    /// Parts of the runtime.
    pub(crate) const PART: u16 = 1;
    /// Classes common to every program.
    pub(crate) const COMMON: u16 = 1 << 1;
    /// Classes generated at run time.
    pub(crate) const GENERATED: u16 = 1 << 2;
    /// Containers and their parts.
    pub(crate) const CONTAINER: u16 = 1 << 3;
    pub(crate) const ENTRY: u16 = 1 << 4;
    pub(crate) const CLOSURE_CONTEXT: u16 = 1 << 5;
    /// Numbers that are objects.
    pub(crate) const BOX: u16 = 1 << 6;
    /// Object literals, by their fields.
    pub(crate) const SHAPE: u16 = 1 << 7;
    pub(crate) const VARIABLE: u16 = 1 << 8;
}

/// The roles of every class, a bit each.
pub(super) struct ClassRoles {
    of_class: BudgetVec<u16>,
    /// Roles that some class has.
    any: u16,
}

impl ClassRoles {
    /// Finds the roles of classes by their names.
    pub(super) fn of<'n>(
        classes: usize,
        name: impl Fn(usize) -> Cow<'n, str>,
        roles: &Roles,
        budget: &Budget,
    ) -> Result<Self, StageError> {
        let names = [
            (role::PART, &roles.part_classes),
            (role::COMMON, &roles.common_classes),
            (role::GENERATED, &roles.generated_classes),
            (role::CONTAINER, &roles.containers),
            (role::ENTRY, &roles.entries),
            (role::CLOSURE_CONTEXT, &roles.closure_contexts),
            (role::BOX, &roles.boxes),
            (role::SHAPE, &roles.shape_classes),
            (role::VARIABLE, &roles.variables),
        ];
        let mut of_class = budget.zeroed::<u16>("findings: roles of classes", classes)?;
        let mut any = 0;
        for (class, bits) in of_class.iter_mut().enumerate() {
            let name = name(class);
            for (bit, _) in names.iter().filter(|(_, names)| names.fit(&name)) {
                *bits |= bit;
            }
            any |= *bits;
        }
        Ok(Self { of_class, any })
    }

    #[inline]
    pub(super) fn has(&self, class: u32, role: u16) -> bool {
        self.of_class[class as usize] & role != 0
    }

    /// Whether some class has a role.
    #[inline]
    pub(super) fn any(&self, role: u16) -> bool {
        self.any & role != 0
    }
}

/// A set of kinds of nodes.
#[derive(Clone)]
pub(crate) struct Kinds([bool; 256]);

impl Kinds {
    /// Returns the kinds of an input with these names.
    pub(crate) fn of(names: &NamePatterns, metadata: &Metadata) -> Self {
        let mut kinds = [false; 256];
        kinds.iter_mut().zip(&metadata.node_kinds).for_each(|(is_in, kind)| *is_in = names.fit(kind));
        Self(kinds)
    }

    pub(crate) fn with(mut self, more: &[u8]) -> Self {
        more.iter().for_each(|&kind| self.0[usize::from(kind)] = true);
        self
    }

    #[inline]
    pub(crate) fn has(&self, kind: u8) -> bool {
        self.0[usize::from(kind)]
    }

    pub(crate) fn any(&self) -> bool {
        self.0.contains(&true)
    }
}
