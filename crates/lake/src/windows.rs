//! Reads ranges of an object in few, large requests.
//!
//! The Parquet library reads a page header, then a page, hundreds of times per column; one request each would be
//! dominated by the store's latency. So a window around the requested range is fetched, and recent windows are cached:
//! the end of the file with its footer as a whole; for a column read sequentially, up to [`LARGEST`] bytes at once,
//! with readahead; for single pages, the requested range. Columns and row groups that are not requested are never
//! fetched.

use bytes::Bytes;
use heaplake_kit::storage::{self, Failure, Fetch, Object};
use heaplake_kit::threads::locked;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

/// Window at the end of a file, for its footer, bytes.
const END: u64 = 64 << 10;
/// Window of a column read sequentially, bytes.
const LARGEST: u64 = 1 << 20;
/// Minimum window, for a page header and perhaps its page, bytes.
const SHORT: u64 = 16 << 10;
/// Bytes of cached windows.
const KEPT: usize = 12 << 20;

/// An object and its cached windows.
pub(crate) struct Windows {
    object: Object,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Recent windows, newest last.
    windows: VecDeque<(u64, Bytes)>,
    /// Windows in flight.
    coming: VecDeque<(Range<u64>, Fetch)>,
    /// Ranges that will be read sequentially, sorted by start.
    parts: Vec<Range<u64>>,
    failed: Option<(io::ErrorKind, String)>,
}

impl Windows {
    /// Creates an empty cache for an object.
    pub(crate) fn new(object: Object) -> Self {
        Self { object, state: Mutex::default() }
    }

    /// The object.
    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    /// Adds the end of the object, which was read already.
    pub(crate) fn has_end(&self, end: Bytes) {
        self.state().keep(self.object.bytes.saturating_sub(end.len() as u64), end);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Announces ranges that will be read sequentially, sorted by start.
    pub(crate) fn will_read(&self, parts: Vec<Range<u64>>) {
        self.state().parts = parts;
    }

    /// Returns the last error of the store.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.state().failed.as_ref().map(|(kind, said)| Failure::of(*kind, said))
    }

    /// Fills a buffer from an offset.
    pub(crate) fn read_exact_at(&self, to: &mut [u8], at: u64) -> io::Result<()> {
        to.copy_from_slice(&self.bytes(at, to.len())?);
        Ok(())
    }

    /// Returns a range of the object.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] past the end.
    pub(crate) fn bytes(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let mut state = self.state();
        let end = start.saturating_add(length as u64);
        if end > self.object.bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the object ends too early"));
        }
        if let Some(bytes) = state.kept(start, length) {
            return Ok(bytes);
        }
        let read = self.fetched(&mut state, start..end);
        if let Err(error) = &read {
            state.failed = Some((error.kind(), error.to_string()));
        }
        let (first, window) = read?;
        let from = (start - first) as usize;
        let bytes = window.slice(from..from + length);
        state.keep(first, window);
        Ok(bytes)
    }

    /// Fetches a window that contains the range; returns its start, too.
    fn fetched(&self, state: &mut State, wanted: Range<u64>) -> io::Result<(u64, Bytes)> {
        let covers = |window: &Range<u64>| window.start <= wanted.start && wanted.end <= window.end;
        let coming = state.coming.iter().position(|(window, _)| covers(window)).and_then(|at| state.coming.remove(at));
        let window =
            coming.as_ref().map_or_else(|| state.window(&wanted, self.object.bytes), |(window, _)| window.clone());
        let fetch = match coming {
            Some((_, fetch)) => fetch,
            None => storage::store()?.fetch(&self.object, window.clone()),
        };
        // Readahead within a range read sequentially.
        if let Some(next) = state.next(&window) {
            state.coming.push_back((next.clone(), storage::store()?.fetch(&self.object, next)));
        }
        Ok((window.start, storage::wait(&fetch)?))
    }
}

impl State {
    /// Returns bytes from a cached window.
    fn kept(&self, start: u64, length: usize) -> Option<Bytes> {
        let covers =
            |(first, window): &&(u64, Bytes)| *first <= start && start + length as u64 <= *first + window.len() as u64;
        let (first, window) = self.windows.iter().rev().find(covers)?;
        let from = (start - first) as usize;
        Some(window.slice(from..from + length))
    }

    fn keep(&mut self, first: u64, window: Bytes) {
        self.windows.push_back((first, window));
        while self.windows.len() > 1 && self.windows.iter().map(|(_, window)| window.len()).sum::<usize>() > KEPT {
            self.windows.pop_front();
        }
    }

    /// Returns the sequentially read range that contains an offset.
    fn part(&self, at: u64) -> Option<&Range<u64>> {
        let after = self.parts.partition_point(|part| part.start <= at);
        self.parts[..after].last().filter(|part| part.contains(&at))
    }

    /// Chooses the window for a requested range.
    fn window(&self, wanted: &Range<u64>, length: u64) -> Range<u64> {
        if let Some(part) = self.part(wanted.start) {
            return wanted.start..wanted.end.max(part.end.min(wanted.start + LARGEST)).min(length);
        }
        if wanted.end == length {
            return wanted.start.min(length.saturating_sub(END))..length;
        }
        wanted.start..wanted.end.max(wanted.start + SHORT).min(length)
    }

    /// Returns the next window in a sequentially read range, unless it is in flight.
    fn next(&self, window: &Range<u64>) -> Option<Range<u64>> {
        let part = self.part(window.start)?;
        let next = window.end..part.end.min(window.end + LARGEST);
        let known = self.coming.iter().any(|(coming, _)| coming.start == next.start);
        (!next.is_empty() && !known).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 100 << 20;

    #[test]
    fn windows_fit_what_is_asked_for() {
        let mut state = State { parts: vec![100..3 << 20, 5 << 20..6 << 20], ..State::default() };
        let window = |state: &State, from, to| state.window(&(from..to), LENGTH);
        assert_eq!(window(&state, LENGTH - 8, LENGTH), LENGTH - END..LENGTH, "the end");
        assert_eq!(window(&state, 100, 120), 100..100 + LARGEST, "a part");
        assert_eq!(window(&state, 200, 3 << 20), 200..3 << 20, "all of a part");
        assert_eq!(window(&state, (6 << 20) - 100, (6 << 20) - 90), (6 << 20) - 100..6 << 20, "its end");
        assert_eq!(window(&state, 4 << 20, (4 << 20) + 10), 4 << 20..(4 << 20) + SHORT, "between parts");
        assert_eq!(state.next(&(100..100 + LARGEST)), Some(100 + LARGEST..100 + 2 * LARGEST));
        assert_eq!(state.next(&(5 << 20..6 << 20)), None);
        state.keep(10, Bytes::from_static(b"abcdef"));
        assert_eq!(state.kept(12, 3), Some(Bytes::from_static(b"cde")));
        assert_eq!((state.kept(9, 2), state.kept(14, 3)), (None, None));
    }

    #[test]
    fn few_windows_are_kept() {
        let mut state = State::default();
        (0..40).for_each(|at| state.keep(at << 20, Bytes::from(vec![0; 1 << 20])));
        assert_eq!(state.windows.len(), KEPT >> 20);
        state.keep(0, Bytes::from(vec![0; KEPT + 1]));
        assert_eq!(state.windows.len(), 1);
    }
}
