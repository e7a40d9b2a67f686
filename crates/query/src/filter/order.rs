//! The first rows of an order, in memory that does not grow with the number of rows.

use super::columns::Cell;
use std::cmp::Ordering;

/// A row and its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry<T> {
    pub keys: Vec<Cell>,
    /// Decides between equal keys, the least first.
    pub row: T,
}

/// The first `most` rows. Holds up to twice as many.
pub(crate) struct First<T> {
    most: usize,
    /// Of each key, whether the greatest comes first.
    descending: Vec<bool>,
    entries: Vec<Entry<T>>,
    /// Whether `entries` are the first `most`, in order, and the rows behind them are left out.
    is_full: bool,
}

/// Rows that are collected beyond the number asked for before they are sorted.
const SLACK: usize = 1024;

impl<T: Ord> First<T> {
    pub(crate) fn new(most: usize, descending: Vec<bool>) -> Self {
        Self { most, descending, entries: Vec::new(), is_full: false }
    }

    fn order(descending: &[bool], a: &Entry<T>, b: &Entry<T>) -> Ordering {
        let keys = a.keys.iter().zip(&b.keys).zip(descending);
        let unequal = keys.map(|((a, b), &descending)| a.order(b, descending)).find(|order| order.is_ne());
        unequal.unwrap_or_else(|| a.row.cmp(&b.row))
    }

    /// Whether a row with this first key may be among the first. Cheap; true if there is no key.
    pub(crate) fn may_stay(&self, first: &Cell) -> bool {
        let last = if self.is_full { self.entries.get(self.most.wrapping_sub(1)) } else { None };
        let last = last.and_then(|last| last.keys.first());
        last.is_none_or(|last| first.order(last, self.descending[0]).is_le())
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, entry: Entry<T>) {
        self.entries.push(entry);
        if self.entries.len() >= 2 * self.most + SLACK {
            self.cut();
        }
    }

    /// Adds the rows of another.
    pub(crate) fn add_all(&mut self, other: Self) {
        other.entries.into_iter().for_each(|entry| self.add(entry));
    }

    fn cut(&mut self) {
        let descending = &self.descending;
        self.entries.sort_unstable_by(|a, b| Self::order(descending, a, b));
        self.entries.truncate(self.most);
        self.is_full = self.entries.len() == self.most;
    }

    /// The rows, first to last.
    pub(crate) fn into_rows(mut self) -> Vec<Entry<T>> {
        self.cut();
        self.entries
    }
}
