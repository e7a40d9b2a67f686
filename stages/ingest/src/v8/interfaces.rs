//! Interfaces: names like `{sku, qty}` for plain objects, inferred from property lists that many of them share. Used by
//! [`super::node_classes`].
//!
//! Resident memory: bounded. Property lists are counted by the algorithm of Misra and Gries ("Finding Repeated
//! Elements", 1982): of more than [`CANDIDATES`] different lists the rare ones drop out, and a second pass counts the
//! remaining ones exactly. An interface needs one object in a thousand, so no interface drops out.

use heaplake_kit::{ColumnReader, Scratch, StageError, StringTable, open_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Limit of property lists counted at once. A list of more than one in `CANDIDATES` objects never drops out.
const CANDIDATES: usize = 1 << 14;

/// Limit of properties with a cached length.
const MOST_UNITS: usize = 1 << 16;

/// Limit of properties in a list: each but the first takes two units for its separator.
const MOST_LIST: usize = MOST_NAME / 2 + 1;

/// Limit of object shapes with a cached interface.
const REMEMBERED: usize = 1 << 13;

/// Limit of properties in a cached shape; larger ones are matched each time.
const MOST_REMEMBERED: usize = 64;

/// Length of an interface's name, in UTF-16 units, from which on no property is added.
const MOST_NAME: usize = 120;

/// Reads the property names of plain objects, in node order.
pub struct Properties {
    kind: ColumnReader<u8>,
    name: ColumnReader<u32>,
    position: u64,
    property: Option<u8>,
}

impl Properties {
    /// Starts at the first edge; `property` is the number of the edge type.
    pub fn open(scratch: &Scratch, property: Option<u8>) -> Result<Self, StageError> {
        let (kind, name) = open_all(scratch, (columns::EDGE_KIND, columns::EDGE_NAME))?;
        Ok(Self { kind, name, position: 0, property })
    }

    /// Replaces `names` by the names of the property edges among the `count` edges from `first` on. `first` must not
    /// decrease between calls.
    pub fn read(&mut self, first: u64, count: u32, names: &mut Vec<StringId>) -> Result<(), StageError> {
        self.kind.skip(first - self.position)?;
        self.name.skip(first - self.position)?;
        self.position = first + u64::from(count);
        names.clear();
        for _ in 0..count {
            let (kind, name) = (self.kind.next()?, self.name.next()?);
            if Some(kind) == self.property {
                names.push(StringId(name));
            }
        }
        Ok(())
    }
}

/// An interface: its name and its properties.
pub type Definition = (Vec<u8>, Vec<StringId>);

/// Counts the property lists of plain objects.
pub struct Census<'a> {
    strings: &'a StringTable,
    proto: StringId,
    /// Cached lengths of properties in names, in UTF-16 units.
    units: FxHashMap<StringId, u32>,
    lists: FxHashMap<Box<[StringId]>, Tally>,
    objects: u64,
    dropped: bool,
    /// The second pass counts only known lists.
    exact: bool,
    list: Vec<StringId>,
}

struct Tally {
    count: u64,
    /// Order of first occurrence.
    first: u64,
    /// The properties in the order of the first object with this name.
    properties: Box<[StringId]>,
}

impl<'a> Census<'a> {
    /// Memory limit of the tables: key, properties and tally of each list, the allocator's overhead for both, and slots
    /// of the tables, which are half empty at worst and may be growing.
    pub const BYTES: u64 = {
        let list = 2 * (4 * MOST_LIST + 16) + 3 * (size_of::<(Box<[StringId]>, Tally)>() + 1);
        (CANDIDATES * list + 3 * MOST_UNITS * size_of::<(StringId, u32)>()) as u64
    };

    /// Starts counting; `proto` is the id of `__proto__`.
    pub fn new(strings: &'a StringTable, proto: StringId) -> Self {
        Self {
            strings,
            proto,
            units: FxHashMap::default(),
            lists: FxHashMap::default(),
            objects: 0,
            dropped: false,
            exact: false,
            list: Vec::new(),
        }
    }

    /// Counts one plain object.
    pub fn count(&mut self, properties: &[StringId]) {
        let order = self.objects;
        self.objects += 1;
        let mut list = std::mem::take(&mut self.list);
        self.cut(properties, &mut list);
        // Leading empty names do not show in the interface's name, and interfaces with equal names are equal.
        let visible = list.iter().position(|&name| !self.strings.get(name.index()).is_empty());
        let key = &list[visible.unwrap_or(list.len())..];
        if list.is_empty() {
        } else if let Some(tally) = self.lists.get_mut(key) {
            tally.count += 1;
            if self.exact && tally.count == 1 {
                tally.first = order;
                tally.properties = list.as_slice().into();
            }
        } else if !self.exact {
            if self.lists.len() == CANDIDATES {
                self.dropped = true;
                self.lists.retain(|_, tally| {
                    tally.count -= 1;
                    tally.count > 0
                });
            }
            if self.lists.len() < CANDIDATES {
                let tally = Tally { count: 1, first: order, properties: list.as_slice().into() };
                self.lists.insert(key.into(), tally);
            }
        }
        self.list = list;
    }

    /// Collects the properties that form an object's interface: in order, without `__proto__`, until the name gets too
    /// long.
    fn cut(&mut self, properties: &[StringId], list: &mut Vec<StringId>) {
        list.clear();
        let mut units = 1;
        for &property in properties.iter().filter(|&&property| property != self.proto) {
            let strings = self.strings;
            let count = || units_of(&format(strings.get(property.index())));
            let more = *self.units.entry(property).or_insert_with(count) as usize;
            if units > 1 && units + more > MOST_NAME {
                break;
            }
            units += more + if units > 1 { 2 } else { 0 };
            list.push(property);
        }
        if self.units.len() == MOST_UNITS {
            self.units.clear();
        }
    }

    /// Whether rare lists dropped out, so that a second pass over the same objects must count the others.
    pub fn needs_second_pass(&mut self) -> bool {
        let first_time = self.dropped && !self.exact;
        if first_time {
            self.exact = true;
            self.objects = 0;
            self.lists.values_mut().for_each(|tally| tally.count = 0);
        }
        first_time
    }

    /// Returns the interfaces of at least two objects and one object in a thousand, the most popular first, ties in
    /// order of first occurrence.
    #[must_use]
    pub fn finish(self) -> Vec<Definition> {
        let mut tallies: Vec<&Tally> = self
            .lists
            .values()
            .filter(|tally| tally.count >= 2 && tally.count.saturating_mul(1000) >= self.objects)
            .collect();
        tallies.sort_unstable_by_key(|tally| (std::cmp::Reverse(tally.count), tally.first));
        tallies.into_iter().map(|tally| (self.name(&tally.properties), tally.properties.to_vec())).collect()
    }

    fn name(&self, properties: &[StringId]) -> Vec<u8> {
        let mut name = b"{".to_vec();
        for property in properties {
            if name.len() > 1 {
                name.extend_from_slice(b", ");
            }
            name.extend_from_slice(&format(self.strings.get(property.index())));
        }
        name.push(b'}');
        name
    }
}

/// The interfaces of a snapshot, ready for matching.
///
/// An object is matched with all of them at once: each of its properties increments the counts of the interfaces that
/// have it, and a full count is a match. That takes at most a thousand byte additions per property, vectorized, however
/// much the interfaces overlap.
pub struct Interfaces {
    /// Name and number of properties, in order of preference: large ones first, then popular ones.
    definitions: Vec<(StringId, u8)>,
    /// Interfaces by property and number of earlier occurrences of the property in the object.
    users: FxHashMap<(StringId, u8), Users>,
    /// Properties of the current object in each definition.
    counts: Vec<u8>,
    remembered: FxHashMap<Box<[StringId]>, Option<StringId>>,
}

/// The definitions that have a property.
enum Users {
    Few(Vec<u16>),
    /// One byte per definition, 1 if it has the property.
    Many(Box<[u8]>),
}

/// Number of users from which on there is a byte per definition.
const MANY: usize = 32;

impl Interfaces {
    /// Limit of interfaces: each has one object in a thousand.
    const MOST: usize = 1000;

    /// Memory limit of the tables: properties of many and of few interfaces, cached shapes.
    pub const BYTES: u64 = {
        let properties = Self::MOST * MOST_LIST;
        let many = properties / MANY * Self::MOST;
        let few = properties * (3 * (size_of::<(StringId, u8, Users)>() + 1) + 32);
        let shape = 4 * MOST_REMEMBERED + 16 + 3 * (size_of::<(Box<[StringId]>, Option<StringId>)>() + 1);
        (many + few + REMEMBERED * shape) as u64
    };

    /// Takes names and properties, the most popular first.
    pub fn new(definitions: impl IntoIterator<Item = (StringId, Vec<StringId>)>) -> Self {
        let mut sorted: Vec<(StringId, Vec<StringId>)> = definitions.into_iter().collect();
        sorted.sort_by_key(|(_, properties)| std::cmp::Reverse(properties.len()));
        let count = sorted.len();
        let mut lists: FxHashMap<(StringId, u8), Vec<u16>> = FxHashMap::default();
        let mut definitions = Vec::with_capacity(count);
        for (number, (name, mut properties)) in (0..).zip(sorted) {
            properties.sort_unstable();
            numbered(&properties).for_each(|key| lists.entry(key).or_default().push(number));
            definitions.push((name, properties.len() as u8));
        }
        let users = |list: Vec<u16>| {
            if list.len() < MANY {
                return Users::Few(list);
            }
            let mut row = vec![0; count];
            list.iter().for_each(|&number| row[usize::from(number)] = 1);
            Users::Many(row.into())
        };
        let users = lists.into_iter().map(|(key, list)| (key, users(list))).collect();
        Self { definitions, users, counts: vec![0; count], remembered: FxHashMap::default() }
    }

    /// Returns the interface of an object with these properties (which get sorted): among those with all their
    /// properties in the object, the largest, then the most popular.
    pub fn best(&mut self, properties: &mut [StringId]) -> Option<StringId> {
        properties.sort_unstable();
        if let Some(&known) = self.remembered.get(&*properties) {
            return known;
        }
        let name = self.matched(properties);
        if self.remembered.len() == REMEMBERED {
            self.remembered.clear();
        }
        if properties.len() <= MOST_REMEMBERED {
            self.remembered.insert((&*properties).into(), name);
        }
        name
    }

    fn matched(&mut self, properties: &[StringId]) -> Option<StringId> {
        self.counts.fill(0);
        for key in numbered(properties) {
            match self.users.get(&key) {
                None => {}
                Some(Users::Few(list)) => list.iter().for_each(|&number| self.counts[usize::from(number)] += 1),
                Some(Users::Many(row)) => self.counts.iter_mut().zip(row).for_each(|(count, one)| *count += one),
            }
        }
        let full = self.definitions.iter().zip(&self.counts).find(|((_, size), count)| size == *count);
        full.map(|((name, _), _)| *name)
    }
}

/// Returns sorted properties, each with the number of equal ones before it; an interface has fewer than 256 of one
/// name.
fn numbered(properties: &[StringId]) -> impl Iterator<Item = (StringId, u8)> {
    properties.chunk_by(|a, b| a == b).flat_map(|group| group.iter().copied().zip(0..=u8::MAX))
}

/// Formats a property's name for an interface: names that look like punctuation are quoted as in JSON.
fn format(name: &[u8]) -> Cow<'_, [u8]> {
    if name.iter().any(|byte| b",'\"{}".contains(byte)) { quoted(name).into() } else { name.into() }
}

/// Counts the UTF-16 units of a text: one per lead byte, two for those of four-byte sequences.
fn units_of(text: &[u8]) -> u32 {
    text.iter().map(|&byte| u32::from(byte & 0xc0 != 0x80) + u32::from(byte >= 0xf0)).sum()
}

/// Returns a JSON string as JavaScript writes it: lone surrogates escaped.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut text = b"\"".to_vec();
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        at += 1;
        match byte {
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            8 => text.extend_from_slice(b"\\b"),
            9 => text.extend_from_slice(b"\\t"),
            10 => text.extend_from_slice(b"\\n"),
            12 => text.extend_from_slice(b"\\f"),
            13 => text.extend_from_slice(b"\\r"),
            0..32 => text.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            0xed if name.get(at).is_some_and(|&second| second >= 0xa0) && at + 1 < name.len() => {
                let unit = 0xd000 | u32::from(name[at] & 0x3f) << 6 | u32::from(name[at + 1] & 0x3f);
                text.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                at += 2;
            }
            _ => text.push(byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_punctuation_are_quoted() {
        assert_eq!(format(b"plain name"), &b"plain name"[..]);
        assert_eq!(format(b"a,\"b\"\n\x01"), &b"\"a,\\\"b\\\"\\n\\u0001\""[..]);
        assert_eq!(format(b"{\xed\xa0\x80"), &b"\"{\\ud800\""[..]);
        assert_eq!(units_of("a\u{1f600}é".as_bytes()), 4);
    }

    #[test]
    fn the_largest_then_most_popular_interface_wins() {
        let ids = |list: &[u32]| list.iter().map(|&id| StringId(id)).collect::<Vec<_>>();
        let mut interfaces = Interfaces::new([
            (StringId(100), ids(&[1, 2])),
            (StringId(101), ids(&[2, 3])),
            (StringId(102), ids(&[3, 2, 3])),
            (StringId(103), ids(&[2, 3])),
        ]);
        assert_eq!(interfaces.best(&mut ids(&[3, 2, 1])), Some(StringId(100)));
        assert_eq!(interfaces.best(&mut ids(&[3, 2])), Some(StringId(101)));
        assert_eq!(interfaces.best(&mut ids(&[3, 2, 3, 9])), Some(StringId(102)));
        assert_eq!(interfaces.best(&mut ids(&[1, 3])), None);
    }

    /// Tries the definitions one by one.
    fn naive(definitions: &[(StringId, Vec<StringId>)], object: &[StringId]) -> Option<StringId> {
        let has = |property: &StringId, list: &[StringId]| list.iter().filter(|other| *other == property).count();
        let fits = |list: &[StringId]| list.iter().all(|property| has(property, list) <= has(property, object));
        let mut fitting: Vec<_> = definitions.iter().filter(|(_, list)| fits(list)).collect();
        fitting.sort_by_key(|(_, list)| std::cmp::Reverse(list.len()));
        fitting.first().map(|(name, _)| *name)
    }

    #[test]
    fn many_interfaces_are_matched_as_one_by_one() {
        let mut state = 5u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for (count, names) in [(5, 4), (300, 12), (900, 40)] {
            let mut list = |most: u32| (0..1 + random(most)).map(|_| StringId(random(names))).collect::<Vec<_>>();
            let definitions: Vec<_> = (0..count).map(|number| (StringId(1000 + number), list(6))).collect();
            let mut interfaces = Interfaces::new(definitions.clone());
            for _ in 0..2000 {
                let mut object = list(20);
                assert_eq!(interfaces.best(&mut object), naive(&definitions, &object));
            }
        }
    }
}
