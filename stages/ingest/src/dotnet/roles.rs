//! What part the kinds of .NET heaps play.

use heaplake_schemas::roles::{Names, Roles};

/// The roles.
#[must_use]
pub fn roles() -> Roles {
    Roles {
        part_kinds: Names::of(&["array"]),
        texts: Names::of(&["string"]),
        plain_texts: Names::of(&["string"]),
        common_classes: Names::of(&["(*", "*[]"]),
        ..Roles::default()
    }
}
