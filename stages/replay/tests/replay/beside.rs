//! A simulated heap whose oldest collections run beside the program, with full truth: regions of several heaps, foreground
//! collections inside, memory that is swept and used again before anything is reported. It shares no code with the engine.
//!
//! Where a trace cannot tell which collection found an object dead, the truth is what can be known: an object that was
//! swept and not written over falls to the first collection that condemns its place.

use crate::support::Chance;
use std::fmt::Write;

/// The fate of an object.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    pub bytes: u64,
    pub first_address: u64,
    pub address: u64,
    pub moves: u32,
    /// Number of the last collection that had taken effect before.
    pub born: u32,
    /// Number of a collection, and generation.
    pub died: Option<(u32, u8)>,
    region: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It fills its memory.
    There,
    /// Its memory was swept in a generation; nobody has been told.
    Swept(u8),
    /// And something lies over it.
    Covered(u8),
    Gone,
}

#[derive(Clone, Debug)]
struct Region {
    start: u64,
    size: u64,
    used: u64,
    generation: u8,
    /// Start and size of pieces below `used` that no object fills.
    free: Vec<(u64, u64)>,
    /// Whether the heap has it.
    taken: bool,
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub gc: u32,
    pub dead: u64,
    pub dead_bytes: u64,
    pub moved: u64,
    /// Objects that the trace shows alive at its end.
    pub live: u64,
}

/// The heap.
pub(crate) struct Heap {
    pub objects: Vec<Fate>,
    /// By the order of their ends.
    pub collections: Vec<Done>,
    pub log: String,
    chance: Chance,
    regions: Vec<Region>,
    next_region: u64,
    heaps: u64,
    numbers: u32,
    /// Number of the last collection that took effect.
    last: u32,
    in_background: bool,
}

const SIZE: u64 = 1 << 12;

fn whole(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

impl Heap {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let heaps = [1, 1, 4][chance.below(3) as usize];
        Self {
            objects: Vec::new(),
            collections: Vec::new(),
            log: "# clrprof 1\nT 1 Type.Number1\n".to_owned(),
            regions: Vec::new(),
            next_region: 0x7000_0000_0000,
            heaps,
            numbers: 0,
            last: 0,
            in_background: false,
            chance,
        }
    }

    /// A heap's whole life.
    pub(crate) fn live(mut self) -> Self {
        for _ in 0..2 + self.chance.below(5) {
            self.run(60);
            match self.chance.below(10) {
                0..=4 => self.background(),
                5..=7 => self.foreground(),
                _ => self.stopped(&[0, 1, 2, 3, 4]),
            }
        }
        self.run(20);
        self.log += "# end\n";
        self
    }

    /// The generations of a collection of young objects.
    fn young(&mut self) -> &'static [u8] {
        if self.chance.percent(50) { &[0] } else { &[0, 1] }
    }

    fn foreground(&mut self) {
        let young = self.young();
        self.stopped(young);
    }

    /// The program runs.
    fn run(&mut self, most: u64) {
        for _ in 0..self.chance.below(most) {
            self.allocate();
        }
    }

    fn there(&self, region: usize) -> Vec<usize> {
        let inside = |&at: &usize| self.objects[at].region == region && self.objects[at].state == State::There;
        let mut found: Vec<usize> = (0..self.objects.len()).filter(inside).collect();
        found.sort_by_key(|&at| self.objects[at].address);
        found
    }

    /// Memory in a region of a generation: of free pieces, or behind all objects.
    fn place(&mut self, generation: u8, bytes: u64) -> (usize, u64) {
        let bytes = whole(bytes);
        if self.chance.percent(50) {
            for at in 0..self.regions.len() {
                let region = &mut self.regions[at];
                let fitting = region.free.iter().position(|&(_, size)| size >= bytes);
                if let Some(piece) = fitting.filter(|_| region.taken && region.generation == generation) {
                    let (start, size) = region.free.swap_remove(piece);
                    // At either end of the piece.
                    let address = if self.chance.percent(70) { start } else { start + size - bytes };
                    let rest = if address == start { start + bytes } else { start };
                    if size > bytes {
                        region.free.push((rest, size - bytes));
                    }
                    self.cover(address, bytes);
                    return (at, address);
                }
            }
        }
        let heap = self.chance.below(self.heaps) as usize;
        let fits =
            |region: &Region| region.taken && region.generation == generation && region.size - region.used >= bytes;
        let fitting: Vec<usize> = (0..self.regions.len()).filter(|&at| fits(&self.regions[at])).collect();
        let at = match fitting.get(heap) {
            Some(&at) => at,
            None => self.region(generation, bytes),
        };
        let region = &mut self.regions[at];
        let address = region.start + region.used;
        region.used += bytes;
        self.cover(address, bytes);
        (at, address)
    }

    /// A region that was given back, or a new one.
    fn region(&mut self, generation: u8, bytes: u64) -> usize {
        let size = if bytes > SIZE { bytes.next_multiple_of(1 << 17) } else { SIZE };
        let free = |region: &Region| !region.taken && region.size >= size;
        if let Some(at) = self.regions.iter().position(free) {
            let region = &mut self.regions[at];
            (region.taken, region.generation, region.used) = (true, generation, 0);
            region.free.clear();
            return at;
        }
        let start = self.next_region + 0x28;
        self.next_region += size.next_multiple_of(1 << 13);
        self.regions.push(Region { start, size, used: 0, generation, free: Vec::new(), taken: true });
        self.regions.len() - 1
    }

    /// Something comes to lie over objects that were swept.
    fn cover(&mut self, address: u64, bytes: u64) {
        for object in &mut self.objects {
            let over = object.address < address + bytes && address < object.address + whole(object.bytes);
            if let State::Swept(generation) = object.state
                && over
            {
                object.state = State::Covered(generation);
            }
        }
    }

    fn allocate(&mut self) {
        let generation = [0, 0, 0, 0, 0, 0, 0, 0, 3, 4][self.chance.below(10) as usize];
        let bytes = match generation {
            3 if self.chance.percent(30) => 70_000 + self.chance.below(100_000),
            3 => 600 + self.chance.below(400),
            _ => 24 + self.chance.below(120),
        };
        let (region, address) = self.place(generation, bytes);
        writeln!(self.log, "A 1 {address:x} 1 {bytes} 0").unwrap();
        let (born, state) = (self.last, State::There);
        let first_address = address;
        self.objects.push(Fate { bytes, first_address, address, moves: 0, born, died: None, region, state });
    }

    fn write_ranges(&mut self) {
        for Region { start, size, used, generation, .. } in self.regions.iter().filter(|region| region.taken) {
            writeln!(self.log, "B {generation} {start:x} {used:x} {size:x}").unwrap();
        }
    }

    fn alive(&self) -> u64 {
        let known = |object: &&Fate| matches!(object.state, State::There | State::Swept(_));
        self.objects.iter().filter(known).count() as u64
    }

    fn dies(&mut self, at: usize, gc: u32, generation: u8, done: &mut Done) {
        let object = &mut self.objects[at];
        (object.died, object.state) = (Some((gc, generation)), State::Gone);
        done.dead += 1;
        done.dead_bytes += object.bytes;
    }

    /// A collection that stops the program.
    fn stopped(&mut self, condemned: &[u8]) {
        self.numbers += 1;
        let number = self.numbers;
        let mut done = Done { gc: number, ..Done::default() };
        let digits: String = (0..5).map(|generation| if condemned.contains(&generation) { '1' } else { '0' }).collect();
        writeln!(self.log, "G {number} {digits} 0").unwrap();
        self.write_ranges();
        self.observe_swept(condemned, &mut done);
        let old = self.regions.len();
        let (mut reports, survival) = (Vec::new(), self.chance.below(101));
        for region in 0..old {
            let Region { generation, taken, .. } = self.regions[region];
            if taken && condemned.contains(&generation) {
                self.collect_region(region, survival, &mut reports, &mut done);
            }
        }
        self.write_shuffled(reports);
        self.write_ranges();
        if condemned.len() == 5 {
            for object in self.objects.iter().filter(|object| object.state == State::There) {
                writeln!(self.log, "O {:x} 1", object.address).unwrap();
            }
        }
        writeln!(self.log, "E {number}").unwrap();
        self.last = number;
        self.collections.push(Done { live: self.alive(), ..done });
    }

    /// What was swept, and not written over, in condemned places is found dead.
    fn observe_swept(&mut self, condemned: &[u8], done: &mut Done) {
        for at in 0..self.objects.len() {
            let Fate { address, state: State::Swept(_), .. } = self.objects[at] else { continue };
            let holds =
                |region: &&Region| region.taken && (region.start..region.start + region.used).contains(&address);
            let place = self.regions.iter().find(holds).map(|region| region.generation);
            if let Some(generation) = place.filter(|generation| condemned.contains(generation)) {
                self.dies(at, done.gc, generation, done);
            }
        }
    }

    fn collect_region(&mut self, region: usize, survival: u64, reports: &mut Vec<String>, done: &mut Done) {
        let generation = self.regions[region].generation;
        // A generation is compacted or swept as a whole.
        let compacts = generation < 3 && self.numbers >> generation & 1 == 1;
        let mut runs: Vec<Vec<usize>> = Vec::new();
        let mut end = 0;
        for at in self.there(region) {
            if !self.chance.percent(survival) {
                self.dies(at, done.gc, generation, done);
                continue;
            }
            let Fate { address, bytes, .. } = self.objects[at];
            match runs.last_mut() {
                Some(run) if end == address => run.push(at),
                _ => runs.push(vec![at]),
            }
            end = address + whole(bytes);
        }
        let to = if generation < 2 { generation + 1 } else { generation };
        if compacts && !runs.is_empty() {
            // Nothing is moved within what is still to be collected.
            self.regions[region].generation = 99;
            runs.into_iter().for_each(|run| self.move_run(&run, to, reports, done));
            self.regions[region].taken = false;
            return;
        }
        for run in &runs {
            let (from, length) = self.extent(run);
            reports.push(format!("V {from:x} {length:x}"));
        }
        self.thread_free_list(region);
        self.regions[region].generation = to;
    }

    fn extent(&self, run: &[usize]) -> (u64, u64) {
        let (first, last) = (&self.objects[run[0]], &self.objects[*run.last().unwrap()]);
        (first.address, last.address + whole(last.bytes) - first.address)
    }

    fn move_run(&mut self, run: &[usize], to: u8, reports: &mut Vec<String>, done: &mut Done) {
        let (from, length) = self.extent(run);
        let (region, address) = self.place_for_move(to, length);
        reports.push(format!("M {from:x} {address:x} {length:x}"));
        for &at in run {
            let object = &mut self.objects[at];
            object.address = address + (object.address - from);
            object.region = region;
            object.moves += 1;
            done.moved += 1;
        }
    }

    /// Into free pieces of older regions or new ones, never where something is still to be collected.
    fn place_for_move(&mut self, to: u8, length: u64) -> (usize, u64) {
        if to == 2 && self.in_background {
            return self.place(to, length);
        }
        let at = self.regions.len();
        let start = self.next_region + 0x28;
        self.next_region += length.next_multiple_of(1 << 13) + (1 << 13);
        self.regions.push(Region { start, size: length, used: length, generation: to, free: Vec::new(), taken: true });
        (at, start)
    }

    /// The pieces of a region between its objects; behind the last one it ends, or the region is given back.
    fn thread_free_list(&mut self, region: usize) {
        let there = self.there(region);
        let mut end = self.regions[region].start;
        let mut free = Vec::new();
        for at in there {
            let Fate { address, bytes, .. } = self.objects[at];
            if address > end {
                free.push((end, address - end));
            }
            end = address + whole(bytes);
        }
        let trimmed = self.chance.percent(50);
        let Region { start, used, taken, .. } = &mut self.regions[region];
        if end == *start {
            *taken = false;
        } else if trimmed {
            *used = end - *start;
        } else if *start + *used > end {
            free.push((end, *start + *used - end));
        }
        self.regions[region].free = free;
    }

    fn write_shuffled(&mut self, mut reports: Vec<String>) {
        self.chance.shuffle(&mut reports);
        reports.iter().for_each(|report| writeln!(self.log, "{report}").unwrap());
    }

    /// A collection beside the program.
    fn background(&mut self) {
        self.numbers += 1;
        let number = self.numbers;
        self.in_background = true;
        writeln!(self.log, "G {number} 11111 0 1").unwrap();
        self.write_ranges();
        let survival = self.chance.below(101);
        let dead: Vec<usize> = (0..self.objects.len())
            .filter(|&at| self.objects[at].state == State::There)
            .filter(|_| !self.chance.percent(survival))
            .collect();
        // While it marks.
        for _ in 0..self.chance.below(3) {
            self.run(30);
            self.foreground();
        }
        // While it sweeps.
        let mut regions: Vec<usize> = (0..self.regions.len()).collect();
        while !regions.is_empty() {
            let region = regions.swap_remove(self.chance.below(regions.len() as u64) as usize);
            self.sweep_beside(region, &dead);
            self.run(8);
            if self.chance.percent(6) {
                self.foreground();
            }
        }
        // A heap with nothing in it has nothing to report.
        self.allocate();
        self.report_beside(number);
    }

    fn sweep_beside(&mut self, region: usize, dead: &[usize]) {
        let generation = self.regions[region].generation;
        let mut any = false;
        for &at in dead {
            let object = &mut self.objects[at];
            if object.region == region && object.state == State::There {
                object.state = State::Swept(generation);
                any = true;
            }
        }
        if any {
            self.thread_free_list(region);
        }
    }

    /// The program stops once more: all that is there is told, whatever it is.
    fn report_beside(&mut self, number: u32) {
        let mut done = Done { gc: number, ..Done::default() };
        let mut reports = Vec::new();
        for region in 0..self.regions.len() {
            let there = self.there(region);
            let adjoin = |&a: &usize, &b: &usize| {
                self.objects[a].address + whole(self.objects[a].bytes) == self.objects[b].address
            };
            for run in there.chunk_by(adjoin) {
                let (from, length) = self.extent(run);
                reports.push(format!("V {from:x} {length:x}"));
            }
        }
        self.write_shuffled(reports);
        for at in 0..self.objects.len() {
            if let State::Swept(generation) | State::Covered(generation) = self.objects[at].state {
                self.dies(at, number, generation, &mut done);
            }
        }
        self.last = number;
        self.in_background = false;
        self.run(5);
        if self.chance.percent(10) {
            self.stopped(&[0]);
        }
        self.run(3);
        self.write_ranges();
        writeln!(self.log, "E {number}").unwrap();
        self.collections.push(Done { live: self.alive(), ..done });
    }
}
