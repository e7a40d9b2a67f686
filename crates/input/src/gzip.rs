//! gzip files: a sequence of members, optionally followed by zeros.
//!
//! `gzip` itself, BGZF, `pigz -i` and appending make several members, any of which may be empty. Trailing zeros pad a
//! block of a tape or a device; `gzip -d` ignores them, too.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// Reader of the contents of all members.
pub(crate) struct Members<R> {
    /// The current member; `None` only during a transition.
    member: Option<GzDecoder<BufReader<R>>>,
    ended: bool,
}

impl<R: Read> Members<R> {
    /// Creates a reader of a file.
    pub(crate) fn new(file: R) -> Self {
        Self { member: Some(GzDecoder::new(BufReader::new(file))), ended: false }
    }

    /// Returns the file; bytes read ahead are lost.
    pub(crate) fn into_inner(self) -> Option<R> {
        self.member.map(|member| member.into_inner().into_inner())
    }

    /// Begins the next member; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(mut file) = self.member.take().map(GzDecoder::into_inner) else { return Ok(false) };
        let first = file.fill_buf().map(|rest| rest.first().copied());
        let is_next = first.and_then(|first| match first {
            Some(0) => zeros(&mut file).map(|()| false),
            first => Ok(first.is_some()),
        });
        self.member = Some(GzDecoder::new(file));
        is_next
    }
}

/// Reads a file to its end, which must be all zeros.
fn zeros(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        let rest = file.fill_buf()?;
        if rest.is_empty() {
            return Ok(());
        }
        if rest.iter().any(|&byte| byte != 0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "other bytes behind zeros at the end"));
        }
        let count = rest.len();
        file.consume(count);
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = self.member.as_mut().filter(|_| !self.ended && !buffer.is_empty()) {
            let count = member.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.ended = !self.advance()?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder};
    use std::io::Write;

    fn member(content: &[u8], builder: GzBuilder) -> Vec<u8> {
        let mut encoder = builder.write(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(stored: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Members::new(stored).read_to_end(&mut content).map(|_| content)
    }

    #[test]
    fn members_of_all_kinds_are_one_content() {
        // The extra field of BGZF; its last member is empty.
        let bgzf = || GzBuilder::new().extra(vec![b'B', b'C', 2, 0, 27, 0]);
        let one = member(b"one ", GzBuilder::new().filename("a").comment("b").mtime(7));
        let two = member(b"two", bgzf());
        let empty = member(b"", bgzf());
        for (stored, content) in [
            (one.clone(), &b"one "[..]),
            ([&one[..], &two, &empty].concat(), b"one two"),
            ([&empty[..], &one, &empty, &two].concat(), b"one two"),
            ([&one[..], &two, &[0; 100_000]].concat(), b"one two"),
            ([&empty[..], &[0]].concat(), b""),
        ] {
            assert_eq!(read(&stored).unwrap(), content);
        }
    }

    #[test]
    fn what_is_no_member_is_refused() {
        let one = member(b"one", GzBuilder::new());
        for rest in [&b"text"[..], &[0x1f], &[0, 0, 7], &one[..one.len() - 1]] {
            assert!(read(&[&one[..], rest].concat()).is_err(), "{rest:?}");
        }
        let mut damaged = one.clone();
        damaged[one.len() - 5] ^= 1;
        assert!(read(&damaged).is_err());
    }
}
