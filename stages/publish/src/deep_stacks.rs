//! Limits on deep stacks in exports of call trees.
//!
//! A line or a sample has its whole stack, so a tree of n nodes may take n² functions: a recursion that allocates in
//! each of 20,000 calls. An export is at most [`PER_BYTE`] times as large as the trace, or [`LEAST`]. Where it would be
//! larger, all deep stacks have fewer functions, and then shorter names. Sums stay exact.

use heaplake_kit::text::count;
use heaplake_schemas::replay::DeepStacks;

/// Limit on the text of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Functions.
    pub frames: usize,
    /// Characters of a name.
    pub name: usize,
}

/// Limits, the loosest first, which equals the maximum that profilers show.
pub(crate) const LIMITS: [Limit; 9] = [
    Limit { frames: 1024, name: NAMES[0] },
    Limit { frames: 512, name: NAMES[0] },
    Limit { frames: 256, name: NAMES[0] },
    Limit { frames: 128, name: NAMES[0] },
    Limit { frames: 64, name: NAMES[0] },
    Limit { frames: 32, name: NAMES[0] },
    Limit { frames: 16, name: NAMES[0] },
    Limit { frames: 16, name: NAMES[1] },
    Limit { frames: 16, name: NAMES[2] },
];

/// The limits on names among [`LIMITS`].
pub(crate) const NAMES: [usize; 3] = [4096, 256, 64];

/// Maximum bytes of an export per byte of the trace.
const PER_BYTE: u64 = 32;

/// Bytes that an export may always have.
const LEAST: u64 = 64 << 20;

/// Bytes of an export under each limit, before compression.
#[derive(Debug, Default)]
pub(crate) struct Sizes([u64; LIMITS.len()]);

impl Sizes {
    /// Adds a stack; `of` returns its bytes under a limit.
    pub(crate) fn add(&mut self, of: impl Fn(Limit) -> u64) {
        for (size, limit) in self.0.iter_mut().zip(LIMITS) {
            *size = size.saturating_add(of(limit));
        }
    }

    /// First limit that suits a trace of this size.
    pub(crate) fn choose(&self, trace: u64) -> Limit {
        let most = trace.saturating_mul(PER_BYTE).max(LEAST);
        let fits = self.0.iter().position(|&size| size <= most);
        LIMITS[fits.unwrap_or(LIMITS.len() - 1)]
    }
}

/// Sentence about cut stacks; `None` if no stack was cut.
pub(crate) fn remark(file: &str, cut: &DeepStacks) -> Option<String> {
    let names = match cut.name {
        name if name < NAMES[0] as u64 => format!(" names have at most {name} characters."),
        _ => String::new(),
    };
    if cut.stacks == 0 && names.is_empty() {
        return None;
    }
    let why =
        if cut.frames < LIMITS[0].frames as u64 { ": else it would be many times as large as the trace" } else { "" };
    let frames = count(cut.frames);
    Some(format!(
        "{file} has {frames} functions of each of {} stacks that are deeper, and marks the cut{why}.{names} Sums are whole.",
        count(cut.stacks)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_limit_that_fits_is_chosen() {
        let of = |stacks: u64, bytes: u64, trace: u64| {
            let mut sizes = Sizes::default();
            (0..stacks).for_each(|_| sizes.add(|limit| limit.frames.min(20_000) as u64 * bytes.min(limit.name as u64)));
            sizes.choose(trace)
        };
        assert_eq!(of(100, 100, 0), LIMITS[0]);
        assert_eq!(of(20_000, 100, 2 << 20), Limit { frames: 32, name: 4096 });
        assert_eq!(of(20_000, 100, 1 << 30), LIMITS[0]);
        assert_eq!(of(20_000, 4000, 2 << 20), Limit { frames: 16, name: 64 });
    }

    #[test]
    fn people_read_of_cuts() {
        let of = |frames, name, stacks| remark("it", &DeepStacks { frames, name, stacks });
        assert_eq!(of(1024, 4096, 0), None);
        assert!(!of(1024, 4096, 2).unwrap().contains("many times"));
        let text = of(16, 64, 20_000).unwrap();
        assert!(
            text.contains("20,000 stacks") && text.contains("many times") && text.contains("64 characters"),
            "{text}"
        );
    }
}
