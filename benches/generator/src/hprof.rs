//! Writes Java heap dumps, with identifiers of eight bytes.

use std::io::{self, Write};

const UTF8: u8 = 1;
const LOAD_CLASS: u8 = 2;
const SEGMENT: u8 = 0x1c;
const END: u8 = 0x2c;

const OBJECT_KIND: u8 = 2;
const CLASS: u8 = 0x20;
const INSTANCE: u8 = 0x21;

/// Kinds of roots.
pub(crate) const ROOT_STICKY: u8 = 5;
pub(crate) const ROOT_UNKNOWN: u8 = 0xff;

/// Bytes of a segment.
const FULL: usize = 1 << 24;

/// A dump being written.
pub(crate) struct Dump<'a> {
    out: &'a mut dyn Write,
    segment: Vec<u8>,
}

impl<'a> Dump<'a> {
    pub(crate) fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\x01\x8b\xcf\xe5\x68\0")?;
        Ok(Self { out, segment: Vec::new() })
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.flush()?;
        self.record(END, &[])
    }

    pub(crate) fn record(&mut self, tag: u8, parts: &[&[u8]]) -> io::Result<()> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
        self.out.write_all(&[tag, 0, 0, 0, 0])?;
        self.out.write_all(&length.to_be_bytes())?;
        parts.iter().try_for_each(|part| self.out.write_all(part))
    }

    pub(crate) fn name(&mut self, id: u64, text: &str) -> io::Result<()> {
        self.record(UTF8, &[&id.to_be_bytes(), text.as_bytes()])
    }

    pub(crate) fn load(&mut self, serial: u64, class: u64, name: u64) -> io::Result<()> {
        let serial = (serial as u32).to_be_bytes();
        self.record(LOAD_CLASS, &[&serial, &class.to_be_bytes(), &[0; 4], &name.to_be_bytes()])
    }

    /// Ends the segment.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let segment = std::mem::take(&mut self.segment);
        if segment.is_empty() { Ok(()) } else { self.record(SEGMENT, &[&segment]) }
    }

    /// Adds a heap record to the segment, which ends if it is full.
    pub(crate) fn add(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        parts.iter().for_each(|part| self.add_part(part));
        if self.segment.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Adds a part of a heap record, which must lie in one segment.
    pub(crate) fn add_part(&mut self, part: &[u8]) {
        self.segment.extend_from_slice(part);
    }

    /// A class with fields of these names, which are references; `superclass` may be 0.
    pub(crate) fn class(&mut self, id: u64, superclass: u64, fields: &[u64]) -> io::Result<()> {
        let (bytes, count) = ((fields.len() as u32 * 8).to_be_bytes(), (fields.len() as u16).to_be_bytes());
        let fields: Vec<u8> =
            fields.iter().flat_map(|name| [&name.to_be_bytes()[..], &[OBJECT_KIND]].concat()).collect();
        let (id, superclass) = (id.to_be_bytes(), superclass.to_be_bytes());
        self.add(&[&[CLASS], &id, &[0; 4], &superclass, &[0; 40], &bytes, &[0; 4], &count, &fields])
    }

    pub(crate) fn root(&mut self, kind: u8, object: u64) -> io::Result<()> {
        self.add(&[&[kind], &object.to_be_bytes()])
    }

    pub(crate) fn instance(&mut self, object: u64, class: u64, references: &[u64]) -> io::Result<()> {
        let body: Vec<u8> = references.iter().flat_map(|reference| reference.to_be_bytes()).collect();
        let bytes = (body.len() as u32).to_be_bytes();
        self.add(&[&[INSTANCE], &object.to_be_bytes(), &[0; 4], &class.to_be_bytes(), &bytes, &body])
    }
}
