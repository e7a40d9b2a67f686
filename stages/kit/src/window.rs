//! How many pages of a file are asked of the system at a time.

use std::sync::atomic::{AtomicU32, Ordering};

/// Pages that are asked for together, at most.
const MOST: u32 = 64;
/// A page that is at most so far behind those that were asked for may go on with them.
const NEAR: u32 = 8;
/// More than one in so many of the pages that were asked of the system must have been wanted; then twice as many are asked for
/// next, otherwise half as many.
const DENSE: u32 = 4;

/// The pages that were asked of the system last. Where those that are wanted follow each other, or nearly, windows grow.
#[derive(Default)]
pub(crate) struct Window {
    start: AtomicU32,
    pages: AtomicU32,
    /// How many of them were wanted, and the last one.
    wanted: AtomicU32,
    last: AtomicU32,
}

impl Window {
    /// How many pages to ask the system for, from this one that is wanted: none if it was asked for.
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

    /// Pages that are asked of the system while so many are wanted, each so far behind the one before.
    fn asked(wanted: usize, step: usize) -> usize {
        let window = Window::default();
        // What is wanted again is asked for once.
        (0..2 * wanted).map(|at| window.ask(at / 2 * step + 1000)).sum()
    }

    #[test]
    fn windows_grow_where_most_pages_are_wanted_and_not_where_few_are() {
        assert!((1000..1000 + MOST as usize).contains(&asked(1000, 1)));
        assert!((2800..3100).contains(&asked(1000, 3)));
        // Up to as many as the next one is behind.
        assert!(asked(1000, 7) <= 4000);
        assert_eq!(asked(1000, NEAR as usize + 64), 1000);
        let backward = Window::default();
        assert!((0..100).rev().all(|page| backward.ask(page) == 1));
    }
}
