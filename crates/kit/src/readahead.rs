//! Readahead window of paged columns.

use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum pages per readahead.
const MOST: u32 = 64;
/// A request at most this many pages past the window may continue it.
const NEAR: u32 = 8;
/// If more than 1/4 of the window was used, the next one doubles; otherwise it halves.
const DENSE: u32 = 4;

/// The last readahead window. Windows grow while requests are sequential or nearly so.
#[derive(Default)]
pub(crate) struct Readahead {
    start: AtomicU32,
    pages: AtomicU32,
    /// Number of requested pages in the window, and the last one.
    wanted: AtomicU32,
    last: AtomicU32,
}

impl Readahead {
    /// Returns the number of pages to read ahead from `page`; 0 if the window covers it.
    pub(crate) fn ask(&self, page: usize) -> usize {
        let (page, get) = (page as u32, |number: &AtomicU32| number.load(Ordering::Relaxed));
        let set = |number: &AtomicU32, to: u32| number.store(to, Ordering::Relaxed);
        let (start, pages, wanted) = (get(&self.start), get(&self.pages), get(&self.wanted));
        if (start..start + pages).contains(&page) {
            if get(&self.last) != page {
                set(&self.wanted, wanted + 1);
                set(&self.last, page);
            }
            return 0;
        }
        let is_near = (start + pages..start + pages + NEAR).contains(&page);
        let count = match (is_near, wanted * DENSE > pages) {
            (false, _) => 1,
            (true, true) => (2 * pages).clamp(1, MOST),
            (true, false) => (pages / 2).max(1),
        };
        set(&self.start, page);
        set(&self.pages, count);
        set(&self.wanted, 1);
        set(&self.last, page);
        count as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages read ahead for `wanted` requests at distance `step`.
    fn asked(wanted: usize, step: usize) -> usize {
        let window = Readahead::default();
        // Repeated requests read ahead once.
        (0..2 * wanted).map(|at| window.ask(at / 2 * step + 1000)).sum()
    }

    #[test]
    fn windows_grow_where_most_pages_are_wanted_and_not_where_few_are() {
        assert!((1000..1000 + MOST as usize).contains(&asked(1000, 1)));
        assert!((2800..3100).contains(&asked(1000, 3)));
        // At most the distance between requests.
        assert!(asked(1000, 7) <= 4000);
        assert_eq!(asked(1000, NEAR as usize + 64), 1000);
        let backward = Readahead::default();
        assert!((0..100).rev().all(|page| backward.ask(page) == 1));
    }
}
