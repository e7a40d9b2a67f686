//! A simulated heap with full truth: it allocates, compacts, sweeps, pins and promotes at random, writes what a profiler
//! would report, and knows the fate of each object. It shares no code with the engine.

use crate::support::Chance;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The fate of an object.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub type_id: u64,
    pub bytes: u64,
    pub address: u64,
    pub first_address: u64,
    pub moves: u32,
    /// Collections before it was allocated.
    pub born: u32,
    /// Collection (counted from 1) and generation of its death.
    pub died: Option<(u32, u8)>,
    pub stack: u64,
    /// Collections before, and the generation that it was in from there on; nothing for frozen ones.
    pub generations: Vec<(u32, u8)>,
    region: usize,
}

/// A part of the address space.
#[derive(Clone, Debug)]
struct Region {
    start: u64,
    size: u64,
    used: u64,
    /// 0, 1, 2, 3 large, 4 pinned; 9 frozen, which no event reports.
    generation: u8,
}

/// What a collection did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collection {
    pub moved_ranges: u64,
    pub surviving_ranges: u64,
    pub moved: u64,
    pub dead: u64,
    pub dead_bytes: u64,
    pub survived: u64,
    pub live: u64,
}

/// The state of a running collection.
#[derive(Default)]
struct Work {
    /// Its number, counted from 1.
    number: u32,
    /// How many of 100 objects survive.
    survival: u64,
    /// Regions at its start.
    regions: usize,
    /// Which generations it compacts; it sweeps the others.
    compacts: [bool; 3],
    /// What it reports of ranges.
    reports: Vec<String>,
    /// Objects that are alive after it.
    still: Vec<usize>,
    done: Collection,
}

/// The heap.
pub(crate) struct Heap {
    chance: Chance,
    regions: Vec<Region>,
    pub objects: Vec<Truth>,
    alive: Vec<usize>,
    pub collections: Vec<Collection>,
    pub log: String,
    next_region: u64,
    /// Regions that were emptied, whose addresses come again.
    free: Vec<(u64, u64)>,
    types: u64,
    /// Whether each object has a type of its own, so that rows by type tell objects apart.
    single: bool,
    /// Regions that the last collection reported.
    reported: usize,
}

const FROZEN: u8 = 9;

impl Heap {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let single = chance.percent(50);
        let mut heap = Self {
            regions: Vec::new(),
            objects: Vec::new(),
            alive: Vec::new(),
            collections: Vec::new(),
            log: "# clrprof 1\n".to_owned(),
            next_region: 0x7000_0000_0000 + chance.below(1 << 20) * 8,
            free: Vec::new(),
            types: 0,
            single,
            reported: 0,
            chance,
        };
        for function in 1..=5 {
            writeln!(heap.log, "F {function} N.C::f{function}").unwrap();
        }
        heap.log += "S 1 1 2\nS 2 3\nS 3 4 4 2\nS 4 5 1 2\n";
        for generation in [0, 1, 2, 3, 4, FROZEN] {
            heap.region(generation);
        }
        heap
    }

    fn region(&mut self, generation: u8) -> usize {
        let size = 1 << (10 + self.chance.below(8));
        let reuse = self.chance.percent(60);
        let found = self.free.iter().position(|&(_, free)| free >= size).filter(|_| reuse);
        let start = match found {
            Some(at) => {
                let (start, free) = self.free.swap_remove(at);
                if free > size {
                    self.free.push((start + size, free - size));
                }
                start
            }
            None => {
                let start = self.next_region;
                self.next_region += size + self.chance.below(4) * 0x1_0000 + 8;
                start
            }
        };
        self.regions.push(Region { start, size, used: 0, generation });
        self.regions.len() - 1
    }

    /// Reserves `bytes` in a region of a generation; returns region and address.
    fn place(&mut self, generation: u8, bytes: u64) -> (usize, u64) {
        loop {
            let fitting: Vec<usize> = (0..self.regions.len())
                .filter(|&at| self.regions[at].generation == generation)
                .filter(|&at| self.regions[at].size - self.regions[at].used >= bytes)
                .collect();
            if !fitting.is_empty() {
                let at = fitting[self.chance.below(fitting.len() as u64) as usize];
                // Gaps between objects, as allocation contexts of threads leave them.
                let region = &mut self.regions[at];
                let gap = if self.chance.percent(10) { 8 * self.chance.below(4) } else { 0 };
                let gap = if region.size - region.used >= bytes + gap { gap } else { 0 };
                let address = region.start + region.used + gap;
                region.used += gap + bytes;
                return (at, address);
            }
            self.region(generation);
        }
    }

    pub(crate) fn allocate(&mut self) {
        let generation = match self.chance.below(100) {
            0..=2 => 3,
            3..=5 => 4,
            6 => FROZEN,
            _ => 0,
        };
        let bytes = if generation == 3 { 600 + 8 * self.chance.below(40) } else { 24 + 8 * self.chance.below(12) };
        let type_id = if self.single { self.types + 1 } else { 1 + self.chance.below(7) };
        if type_id > self.types {
            for new in self.types + 1..=type_id {
                writeln!(self.log, "T {new} Type.Number{new}").unwrap();
            }
            self.types = type_id;
        }
        let (region, address) = self.place(generation, bytes);
        let stack = self.chance.below(5);
        writeln!(self.log, "A 1 {address:x} {type_id} {bytes} {stack}").unwrap();
        self.alive.push(self.objects.len());
        let born = self.collections.len() as u32;
        self.objects.push(Truth {
            type_id,
            bytes,
            address,
            first_address: address,
            moves: 0,
            born,
            died: None,
            stack,
            generations: if generation == FROZEN { Vec::new() } else { vec![(born, generation)] },
            region,
        });
    }

    fn write_ranges(&mut self) {
        self.reported = self.regions.len();
        for region in self.regions.iter().rev().filter(|region| region.generation != FROZEN) {
            let Region { generation, start, used, size } = region;
            writeln!(self.log, "B {generation} {start:x} {used:x} {size:x}").unwrap();
        }
    }

    pub(crate) fn collect(&mut self) {
        let number = self.collections.len() as u32 + 1;
        let oldest = [0, 0, 0, 1, 1, 2][self.chance.below(6) as usize];
        let condemned: Vec<u8> = if oldest == 2 { (0..5).collect() } else { (0..=oldest).collect() };
        let digits: String = (0..5).map(|generation| if condemned.contains(&generation) { '1' } else { '0' }).collect();
        writeln!(self.log, "G {number} {digits} 1").unwrap();
        self.write_ranges();
        let (survival, regions) = (self.chance.below(101), self.regions.len());
        let compacts = [0, 1, 2].map(|_| self.chance.percent(60));
        let mut work = Work { number, survival, regions, compacts, ..Work::default() };
        let mut by_region = self.condemned(&condemned, &mut work);
        for region in 0..regions {
            if condemned.contains(&self.regions[region].generation) {
                self.collect_region(region, by_region.remove(&region).unwrap_or_default(), &mut work);
            }
        }
        self.write_reports(work.reports);
        self.alive = work.still;
        for &at in &self.alive {
            let object = &mut self.objects[at];
            let generation = self.regions[object.region].generation;
            if object.generations.last().is_some_and(|&(_, before)| before != generation) {
                object.generations.push((number, generation));
            }
        }
        self.free_regions(regions);
        self.region(0);
        self.write_ranges();
        if self.chance.percent(30) {
            for &at in &self.alive {
                writeln!(self.log, "O {:x} {}", self.objects[at].address, self.objects[at].type_id).unwrap();
            }
        }
        writeln!(self.log, "E {number}").unwrap();
        self.collections.push(Collection { live: self.alive.len() as u64, ..work.done });
    }

    /// The objects of condemned generations by region; the others are still alive.
    fn condemned(&self, condemned: &[u8], work: &mut Work) -> BTreeMap<usize, Vec<usize>> {
        let mut by_region: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &at in &self.alive {
            let region = self.objects[at].region;
            if condemned.contains(&self.regions[region].generation) {
                by_region.entry(region).or_default().push(at);
            } else {
                work.still.push(at);
            }
        }
        by_region
    }

    fn collect_region(&mut self, region: usize, members: Vec<usize>, work: &mut Work) {
        let generation = self.regions[region].generation;
        let compacts = work.compacts.get(usize::from(generation)).is_some_and(|&compacts| compacts);
        let runs = self.survivors(members, generation, work);
        work.done.survived += runs.iter().map(|run| run.len() as u64).sum::<u64>();
        let pinned = !compacts || runs.iter().any(|_| self.chance.percent(5));
        for run in runs {
            let from = self.objects[run[0]].address;
            let last = &self.objects[*run.last().unwrap()];
            let length = last.address + last.bytes - from;
            if !compacts {
                work.reports.push(format!("V {from:x} {length:x}"));
                work.done.surviving_ranges += 1;
                work.still.extend(&run);
                continue;
            }
            work.done.moved_ranges += 1;
            if pinned && self.chance.percent(30) {
                work.reports.push(format!("M {from:x} {from:x} {length:x}"));
                work.still.extend(&run);
            } else {
                self.move_run(run, length, (generation + 1).min(2), work);
            }
        }
        // What stays is in an older generation now.
        if generation < 2 {
            self.regions[region].generation = generation + 1;
        }
    }

    /// Decides who dies; runs of objects that survive in one piece.
    fn survivors(&mut self, mut members: Vec<usize>, generation: u8, work: &mut Work) -> Vec<Vec<usize>> {
        members.sort_by_key(|&at| self.objects[at].address);
        let (mut runs, mut joined) = (Vec::<Vec<usize>>::new(), false);
        for at in members {
            if self.chance.percent(work.survival) {
                if joined && self.chance.percent(95) {
                    runs.last_mut().unwrap().push(at);
                } else {
                    runs.push(vec![at]);
                }
                joined = true;
            } else {
                joined = false;
                let truth = &mut self.objects[at];
                truth.died = Some((work.number, generation));
                work.done.dead += 1;
                work.done.dead_bytes += truth.bytes;
            }
        }
        runs
    }

    fn move_run(&mut self, run: Vec<usize>, length: u64, to: u8, work: &mut Work) {
        let from = self.objects[run[0]].address;
        let (target, address) = self.place_anew(to, length, work.regions);
        work.reports.push(format!("M {from:x} {address:x} {length:x}"));
        for at in run {
            let truth = &mut self.objects[at];
            truth.address = address + (truth.address - from);
            truth.moves += 1;
            truth.region = target;
            work.still.push(at);
            work.done.moved += 1;
        }
    }

    /// Reports come in any order.
    fn write_reports(&mut self, mut reports: Vec<String>) {
        self.chance.shuffle(&mut reports);
        for report in reports {
            self.log += &report;
            self.log.push('\n');
        }
    }

    /// Old regions without objects are free.
    fn free_regions(&mut self, old: usize) {
        for at in 0..old {
            let empty = !self.alive.iter().any(|&object| self.objects[object].region == at);
            let region = &mut self.regions[at];
            if empty && region.size > 0 && region.generation < 3 {
                self.free.push((region.start, region.size));
                region.size = 0;
                region.used = 0;
                region.generation = FROZEN;
            }
        }
    }

    /// Room in a region that is new since `old`: nothing is moved onto what is still to be moved.
    fn place_anew(&mut self, generation: u8, bytes: u64, old: usize) -> (usize, u64) {
        let fitting = (old..self.regions.len()).find(|&at| {
            let region = &self.regions[at];
            region.generation == generation && region.size - region.used >= bytes
        });
        let at = fitting.unwrap_or_else(|| {
            let start = self.next_region;
            let size = bytes.next_multiple_of(1 << 12);
            self.next_region += size + 8;
            self.regions.push(Region { start, size, used: 0, generation });
            self.regions.len() - 1
        });
        let region = &mut self.regions[at];
        let address = region.start + region.used;
        region.used += bytes;
        (at, address)
    }

    /// Whether a collection has told of the memory in which an object is.
    pub(crate) fn is_told(&self, object: &Truth) -> bool {
        object.region < self.reported
    }

    pub(crate) fn alive(&self) -> &[usize] {
        &self.alive
    }
}
