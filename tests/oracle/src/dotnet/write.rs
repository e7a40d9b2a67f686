//! Writes a heap as `.nettrace`, in any form that the format allows.

use super::container::{Event, begin, block, description, head, text, varint};
use super::model::{Heap, Object, Root, Type, Walk};
use crate::rng::SplitMix64;

/// Choices that the format leaves open.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Decides where events are split, when types are defined, and how blocks are made.
    pub seed: u64,
    /// Bytes of a pointer.
    pub wide: bool,
    /// Entries per event, at most.
    pub entries: usize,
    /// Events per block, at most.
    pub events: usize,
    /// Whether headers are compressed: only changes are written.
    pub compressed: bool,
    /// Whether another thread writes events in between.
    pub other_thread: bool,
    /// Index of an event of a walk to leave out.
    pub lost: Option<usize>,
}

impl Default for Layout {
    fn default() -> Self {
        Self { seed: 1, wide: true, entries: 1000, events: 1000, compressed: true, other_thread: false, lost: None }
    }
}

/// Metadata ids and versions of events; the metadata id is the event's own number.
const EVENTS: [(u32, u32); 10] =
    [(1, 2), (2, 1), (15, 0), (16, 0), (17, 0), (18, 0), (19, 0), (38, 0), (152, 2), (10, 4)];

/// Adds an event with a compressed header: nearly everything changes.
fn write_compressed(event: &Event, content: &mut Vec<u8>, first: bool, before: u64) {
    content.push(0x01 | 0x02 | 0x04 | 0x80);
    let (time, length) = (event.time - before, event.payload.len() as u64);
    for number in [u64::from(event.kind), u64::from(first), event.thread, 0, event.thread, time, length] {
        varint(content, number);
    }
    content.extend(&event.payload);
}

impl Heap {
    /// The bytes of a trace.
    pub fn to_nettrace(&self, layout: &Layout) -> Vec<u8> {
        let mut file = begin(1000, if layout.wide { 8 } else { 4 });
        let descriptions: Vec<Event> =
            EVENTS.iter().map(|&(number, version)| description(number, number, version)).collect();
        block(&mut file, "MetadataBlock", &content(&descriptions, false));
        let mut time = 1000;
        for walk in &self.walks {
            let mut events = self.events(walk, layout, &mut time);
            if let Some(lost) = layout.lost {
                lose(&mut events, lost);
            }
            let mut rng = SplitMix64::new(layout.seed ^ time);
            let (mine, others): (Vec<Event>, Vec<Event>) = events.into_iter().partition(|event| event.thread == 1);
            // Blocks of different threads come in any order; those of one thread keep theirs.
            let (mut mine, mut others) = (split(mine, layout.events), split(others, layout.events));
            while !mine.is_empty() || !others.is_empty() {
                let from =
                    if others.is_empty() || (!mine.is_empty() && rng.one_in(2)) { &mut mine } else { &mut others };
                block(&mut file, "EventBlock", &content(&from.remove(0), layout.compressed));
            }
            block(&mut file, "SPBlock", &[&time.to_le_bytes()[..], &[0; 4]].concat());
        }
        file.push(1);
        file
    }

    /// The events of a walk, in order of time.
    fn events(&self, walk: &Walk, layout: &Layout, time: &mut u64) -> Vec<Event> {
        let mut rng = SplitMix64::new(layout.seed);
        let mut events = vec![(1, start()), (38, self.statics(walk))];
        self.bulks(walk, layout, &mut rng, &mut events);
        events.push((2, [1u32, 2].map(u32::to_le_bytes).concat()));
        events.extend(self.modules.iter().map(|(address, path)| (152, module(*address, path))));
        let mut out = Vec::new();
        for (number, payload) in events {
            *time += 1 + rng.below(5) as u64;
            if layout.other_thread && rng.one_in(2) {
                out.push(Event { kind: 10, thread: 2, time: *time, payload: vec![0; 30], ..Event::default() });
                *time += 1;
            }
            out.push(Event { kind: number, thread: 1, time: *time, payload, ..Event::default() });
        }
        out
    }

    /// The events with entries: kinds are interleaved, each in its own order, with the types in between.
    fn bulks(&self, walk: &Walk, layout: &Layout, rng: &mut SplitMix64, events: &mut Vec<(u32, Vec<u8>)>) {
        let mut queues: Vec<(u32, Vec<Vec<u8>>)> = series(walk, layout.wide)
            .into_iter()
            .map(|(number, entries)| {
                let pieces = split(entries, layout.entries).into_iter().enumerate();
                (number, pieces.map(|(index, piece)| bulk(Some(index as u32), &piece)).collect())
            })
            .filter(|(_, events): &(u32, Vec<_>)| !events.is_empty())
            .collect();
        let mut types = split(self.types.iter().map(type_entry).collect(), layout.entries.max(3));
        while !queues.is_empty() {
            let at = rng.below(queues.len());
            events.push((queues[at].0, queues[at].1.remove(0)));
            queues.retain(|(_, events)| !events.is_empty());
            if !types.is_empty() && rng.one_in(2) {
                events.push((15, bulk(None, &types.remove(0))));
            }
        }
        events.extend(types.iter().map(|piece| (15, bulk(None, piece))));
    }

    fn statics(&self, walk: &Walk) -> Vec<u8> {
        let mut out = (walk.statics.len() as u32).to_le_bytes().to_vec();
        out.extend([0; 10]);
        for field in &walk.statics {
            out.extend([1, field.object, field.type_id].map(u64::to_le_bytes).concat());
            out.extend(u32::from(field.thread).to_le_bytes());
            text(&mut out, &field.field);
        }
        out
    }
}

/// Entries of roots, dependent handles, objects and references, with the numbers of their events.
fn series(walk: &Walk, wide: bool) -> [(u32, Vec<Vec<u8>>); 4] {
    let root = |root: &Root| {
        [pointer(root.object, wide), vec![root.kind], root.flags.to_le_bytes().to_vec(), pointer(0, wide)].concat()
    };
    let dependent = |&(key, value): &(u64, u64)| [key, value, 0].map(|address| pointer(address, wide)).concat();
    let object = |object: &Object| {
        let rest = [object.size, object.type_id, object.references.len() as u64].map(u64::to_le_bytes).concat();
        [pointer(object.address, wide), rest].concat()
    };
    let reference = |&target: &u64| [pointer(target, wide), vec![0; 4]].concat();
    [
        (16, walk.roots.iter().map(root).collect()),
        (17, walk.dependents.iter().map(dependent).collect()),
        (18, walk.objects.iter().map(object).collect()),
        (19, walk.objects.iter().flat_map(|object| &object.references).map(reference).collect()),
    ]
}

/// Leaves out an event with entries.
fn lose(events: &mut Vec<Event>, lost: usize) {
    let position = events.iter().enumerate().filter(|(_, event)| (16..=19).contains(&event.kind));
    if let Some((at, _)) = position.clone().nth(lost % position.count().max(1)) {
        events.remove(at);
    }
}

fn split<T>(items: Vec<T>, most: usize) -> Vec<Vec<T>> {
    let mut pieces: Vec<Vec<T>> = Vec::new();
    for item in items {
        match pieces.last_mut().filter(|piece| piece.len() < most.max(1)) {
            Some(piece) => piece.push(item),
            None => pieces.push(vec![item]),
        }
    }
    pieces
}

fn pointer(address: u64, wide: bool) -> Vec<u8> {
    if wide { address.to_le_bytes().to_vec() } else { (address as u32).to_le_bytes().to_vec() }
}

fn bulk(index: Option<u32>, entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = index.map_or(Vec::new(), |index| index.to_le_bytes().to_vec());
    out.extend((entries.len() as u32).to_le_bytes());
    out.extend([0, 0]);
    out.extend(entries.concat());
    out
}

fn type_entry(of: &Type) -> Vec<u8> {
    let mut out = [of.id, of.module].map(u64::to_le_bytes).concat();
    out.extend(of.token.to_le_bytes());
    out.extend(if of.array { 8u32 } else { 0 }.to_le_bytes());
    out.push(match (of.string, of.array) {
        (true, _) => 14,
        (_, true) => 29,
        _ => 18,
    });
    text(&mut out, &of.name);
    out.extend((of.parameters.len() as u32).to_le_bytes());
    out.extend(of.parameters.iter().flat_map(|id| id.to_le_bytes()));
    out
}

/// Start of a full, induced garbage collection that stops the program.
fn start() -> Vec<u8> {
    let mut out = [1u32, 2, 1, 0].map(u32::to_le_bytes).concat();
    out.extend([0; 10]);
    out
}

fn module(address: u64, path: &str) -> Vec<u8> {
    let mut out = [address, 0].map(u64::to_le_bytes).concat();
    out.extend([0; 8]);
    text(&mut out, path);
    text(&mut out, "");
    out.extend([0; 2]);
    out
}

fn content(events: &[Event], compressed: bool) -> Vec<u8> {
    let mut content = head(compressed);
    let mut before = 0;
    for (number, event) in events.iter().enumerate() {
        if compressed {
            write_compressed(event, &mut content, number == 0, before);
        } else {
            event.write_plain(&mut content);
        }
        before = event.time;
    }
    content
}
