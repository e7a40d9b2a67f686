//! Valid but extreme traces and Java dumps: deep, wide, recursive, full of types, threads or classes.
//!
//! A shape of size n has n extreme elements and a file of length linear in n. Its cost must be linear too, up to a
//! logarithm.

use std::io::{self, Write};

/// A shape.
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// Description of its extreme.
    pub says: &'static str,
    /// Extension of its file.
    pub ending: &'static str,
    /// Subcommand that reads it.
    pub command: &'static str,
    write: fn(u64, &mut dyn Write) -> io::Result<()>,
}

impl Shape {
    /// Writes a file of this shape with `n` extreme elements.
    pub fn write(&self, n: u64, out: &mut dyn Write) -> io::Result<()> {
        (self.write)(n, out)
    }
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    log("stacks", "n functions, stacks and allocations", stacks),
    log("deep", "one stack of n functions", deep),
    log("types", "n types, an object of each", types),
    log("alive", "n objects that never die", alive),
    log("collections", "n collections of 64 objects", collections),
    profile("levels", "n functions, each calls the next and allocates", levels),
    profile("recursive", "a function that calls itself n times and allocates each time", recursive),
    profile("fans", "a function that calls n others", fan),
    dump("java-deep-stack", "a stack of n frames, each with a root", |n, out| threads(n, [1, n], out)),
    dump("java-one-stack", "n threads that share a stack of n frames", |n, out| threads(n, [n, 0], out)),
    dump("java-classes", "n classes, an object of each", classes),
];

/// The shape of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

type Writes = fn(u64, &mut dyn Write) -> io::Result<()>;

const fn log(name: &'static str, says: &'static str, write: Writes) -> Shape {
    Shape { name, says, ending: "log", command: "replay", write }
}

const fn profile(name: &'static str, says: &'static str, write: Writes) -> Shape {
    Shape { name, says, ending: "heapprofile", command: "replay", write }
}

const fn dump(name: &'static str, says: &'static str, write: Writes) -> Shape {
    Shape { name, says, ending: "hprof", command: "analyze", write }
}

fn begin(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"# clrprof 1\nT 1 com.acme.Thing\nF 1 Acme::make\nS 1 1\n")
}

fn end(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"# end\n")
}

fn stacks(n: u64, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    (2..=n).try_for_each(|i| writeln!(out, "F {i} Acme::f{i}"))?;
    (2..=n).try_for_each(|i| writeln!(out, "S {i} {i} {} {}", 1 + i * 7 % n, 1 + i * 13 % n))?;
    (2..=n).try_for_each(|i| writeln!(out, "A 1 {:x} 1 32 {i}", 0x10_0000 + 32 * i))?;
    end(out)
}

fn deep(n: u64, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    (2..=n).try_for_each(|i| writeln!(out, "F {i} Acme::f{i}"))?;
    out.write_all(b"S 2")?;
    (1..=n).try_for_each(|i| write!(out, " {i}"))?;
    out.write_all(b"\n")?;
    (0..100).try_for_each(|i| writeln!(out, "A 1 {:x} 1 32 2", 0x10_0000 + 32 * i))?;
    end(out)
}

fn types(n: u64, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    (2..=n).try_for_each(|i| writeln!(out, "T {i} com.acme.Type{i}"))?;
    (1..=n).try_for_each(|i| writeln!(out, "A 1 {:x} {i} 32 1", 0x10_0000 + 32 * i))?;
    end(out)
}

fn alive(n: u64, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    (0..n).try_for_each(|i| writeln!(out, "A 1 {:x} 1 32 1", 0x10_0000 + 32 * i))?;
    end(out)
}

fn collections(n: u64, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    (0..64).try_for_each(|i| writeln!(out, "A 1 {:x} 1 32 1", 0x10_0000 + 64 * i))?;
    (1..=n).try_for_each(|gc| writeln!(out, "G {gc} 11111 0\nB 0 100000 ffff ffff\nV 100000 ffff\nE {gc}"))?;
    end(out)
}

/// The beginning of a function in a profile, with an open list of callees.
fn call(out: &mut dyn Write, function: u64, id: u64) -> io::Result<()> {
    write!(
        out,
        "{{\"callFrame\":{{\"functionName\":\"f{function}\",\"url\":\"\",\"lineNumber\":1,\"columnNumber\":1}},\
         \"selfSize\":8,\"id\":{id},\"children\":["
    )
}

fn nested(n: u64, out: &mut dyn Write, function: fn(u64) -> u64) -> io::Result<()> {
    out.write_all(b"{\"head\":")?;
    (0..n).try_for_each(|i| call(out, function(i), i))?;
    (0..n).try_for_each(|_| out.write_all(b"]}"))?;
    out.write_all(b",\"samples\":[]}")
}

fn levels(n: u64, out: &mut dyn Write) -> io::Result<()> {
    nested(n, out, |i| i)
}

fn recursive(n: u64, out: &mut dyn Write) -> io::Result<()> {
    nested(n, out, |_| 0)
}

fn fan(n: u64, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"head\":")?;
    call(out, 0, 0)?;
    for i in 1..n {
        if i > 1 {
            out.write_all(b",")?;
        }
        call(out, i, i)?;
        out.write_all(b"]}")?;
    }
    out.write_all(b"]},\"samples\":[]}")
}

/// A Java heap dump being written.
struct Dump<'a> {
    out: &'a mut dyn Write,
    segment: Vec<u8>,
}

/// Addresses of the classes in every dump.
const OBJECT: u64 = 0x1000;
const CLASS: u64 = 0x1100;
const THREAD: u64 = 0x1200;

impl<'a> Dump<'a> {
    fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\x01\x8b\xcf\xe5h\0")?;
        let mut dump = Self { out, segment: Vec::new() };
        for (text, id) in ["java/lang/Object", "java/lang/Class", "java/lang/Thread", "run", "()V", "Main.java"]
            .into_iter()
            .zip(1_u64..)
        {
            dump.record(1, &[&id.to_be_bytes(), text.as_bytes()])?;
        }
        for (class, id) in [OBJECT, CLASS, THREAD].into_iter().zip(1_u64..) {
            dump.load(id as u32, class, id)?;
        }
        Ok(dump)
    }

    fn record(&mut self, tag: u8, parts: &[&[u8]]) -> io::Result<()> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
        self.out.write_all(&[tag, 0, 0, 0, 0])?;
        self.out.write_all(&length.to_be_bytes())?;
        parts.iter().try_for_each(|part| self.out.write_all(part))
    }

    fn load(&mut self, serial: u32, class: u64, name: u64) -> io::Result<()> {
        let (serial, none) = (serial.to_be_bytes(), [0; 4]);
        self.record(2, &[&serial, &class.to_be_bytes(), &none, &name.to_be_bytes()])
    }

    fn add(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        parts.iter().for_each(|part| self.segment.extend_from_slice(part));
        if self.segment.len() > 1 << 20 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let segment = std::mem::take(&mut self.segment);
        self.record(0x1c, &[&segment])
    }

    /// A class without fields.
    fn class(&mut self, id: u64, superclass: u64) -> io::Result<()> {
        self.add(&[&[0x20], &id.to_be_bytes(), &[0; 4], &superclass.to_be_bytes(), &[0; 40], &[0; 4], &[0; 6]])
    }

    /// An object without fields.
    fn object(&mut self, id: u64, class: u64) -> io::Result<()> {
        self.add(&[&[0x21], &id.to_be_bytes(), &[0; 4], &class.to_be_bytes(), &[0; 4]])
    }

    fn end(mut self) -> io::Result<()> {
        for class in [OBJECT, CLASS, THREAD] {
            self.class(class, if class == OBJECT { 0 } else { OBJECT })?;
            self.add(&[&[5], &class.to_be_bytes()])?;
        }
        self.flush()?;
        self.record(0x2c, &[])
    }
}

fn address(number: u64) -> u64 {
    0x1_0000_0000 + 32 * number
}

/// Threads with one stack of `n` frames, and roots in the frames of the first thread.
fn threads(n: u64, [threads, roots]: [u64; 2], out: &mut dyn Write) -> io::Result<()> {
    let mut dump = Dump::begin(out)?;
    let frame = |number: u64| (0x90_0000 + number).to_be_bytes();
    for number in 0..n {
        let (names, class, line) =
            ([4_u64, 5, 6].map(u64::to_be_bytes), 1_u32.to_be_bytes(), (number as u32).to_be_bytes());
        dump.record(4, &[&frame(number), names.as_flattened(), &class, &line])?;
    }
    let frames: Vec<u8> = (0..n).flat_map(frame).collect();
    dump.record(5, &[&1_u32.to_be_bytes(), &1_u32.to_be_bytes(), &(n as u32).to_be_bytes(), &frames])?;
    for thread in 0..threads {
        let serial = (thread as u32 + 1).to_be_bytes();
        dump.object(address(thread), THREAD)?;
        dump.add(&[&[8], &address(thread).to_be_bytes(), &serial, &1_u32.to_be_bytes()])?;
    }
    for root in 0..roots {
        let object = address(threads + root);
        dump.object(object, OBJECT)?;
        dump.add(&[&[3], &object.to_be_bytes(), &1_u32.to_be_bytes(), &(root as u32).to_be_bytes()])?;
    }
    dump.end()
}

fn classes(n: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut dump = Dump::begin(out)?;
    let class = |number: u64| 0x8000_0000 + 32 * number;
    for number in 0..n {
        let name = 0x100_0000 + number;
        dump.record(1, &[&name.to_be_bytes(), format!("com/acme/C{number}").as_bytes()])?;
        dump.load(100 + number as u32, class(number), name)?;
    }
    for number in 0..n {
        dump.class(class(number), OBJECT)?;
        dump.object(address(number), class(number))?;
        dump.add(&[&[5], &class(number).to_be_bytes()])?;
    }
    dump.end()
}
