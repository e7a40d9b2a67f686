//! Counts of all classes, which every allocation updates, and the patterns that choose classes for sampling.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Classes per allocated piece of the table, and most pieces.
const PIECE: usize = 1024;
const PIECES: usize = 64;

/// The class of all objects beyond the largest number of classes.
pub const UNNAMED: u32 = 0;

/// Counts of a class, in a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Slot {
    objects: AtomicU64,
    bytes: AtomicU64,
    chosen: AtomicBool,
}

impl Slot {
    /// Counts an object; returns its number in its class, from 0.
    #[inline]
    pub fn add(&self, bytes: u64) -> u64 {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.objects.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a pattern chooses the class.
    #[inline]
    pub fn is_chosen(&self) -> bool {
        self.chosen.load(Ordering::Relaxed)
    }

    /// Objects and bytes so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.objects.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Names, and those that the log does not have yet.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Box<[u8]>, u32>,
    unwritten: Vec<(u32, Box<[u8]>)>,
}

/// All classes by name: classes of several loaders with one name are one.
pub struct Classes {
    pieces: Vec<OnceLock<Box<[Slot]>>>,
    names: Mutex<Names>,
    patterns: Vec<String>,
}

impl Classes {
    /// Makes a table without classes, and chooses those of these patterns; all if there are none.
    pub fn new(patterns: Vec<String>) -> Self {
        let classes =
            Self { pieces: (0..PIECES).map(|_| OnceLock::new()).collect(), names: Mutex::default(), patterns };
        classes.number(b"[further classes]");
        classes
    }

    /// Returns the number of a class, from 1; [`UNNAMED`] if there are too many.
    pub fn number(&self, name: &[u8]) -> u32 {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = names.numbers.get(name) {
            return number;
        }
        let number = names.numbers.len();
        if number >= PIECE * PIECES {
            return UNNAMED;
        }
        let slot = &self.piece(number / PIECE)[number % PIECE];
        slot.chosen.store(number > 0 && self.chooses(name), Ordering::Relaxed);
        let number = number as u32;
        names.numbers.insert(name.into(), number);
        names.unwritten.push((number, name.into()));
        number
    }

    fn piece(&self, at: usize) -> &[Slot] {
        self.pieces[at].get_or_init(|| (0..PIECE).map(|_| Slot::default()).collect())
    }

    fn chooses(&self, name: &[u8]) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern.as_bytes(), name))
    }

    /// The counts of a class; those of [`UNNAMED`] for an unknown number.
    #[inline]
    pub fn slot(&self, number: u32) -> &Slot {
        let number = number as usize;
        match self.pieces.get(number / PIECE).and_then(OnceLock::get) {
            Some(piece) => &piece[number % PIECE],
            None => &self.piece(0)[0],
        }
    }

    /// Takes the names that the log does not have yet.
    pub fn take_unwritten(&self) -> Vec<(u32, Box<[u8]>)> {
        std::mem::take(&mut self.names.lock().unwrap_or_else(PoisonError::into_inner).unwritten)
    }

    /// Number of classes, [`UNNAMED`] included.
    pub fn len(&self) -> usize {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).numbers.len()
    }

    /// Never: there is always [`UNNAMED`].
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Whether a name matches a pattern, in which `*` is any text.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of, mut star) = (0, 0, None);
    while of < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(byte) if *byte == name[of] => (at, of) = (at + 1, of + 1),
            _ => {
                // The last star takes one more byte.
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                (at, of) = (place + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_by_name() {
        let classes = Classes::new(vec!["com.shop.*".into(), "*[]".into()]);
        let [order, text, bytes] = [&b"com.shop.Order"[..], b"java.lang.String", b"byte[]"].map(|name| {
            assert_eq!(classes.number(name), classes.number(name));
            classes.number(name)
        });
        assert_eq!((order, text, bytes), (1, 2, 3));
        assert_eq!([order, text, bytes].map(|class| classes.slot(class).is_chosen()), [true, false, true]);
        assert_eq!((classes.slot(text).add(24), classes.slot(text).add(24)), (0, 1));
        assert_eq!(classes.slot(text).counts(), (2, 48));
        assert_eq!(classes.take_unwritten().len(), 4);
        assert!(classes.take_unwritten().is_empty());
    }

    #[test]
    fn further_classes_count_as_one() {
        let classes = Classes::new(Vec::new());
        for number in 1..PIECE * PIECES {
            assert_eq!(classes.number(format!("c{number}").as_bytes()) as usize, number);
        }
        assert_eq!(classes.number(b"another"), UNNAMED);
        assert!(!classes.slot(UNNAMED).is_chosen() && classes.slot(70_000).counts() == (0, 0));
    }

    #[test]
    fn patterns_match_as_in_shells() {
        for (pattern, name, is) in [
            ("com.shop.*", "com.shop.Order", true),
            ("com.shop.*", "com.shopping.Order", false),
            ("*", "", true),
            ("*Order", "com.shop.OrderOrder", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbX", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), is, "{pattern} {name}");
        }
    }
}
