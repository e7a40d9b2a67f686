//! Detects sanitized dumps: tools that hide secrets fill all byte and character arrays with one value.

use super::value::{BYTE, CHAR};
use heaplake_kit::text;

/// Number of uniform arrays that prove sanitization. In an ordinary heap some text among the first arrays differs.
const LEAST: u64 = 100;

/// Fill values of the arrays so far, until two differ.
#[derive(Debug, Default)]
pub(super) struct Fill {
    /// Of byte arrays and of character arrays.
    values: [Option<u16>; 2],
    arrays: u64,
    differ: bool,
}

impl Fill {
    /// Adds an array of `bytes` bytes at the start of `ahead`. Ignores an array that extends beyond `ahead`.
    #[inline]
    pub(super) fn see(&mut self, element: u8, ahead: &[u8], bytes: u64) {
        if !self.differ {
            self.look(element, ahead, bytes);
        }
    }

    fn look(&mut self, element: u8, ahead: &[u8], bytes: u64) {
        let elements = usize::try_from(bytes).ok().and_then(|bytes| ahead.get(..bytes));
        let Some(elements) = elements.filter(|elements| elements.len() >= 4) else { return };
        let (known, value, alike) = match element {
            BYTE => (0, u16::from(elements[0]), elements.iter().all(|byte| *byte == elements[0])),
            CHAR => {
                let first = [elements[0], elements[1]];
                (1, u16::from_be_bytes(first), elements.chunks_exact(2).all(|pair| pair == first))
            }
            _ => return,
        };
        self.arrays += 1;
        self.differ = !alike || *self.values[known].get_or_insert(value) != value;
    }

    /// Returns the remark about a sanitized dump.
    pub(super) fn remark(&self) -> Option<String> {
        if self.differ || self.arrays < LEAST {
            return None;
        }
        let value = self.values.iter().flatten().next().copied().unwrap_or(0);
        let value = match u8::try_from(value).ok().filter(u8::is_ascii_graphic) {
            Some(shown) => format!("{:?}", char::from(shown)),
            None => value.to_string(),
        };
        let arrays = text::count(self.arrays);
        Some(format!(
            "the dump was sanitized: each of {arrays} arrays of bytes or characters holds {value} only, so its texts say nothing \
             and duplicates of texts are none"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(array: &[u8], element: u8, others: u64) -> Option<String> {
        let mut fill = Fill::default();
        for _ in 0..LEAST {
            fill.see(BYTE, b"****???", 4);
        }
        for _ in 0..others {
            fill.see(element, array, array.len() as u64);
        }
        fill.remark()
    }

    #[test]
    fn dumps_whose_arrays_are_all_alike_are_sanitized() {
        assert!(of(b"*****", BYTE, 1).unwrap().contains("each of 101 arrays of bytes or characters holds '*' only"));
        assert!(of(&[0, 42, 0, 42], CHAR, 1).is_some());
        assert_eq!((of(b"***a", BYTE, 1), of(b"aaaa", BYTE, 1), of(&[0, 42, 42, 42], CHAR, 1)), (None, None, None));
        // Too short, of another type, not available.
        assert!(of(b"abc", BYTE, 9).is_some() && of(b"abcd", 10, 9).is_some());
        let mut fill = Fill::default();
        fill.see(BYTE, b"ab", 4);
        assert_eq!(fill.remark(), None);
    }
}
