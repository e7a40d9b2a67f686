//! Records with unknown tags between those that the format has. Tools that rewrite dumps add some, such as a mark that a dump
//! was redacted.
//!
//! Such a record is passed over if its length leads to a known record, another one of the same tag, or the end of the content.
//! Everything else with an unknown tag is damage.

use heaplake_kit::text;

/// The length of what is no record, but the beginning of another file.
pub const ANOTHER_FILE: u64 = u64::MAX;

/// Records with unknown tags that were passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    count: u64,
    bytes: u64,
    /// Tag and place of the first one.
    first: (u8, u64),
    /// Tag and place of the first of those behind which nothing known has come yet.
    open: Option<(u8, u64)>,
}

/// What is no record: where, what was expected there, and what was found.
pub type Problem = (u64, &'static str, String);

impl Passed {
    /// A record with a known tag.
    pub fn known(&mut self) {
        self.open = None;
    }

    /// A record with this unknown tag at this place, of a content of which so much is left behind its head.
    ///
    /// # Errors
    /// A [`Problem`] where it can be none.
    pub fn see(&mut self, (tag, offset): (u8, u64), length: u64, left: u64) -> Result<(), Problem> {
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

    /// What is said of them.
    pub fn remark(&self) -> Option<String> {
        let (records, bytes, (tag, offset)) = (text::count(self.count), text::count(self.bytes), self.first);
        (self.count > 0).then(|| {
            format!("records with unknown tags are passed over: {records}, of {bytes} bytes; the first is {tag:#04x} at byte {offset}")
        })
    }
}
