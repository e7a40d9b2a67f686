//! Logs in memory.

use heaplake_eventlog::reader::Log;
use heaplake_eventlog::record::{Record, Sample};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The content of a log.
#[derive(Default)]
pub(crate) struct Content {
    /// Objects and bytes of each class.
    pub(crate) counts: BTreeMap<String, (u64, u64)>,
    /// Samples with names instead of numbers: class, functions innermost first, sample, collections ended before.
    pub(crate) samples: Vec<(String, Vec<String>, Sample, u32)>,
    /// Positions in `samples` of dead objects, and collections ended before their deaths.
    pub(crate) deaths: Vec<(usize, u32)>,
    pub(crate) threads: Vec<String>,
    pub(crate) dropped: u64,
    pub(crate) collections: u32,
    pub(crate) complete: bool,
    pub(crate) is_cut: bool,
}

/// Tables that numbers refer to.
#[derive(Default)]
struct Tables {
    classes: BTreeMap<u32, String>,
    methods: BTreeMap<u32, String>,
    stacks: BTreeMap<u32, Vec<String>>,
    alive: BTreeMap<u32, usize>,
    sums: BTreeMap<u32, (u64, u64)>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Content {
    /// Reads a log, which must be valid as far as it goes.
    pub(crate) fn read(path: &Path) -> Self {
        let mut log = Log::open(BufReader::new(File::open(path).unwrap())).unwrap();
        let (mut content, mut tables) = (Self::default(), Tables::default());
        while let Some(frame) = log.frame().unwrap() {
            frame.records().for_each(|record| content.add(record.unwrap(), &mut tables));
        }
        content.is_cut = log.left_out().is_some();
        for (class, (objects, bytes)) in tables.sums {
            let name = tables.classes.get(&class).expect("counted classes have names").clone();
            content.counts.insert(name, (objects, bytes));
        }
        content
    }

    fn add(&mut self, record: Record<'_>, tables: &mut Tables) {
        match record {
            Record::Class { id, name } => drop(tables.classes.insert(id, text(name))),
            Record::Method { id, texts: [class, name, ..], .. } => {
                tables.methods.insert(id, format!("{}.{}", text(class), text(name)));
            }
            Record::Thread { name, .. } => self.threads.push(text(name)),
            Record::Stack { id, frames, .. } => {
                let names = frames.map(|frame| tables.methods.get(&frame.method).cloned().unwrap_or_default());
                tables.stacks.insert(id, names.collect());
            }
            Record::Counts(counts) => {
                for of in counts {
                    let sums = tables.sums.entry(of.class).or_default();
                    *sums = (sums.0 + of.objects, sums.1 + of.bytes);
                }
            }
            Record::Sample(sample) => {
                if sample.tag > 0 {
                    let before = tables.alive.insert(sample.tag, self.samples.len());
                    assert_eq!(before, None, "tag {} is in use", sample.tag);
                }
                let class = tables.classes.get(&sample.class).expect("sampled classes have names").clone();
                let stack = tables.stacks.get(&sample.stack).cloned().unwrap_or_default();
                self.samples.push((class, stack, sample, self.collections));
            }
            Record::Deaths(tags) => {
                for tag in tags {
                    let sample = tables.alive.remove(&tag).expect("an object dies once, after its birth");
                    self.deaths.push((sample, self.collections));
                }
            }
            Record::CollectionEnd(_) => self.collections += 1,
            Record::Dropped(samples) => self.dropped += samples,
            Record::ForgetStacks => tables.stacks.clear(),
            Record::End => self.complete = true,
            Record::CollectionStart(_) | Record::Time(_) | Record::Note(..) => {}
        }
    }

    /// Objects of a class.
    pub(crate) fn objects(&self, class: &str) -> u64 {
        self.counts.get(class).map_or(0, |counts| counts.0)
    }

    /// Samples of a class.
    pub(crate) fn of<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a (String, Vec<String>, Sample, u32)> {
        self.samples.iter().filter(move |sample| sample.0 == class)
    }
}
