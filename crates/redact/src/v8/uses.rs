//! The uses of the strings of a snapshot.
//!
//! Names of classes, properties and code share one table with the texts of strings, and come before it in the file. So
//! a reader notes how each string is used. A string used as a name and as a text gets a second entry for the text.
//!
//! Resident memory: 3 bits per string, and half a bit for its rank.

use super::roles::Role;
use heaplake_kit::{Budget, BudgetVec, StageError};

/// The uses of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// A node has it as its text.
    pub is_text: bool,
    /// A number has it as its name.
    pub is_value: bool,
    /// It names something.
    pub is_name: bool,
}

impl Use {
    /// Whether the text needs an entry of its own.
    #[must_use]
    pub fn is_split(self) -> bool {
        self.is_text && self.is_name
    }
}

/// The uses of all strings.
pub struct Uses {
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
    /// Starts without strings.
    #[must_use]
    pub fn new(budget: &Budget) -> Self {
        let (words, before) = (budget.growing("uses of strings"), budget.growing("ranks of strings"));
        Self { words, before, split: 0, strings: 0 }
    }

    /// Notes a use of a string.
    ///
    /// # Errors
    /// [`StageError::Budget`] if memory does not suffice.
    #[inline]
    pub fn note(&mut self, role: Role, string: u32) -> Result<(), StageError> {
        let at = string as usize / 64;
        while self.words.len() <= at {
            self.words.push([0; 3])?;
        }
        self.words[at][role as usize] |= 1 << (string % 64);
        Ok(())
    }

    /// Returns the uses of a string; none if it is beyond the table.
    #[inline]
    #[must_use]
    pub fn of(&self, string: u64) -> Use {
        let has = |set: u64| set >> (string % 64) & 1 == 1;
        match self.words.get((string / 64) as usize) {
            Some(&[texts, values, names]) => Use { is_text: has(texts), is_value: has(values), is_name: has(names) },
            None => Use::default(),
        }
    }

    /// Returns the entry of a text: another one than its own if the string is a name, too.
    #[inline]
    #[must_use]
    pub fn entry_of_text(&self, string: u64) -> u64 {
        let at = (string / 64) as usize;
        let Some(&[texts, _, names]) = self.words.get(at).filter(|_| self.of(string).is_split()) else { return string };
        let below = (1u64 << (string % 64)) - 1;
        self.strings + u64::from(self.before[at]) + u64::from((texts & names & below).count_ones())
    }

    /// Ranks the split strings, once all uses are noted and the table is known to have `strings` strings.
    ///
    /// # Errors
    /// [`StageError::Budget`] if memory does not suffice.
    pub fn rank(&mut self, strings: u64) -> Result<(), StageError> {
        self.strings = strings;
        for &[texts, _, names] in self.words.iter() {
            self.before.push(self.split as u32)?;
            self.split += u64::from((texts & names).count_ones());
        }
        Ok(())
    }

    /// The largest string noted, plus one.
    pub(super) fn end(&self) -> u64 {
        let last = self.words.last().map_or(0, |sets| sets.iter().fold(0, |all, set| all | set));
        (self.words.len() as u64 * 64).saturating_sub(u64::from(last.leading_zeros()))
    }
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
        assert_eq!(uses.end(), 201);
        uses.rank(300).unwrap();
        assert_eq!(uses.split, 2);
        assert_eq!([3, 5, 70, 200, 299].map(|string| uses.entry_of_text(string)), [300, 5, 70, 301, 299]);
        assert_eq!(uses.of(5), Use { is_text: false, is_value: true, is_name: true });
        assert_eq!(uses.of(1000), Use::default());
    }
}
