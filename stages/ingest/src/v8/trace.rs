//! Reads an allocation trace: the sections `trace_tree`, `trace_function_infos` and `samples`.

use super::header::{Header, position};
use super::rows::LargestName;
use heaplake_input::bytes::Bytes;
use heaplake_input::chunks::BadNumber;
use heaplake_kit::{ColumnWriter, Context, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch as columns;

/// Positions of the fields of a tree node.
struct Fields {
    /// Numbers before the children.
    width: usize,
    id: usize,
    function: usize,
    count: usize,
    size: usize,
}

impl Fields {
    /// `None` if the file lacks one of the fields.
    fn new(header: &Header) -> Option<Self> {
        let fields = &header.trace_node_fields;
        Some(Self {
            width: fields.len().checked_sub(1)?,
            id: position(fields, "id")?,
            function: position(fields, "function_info_index")?,
            count: position(fields, "count")?,
            size: position(fields, "size")?,
        })
    }
}

/// Columns of the tree.
struct Tree {
    ids: ColumnWriter<u32>,
    parents: ColumnWriter<u32>,
    functions: ColumnWriter<u32>,
    counts: ColumnWriter<u64>,
    sizes: ColumnWriter<u64>,
}

impl Tree {
    fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let (ids, parents, functions, counts, sizes) = create_all(
            scratch,
            (
                columns::TRACE_ID,
                columns::TRACE_PARENT,
                columns::TRACE_FUNCTION,
                columns::TRACE_COUNT,
                columns::TRACE_SIZE,
            ),
        )?;
        Ok(Self { ids, parents, functions, counts, sizes })
    }

    /// Adds a node; returns its row.
    fn push(&mut self, fields: &Fields, values: &[u64], parent: u32, scanner: &Bytes<'_>) -> Result<u32, StageError> {
        let narrow = |value: u64| {
            let found = format!("{value}, which is no 32-bit number");
            u32::try_from(value).map_err(|_| scanner.error(scanner.offset(), "a trace node", found))
        };
        let row = narrow(self.ids.len())?;
        self.ids.push(narrow(values[fields.id])?)?;
        self.parents.push(parent)?;
        self.functions.push(narrow(values[fields.function])?)?;
        self.counts.push(values[fields.count])?;
        self.sizes.push(values[fields.size])?;
        Ok(row)
    }

    fn finish(self) -> Result<(), StageError> {
        finish_all((self.ids, self.parents, self.functions, self.counts, self.sizes))
    }
}

/// Reads `trace_tree`: nested arrays of allocation sites, of any depth, into rows with a parent. An explicit stack of
/// four bytes per level, accounted in the budget, holds the nesting.
pub fn tree(
    header: &Header,
    scanner: &mut Bytes<'_>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let Some(fields) = Fields::new(header) else { return scanner.skip_value() };
    if position(&header.trace_node_fields, "children") != Some(fields.width) {
        return Err(scanner.unexpected("\"children\" as the last of snapshot.meta.trace_node_fields"));
    }
    let mut tree = Tree::create(scratch)?;
    // The parent of each open list, innermost last.
    let mut open = context.budget.growing::<u32>("trace tree: nesting");
    let mut values = vec![0u64; fields.width];
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
        open.push(tree.push(&fields, &values, parent, scanner)?)?;
        first = true;
    }
    tree.finish()
}

/// Reads `trace_function_infos`, and records the largest name.
pub fn functions(
    header: &Header,
    scanner: &mut Bytes<'_>,
    largest: &mut LargestName,
    scratch: &Scratch,
) -> Result<(), StageError> {
    let fields = &header.trace_function_fields;
    let at = |name| position(fields, name);
    let (Some(id), Some(name), Some(script_name), Some(script), Some(line), Some(column)) =
        (at("function_id"), at("name"), at("script_name"), at("script_id"), at("line"), at("column"))
    else {
        return scanner.skip_value();
    };
    let create = |column| ColumnWriter::create(scratch, column);
    let mut plain = [
        (id, create(columns::FUNCTION_ID)?),
        (script, create(columns::FUNCTION_SCRIPT)?),
        (line, create(columns::FUNCTION_LINE)?),
        (column, create(columns::FUNCTION_COLUMN)?),
    ];
    let mut names = [
        (name, ColumnWriter::create(scratch, columns::FUNCTION_NAME)?),
        (script_name, ColumnWriter::create(scratch, columns::FUNCTION_SCRIPT_NAME)?),
    ];
    let mut row = 0;
    scanner.number_array(fields.len(), |rows| {
        if let Some(index) = rows.iter().position(|&value| value > u64::from(u32::MAX)) {
            return Ok(Err(BadNumber { index, expected: "a number below 2^32".to_owned() }));
        }
        for numbers in rows.chunks_exact(fields.len()) {
            plain.iter_mut().try_for_each(|(at, column)| column.push(numbers[*at] as u32))?;
            for (at, column) in &mut names {
                column.push(StringId(numbers[*at] as u32))?;
                if numbers[*at] > largest.index {
                    *largest = LargestName { index: numbers[*at], section: "trace_function_infos", row };
                }
            }
            row += 1;
        }
        Ok(Ok(()))
    })?;
    plain.into_iter().try_for_each(|(_, column)| column.finish().map(drop))?;
    names.into_iter().try_for_each(|(_, column)| column.finish().map(drop))
}

/// Reads `samples`.
pub fn samples(header: &Header, scanner: &mut Bytes<'_>, scratch: &Scratch) -> Result<(), StageError> {
    let fields = &header.sample_fields;
    let (Some(time), Some(last)) = (position(fields, "timestamp_us"), position(fields, "last_assigned_id")) else {
        return scanner.skip_value();
    };
    let (mut times, mut ids) = create_all(scratch, (columns::SAMPLE_TIME, columns::SAMPLE_LAST_ID))?;
    scanner.number_array(fields.len(), |rows| {
        for numbers in rows.chunks_exact(fields.len()) {
            times.push(numbers[time])?;
            ids.push(numbers[last])?;
        }
        Ok(Ok(()))
    })?;
    finish_all((times, ids))
}
