//! Hints to the system about files. They affect only speed.

use super::File;
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;

impl File {
    /// Asks the system to read so many bytes at a place before they are asked for. No effect where it does not.
    pub fn will_need(&self, offset: u64, bytes: u64) {
        let _ = fadvise(&self.file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
    }

    /// Tells the system that places will be read at random, so that it reads no more than is asked for.
    pub fn will_read_at_random(&self) {
        let _ = fadvise(&self.file, 0, None, Advice::Random);
    }
}
