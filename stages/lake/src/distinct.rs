//! A dictionary of numbers: a key for each distinct one, in the order of their first rows.

use rustc_hash::FxHashMap;

/// Numbers below this have their keys in a table.
const DIRECT: usize = 1 << 12;

/// The key of a number that has none.
const NONE: u32 = u32::MAX;

/// Distinct numbers, as bits.
pub struct Distinct {
    /// Most numbers that it holds.
    most: usize,
    values: Vec<u64>,
    direct: Vec<u32>,
    others: FxHashMap<u64, u32>,
}

impl Distinct {
    /// None yet, and at most so many.
    pub fn new(most: usize) -> Self {
        Self { most, values: Vec::new(), direct: Vec::new(), others: FxHashMap::default() }
    }

    /// The numbers by key.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// The keys of these numbers; nothing where they have too many distinct ones: then it has those of before, and can
    /// take no more.
    pub fn keys(&mut self, numbers: impl ExactSizeIterator<Item = u64>) -> Option<Vec<u32>> {
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

    fn key(&mut self, number: u64) -> u32 {
        let known = match usize::try_from(number) {
            Ok(place) if place < DIRECT => {
                if place >= self.direct.len() {
                    self.direct.resize((place + 1).next_power_of_two(), NONE);
                }
                &mut self.direct[place]
            }
            _ => self.others.entry(number).or_insert(NONE),
        };
        if *known == NONE && self.values.len() < self.most {
            *known = self.values.len() as u32;
            self.values.push(number);
        }
        *known
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
