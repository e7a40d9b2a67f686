//! The thread that writes the log.
//!
//! It never calls the virtual machine, and waits only for the file and for time to pass. Every [`PAUSE`], and when the queue fills, it takes the
//! records and writes up to three frames: names of new classes, the records, and the counts of classes. Counts are read
//! after the records were taken, so they cover at least the samples before them.

use crate::classes::Classes;
use crate::options::Memory;
use crate::queue::Queue;
use heaplake_eventlog::encode::Encoder;
use heaplake_eventlog::frame::FrameWriter;
use heaplake_eventlog::header::Header;
use heaplake_eventlog::record::Note;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time between two frames with records.
pub(crate) const PAUSE: Duration = Duration::from_millis(250);

/// The parts of a recording that its writer sees.
pub(crate) struct Shared {
    /// All classes.
    pub(crate) classes: Classes,
    /// The records.
    pub(crate) queue: Mutex<Queue>,
    /// Errors caught in callbacks.
    pub(crate) errors: AtomicU64,
    /// Whether the log has ended: complete, or because writing failed.
    pub(crate) over: AtomicBool,
    ends: AtomicBool,
    ended: Mutex<bool>,
    has_ended: Condvar,
}

impl Shared {
    /// Makes them, with all of the memory of the queue.
    pub(crate) fn new(patterns: Vec<String>, memory: Memory, tracks: bool) -> Self {
        Self {
            classes: Classes::new(patterns),
            queue: Mutex::new(Queue::new(memory, tracks)),
            errors: AtomicU64::new(0),
            over: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            ended: Mutex::new(false),
            has_ended: Condvar::new(),
        }
    }

    /// Asks the writer to end the log.
    pub(crate) fn end(&self, writer: &thread::Thread) {
        self.ends.store(true, Ordering::SeqCst);
        writer.unpark();
    }

    /// Ends the log; waits until it is written, at most so long.
    pub(crate) fn finish(&self, writer: &thread::Thread, most: Duration) -> bool {
        self.end(writer);
        let until = Instant::now() + most;
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            ended = self.has_ended.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn ended(&self) {
        self.over.store(true, Ordering::SeqCst);
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.has_ended.notify_all();
    }
}

/// Creates the file of a log, readable by its owner alone. An existing regular file is replaced; links and others are refused.
///
/// # Errors
/// If there is something else, or creating fails.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "not a regular file"));
        }
        Ok(_) => std::fs::remove_file(path)?,
        Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Begins a log.
///
/// # Errors
/// If writing fails.
pub(crate) fn begin(file: File, header: &Header) -> io::Result<FrameWriter<File>> {
    FrameWriter::new(file, header)
}

/// Writes the log until the recording ends; returns the error that ended it early.
pub(crate) fn run(shared: &Shared, mut log: FrameWriter<File>) -> io::Result<u64> {
    let size = shared.queue.lock().unwrap_or_else(PoisonError::into_inner).size();
    let mut written = Written { counts: Vec::new(), errors: 0, other: Encoder::default() };
    let mut empty = Encoder::with_capacity(size);
    let result = loop {
        thread::park_timeout(PAUSE);
        let last = shared.ends.load(Ordering::SeqCst);
        let mut records = shared.queue.lock().unwrap_or_else(PoisonError::into_inner).take(empty);
        if let Err(error) = written.write(shared, &records, &mut log, last) {
            break Err(error);
        }
        if last {
            break Ok(log.written());
        }
        records.clear();
        empty = records;
    };
    shared.ended();
    result
}

/// The state of the log.
struct Written {
    /// Objects and bytes by class.
    counts: Vec<(u64, u64)>,
    errors: u64,
    /// Buffer of names and counts.
    other: Encoder,
}

impl Written {
    fn write(&mut self, shared: &Shared, records: &Encoder, log: &mut FrameWriter<File>, last: bool) -> io::Result<()> {
        self.other.clear();
        for (number, name) in shared.classes.take_unwritten() {
            self.other.class(number, &name);
        }
        log.write(&self.other)?;
        log.write(records)?;
        self.other.clear();
        // Classes that have come since get their names before their counts.
        let counts = self.new_counts(&shared.classes);
        for (number, name) in shared.classes.take_unwritten() {
            self.other.class(number, &name);
        }
        if !counts.is_empty() {
            self.other.counts(counts);
        }
        let errors = shared.errors.load(Ordering::Relaxed);
        if errors > self.errors {
            self.other.note(Note::Errors, errors - self.errors);
            self.errors = errors;
        }
        if last {
            self.other.end();
        }
        log.write(&self.other)
    }

    /// Counts since the last call, by class.
    fn new_counts(&mut self, classes: &Classes) -> Vec<(u32, u64, u64)> {
        let mut new = Vec::new();
        self.counts.resize(classes.len(), (0, 0));
        for (before, class) in self.counts.iter_mut().zip(0..) {
            let now = classes.slot(class).counts();
            if now != *before {
                new.push((class, now.0.wrapping_sub(before.0), now.1.wrapping_sub(before.1)));
                *before = now;
            }
        }
        new
    }
}
