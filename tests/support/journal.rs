//! Journals of scratch folders, changed by a test.

/// Seals a journal again after a change to its text.
pub fn resealed(journal: &str) -> String {
    let start = r#"{"seal":""#.len() + 16 + r#"","#.len();
    let members = &journal[start..];
    format!(r#"{{"seal":"{:016x}",{members}"#, xxhash_rust::xxh3::xxh3_64(members.as_bytes()))
}
