//! Searches the edges of a holder by target.

use heaplake_kit::{Lookup, ReadAt, StageError};
use heaplake_schemas::ids::NodeId;
use std::ops::Range;

/// Bits of the filter, a power of two.
const BITS: usize = 1 << 16;

/// Number of edges compared at a time with a single target.
const TOGETHER: usize = 32;

/// Minimum number of edges for which a filter pays.
const MANY: usize = 128;

/// Finds edges by target. Holders may have millions of edges, of which few are wanted.
pub(super) struct Asked {
    /// Bits of the targets, by the last bits of their numbers; zero between searches.
    filter: Vec<u64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { filter: vec![0; BITS / 64] }
    }
}

impl Asked {
    /// Calls `found` with each edge of a range that leads to a node in `held` (ascending), and with its target.
    pub(super) fn each(
        &mut self,
        held: &[u32],
        range: Range<usize>,
        to: &mut Lookup<NodeId>,
        mut found: impl FnMut(usize, u32) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        match (to, held) {
            (Lookup::Resident(all), &[only]) => {
                let first = range.start;
                for (nth, together) in all[range].chunks(TOGETHER).enumerate() {
                    // Without a branch for each edge.
                    if together.iter().fold(false, |any, to| any | (to.0 == only)) {
                        let first = first + nth * TOGETHER;
                        let theirs = (first..).zip(together).filter(|(_, to)| to.0 == only);
                        theirs.map(|(edge, _)| edge).try_for_each(|edge| found(edge, only))?;
                    }
                }
                Ok(())
            }
            (Lookup::Resident(all), _) if range.len() >= MANY => {
                let bit = |node: u32| (node as usize % BITS / 64, 1u64 << (node % 64));
                held.iter().map(|&node| bit(node)).for_each(|(word, bit)| self.filter[word] |= bit);
                let passes = |node: u32| self.filter[bit(node).0] & bit(node).1 != 0;
                // Often edges ascend like the targets.
                let mut next = 0;
                let mut passed = range.clone().zip(&all[range]).filter(|(_, to)| passes(to.0));
                let result = passed.try_for_each(|(edge, to)| {
                    if held.get(next) != Some(&to.0) {
                        let Ok(at) = held.binary_search(&to.0) else { return Ok(()) };
                        next = at;
                    }
                    next += 1;
                    found(edge, to.0)
                });
                held.iter().map(|&node| bit(node)).for_each(|(word, _)| self.filter[word] = 0);
                result
            }
            (to, _) => {
                for edge in range {
                    let to = to.get(edge)?.0;
                    if held.binary_search(&to).is_ok() {
                        found(edge, to)?;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::array_plan::lookup;
    use heaplake_kit::{ArrayPlan, Budget, ColumnWriter, Scratch};
    use heaplake_oracle::SplitMix64;
    use heaplake_schemas::scratch::Column;

    const TO: Column<NodeId> = Column::new("to");

    #[test]
    fn every_edge_that_is_asked_for_is_found_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let rng = &mut SplitMix64::new(7);
        // Some ascend, and some are equal in the last bits.
        let random = (0..600_000).map(|at| match at % 3 {
            0 => at / 100,
            1 => rng.below(3000) as u32,
            _ => (rng.below(4) * BITS + rng.below(300)) as u32,
        });
        let all: Vec<u32> = random.collect();
        let mut writer = ColumnWriter::create(&scratch, TO).unwrap();
        all.iter().for_each(|&to| writer.push(NodeId(to)).unwrap());
        writer.finish().unwrap();
        let (large, small) = (Budget::new(16 << 20), Budget::new(3 << 19));
        for budget in [&large, &small] {
            let mut to = ArrayPlan::new(budget, &scratch, "asked").one(lookup(TO)).unwrap();
            assert_eq!(matches!(to, Lookup::Resident(_)), budget.used() > 2 << 20);
            let mut asked = Asked::default();
            for _ in 0..300 {
                let start = rng.below(all.len() - 5000);
                let (length, count) = ([5, 100, 5000][rng.below(3)], [1, 8, 400][rng.below(3)]);
                let range = start..start + rng.below(length);
                let mut held: Vec<u32> = (0..1 + rng.below(count))
                    .map(|_| if rng.one_in(2) { all[rng.below(all.len())] } else { rng.below(3000) as u32 })
                    .collect();
                held.sort_unstable();
                held.dedup();
                let mut found = Vec::new();
                let each = |edge, to| {
                    found.push((edge, to));
                    Ok(())
                };
                asked.each(&held, range.clone(), &mut to, each).unwrap();
                let expected = range.filter(|&edge| held.contains(&all[edge])).map(|edge| (edge, all[edge]));
                assert_eq!(found, expected.collect::<Vec<_>>());
            }
            assert!(asked.filter.iter().all(|&word| word == 0));
        }
    }
}
