//! The heaps of a file, mostly one. The agent of the JDK before 9 (`-agentlib:hprof`) appends a heap dump to its file
//! at each request and at the end of the program.
//!
//! A heap dump after the end of another one is of the same heap, unless it repeats classes of it. The choice of a heap
//! is as for the walks of .NET: the last complete one, or the one with a given number. Choosing takes another read of
//! the file.

use heaplake_kit::StageError;
use std::ops::Range;

/// Range of a file with one heap.
pub(super) const EVERYTHING: Range<u64> = 0..u64::MAX;

/// Number of classes that identify a heap.
const CLASSES: usize = 8;

/// Advice of errors.
const CHOOSE: &str = "give another number to --walk, or last";

/// The heaps so far.
#[derive(Debug, Default)]
pub(super) struct Heaps {
    /// Start of each heap.
    starts: Vec<u64>,
    /// First classes of the last heap.
    classes: Vec<u64>,
    /// Whether the last heap is damaged or incomplete.
    cut: bool,
}

impl Heaps {
    /// Adds a class of the last of the heap dumps at these offsets.
    pub(super) fn class(&mut self, id: u64, dumps: &[u64]) {
        let Some(&dump) = dumps.last() else { return };
        let is_new = match self.starts.last() {
            None => true,
            Some(&start) => dump > start && self.classes.contains(&id),
        };
        if is_new {
            // The first heap includes everything before it.
            self.starts.push(if self.starts.is_empty() { 0 } else { dump });
            self.classes.clear();
        }
        if self.classes.len() < CLASSES {
            self.classes.push(id);
        }
    }

    /// Marks the last heap as incomplete; returns whether there is an earlier, complete one.
    pub(super) fn cut(&mut self) -> bool {
        self.cut = self.starts.len() > 1;
        self.cut
    }

    /// Returns the range of heap records of the wanted heap, by default the last complete one; `None` if there is only
    /// one.
    pub(super) fn choose(
        &self,
        wanted: Option<u32>,
        (name, bytes): (&str, u64),
    ) -> Result<Option<Range<u64>>, StageError> {
        let heaps = self.starts.len().max(1);
        let number = wanted.map_or(heaps - usize::from(self.cut), |wanted| wanted as usize);
        if number > heaps {
            let (expected, found) = (format!("heap {number} of the file"), format!("{heaps} in it"));
            return Err(StageError::input(name, bytes, expected, found, CHOOSE));
        }
        if heaps == 1 {
            return Ok(None);
        }
        Ok(Some(self.starts[number - 1]..self.starts.get(number).copied().unwrap_or(u64::MAX)))
    }

    /// Returns the remark about the chosen heap.
    pub(super) fn remark(&self, taken: &Range<u64>) -> Option<String> {
        let number = self.starts.iter().position(|start| *start == taken.start)? + 1;
        let last = if self.cut { "; the last one is damaged or incomplete" } else { "" };
        let heaps = self.starts.len();
        (heaps > 1).then(|| {
            format!("the file has {heaps} dumps of the heap; this is number {number} (--walk takes another){last}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heaps(classes: &[(u64, &[u64])]) -> Heaps {
        let mut heaps = Heaps::default();
        classes.iter().for_each(|(id, dumps)| heaps.class(*id, dumps));
        heaps
    }

    #[test]
    fn classes_that_come_again_begin_another_heap() {
        let choose = |heaps: &Heaps, wanted| heaps.choose(wanted, ("x", 99)).map_err(|error| error.to_string());
        // One heap, in two records.
        let one = heaps(&[(1, &[10]), (2, &[10, 50])]);
        assert_eq!((choose(&one, None), choose(&one, Some(1)), one.remark(&EVERYTHING)), (Ok(None), Ok(None), None));
        assert!(choose(&one, Some(2)).unwrap_err().ends_with("byte 99: expected heap 2 of the file, found 1 in it"));
        let mut two = heaps(&[(1, &[10]), (2, &[10]), (2, &[10, 50]), (1, &[10, 50])]);
        assert_eq!(choose(&two, None), Ok(Some(50..u64::MAX)));
        assert_eq!(choose(&two, Some(1)), Ok(Some(0..50)));
        assert!(two.remark(&(0..50)).unwrap().contains("2 dumps of the heap; this is number 1"));
        assert!(two.cut());
        assert_eq!(choose(&two, None), Ok(Some(0..50)));
        assert_eq!(choose(&two, Some(2)), Ok(Some(50..u64::MAX)));
        assert!(choose(&two, Some(3)).is_err() && !heaps(&[]).cut());
    }
}
