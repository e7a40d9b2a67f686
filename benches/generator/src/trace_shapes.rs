//! Valid but extreme traces and Java dumps: deep, wide, recursive, full of types, threads or classes.
//!
//! A shape of size n has n extreme elements and a file of length linear in n. Its cost must be linear too, up to a
//! logarithm.

use crate::hprof::{Dump, ROOT_STICKY};
use crate::shapes::{Shape, other};
use std::io::{self, Write};

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

type Writes = fn(u64, &mut dyn Write) -> io::Result<()>;

const fn log(name: &'static str, says: &'static str, write: Writes) -> Shape {
    other(name, says, ["log", "replay"], write)
}

const fn profile(name: &'static str, says: &'static str, write: Writes) -> Shape {
    other(name, says, ["heapprofile", "replay"], write)
}

const fn dump(name: &'static str, says: &'static str, write: Writes) -> Shape {
    other(name, says, ["hprof", "analyze"], write)
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

/// Addresses of the classes in every dump.
const OBJECT: u64 = 0x1000;
const CLASS: u64 = 0x1100;
const THREAD: u64 = 0x1200;

fn begin_dump(out: &mut dyn Write) -> io::Result<Dump<'_>> {
    let mut dump = Dump::begin(out)?;
    let names = ["java/lang/Object", "java/lang/Class", "java/lang/Thread", "run", "()V", "Main.java"];
    names.into_iter().zip(1..).try_for_each(|(text, id)| dump.name(id, text))?;
    [OBJECT, CLASS, THREAD].into_iter().zip(1..).try_for_each(|(class, id)| dump.load(id, class, id))?;
    Ok(dump)
}

fn end_dump(mut dump: Dump<'_>) -> io::Result<()> {
    for class in [OBJECT, CLASS, THREAD] {
        dump.class(class, if class == OBJECT { 0 } else { OBJECT }, &[])?;
        dump.root(ROOT_STICKY, class)?;
    }
    dump.end()
}

fn address(number: u64) -> u64 {
    0x1_0000_0000 + 32 * number
}

/// Threads with one stack of `n` frames, and roots in the frames of the first thread.
fn threads(n: u64, [threads, roots]: [u64; 2], out: &mut dyn Write) -> io::Result<()> {
    let mut dump = begin_dump(out)?;
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
        dump.instance(address(thread), THREAD, &[])?;
        dump.add(&[&[8], &address(thread).to_be_bytes(), &serial, &1_u32.to_be_bytes()])?;
    }
    for root in 0..roots {
        let object = address(threads + root);
        dump.instance(object, OBJECT, &[])?;
        dump.add(&[&[3], &object.to_be_bytes(), &1_u32.to_be_bytes(), &(root as u32).to_be_bytes()])?;
    }
    end_dump(dump)
}

fn classes(n: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut dump = begin_dump(out)?;
    let class = |number: u64| 0x8000_0000 + 32 * number;
    for number in 0..n {
        let name = 0x100_0000 + number;
        dump.name(name, &format!("com/acme/C{number}"))?;
        dump.load(100 + number, class(number), name)?;
    }
    for number in 0..n {
        dump.class(class(number), OBJECT, &[])?;
        dump.instance(address(number), class(number), &[])?;
        dump.root(ROOT_STICKY, class(number))?;
    }
    end_dump(dump)
}
