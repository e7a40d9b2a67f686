//! First pass over a snapshot: the uses of its strings.
//!
//! Names of classes, properties and code share one table with the texts of strings, and come before it in the file. So
//! the first pass notes how each string is used. A string used as a name and as a text gets a second entry for the
//! text.
//!
//! Resident memory: 3 bits per string, and half a bit for its rank.

use super::header::{Header, Role};
use super::sections;
use heaplake_input::bytes::Bytes;
use heaplake_input::chunks::BadNumber;
use heaplake_input::json::StringSink;
use heaplake_input::numbers::Sign;
use heaplake_kit::{Budget, BudgetVec, StageError};

/// The uses of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub is_text: bool,
    pub is_value: bool,
    pub is_name: bool,
}

impl Use {
    /// Whether the text needs an entry of its own.
    pub(super) fn is_split(self) -> bool {
        self.is_text && self.is_name
    }
}

/// The uses of all strings.
pub(super) struct Uses {
    /// For each 64 strings, the sets of texts, values and names.
    words: BudgetVec<[u64; 3]>,
    /// Number of split strings before each word.
    before: BudgetVec<u32>,
    /// Number of split strings.
    pub split: u64,
    /// Number of strings.
    pub strings: u64,
}

impl Uses {
    fn new(budget: &Budget) -> Self {
        let (words, before) = (budget.growing("uses of strings"), budget.growing("ranks of strings"));
        Self { words, before, split: 0, strings: 0 }
    }

    fn note(&mut self, role: Role, string: u32) -> Result<(), StageError> {
        let at = string as usize / 64;
        while self.words.len() <= at {
            self.words.push([0; 3])?;
        }
        self.words[at][role as usize] |= 1 << (string % 64);
        Ok(())
    }

    /// Returns the uses of a string; none if it is beyond the table.
    #[inline]
    pub(super) fn of(&self, string: u64) -> Use {
        let has = |set: u64| set >> (string % 64) & 1 == 1;
        match self.words.get((string / 64) as usize) {
            Some(&[texts, values, names]) => Use { is_text: has(texts), is_value: has(values), is_name: has(names) },
            None => Use::default(),
        }
    }

    /// Returns the entry of a text: another one than its own if the string is a name, too.
    #[inline]
    pub(super) fn entry_of_text(&self, string: u64) -> u64 {
        let at = (string / 64) as usize;
        let Some(&[texts, _, names]) = self.words.get(at).filter(|_| self.of(string).is_split()) else { return string };
        let below = (1u64 << (string % 64)) - 1;
        self.strings + u64::from(self.before[at]) + u64::from((texts & names & below).count_ones())
    }

    fn rank(&mut self) -> Result<(), StageError> {
        for &[texts, _, names] in self.words.iter() {
            self.before.push(self.split as u32)?;
            self.split += u64::from((texts & names).count_ones());
        }
        Ok(())
    }

    /// The largest string noted, plus one.
    fn end(&self) -> u64 {
        let last = self.words.last().map_or(0, |sets| sets.iter().fold(0, |all, set| all | set));
        (self.words.len() as u64 * 64).saturating_sub(u64::from(last.leading_zeros()))
    }
}

/// Reads the header, wherever it is in the file.
pub(super) fn header(scanner: &mut Bytes<'_>) -> Result<Header, StageError> {
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
pub(super) fn gather(header: &Header, scanner: &mut Bytes<'_>) -> Result<Uses, StageError> {
    let mut uses = Uses::new(&scanner.context().budget);
    let mut missing = vec!["nodes", "edges", "strings"];
    let mut strings_at = 0;
    sections::each(scanner, |key, scanner| {
        missing.retain(|name| name.as_bytes() != key);
        match key {
            b"nodes" => nodes(header, scanner, &mut uses),
            b"edges" => edges(header, scanner, &mut uses),
            b"trace_function_infos" => functions(header, scanner, &mut uses),
            b"strings" => {
                strings_at = scanner.offset();
                scanner.string_array(&mut Count(&mut uses.strings))
            }
            _ => scanner.skip_value(),
        }
    })?;
    if let Some(name) = missing.first() {
        return Err(scanner.unexpected(format!("the key \"{name}\"")));
    }
    if uses.end() > uses.strings {
        let expected = format!("{} strings, as nodes and edges name them", uses.end());
        return Err(scanner.error(strings_at, expected, format!("{} strings", uses.strings)));
    }
    uses.rank()?;
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
    rows(width, scanner, uses, |row, note| note(name, header.role(row[kind])))
}

fn edges(header: &Header, scanner: &mut Bytes<'_>, uses: &mut Uses) -> Result<(), StageError> {
    let (width, kind, name) = header.edge;
    rows(width, scanner, uses, |row, note| {
        if header.is_named(row[kind]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_names_get_entries_behind_all_others() {
        let mut uses = Uses::new(&Budget::new(1 << 20));
        for string in [3, 70, 200] {
            uses.note(Role::Text, string).unwrap();
        }
        for string in [3, 5, 200] {
            uses.note(Role::Name, string).unwrap();
        }
        uses.note(Role::Value, 5).unwrap();
        uses.strings = 300;
        assert_eq!(uses.end(), 201);
        uses.rank().unwrap();
        assert_eq!(uses.split, 2);
        assert_eq!([3, 5, 70, 200, 299].map(|string| uses.entry_of_text(string)), [300, 5, 70, 301, 299]);
        assert_eq!(uses.of(5), Use { is_text: false, is_value: true, is_name: true });
        assert_eq!(uses.of(1000), Use::default());
    }
}
