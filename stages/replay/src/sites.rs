//! Deaths of objects by allocating function and type.

use crate::calls::NONE;
use crate::ordered::{Space, Unordered};
use crate::replay::Replay;
use crate::tree::CallTree;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{ColumnWriter, ReadAt, StageError};
use heaplake_schemas::lifetime_sites::SiteRow;
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::replay::SITES;
use heaplake_schemas::scratch::Column;

/// Memory account of the lists.
const WHO: &str = "the functions whose objects died";

const BY_SITE: [Column<Site>; 2] = [Column::new("replay.sites.a"), Column::new("replay.sites.b")];
const BY_BYTES: [Column<Site>; 2] = [Column::new("replay.sites.c"), Column::new("replay.sites.d")];

/// A row, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Site {
    /// Its bytes, bits inverted, as the final sort key; 0 in a part.
    light: u64,
    /// Function and type.
    place: u64,
    generation: u64,
    count: u64,
    bytes: u64,
}

/// Writes the rows. `names` has the text id of each function's name.
pub(crate) fn write(replay: &Replay, calls: &mut CallTree, names: &[u32], space: Space<'_>) -> Result<(), StageError> {
    let cells = replay.cells.all();
    let most = cells.len().saturating_mul(GENERATIONS.len());
    let mut parts = Unordered::new(WHO, most, BY_SITE, space)?;
    for (number, cell) in cells.iter().enumerate() {
        let function = calls.tree.links.get(calls.nodes.get(cell.stack as usize)? as usize)?.function;
        if function == NONE {
            continue;
        }
        let deaths = replay.cells.deaths(number);
        for (&(count, bytes), generation) in deaths.iter().zip(0..).filter(|((count, _), _)| *count > 0) {
            let place = u64::from(function) << 32 | u64::from(cell.type_id);
            parts.push(Site { light: 0, place, generation, count, bytes })?;
        }
    }
    let mut parts = parts.finish()?;
    let mut rows = Unordered::new(WHO, most, BY_BYTES, space)?;
    let mut last: Option<Site> = None;
    while let Some(part) = parts.pop()? {
        match &mut last {
            Some(row) if (row.place, row.generation) == (part.place, part.generation) => {
                row.count = row.count.saturating_add(part.count);
                row.bytes = row.bytes.saturating_add(part.bytes);
            }
            _ => {
                if let Some(row) = last.replace(part) {
                    rows.push(Site { light: !row.bytes, ..row })?;
                }
            }
        }
    }
    if let Some(row) = last {
        rows.push(Site { light: !row.bytes, ..row })?;
    }
    drop(parts);
    let mut rows = rows.finish()?;
    let mut writer = ColumnWriter::create(space.scratch, SITES)?;
    while let Some(Site { place, generation, count, bytes, .. }) = rows.pop()? {
        let function_id = (place >> 32) as u32;
        writer.push(SiteRow {
            function_id,
            type_id: place as u32,
            generation: generation as u32,
            function: names[function_id as usize],
            count,
            bytes,
            samples: count,
        })?;
    }
    writer.finish().map(drop)
}
