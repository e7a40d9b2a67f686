//! Roles of the kinds of .NET heaps.

use heaplake_schemas::roles::{Names, Roles};

/// Returns the roles.
#[must_use]
pub(crate) fn roles() -> Roles {
    Roles {
        part_kinds: Names::of(&["array"]),
        texts: Names::of(&["string"]),
        plain_texts: Names::of(&["string"]),
        common_classes: Names::of(&["(*", "*[]"]),
        ..Roles::default()
    }
}
