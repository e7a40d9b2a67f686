//! Masks the strings on their way into the string table, for runs without texts.
//!
//! The string table of a file holds names and texts alike, and comes last. So the columns of nodes, edges and functions
//! tell which strings are names. The text of a string that is a name, too, gets an entry behind the table.
//!
//! Resident memory: 3.5 bits per string, and 48 bytes per string that is a name and a text.
//! Passes over disk: kinds and names of nodes and edges once more; names of nodes are written again if there are such
//! strings.

use super::header::Header;
use super::strings::Strings;
use crate::masking::Masking;
use bytemuck::Pod;
use heaplake_input::bytes::Bytes;
use heaplake_kit::column::BLOCK;
use heaplake_kit::{ColumnReader, ColumnWriter, Context, Scratch, StageError};
use heaplake_redact::Summary;
use heaplake_redact::v8::{self, Role, Roles, Uses};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, Column};

/// Names of nodes that are about to replace those with the strings of the file.
const NAMES: &str = "v8.masked_name";

/// Advice for a file with its strings before its nodes.
const ADVICE: &str = "write the masked snapshot with heaplake redact, and analyse that";

/// Returns the error of a file whose strings come before their uses.
pub(super) fn unordered(scanner: &Bytes<'_>) -> StageError {
    let offset = scanner.offset();
    StageError::input(scanner.name(), offset, "nodes and edges before the strings, to mask these", "none", ADVICE)
}

/// Reads the section `strings` and writes their masks; returns the number of strings of the file.
///
/// # Errors
/// [`StageError::Input`] if the section is damaged.
pub(super) fn strings(
    header: &Header,
    scanner: &mut Bytes<'_>,
    masking: &Masking,
    (scratch, context): (&Scratch, &Context<'_>),
) -> Result<u64, StageError> {
    let roles = Roles::of(&header.node_types, &header.edge_types);
    let mut uses = uses(&roles, scratch, context)?;
    let keeps = |name: &[u8]| masking.keeps(name);
    let table = Strings::create(scratch, context)?;
    let mut masked = v8::Strings::new(&uses, (&masking.options, &keeps), table, &context.budget);
    scanner.string_array(&mut masked)?;
    let (table, count) = masked.finish(&mut Summary::default())?;
    table.finish()?;
    uses.rank(count)?;
    if uses.split > 0 {
        rename(&roles, &uses, (scratch, context))?;
    }
    Ok(count)
}

/// Returns the uses of all strings.
fn uses(roles: &Roles, scratch: &Scratch, context: &Context<'_>) -> Result<Uses, StageError> {
    let mut uses = Uses::new(&context.budget);
    both(columns::NODE_KIND, columns::NODE_NAME, (scratch, context), |kind, name| {
        uses.note(roles.of_node(kind.into()), name.0)
    })?;
    both(columns::EDGE_KIND, columns::EDGE_NAME, (scratch, context), |kind, name| {
        if roles.is_named(kind.into()) { uses.note(Role::Name, name) } else { Ok(()) }
    })?;
    for column in [columns::FUNCTION_NAME, columns::FUNCTION_SCRIPT_NAME] {
        if scratch.has(column) {
            let mut names = ColumnReader::open(scratch, column)?;
            while let Some(name) = names.pop()? {
                uses.note(Role::Name, name.0)?;
            }
        }
    }
    Ok(uses)
}

/// Calls `visit` with each pair of elements of two columns.
fn both<T: Pod>(
    kinds: Column<u8>,
    names: Column<T>,
    (scratch, context): (&Scratch, &Context<'_>),
    mut visit: impl FnMut(u8, T) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let (mut kinds, mut names) = (ColumnReader::open(scratch, kinds)?, ColumnReader::open(scratch, names)?);
    while kinds.remaining() > 0 {
        context.check()?;
        for &kind in kinds.next_slice(BLOCK)? {
            visit(kind, names.next()?)?;
        }
    }
    Ok(())
}

/// Gives the texts that are names, too, the names of their own entries.
fn rename(roles: &Roles, uses: &Uses, place: (&Scratch, &Context<'_>)) -> Result<(), StageError> {
    let new = Column::of(NAMES, columns::NODE_NAME.per);
    let mut writer = ColumnWriter::create(place.0, new)?;
    both(columns::NODE_KIND, columns::NODE_NAME, place, |kind, name| {
        let is_text = roles.of_node(kind.into()) == Role::Text;
        let entry = if is_text { uses.entry_of_text(name.0.into()) } else { name.0.into() };
        let entry = u32::try_from(entry).ok().filter(|&entry| StringId(entry) != StringId::NONE);
        writer.push(StringId(entry.ok_or(StageError::Overflow("the number of strings"))?))
    })?;
    writer.finish()?;
    place.0.replace(columns::NODE_NAME, new)
}
