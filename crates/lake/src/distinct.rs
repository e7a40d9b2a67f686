//! A dictionary of numbers, with keys in order of first occurrence.

use rustc_hash::FxHashMap;

/// Numbers below this are looked up in a table.
const DIRECT: usize = 1 << 12;

/// No key.
const NONE: u32 = u32::MAX;

/// Distinct numbers, as bits.
pub(crate) struct Distinct {
    /// Maximum number of entries.
    most: usize,
    values: Vec<u64>,
    direct: Vec<u32>,
    others: FxHashMap<u64, u32>,
}

impl Distinct {
    /// Creates an empty dictionary for at most `most` numbers.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, values: Vec::new(), direct: Vec::new(), others: FxHashMap::default() }
    }

    /// Numbers by key.
    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    /// Returns the keys of these numbers; `None` if the dictionary is full: then it keeps its earlier entries and must
    /// not be extended.
    pub(crate) fn keys(&mut self, numbers: impl ExactSizeIterator<Item = u64>) -> Option<Vec<u32>> {
        let before = self.values.len();
        let mut keys = Vec::with_capacity(numbers.len());
        let mut last = (0, NONE);
        for number in numbers {
            if number != last.0 || last.1 == NONE {
                last = (number, self.key(number));
                if last.1 == NONE {
                    self.values.truncate(before);
                    return None;
                }
            }
            keys.push(last.1);
        }
        Some(keys)
    }

    #[inline]
    fn key(&mut self, number: u64) -> u32 {
        let known = if number < DIRECT as u64 {
            self.direct.get(number as usize).copied()
        } else {
            self.others.get(&number).copied()
        };
        known.filter(|&key| key != NONE).unwrap_or_else(|| self.add(number))
    }

    /// Adds a number; [`NONE`] if the dictionary is full.
    #[cold]
    fn add(&mut self, number: u64) -> u32 {
        if self.values.len() == self.most {
            return NONE;
        }
        let key = self.values.len() as u32;
        self.values.push(number);
        if number < DIRECT as u64 {
            if self.direct.len() <= number as usize {
                self.direct.resize((number as usize + 1).next_power_of_two(), NONE);
            }
            self.direct[number as usize] = key;
        } else {
            self.others.insert(number, key);
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_first_rows() {
        let mut distinct = Distinct::new(5);
        let big = u64::MAX;
        assert_eq!(distinct.keys([7, 7, 0, big, 0].into_iter()), Some(vec![0, 0, 1, 2, 1]));
        assert_eq!(distinct.keys([4095, 4096, big, 7].into_iter()), Some(vec![3, 4, 2, 0]));
        assert_eq!(distinct.values(), [7, 0, big, 4095, 4096]);
    }

    #[test]
    fn too_many_leave_those_of_before() {
        let mut distinct = Distinct::new(2);
        assert_eq!(distinct.keys([1].into_iter()), Some(vec![0]));
        assert_eq!(distinct.keys([1, 2, 3].into_iter()), None);
        assert_eq!(distinct.values(), [1]);
    }
}
