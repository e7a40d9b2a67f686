//! Headers of events in a block.

use super::cursor::Cursor;

/// Header of an event. In compressed form, fields default to those of the preceding header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Number of the event's metadata; 0 in metadata blocks.
    pub metadata: u32,
    /// Sequence number among the events of its thread.
    pub sequence: u32,
    /// The thread that wrote the event.
    pub capture_thread: u64,
    /// Number of its stack; 0 for none.
    pub stack: u32,
    /// Time in ticks.
    pub time: u64,
    payload: u32,
    thread: u64,
}

/// Encoding of the headers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Only changed fields.
    Compressed,
    /// All fields.
    Plain,
}

impl Header {
    /// Reads the next header; returns the payload, or `None` if the block ends within the event.
    #[inline]
    pub fn next<'a>(&mut self, form: Form, block: &mut Cursor<'a>) -> Option<&'a [u8]> {
        match form {
            Form::Compressed => self.compressed(block),
            Form::Plain => self.plain(block),
        }
    }

    #[inline]
    fn compressed<'a>(&mut self, block: &mut Cursor<'a>) -> Option<&'a [u8]> {
        let flags = block.u8()?;
        if flags & 1 != 0 {
            self.metadata = block.varint32()?;
        }
        if flags & 2 != 0 {
            self.sequence = self.sequence.wrapping_add(block.varint32()?);
            self.capture_thread = block.varint()?;
            block.varint32()?; // processor
        }
        if self.metadata != 0 {
            self.sequence = self.sequence.wrapping_add(1);
        }
        if flags & 4 != 0 {
            self.thread = block.varint()?;
        }
        if flags & 8 != 0 {
            self.stack = block.varint32()?;
        }
        self.time = self.time.wrapping_add(block.varint()?);
        if flags & 16 != 0 {
            block.take(16)?;
        }
        if flags & 32 != 0 {
            block.take(16)?;
        }
        if flags & 128 != 0 {
            self.payload = block.varint32()?;
        }
        block.take(self.payload as usize)
    }

    fn plain<'a>(&mut self, block: &mut Cursor<'a>) -> Option<&'a [u8]> {
        let size = block.u32()? as usize;
        let mut event = Cursor(block.take(size)?);
        // The highest bit marks the last event of its time.
        self.metadata = event.u32()? & 0x7fff_ffff;
        self.sequence = event.u32()?;
        self.thread = event.u64()?;
        self.capture_thread = event.u64()?;
        event.u32()?; // processor
        self.stack = event.u32()?;
        self.time = event.u64()?;
        event.take(32)?;
        self.payload = event.u32()?;
        let payload = event.take(self.payload as usize)?;
        // Events are aligned to four bytes, including the last one.
        let padding = size.wrapping_neg() % 4;
        block.take(padding.min(block.0.len()))?;
        Some(payload)
    }
}
