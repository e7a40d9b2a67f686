//! Records, and reading them.

use crate::Bad;
use crate::varint::{Cursor, unzigzag};

pub(crate) const CLASS: u8 = 1;
pub(crate) const METHOD: u8 = 2;
pub(crate) const THREAD: u8 = 3;
pub(crate) const STACK: u8 = 4;
pub(crate) const COUNTS: u8 = 5;
pub(crate) const SAMPLE: u8 = 6;
pub(crate) const TRACKED: u8 = 7;
pub(crate) const DEATHS: u8 = 8;
pub(crate) const COLLECTION_START: u8 = 9;
pub(crate) const COLLECTION_END: u8 = 10;
pub(crate) const TIME: u8 = 11;
pub(crate) const DROPPED: u8 = 12;
pub(crate) const FORGET_STACKS: u8 = 13;
pub(crate) const NOTE: u8 = 14;
pub(crate) const END: u8 = 15;

/// One of a recorder's counts about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Note {
    /// Sampled objects that were not tracked to their death, since too many others were.
    Untracked = 1,
    /// Objects of classes beyond the largest number of classes; they count as class 0.
    Unnamed = 2,
    /// Internal errors that the recorder caught.
    Errors = 3,
}

/// An object with size and stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Its class.
    pub class: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Objects of the class that it represents, itself included.
    pub weight: u32,
    /// Its stack; 0 for none.
    pub stack: u32,
    /// The allocating thread; 0 if unknown.
    pub thread: u32,
    /// Its tag, if it is tracked to its death; 0 if not.
    pub tag: u32,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameOfStack {
    /// The method.
    pub method: u32,
    /// Position in its code; `None` in native code.
    pub position: Option<u32>,
}

/// Allocations of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The class.
    pub class: u32,
    /// Objects.
    pub objects: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
}

/// A record. Texts are UTF-8 in good logs.
#[derive(Clone, Debug)]
pub enum Record<'a> {
    /// Names a class; class 0 is that of objects without one.
    Class {
        /// Its number.
        id: u32,
        /// Its name as in source code.
        name: &'a [u8],
    },
    /// Defines a method.
    Method {
        /// Its number.
        id: u32,
        /// Class, name, descriptor and source file.
        texts: [&'a [u8]; 4],
        /// Its lines.
        lines: Lines<'a>,
    },
    /// Names a thread.
    Thread {
        /// Its number.
        id: u32,
        /// Its name.
        name: &'a [u8],
    },
    /// Defines a stack.
    Stack {
        /// Its number, from 1.
        id: u32,
        /// Whether outer frames are left out.
        cut: bool,
        /// Its frames, innermost first.
        frames: Frames<'a>,
    },
    /// Adds to the counts of classes.
    Counts(Counts<'a>),
    /// An object with size and stack.
    Sample(Sample),
    /// Deaths of tracked objects.
    Deaths(Deaths<'a>),
    /// A collection starts.
    CollectionStart(u32),
    /// A collection ends.
    CollectionEnd(u32),
    /// Microseconds have passed since the last such record.
    Time(u64),
    /// Samples were dropped.
    Dropped(u64),
    /// Numbers of stacks begin anew.
    ForgetStacks,
    /// A count of the recorder: its code (see [`Note`]) and the number to add.
    Note(u64, u64),
    /// The end of a complete log.
    End,
}

/// A list inside a record, whose entries were checked when the record was read.
#[derive(Clone, Debug)]
struct List<'a> {
    fields: Cursor<'a>,
    left: u64,
}

impl<'a> List<'a> {
    /// Reads `count` entries of `N` numbers each; `small` of them fit 32 bits.
    fn read<const N: usize>(fields: &mut Cursor<'a>, count: u64, small: [bool; N]) -> Option<Self> {
        let start = fields.at();
        for _ in 0..count {
            for small in small {
                let number = fields.number()?;
                if small && number > u64::from(u32::MAX) {
                    return None;
                }
            }
        }
        Some(Self { fields: Cursor::new(fields.since(start)), left: count })
    }

    fn next(&mut self) -> Option<&mut Cursor<'a>> {
        self.left = self.left.checked_sub(1)?;
        Some(&mut self.fields)
    }
}

/// Lines of a method: first position in its code, and line.
#[derive(Clone, Debug)]
pub struct Lines<'a>(List<'a>, (u32, u32));

impl Iterator for Lines<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let fields = self.0.next()?;
        let position = fields.number()? as u32;
        let line = unzigzag(fields.number()?) as u32;
        self.1 = (self.1.0.wrapping_add(position), self.1.1.wrapping_add(line));
        Some(self.1)
    }
}

/// Frames of a stack.
#[derive(Clone, Debug)]
pub struct Frames<'a>(List<'a>);

impl Iterator for Frames<'_> {
    type Item = FrameOfStack;

    fn next(&mut self) -> Option<FrameOfStack> {
        let fields = self.0.next()?;
        let method = fields.small()?;
        Some(FrameOfStack { method, position: (fields.number()? as u32).checked_sub(1) })
    }
}

/// Counts of classes.
#[derive(Clone, Debug)]
pub struct Counts<'a>(List<'a>);

impl Iterator for Counts<'_> {
    type Item = Count;

    fn next(&mut self) -> Option<Count> {
        let fields = self.0.next()?;
        Some(Count { class: fields.small()?, objects: fields.number()?, bytes: fields.number()? })
    }
}

/// Tags of dead objects.
#[derive(Clone, Debug)]
pub struct Deaths<'a>(List<'a>, u32);

impl Iterator for Deaths<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.1 = self.1.wrapping_add(unzigzag(self.0.next()?.number()?) as u32);
        Some(self.1)
    }
}

/// The records of a frame.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    fields: Cursor<'a>,
}

impl<'a> Records<'a> {
    /// Reads the content of a frame.
    pub fn new(content: &'a [u8]) -> Self {
        Self { fields: Cursor::new(content) }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Bad>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.fields.is_done() {
            return None;
        }
        let start = self.fields.at() as u64;
        let tag = self.fields.byte()?;
        let record = read(tag, &mut self.fields).ok_or_else(|| {
            let found = format!("tag {tag} and {}", if self.fields.is_done() { "the end" } else { "other numbers" });
            // Nothing after a damaged record can be read.
            self.fields = Cursor::new(&[]);
            Bad::new(start, "a whole record", found)
        });
        Some(record)
    }
}

#[inline]
fn read<'a>(tag: u8, fields: &mut Cursor<'a>) -> Option<Record<'a>> {
    Some(match tag {
        SAMPLE | TRACKED => Record::Sample(sample(tag, fields)?),
        TIME => Record::Time(fields.number()?),
        CLASS => Record::Class { id: fields.small()?, name: fields.text()? },
        THREAD => Record::Thread { id: fields.small()?, name: fields.text()? },
        METHOD => method(fields)?,
        STACK => {
            let id = fields.small()?;
            let count = fields.number()?;
            let frames = Frames(List::read(fields, count >> 1, [true, true])?);
            Record::Stack { id, cut: count & 1 == 1, frames }
        }
        COUNTS => {
            let count = fields.number()?;
            Record::Counts(Counts(List::read(fields, count, [true, false, false])?))
        }
        DEATHS => {
            let count = fields.number()?;
            Record::Deaths(Deaths(List::read(fields, count, [false])?, 0))
        }
        COLLECTION_START => Record::CollectionStart(fields.small()?),
        COLLECTION_END => Record::CollectionEnd(fields.small()?),
        DROPPED => Record::Dropped(fields.number()?),
        FORGET_STACKS => Record::ForgetStacks,
        NOTE => Record::Note(fields.number()?, fields.number()?),
        END => Record::End,
        _ => return None,
    })
}

#[inline]
fn sample(tag: u8, fields: &mut Cursor<'_>) -> Option<Sample> {
    Some(Sample {
        class: fields.small()?,
        size: fields.number()?,
        weight: fields.small()?,
        stack: fields.small()?,
        thread: fields.small()?,
        tag: if tag == TRACKED { fields.small()? } else { 0 },
    })
}

fn method<'a>(fields: &mut Cursor<'a>) -> Option<Record<'a>> {
    let id = fields.small()?;
    let texts = [fields.text()?, fields.text()?, fields.text()?, fields.text()?];
    let count = fields.number()?;
    let lines = Lines(List::read(fields, count, [true, false])?, (0, 0));
    Some(Record::Method { id, texts, lines })
}
