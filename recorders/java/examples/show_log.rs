//! Prints the counts of an event log: `cargo run -p heaplake-recorder-java --example show_log -- LOG`.

#![expect(clippy::print_stdout, reason = "this program prints")]

use heaplake_eventlog::reader::Log;
use heaplake_eventlog::record::Record;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;

/// Sums of a class.
#[derive(Default)]
struct Sums {
    objects: u64,
    bytes: u64,
    samples: u64,
    represented: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a log")?;
    let mut log = Log::open(BufReader::new(File::open(path)?))?;
    for (name, value) in &log.header.properties {
        println!("# {name}: {value}");
    }
    let (mut names, mut sums) = (BTreeMap::new(), BTreeMap::<u32, Sums>::new());
    let mut others = BTreeMap::<&str, u64>::new();
    while let Some(frame) = log.frame()? {
        for record in frame.records() {
            match record? {
                Record::Class { id, name } => drop(names.insert(id, String::from_utf8_lossy(name).into_owned())),
                Record::Counts(counts) => counts.for_each(|of| {
                    let sums = sums.entry(of.class).or_default();
                    (sums.objects, sums.bytes) = (sums.objects + of.objects, sums.bytes + of.bytes);
                }),
                Record::Sample(sample) => {
                    let sums = sums.entry(sample.class).or_default();
                    (sums.samples, sums.represented) = (sums.samples + 1, sums.represented + u64::from(sample.weight));
                }
                Record::Method { .. } => *others.entry("methods").or_default() += 1,
                Record::Stack { .. } => *others.entry("stacks").or_default() += 1,
                Record::Thread { .. } => *others.entry("threads").or_default() += 1,
                Record::Deaths(tags) => *others.entry("deaths").or_default() += tags.count() as u64,
                Record::CollectionEnd(_) => *others.entry("collections").or_default() += 1,
                Record::Dropped(samples) => *others.entry("dropped samples").or_default() += samples,
                Record::Note(..) => *others.entry("notes").or_default() += 1,
                Record::End => *others.entry("ends").or_default() += 1,
                _ => {}
            }
        }
    }
    others.iter().for_each(|(name, count)| println!("# {name}: {count}"));
    println!("# whole frames only: {}", log.left_out().is_some());
    for (class, of) in sums {
        let name = names.get(&class).map_or("?", String::as_str);
        println!("{name} {} {} {} {}", of.objects, of.bytes, of.samples, of.represented);
    }
    Ok(())
}
