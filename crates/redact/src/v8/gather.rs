//! First pass over a snapshot: the uses of its strings.

use super::header::Header;
use super::roles::Role;
use super::sections;
use super::uses::Uses;
use heaplake_input::bytes::Bytes;
use heaplake_input::chunks::BadNumber;
use heaplake_input::json::StringSink;
use heaplake_input::numbers::Sign;
use heaplake_kit::StageError;

/// Reads the header, wherever it is in the file.
///
/// # Errors
/// [`StageError::Input`] if there is none, or it is not V8's.
pub fn header(scanner: &mut Bytes<'_>) -> Result<Header, StageError> {
    let mut header = None;
    let found = sections::each(scanner, |key, scanner| {
        if key == b"snapshot" {
            header = Some(Header::read(scanner)?);
            // Nothing else of this pass matters.
            return Err(StageError::Cancelled);
        }
        scanner.skip_value()
    });
    match (header, found) {
        (Some(header), _) => Ok(header),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(scanner.unexpected("the key \"snapshot\"")),
    }
}

/// Reads the whole file.
///
/// # Errors
/// [`StageError::Input`] if it is damaged, has no nodes, edges or strings, or names a missing string.
pub(super) fn all(header: &Header, scanner: &mut Bytes<'_>) -> Result<Uses, StageError> {
    let mut uses = Uses::new(&scanner.context().budget);
    let mut missing = vec!["nodes", "edges", "strings"];
    let (mut strings_at, mut strings) = (0, 0);
    sections::each(scanner, |key, scanner| {
        missing.retain(|name| name.as_bytes() != key);
        match key {
            b"nodes" => nodes(header, scanner, &mut uses),
            b"edges" => edges(header, scanner, &mut uses),
            b"trace_function_infos" => functions(header, scanner, &mut uses),
            b"strings" => {
                strings_at = scanner.offset();
                scanner.string_array(&mut Count(&mut strings))
            }
            _ => scanner.skip_value(),
        }
    })?;
    if let Some(name) = missing.first() {
        return Err(scanner.unexpected(format!("the key \"{name}\"")));
    }
    if uses.end() > strings {
        let expected = format!("{} strings, as nodes and edges name them", uses.end());
        return Err(scanner.error(strings_at, expected, format!("{strings} strings")));
    }
    uses.rank(strings)?;
    Ok(uses)
}

/// Counts strings.
struct Count<'a>(&'a mut u64);

impl StringSink for Count<'_> {
    fn piece(&mut self, _: &[u8]) -> Result<(), StageError> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        *self.0 += 1;
        Ok(())
    }
}

/// Names of some rows: role and string.
type Names = Vec<(Role, u32)>;

/// Reads rows and notes the names that `of` finds in each: positions in the row, with roles.
fn rows<'h>(
    width: usize,
    scanner: &mut Bytes<'_>,
    uses: &mut Uses,
    of: impl Fn(&[u64], &mut dyn FnMut(usize, Role)) + Sync + 'h,
) -> Result<(), StageError> {
    let read = |rows: &[u64], names: &mut Names| {
        let mut bad = None;
        for (at, row) in rows.chunks_exact(width).enumerate() {
            of(row, &mut |position, role| match u32::try_from(row[position]) {
                // Neighbours often have the same name.
                Ok(string) if names.last() == Some(&(role, string)) => {}
                Ok(string) => names.push((role, string)),
                Err(_) => bad = bad.or(Some(at * width + position)),
            });
        }
        let expected = || "the number of a string, below 2^32".to_owned();
        bad.map_or(Ok(()), |index| Err(BadNumber { index, expected: expected() }))
    };
    scanner.number_columns(
        (width, Sign::Signed),
        |rows, _, names: &mut Names| read(rows, names),
        |names| names.drain(..).try_for_each(|(role, string)| uses.note(role, string)),
    )?;
    Ok(())
}

fn nodes(header: &Header, scanner: &mut Bytes<'_>, uses: &mut Uses) -> Result<(), StageError> {
    let (width, kind, name) = header.node;
    rows(width, scanner, uses, |row, note| note(name, header.roles.of_node(row[kind])))
}

fn edges(header: &Header, scanner: &mut Bytes<'_>, uses: &mut Uses) -> Result<(), StageError> {
    let (width, kind, name) = header.edge;
    rows(width, scanner, uses, |row, note| {
        if header.roles.is_named(row[kind]) {
            note(name, Role::Name);
        }
    })
}

fn functions(header: &Header, scanner: &mut Bytes<'_>, uses: &mut Uses) -> Result<(), StageError> {
    let (width, names) = &header.function;
    if *width == 0 {
        return scanner.skip_value();
    }
    rows(*width, scanner, uses, |_, note| names.iter().for_each(|&name| note(name, Role::Name)))
}
