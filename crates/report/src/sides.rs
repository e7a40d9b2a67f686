//! Sides of comparisons and steps of trends, as their pages show them.

use crate::texts::Texts;
use heaplake_schemas::comparison::{self, ComparedRun};
use serde::Serialize;

/// Maximum runs shown per side.
const RUNS: usize = 60;

/// A side or step.
#[derive(Serialize)]
pub(crate) struct Side {
    pub selection: u32,
    /// Number of its runs; `runs` has the first.
    of: usize,
    runs: Vec<Run>,
    /// Medians over all its runs.
    bytes: u64,
    objects: u64,
}

/// A run of a side.
#[derive(Serialize)]
struct Run {
    release: u32,
    snapshot: u32,
    host: Option<u32>,
    path: u32,
    bytes: u64,
    objects: u64,
}

/// Converts a side, with texts of at most `most` bytes.
pub(crate) fn side(side: &comparison::Side, most: usize, texts: &mut Texts) -> Side {
    let mut run = |run: &ComparedRun| Run {
        release: texts.add(&run.release),
        snapshot: texts.add(&run.snapshot),
        host: run.host.as_ref().map(|host| texts.add(host)),
        path: texts.add_within(&run.path.display().to_string(), most),
        bytes: run.bytes,
        objects: run.objects,
    };
    let runs = side.runs.iter().take(RUNS).map(&mut run).collect();
    let selection = texts.add_within(&side.selection, most);
    let (bytes, objects) = (side.runs.iter().map(|run| run.bytes), side.runs.iter().map(|run| run.objects));
    Side { selection, of: side.runs.len(), runs, bytes: median(bytes), objects: median(objects) }
}

/// Median, or mean of the two middle values; 0 without values.
pub(crate) fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    match values.len() {
        0 => 0,
        odd if odd % 2 == 1 => values[odd / 2],
        even => values[even / 2 - 1].midpoint(values[even / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians() {
        assert_eq!(median([].into_iter()), 0);
        assert_eq!(median([5, 1, 3].into_iter()), 3);
        assert_eq!(median([4, 1, 3, 9].into_iter()), 3);
        assert_eq!(median([u64::MAX, u64::MAX].into_iter()), u64::MAX);
    }
}
