//! Gzip in blocks, as Java virtual machines write heap dumps, inflated on several threads.
//!
//! `jcmd GC.heap_dump -gz` makes each block a gzip member, and records the block size in the first one's comment. No
//! field marks the end of a member. A piece from one header to the next that inflates as one whole member is a member;
//! if it does not, the rest from there on is inflated serially, so contents and errors equal those of plain gzip for
//! any bytes.

use crate::gzip::Members;
use crossbeam_channel::{Receiver, Sender, bounded};
use flate2::bufread::GzDecoder;
use heaplake_kit::{Budget, Reservation, threads};
use memchr::memmem;
use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a file needed to recognize this kind.
pub(crate) const PEEK: usize = 64;

/// Maximum size of a block that is inflated as a whole.
const MOST_BLOCK: usize = 8 << 20;

/// Maximum expansion of a compressed block.
const MARGIN: usize = 64 << 10;

/// Bytes per read.
const READ: usize = 128 << 10;

/// Beginning of every member but the first: no name, no comment, no time.
const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0];

/// Returns the block size recorded at the beginning of a file, if any.
pub(crate) fn block_size(beginning: &[u8]) -> Option<usize> {
    let comment = beginning.strip_prefix(&[0x1f, 0x8b, 8, 0x10])?.get(6..)?.strip_prefix(b"HPROF BLOCKSIZE=")?;
    let digits = &comment[..comment.iter().position(|&byte| byte == 0)?];
    let size = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (1..=MOST_BLOCK).contains(&size).then_some(size)
}

/// Threads and memory for inflating.
pub(crate) struct Inflaters {
    threads: usize,
    /// Maximum size of a block, for which memory is reserved.
    most: usize,
    _reservation: Reservation,
}

impl Inflaters {
    /// Plans `threads` and memory for their blocks; `None` if one thread does as well, or if they would take more than
    /// a quarter of the free memory.
    pub(crate) fn plan(threads: usize, beginning: &[u8], budget: &Budget) -> Option<Self> {
        let most = block_size(beginning)?;
        // In flight are one block more than threads, each compressed and inflated; plus one block consumed and one
        // read.
        let bytes = (threads as u64 + 3) * 2 * (most + MARGIN) as u64;
        if threads < 2 || bytes > budget.free() / 4 {
            return None;
        }
        let reservation = budget.reserve("gzip in blocks", bytes).ok()?;
        Some(Self { threads, most, _reservation: reservation })
    }
}

/// A piece of the file that may be a member, and the channel for its content.
struct Job {
    piece: Vec<u8>,
    done: Sender<Done>,
    /// The largest block for which there is memory.
    most: usize,
}

impl Job {
    fn inflate(self) {
        let Self { piece, done, most } = self;
        let content = inflate(&piece, most);
        // The receiver may be gone: nothing is left to do.
        let _ = done.send(Done { piece, content });
    }
}

/// A piece, and its content if it is a member.
struct Done {
    piece: Vec<u8>,
    content: Option<Vec<u8>>,
}

/// Mode of reading the rest.
enum Rest<R> {
    /// In pieces, on several threads.
    Pieces(R),
    /// Serially.
    Serial(Box<Members<io::Chain<Cursor<Vec<u8>>, R>>>),
    /// Transition between modes.
    Nothing,
}

/// Reader of the content of a file in blocks.
pub(crate) struct Blocked<R> {
    rest: Rest<R>,
    /// Bytes read but not yet in a piece.
    ahead: Vec<u8>,
    /// True at the end of the file.
    ended: bool,
    /// Error of the last read.
    failed: Option<io::Error>,
    /// Pieces in flight, in order.
    under_way: VecDeque<Receiver<Done>>,
    /// The current block, and the number of bytes consumed.
    block: Vec<u8>,
    at: usize,
    jobs: (Sender<Job>, Receiver<Job>),
    /// Tasks that inflate.
    helpers: Arc<AtomicUsize>,
    pool: Inflaters,
}

impl<R: Read> Blocked<R> {
    /// Creates a reader of a file.
    pub(crate) fn new(file: R, pool: Inflaters) -> Self {
        Self {
            rest: Rest::Pieces(file),
            ahead: Vec::new(),
            ended: false,
            failed: None,
            under_way: VecDeque::new(),
            block: Vec::new(),
            at: 0,
            jobs: bounded(pool.threads + 1),
            helpers: Arc::default(),
            pool,
        }
    }

    /// Returns the file; bytes read ahead are lost.
    pub(crate) fn into_inner(self) -> Option<R> {
        match self.rest {
            Rest::Pieces(file) => Some(file),
            Rest::Serial(members) => Some(members.into_inner()?.into_inner().1),
            Rest::Nothing => None,
        }
    }

    /// Receives the next block; false if the rest is read otherwise, or at the end.
    fn next_block(&mut self) -> io::Result<bool> {
        while self.under_way.len() <= self.pool.threads {
            let Some(piece) = self.cut() else { break };
            let (done, receiver) = bounded(1);
            // There is room: as many pieces are under way as the channel has.
            let _ = self.jobs.0.send(Job { piece, done, most: self.pool.most });
            self.help();
            self.under_way.push_back(receiver);
        }
        let Some(next) = self.under_way.pop_front() else {
            // The rest is not a piece.
            self.go_on_serially(Vec::new())?;
            return Ok(false);
        };
        let Done { piece, content } = self.received(&next)?;
        match content {
            Some(content) => (self.block, self.at) = (content, 0),
            None => {
                self.go_on_serially(piece)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the next piece of the file, up to a header or the end; `None` if none can be a member.
    fn cut(&mut self) -> Option<Vec<u8>> {
        let Rest::Pieces(file) = &mut self.rest else { return None };
        // The piece itself begins with a header.
        let mut searched = 1;
        loop {
            if let Some(found) = self.ahead.get(searched..).and_then(|part| memmem::find(part, HEADER)) {
                let rest = self.ahead.split_off(searched + found);
                return Some(std::mem::replace(&mut self.ahead, rest));
            }
            if self.ended {
                return if self.ahead.is_empty() { None } else { Some(std::mem::take(&mut self.ahead)) };
            }
            if self.ahead.len() > self.pool.most + MARGIN || self.failed.is_some() {
                return None;
            }
            searched = self.ahead.len().saturating_sub(HEADER.len() - 1).max(1);
            let before = self.ahead.len();
            match file.take(READ as u64).read_to_end(&mut self.ahead) {
                Ok(_) => self.ended = self.ahead.len() == before,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Queues a task that inflates pieces until none waits, unless there are enough.
    fn help(&self) {
        let most = self.pool.threads;
        let add = |helpers: usize| (helpers < most).then_some(helpers + 1);
        if self.helpers.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).is_err() {
            return;
        }
        let (waiting, helpers) = (self.jobs.1.clone(), Arc::clone(&self.helpers));
        let is_queued = threads::detach(move || {
            waiting.try_iter().for_each(Job::inflate);
            helpers.fetch_sub(1, Ordering::AcqRel);
        });
        if !is_queued {
            self.helpers.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Waits for a piece. Inflates pieces that no other thread has begun.
    fn received(&self, done: &Receiver<Done>) -> io::Result<Done> {
        loop {
            if let Ok(done) = done.try_recv() {
                return Ok(done);
            }
            match self.jobs.1.try_recv() {
                Ok(job) => job.inflate(),
                Err(_) => return done.recv().map_err(|_| io::Error::other("a thread that inflates stopped")),
            }
        }
    }

    /// Switches to serial inflation, from this piece on.
    fn go_on_serially(&mut self, piece: Vec<u8>) -> io::Result<()> {
        let mut stored = piece;
        for piece in std::mem::take(&mut self.under_way) {
            stored.append(&mut self.received(&piece)?.piece);
        }
        stored.append(&mut self.ahead);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Rest::Pieces(file) = std::mem::replace(&mut self.rest, Rest::Nothing) {
            self.rest = if stored.is_empty() && self.ended {
                Rest::Pieces(file)
            } else {
                Rest::Serial(Box::new(Members::new(Cursor::new(stored).chain(file))))
            };
        }
        Ok(())
    }
}

impl<R: Read> Read for Blocked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Rest::Serial(decoder) = &mut self.rest {
                return decoder.read(buffer);
            }
            if self.at < self.block.len() {
                let count = buffer.len().min(self.block.len() - self.at);
                buffer[..count].copy_from_slice(&self.block[self.at..self.at + count]);
                self.at += count;
                return Ok(count);
            }
            if !self.next_block()? && matches!(self.rest, Rest::Pieces(_) | Rest::Nothing) {
                return Ok(0);
            }
        }
    }
}

/// Inflates a piece if it is one whole member of at most `most` bytes.
fn inflate(piece: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(most);
    let mut decoder = GzDecoder::new(piece);
    decoder.by_ref().take(most as u64 + 1).read_to_end(&mut content).ok()?;
    (content.len() <= most && decoder.into_inner().is_empty()).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder};
    use std::io::Write;

    /// Bytes of all kinds; every third block is incompressible and contains headers.
    fn content(length: usize) -> Vec<u8> {
        let mut state = 5u64;
        let mut bytes: Vec<u8> = Vec::with_capacity(length);
        while bytes.len() < length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if (bytes.len() / 1000).is_multiple_of(3) {
                bytes.extend(state.to_be_bytes());
            } else {
                bytes.extend([7; 8]);
            }
            if state >> 56 == 0 {
                bytes.extend(HEADER);
            }
        }
        bytes.truncate(length);
        bytes
    }

    fn blocked(content: &[u8], size: usize, level: Compression) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, block) in content.chunks(size).enumerate() {
            let builder = GzBuilder::new();
            let builder = if number == 0 { builder.comment(format!("HPROF BLOCKSIZE={size}")) } else { builder };
            let mut member = builder.write(Vec::new(), level);
            member.write_all(block).unwrap();
            out.extend(member.finish().unwrap());
        }
        out
    }

    /// Reads to the end or an error; returns both.
    fn all(mut reader: impl Read) -> (Vec<u8>, Option<String>) {
        let mut bytes = Vec::new();
        let error = reader.read_to_end(&mut bytes).err();
        (bytes, error.map(|error| error.to_string()))
    }

    /// Compares several threads with one; returns the result.
    fn same(stored: &[u8]) -> (Vec<u8>, Option<String>) {
        let expected = all(Members::new(stored));
        for threads in [2, 3, 7] {
            let budget = Budget::new(1 << 30);
            let pool = Inflaters::plan(threads, &stored[..PEEK], &budget).unwrap();
            let mut reader = Blocked::new(stored, pool);
            let found = all(&mut reader);
            assert!(found == expected, "{threads}: {:?}, {:?}", found.1, expected.1);
            if expected.1.is_none() {
                assert!(reader.into_inner().unwrap().is_empty());
            }
        }
        expected
    }

    #[test]
    fn blocks_are_what_gzip_makes_of_them() {
        let content = content(100_000);
        for (size, level) in [(1, 6), (1000, 6), (4096, 1), (4096, 0), (100_000, 6), (1 << 20, 9)] {
            let content = &content[..content.len().min(size * 300)];
            let stored = blocked(content, size, Compression::new(level));
            assert_eq!(block_size(&stored), Some(size));
            assert!(same(&stored) == (content.to_vec(), None), "{size}");
        }
    }

    #[test]
    fn damage_is_what_gzip_finds() {
        let stored = blocked(&content(60_000), 4096, Compression::new(6));
        for length in (PEEK..stored.len()).step_by(97) {
            assert!(same(&stored[..length]).1.is_some() || length < stored.len());
        }
        let mut state = 1usize;
        for _ in 0..500 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let mut damaged = stored.clone();
            let at = PEEK + (state >> 20) % (stored.len() - PEEK);
            damaged[at] ^= 1 << (state >> 17 & 7);
            same(&damaged);
        }
        // Trailing bytes behind the last block.
        for rest in [&[0; 100][..], HEADER, b"text"] {
            same(&[&stored[..], rest].concat());
        }
    }

    #[test]
    fn blocks_larger_than_they_said() {
        let mut stored = blocked(&content(60_000), 1000, Compression::new(6));
        stored.extend(blocked(&content(300_000), 150_000, Compression::new(0)));
        assert_eq!(same(&stored).0.len(), 360_000);
    }

    #[test]
    fn what_is_not_of_this_kind() {
        let stored = blocked(&[1; 100], 10, Compression::new(6));
        let budget = Budget::new(1 << 30);
        assert!(
            Inflaters::plan(1, &stored, &budget).is_none() && Inflaters::plan(2, &stored, &Budget::new(1000)).is_none()
        );
        for other in [&stored[1..], b"", &stored[..20], &blocked(&[1], 99 << 20, Compression::new(6))] {
            assert!(block_size(other).is_none());
        }
        assert_eq!(budget.free(), 1 << 30);
    }
}
