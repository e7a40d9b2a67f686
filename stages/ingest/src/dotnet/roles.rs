//! Roles of the kinds of .NET heaps.

use heaplake_schemas::roles::{NamePatterns, Roles};

/// Returns the roles.
pub(crate) fn roles() -> Roles {
    Roles {
        part_kinds: NamePatterns::of(&["array"]),
        texts: NamePatterns::of(&["string"]),
        plain_texts: NamePatterns::of(&["string"]),
        common_classes: NamePatterns::of(&["(*", "*[]"]),
        ..Roles::default()
    }
}
