//! Effects of garbage collections on the state of a replay.
//!
//! A collection that stops the program takes effect at its end: condemned objects that it did not report die.
//!
//! A concurrent one (a background collection of .NET) marks and sweeps while the program, and collections inside it, go
//! on. After the sweep it stops the program once more and reports each range that objects then fill, in all
//! generations, marked or younger. Then it takes effect: objects from before the report that are not in it are dead, in
//! the generation that [`intervals`](crate::intervals) has. Objects that something was allocated or moved onto since
//! the collection began are dead as well, though the report covers their addresses.
//!
//! The report may be missing (the runtime was not asked for it when the collection began). Then only overwritten
//! objects are known to be dead, and all other condemned ones are doubtful until the next report of the whole heap.

use crate::calls::Cells;
use crate::collection::{Closed, Open};
use crate::events::{CollectionStart, Range, Root};
use crate::intervals::Places;
use crate::lifetimes::{Lifetimes, Moment};
use crate::promotions::Point;
use crate::replay::Replay;
use crate::track::{Collected, Object, Pass, Survival, Swept};
use crate::tracks::Tracks;
use heaplake_kit::StageError;
use heaplake_schemas::collections::CollectionRow;
use heaplake_schemas::options::SampleMode;
use heaplake_schemas::replay::Coverage;

/// Most garbage collections in progress at once.
const MOST_OPEN: usize = 16;

/// The bit of the oldest generation.
const OLDEST: u32 = 0b100;

/// The bits of the young generations.
const YOUNG: u32 = 0b11;

/// Counts the deaths of a collection.
struct Deaths<'a> {
    lifetimes: &'a mut Lifetimes,
    cells: &'a mut Cells,
    tracks: &'a mut Option<Tracks>,
    now: Moment,
    /// Generations with any death, as bits.
    generations: u32,
}

impl Deaths<'_> {
    #[inline]
    fn add(&mut self, object: &Object, generation: u8) -> Result<(), StageError> {
        self.generations |= 1 << generation.min(31);
        self.lifetimes.add(object, usize::from(generation), self.now)?;
        self.cells.died(object.cell, usize::from(generation), object.bytes)?;
        self.tracks.as_mut().map_or(Ok(()), |tracks| tracks.died(object, self.now.gcs, generation))
    }
}

impl Replay {
    /// Handles the start of a collection.
    pub fn start(&mut self, start: CollectionStart) -> Result<(), StageError> {
        self.place()?;
        self.report_ends(start.time)?;
        if self.open.len() == MOST_OPEN {
            let open = self.open.remove(0);
            self.abandon(&open)?;
        }
        self.last_time = self.last_time.max(start.time);
        // Objects must be in place before memory is reused, in the generations of this moment.
        if start.concurrent || self.objects.swept.is_some() {
            self.objects.settle()?;
        }
        if start.concurrent && self.objects.swept.is_none() {
            let sized = self.coverage != Coverage::Sampled;
            self.objects.swept = Some(Swept {
                places: Places::new(&self.budget, "the ranges of generations beside the program")?,
                sized,
            });
        }
        self.open.push(Open::new(start, (self.allocations, self.lost_before), &self.budget)?);
        Ok(())
    }

    fn current(&mut self) -> Option<&mut Open> {
        let open = self.open.last_mut();
        if open.is_none() {
            self.anomalies.outside_collections += 1;
        }
        open
    }

    /// Handles a range of a generation.
    pub fn range(&mut self, range: Range) -> Result<(), StageError> {
        self.place()?;
        self.report_ends(self.last_time)?;
        let keep = self.objects.swept.is_some() || self.tracks.is_some();
        let Some(open) = self.current() else { return Ok(()) };
        let first = open.range(range, keep)?;
        match &mut self.objects.swept {
            Some(swept) if first => swept.places.report(range),
            _ => Ok(()),
        }
    }

    /// Handles a range of survivors, moved or not.
    pub fn survives(&mut self, survival: Survival, moved: bool) -> Result<(), StageError> {
        self.has_moves = true;
        let allocations = self.allocations;
        let Some(open) = self.current() else { return Ok(()) };
        let first = open.start.concurrent && open.reported.is_none();
        open.survives(survival, moved, allocations)?;
        self.reporting += u32::from(first);
        Ok(())
    }

    /// Handles a root.
    pub fn root(&mut self, root: Root) -> Result<(), StageError> {
        let keep = self.tracks.is_some();
        self.current().map_or(Ok(()), |open| open.root(root, keep))
    }

    /// Handles an object of a heap walk.
    pub fn walked(&mut self, address: u64) -> Result<(), StageError> {
        self.current().map_or(Ok(()), |open| open.walked(address))
    }

    /// Handles the number of events lost up to the next ones, the gap before these included.
    pub fn lost(&mut self, events: u64) {
        self.lost_before = self.anomalies.lost_events;
        self.anomalies.lost_events = events;
    }

    /// Handles the end of a collection.
    pub fn end(&mut self, number: u32, time: u64) -> Result<(), StageError> {
        self.place()?;
        self.report_ends(time)?;
        let Some(at) = self.open.iter().rposition(|open| open.start.number == number) else {
            self.anomalies.ends_without_start += 1;
            return Ok(());
        };
        self.last_time = self.last_time.max(time);
        self.take_effect(at, time)?;
        let mut open = self.open.remove(at);
        if let Some(swept) = &mut self.objects.swept {
            open.later().iter().try_for_each(|&range| swept.places.report(range))?;
        }
        let Some((mut row, gcs)) = open.effect else { return Ok(()) };
        self.last_reclaimed(&open, &mut row, gcs)?;
        let (live, live_bytes) = self.objects.alive();
        if self.recording.sample_mode == SampleMode::CreationAndCollection {
            (row.live_objects, row.live_bytes) = (live, live_bytes);
            if let Some(walked) = &mut open.walked {
                self.compare(&mut row, walked)?;
            }
        }
        self.report(&mut open, row.gc)?;
        if let Some(pause) = self.clock.seconds(open.start.time, time) {
            row.pause_seconds = pause;
        }
        self.push(row)
    }

    /// Records bounds, roots and generations of objects after a collection, if these tables are wanted.
    fn report(&mut self, open: &mut Open, gc: u32) -> Result<(), StageError> {
        let Some(tracks) = &mut self.tracks else { return Ok(()) };
        self.objects.settle()?;
        let (begin, end) = open.all_bounds()?;
        tracks.reports.bounds(gc, begin, end)?;
        tracks.reports.roots(gc, open.held()?, &self.objects)?;
        tracks.promotions.look(open.left(), &self.objects, Point::after(self.ended))
    }

    fn push(&mut self, row: CollectionRow) -> Result<(), StageError> {
        self.doubtful = self.doubtful.saturating_add(row.doubtful_objects);
        self.rows.push(row)
    }

    /// Lets concurrent collections with a complete report take effect: the current event is not part of it.
    fn report_ends(&mut self, time: u64) -> Result<(), StageError> {
        let reported = |open: &Open| open.start.concurrent && open.reported.is_some() && open.effect.is_none();
        while let Some(at) = self.open.iter().position(reported) {
            self.take_effect(at, time)?;
        }
        Ok(())
    }

    /// Lets a collection take effect once: condemned objects that it did not report die.
    fn take_effect(&mut self, at: usize, time: u64) -> Result<(), StageError> {
        if self.open[at].effect.is_some() {
            return Ok(());
        }
        self.reporting -= u32::from(self.open[at].start.concurrent && self.open[at].reported.is_some());
        let closed = self.open[at].close()?;
        self.anomalies.overlapping_ranges += closed.overlaps;
        self.anomalies.moved_and_surviving += self.open[at].conflicts();
        self.ended += 1;
        let mut row = self.open[at].row();
        if let Some(started) = self.clock.absolute_us(self.open[at].start.time) {
            row.started_at_us = started;
        }
        if self.recording.sample_mode == SampleMode::CreationAndCollection {
            self.look_before(at)?;
            self.collect(at, &closed, &mut row, time)?;
            if let Some(tracks) = &mut self.tracks {
                tracks.collected(row.gc, &closed.survivals)?;
            }
        }
        self.open[at].effect = Some((row, self.ended));
        Ok(())
    }

    /// Records the generations of objects before a collection. A concurrent one found them long ago.
    fn look_before(&mut self, at: usize) -> Result<(), StageError> {
        let Some(tracks) = self.tracks.as_mut().filter(|_| !self.open[at].start.concurrent) else { return Ok(()) };
        self.objects.settle()?;
        // `ended` includes the collection.
        tracks.promotions.look(self.open[at].found(), &self.objects, Point::before(self.ended))
    }

    /// Whether a concurrent collection is in progress.
    fn beside(&self) -> bool {
        self.open.iter().any(|open| open.start.concurrent)
    }

    fn collect(&mut self, at: usize, closed: &Closed, row: &mut CollectionRow, time: u64) -> Result<(), StageError> {
        self.objects.settle()?;
        let beside = self.beside();
        let open = &self.open[at];
        let concurrent = open.start.concurrent;
        let whole_heap = concurrent || (!beside && open.start.condemned & OLDEST != 0);
        // A report of the whole heap also covers memory that is no longer in any range.
        let places = match &mut self.objects.swept {
            Some(swept) if whole_heap => Some(swept.places.condemned()?),
            _ => None,
        };
        let condemned = places.as_deref().unwrap_or(&closed.condemned);
        let unreported = concurrent && open.reported.is_none();
        let sized = self.coverage != Coverage::Sampled;
        let pass = if concurrent {
            let before = open.reported.unwrap_or(0);
            let whole = sized && closed.survivals.iter().all(|range| range.from == range.to);
            Pass { condemned, survivals: &closed.survivals, before, older: open.allocations, whole }
        } else {
            Pass::stopped(condemned, &closed.survivals)
        };
        let (lifetimes, cells, tracks) = (&mut self.lifetimes, &mut self.cells, &mut self.tracks);
        let now = Moment { gcs: self.ended, time };
        let mut deaths = Deaths { lifetimes, cells, tracks, now, generations: 0 };
        let mut done = self.objects.collect(pass, |object, generation| deaths.add(object, generation))?;
        // Inside a concurrent collection, overwritten objects are that one's.
        if concurrent || !beside {
            let (dead, bytes) = self.objects.reclaimed(|object, generation| deaths.add(object, generation))?;
            done.dead += dead;
            done.dead_bytes = done.dead_bytes.wrapping_add(bytes);
        }
        let spared = if concurrent && open.in_segments() { YOUNG & !deaths.generations } else { 0 };
        row.condemned &= !spared;
        record(row, &done);
        self.anomalies.overrun_objects += done.overrun;
        row.doubtful_objects = match self.anomalies.lost_events - open.lost {
            _ if unreported => self.objects.older(condemned, open.allocations),
            _ if !sized => done.older,
            0 => 0,
            lost => done.dead + lost.min(done.older),
        };
        if let (Some(swept), Some(places)) = (&mut self.objects.swept, &places) {
            swept.places.give_back(places);
        }
        // Until a concurrent collection ends, a late event may still show an object over another.
        if whole_heap && !beside {
            self.objects.swept = None;
        }
        Ok(())
    }

    /// At the end of a concurrent collection, counts objects overwritten by ones that were allocated before its report
    /// and recorded after it.
    fn last_reclaimed(&mut self, open: &Open, row: &mut CollectionRow, gcs: u32) -> Result<(), StageError> {
        if !open.start.concurrent || self.beside() {
            return Ok(());
        }
        self.objects.settle()?;
        let (dead, bytes) = self.reclaimed(Moment { gcs, time: self.last_time })?;
        row.dead_objects += dead;
        row.dead_bytes = row.dead_bytes.wrapping_add(bytes);
        if open.reported.is_some() {
            self.objects.swept = None;
        }
        Ok(())
    }

    /// Counts the deaths of overwritten objects.
    fn reclaimed(&mut self, now: Moment) -> Result<(u64, u64), StageError> {
        let (lifetimes, cells, tracks) = (&mut self.lifetimes, &mut self.cells, &mut self.tracks);
        let mut deaths = Deaths { lifetimes, cells, tracks, now, generations: 0 };
        self.objects.reclaimed(|object, generation| deaths.add(object, generation))
    }

    /// Compares the live objects with those of a heap walk.
    fn compare(&mut self, row: &mut CollectionRow, walked: &mut Vec<u64>) -> Result<(), StageError> {
        walked.sort_unstable();
        walked.dedup();
        let mut both = 0;
        let mut objects = self.objects.iter().peekable();
        for &address in &*walked {
            while objects.next_if(|object| object.address < address).is_some() {}
            let object = objects.next_if(|object| object.address == address);
            both += u64::from(object.is_some());
            if let Some(tracks) = &mut self.tracks {
                tracks.walked(row.gc, address, object)?;
            }
        }
        row.walked_objects = walked.len() as u64;
        row.walk_missing = row.walked_objects - both;
        row.walk_extra = self.objects.alive().0 - both;
        self.anomalies.unknown_objects += row.walk_missing;
        Ok(())
    }

    /// Drops a collection without end; its effects so far count.
    fn abandon(&mut self, open: &Open) -> Result<(), StageError> {
        self.anomalies.starts_without_end += 1;
        let Some((mut row, gcs)) = open.effect else { return Ok(()) };
        self.last_reclaimed(open, &mut row, gcs)?;
        self.push(row)
    }

    /// Ends the trace: open collections never end. Objects overwritten since have died.
    pub fn leave_open(&mut self) -> Result<(), StageError> {
        self.place()?;
        self.objects.settle()?;
        let unsettled = |open: &Open| open.start.concurrent && open.effect.is_none();
        if let Some(at) = self.open.iter().position(unsettled) {
            // A report is complete if the program went on after it.
            let complete = self.open[at].reported.is_some_and(|reported| reported < self.allocations);
            if !complete && self.open[at].reported.take().is_some() {
                self.reporting -= 1;
            }
            if complete || self.objects.has_reclaimed() {
                self.take_effect(at, self.last_time)?;
            }
        }
        for open in std::mem::take(&mut self.open) {
            self.abandon(&open)?;
        }
        // Objects overwritten since a collection without a report were reclaimed by it or by a later one.
        self.reclaimed(Moment { gcs: self.ended, time: self.last_time }).map(drop)
    }
}

fn record(row: &mut CollectionRow, done: &Collected) {
    row.moved_objects = done.moved;
    row.moved_bytes = done.moved_bytes;
    row.survived_objects = done.survived;
    row.dead_objects = done.dead;
    row.dead_bytes = done.dead_bytes;
}
