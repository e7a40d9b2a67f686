//! The choice of the objects that get size and stack.
//!
//! The objects of a class form blocks in order of allocation, and one object of each block is chosen, at a uniformly
//! random place. So no loop of the program stays in step with the choice: of nine objects that one function allocates and
//! one that another does, the second one gets a tenth of the samples. The first [`EACH`] blocks have one object, the next
//! ones two, then four, and so on up to the interval, so that small classes are known well. This is the rule of
//! `heaplake replay` without its stratum of large objects: all objects of a block are equally likely.
//!
//! The choice depends on the seed, the class and the number of the object alone. Threads that allocate objects of one
//! class at the same time share a counter, and no lock.

/// Blocks of each length below the interval.
pub const EACH: u64 = 4;

/// Chooses one object in `interval`.
#[derive(Clone, Copy, Debug)]
pub struct Strata {
    interval: u64,
    /// Objects in all blocks shorter than the interval.
    short: u64,
    seed: u64,
}

impl Strata {
    /// Chooses one object in `interval`, at least 1.
    pub fn new(interval: u32, seed: u64) -> Self {
        let interval = u64::from(interval.max(1));
        let (mut short, mut length) = (0, 1);
        while length < interval {
            (short, length) = (short + EACH * length, length * 2);
        }
        Self { interval, short, seed }
    }

    /// Returns the length of its block if the object with this number (from 0) of a class is chosen.
    #[inline]
    pub fn weight(&self, class: u32, number: u64) -> Option<u32> {
        if self.interval == 1 {
            return Some(1);
        }
        let (start, length) = self.block(number);
        let drawn = mix(self.seed ^ u64::from(class).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ mix(start));
        // The upper half of a product is uniform below the length, but for 1 in 2^32.
        let chosen = (u128::from(drawn) * u128::from(length)) >> 64;
        (u128::from(number - start) == chosen).then_some(length as u32)
    }

    /// First object and length of the block of an object.
    fn block(&self, number: u64) -> (u64, u64) {
        let (mut start, mut length) = (self.short, self.interval);
        if number < self.short {
            (start, length) = (0, 1);
            while number >= start + EACH * length {
                (start, length) = (start + EACH * length, length * 2);
            }
        }
        (start + (number - start) / length * length, length)
    }
}

/// The finisher of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_one_chosen_object() {
        for interval in [1, 2, 3, 10, 100] {
            let strata = Strata::new(interval, 5);
            let mut number = 0;
            while number < 5000 {
                let (start, length) = strata.block(number);
                assert_eq!(start, number, "interval {interval}");
                let chosen = (start..start + length).filter_map(|number| strata.weight(3, number));
                assert_eq!(chosen.collect::<Vec<_>>(), [length as u32]);
                number += length;
            }
        }
    }

    #[test]
    fn all_places_of_a_block_are_about_equally_often_chosen() {
        let strata = Strata::new(10, 1);
        let mut places = [0_u32; 10];
        for number in strata.short..strata.short + 100_000 {
            if strata.weight(7, number).is_some() {
                places[((number - strata.short) % 10) as usize] += 1;
            }
        }
        // 10,000 draws; five standard deviations are 150.
        assert!(places.iter().all(|&count| (850..1150).contains(&count)), "{places:?}");
    }
}
