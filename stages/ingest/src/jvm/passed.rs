//! Records with unknown tags between those of the format. Tools that rewrite dumps add some, such as a mark of
//! redaction.
//!
//! Such a record is skipped if its length leads to a known record, another one of the same tag, or the end of the
//! content. Any other unknown tag is damage.

use heaplake_kit::text;

/// Marks the beginning of another file in place of a length.
pub(super) const ANOTHER_FILE: u64 = u64::MAX;

/// Skipped records with unknown tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    count: u64,
    bytes: u64,
    /// Tag and offset of the first record.
    first: (u8, u64),
    /// Tag and offset of the first record since the last known one.
    open: Option<(u8, u64)>,
}

/// An error: offset, expected and found.
pub(super) type Problem = (u64, &'static str, String);

impl Passed {
    /// Notes a record with a known tag.
    pub(crate) fn known(&mut self) {
        self.open = None;
    }

    /// Adds a record with this unknown tag and offset, with `left` bytes of content after its head. Refuses implausible
    /// ones.
    pub(crate) fn see(&mut self, (tag, offset): (u8, u64), length: u64, left: u64) -> Result<(), Problem> {
        if length == ANOTHER_FILE {
            let expected = "a record, or the end of the content (split a file of several dumps at such places)";
            return Err((offset, expected, "the beginning of another dump (JAVA PROFILE)".to_owned()));
        }
        let open = self.open.unwrap_or((tag, offset));
        if tag == 0 || length > left || open.0 != tag {
            return Err((open.1, "a record", format!("the unknown tag {:#04x}", open.0)));
        }
        if self.count == 0 {
            self.first = (tag, offset);
        }
        self.count += 1;
        self.bytes += length;
        self.open = Some(open);
        Ok(())
    }

    /// Returns the remark about the skipped records.
    pub(crate) fn remark(&self) -> Option<String> {
        let (records, bytes, (tag, offset)) = (text::count(self.count), text::count(self.bytes), self.first);
        (self.count > 0).then(|| {
            format!("records with unknown tags are passed over: {records}, of {bytes} bytes; the first is {tag:#04x} at byte {offset}")
        })
    }
}
