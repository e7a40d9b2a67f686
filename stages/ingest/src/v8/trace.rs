//! `trace_tree`: nested arrays of allocation sites, of any depth, into rows with a parent.

use super::header::{Header, position};
use crate::json::Scanner;
use heaplake_kit::{ColumnWriter, Context, Scratch, StageError};
use heaplake_schemas::scratch as columns;

/// Reads the tree that follows. Nesting is held in an explicit stack of four bytes a level, counted against the budget.
/// Gives the number of rows.
///
/// # Errors
/// [`StageError::Input`] where the tree is not as its fields say; [`StageError::Budget`] when it is too deep.
pub fn read(
    header: &Header,
    scanner: &mut Scanner<'_>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let fields = &header.trace_node_fields;
    let at = |name| position(fields, name);
    let (Some(id), Some(function), Some(count), Some(size)) =
        (at("id"), at("function_info_index"), at("count"), at("size"))
    else {
        scanner.skip_value()?;
        return Ok(0);
    };
    if at("children") != Some(fields.len() - 1) {
        return Err(scanner.error("\"children\" as the last of snapshot.meta.trace_node_fields"));
    }
    let mut ids = ColumnWriter::create(scratch, columns::TRACE_ID)?;
    let mut parents = ColumnWriter::create(scratch, columns::TRACE_PARENT)?;
    let mut functions = ColumnWriter::create(scratch, columns::TRACE_FUNCTION)?;
    let mut counts = ColumnWriter::create(scratch, columns::TRACE_COUNT)?;
    let mut sizes = ColumnWriter::create(scratch, columns::TRACE_SIZE)?;
    // The parent of each open list; the innermost last.
    let mut open = context.budget.growing::<u32>("trace tree: nesting");
    let mut values = vec![0u64; fields.len() - 1];
    let narrow = |scanner: &Scanner<'_>, value: u64| {
        let found = format!("{value}, which is no 32-bit number");
        u32::try_from(value).map_err(|_| scanner.error_at(scanner.offset(), "a trace node", found))
    };
    scanner.expect(b'[', "an array ([)")?;
    open.push(u32::MAX)?;
    let mut first = true;
    while let Some(&parent) = open.last() {
        if scanner.accept(b']')? {
            open.pop();
            first = false;
            continue;
        }
        if !first {
            scanner.expect(b',', "a comma or the end of the array (])")?;
        }
        for value in &mut values {
            *value = scanner.number()?;
            scanner.expect(b',', "a comma")?;
        }
        scanner.expect(b'[', "the children ([)")?;
        let row = narrow(scanner, ids.len())?;
        ids.push(narrow(scanner, values[id])?)?;
        parents.push(parent)?;
        functions.push(narrow(scanner, values[function])?)?;
        counts.push(values[count])?;
        sizes.push(values[size])?;
        open.push(row)?;
        first = true;
    }
    let rows = ids.finish()?;
    parents.finish()?;
    functions.finish()?;
    counts.finish()?;
    sizes.finish()?;
    Ok(rows)
}
