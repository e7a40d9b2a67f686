//! File access hints to the system. They affect only speed.

use super::File;
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;

impl File {
    /// Starts readahead of a range, where supported.
    pub fn will_need(&self, offset: u64, bytes: u64) {
        let _ = fadvise(&self.file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
    }

    /// Disables readahead by the system.
    pub fn will_read_at_random(&self) {
        let _ = fadvise(&self.file, 0, None, Advice::Random);
    }
}
