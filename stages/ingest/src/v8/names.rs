//! Strings by content: look-ups of well-known names in the table, and additions.

use heaplake_kit::{ColumnReader, ColumnWriter, Scratch, StageError, StringTable, StringWriter, finish_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{STRING_HASH, STRINGS};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Bits of the filter on hashes.
const FILTER: usize = 1 << 12;

/// Returns the ids of these strings, [`StringId::NONE`] for those that the table lacks, in one scan over the table's
/// hashes.
pub(super) fn find<const N: usize>(scratch: &Scratch, wanted: [&str; N]) -> Result<[StringId; N], StageError> {
    let mut ids = [StringId::NONE; N];
    ids.copy_from_slice(&find_all(scratch, &wanted)?);
    Ok(ids)
}

/// [`find`] for any number of strings.
pub(super) fn find_all<T: AsRef<[u8]>>(scratch: &Scratch, wanted: &[T]) -> Result<Vec<StringId>, StageError> {
    let mut by_hash: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    // Filter by the last bits of a hash: it rejects nearly all strings.
    let mut filter = [0u64; FILTER / 64];
    for (i, text) in wanted.iter().enumerate() {
        let hash = xxh3_64(text.as_ref());
        filter[hash as usize % FILTER / 64] |= 1 << (hash % 64);
        by_hash.entry(hash).or_default().push(i);
    }
    let mut found = vec![StringId::NONE; wanted.len()];
    let table = StringTable::open(scratch, STRINGS)?;
    let mut hashes = ColumnReader::open(scratch, STRING_HASH)?;
    let mut id = 0;
    while id < table.len() {
        for hash in hashes.next_slice(table.len() - id)? {
            let may_be = filter[*hash as usize % FILTER / 64] >> (hash % 64) & 1 == 1;
            let candidates = if may_be { by_hash.get(hash) } else { None };
            for &i in candidates.into_iter().flatten() {
                if found[i].is_none() && table.get(id) == wanted[i].as_ref() {
                    found[i] = StringId(id as u32);
                }
            }
            id += 1;
        }
    }
    Ok(found)
}

/// Returns the ids of these strings, after adding missing ones to the table.
pub(super) fn intern<T: AsRef<[u8]>>(scratch: &Scratch, wanted: &[T]) -> Result<Vec<StringId>, StageError> {
    let mut ids = find_all(scratch, wanted)?;
    if ids.iter().all(|id| !id.is_none()) {
        return Ok(ids);
    }
    let mut table = StringWriter::append(scratch, STRINGS)?;
    let mut hashes = ColumnWriter::append(scratch, STRING_HASH)?;
    let mut added: FxHashMap<&[u8], StringId> = FxHashMap::default();
    for (text, id) in wanted.iter().zip(&mut ids).filter(|(_, id)| id.is_none()) {
        let text = text.as_ref();
        *id = match added.get(text) {
            Some(&id) => id,
            None => {
                let new = StringId(u32::try_from(table.count()).map_err(|_| StageError::Overflow("the string table"))?);
                table.push(text)?;
                hashes.push(xxh3_64(text))?;
                added.insert(text, new);
                new
            }
        };
    }
    finish_all((table, hashes))?;
    Ok(ids)
}
