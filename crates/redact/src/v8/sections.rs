//! The sections of a snapshot: the members of its object, in the order of the file.

use heaplake_input::bytes::Bytes;
use heaplake_kit::StageError;

/// Length limit of a key, bytes.
const MOST_KEY: usize = 1 << 10;

/// Calls `visit` with each key, before its value, which `visit` must consume. Returns the remark about text behind the
/// object.
///
/// # Errors
/// [`StageError::Input`] if this is no JSON object, or if a key comes twice.
pub fn each(
    scanner: &mut Bytes<'_>,
    mut visit: impl FnMut(&[u8], &mut Bytes<'_>) -> Result<(), StageError>,
) -> Result<Option<String>, StageError> {
    scanner.skip_byte_order_mark()?;
    scanner.expect(b'{', "a V8 heap snapshot, which begins with {")?;
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let mut first = true;
    loop {
        scanner.peek_token()?;
        let offset = scanner.offset();
        let Some(key) = scanner.next_key(&mut first, MOST_KEY)? else { break };
        if seen.contains(&key) {
            let found = format!("a second {:?}", String::from_utf8_lossy(&key));
            return Err(scanner.error(offset, "each key once", found));
        }
        if seen.len() == MOST_KEYS {
            return Err(scanner.error(offset, format!("at most {MOST_KEYS} keys"), "another one"));
        }
        visit(&key, scanner)?;
        seen.push(key);
    }
    scanner.behind()
}

/// Limit of the number of keys.
const MOST_KEYS: usize = 1 << 8;
