//! Recovers the interfaces of a V8 snapshot, `{a, b}`, from its tables, and classifies the plain objects of another
//! snapshot by them.
//!
//! Same rules as the analysis and Chrome DevTools: an interface is a list of properties that at least two plain objects
//! and one in a thousand have; an object has the interface with the most properties among those contained in its own,
//! then the most popular one.
//!
//! Resident memory: bounded, in the budget. Property lists are counted by the algorithm of Misra and Gries ("Finding
//! Repeated Elements", 1982); if rare lists were dropped, a second pass counts the rest exactly.

use heaplake_kit::{Budget, Reservation, StageError};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write;

/// Maximum number of property lists counted at once.
const CANDIDATES: usize = 1 << 14;

/// Once a property would make an interface's name longer (in UTF-16 units), none is added.
const MOST_NAME: usize = 120;

/// Maximum number of shapes in the cache of matches.
const REMEMBERED: usize = 1 << 13;

/// Maximum properties of a cached shape.
const MOST_REMEMBERED: usize = 64;

/// Maximum bytes of the cache.
const SHAPES_BYTES: u64 = (REMEMBERED * (4 * MOST_REMEMBERED + 128)) as u64;

/// Bytes per counted list, without texts.
const LIST_BYTES: u64 = 256;

/// Name and properties of an interface.
type Definition = (String, Vec<Box<str>>);

/// Counts the property lists of plain objects.
pub(super) struct Census {
    lists: FxHashMap<Box<str>, Tally>,
    held: Reservation,
    objects: u64,
    dropped: bool,
    /// Second pass: only known lists count.
    exact: bool,
    list: List,
}

struct Tally {
    count: u64,
    /// Order of first occurrence.
    first: u64,
    /// Properties in the order of the first object with this name.
    properties: Vec<Box<str>>,
}

/// The prefix of an object's properties that forms its interface.
#[derive(Default)]
struct List {
    name: String,
    units: usize,
    ends: Vec<usize>,
    properties: String,
    full: bool,
}

impl List {
    fn clear(&mut self) {
        self.name.clear();
        self.name.push('{');
        self.units = 1;
        self.ends.clear();
        self.properties.clear();
        self.full = false;
    }

    /// Adds a property, unless the name gets too long.
    fn add(&mut self, property: &str) {
        if self.full || property == "__proto__" {
            return;
        }
        let shown = shown(property);
        let more = shown.encode_utf16().count();
        if self.units > 1 && self.units + more > MOST_NAME {
            self.full = true;
            return;
        }
        self.units += more + if self.units > 1 { 2 } else { 0 };
        if self.name.len() > 1 {
            self.name.push_str(", ");
        }
        self.name.push_str(&shown);
        self.properties.push_str(property);
        self.ends.push(self.properties.len());
    }

    fn properties(&self) -> Vec<Box<str>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.properties[start..end].into()).collect()
    }

    /// Bytes of its tally.
    fn bytes(&self) -> u64 {
        LIST_BYTES + (2 * self.name.len() + 2 * self.properties.len() + 16 * self.ends.len()) as u64
    }
}

impl Census {
    /// Starts counting.
    pub(super) fn new(budget: &Budget) -> Result<Self, StageError> {
        let held = budget.reserve("interfaces", 0)?;
        Ok(Self { lists: FxHashMap::default(), held, objects: 0, dropped: false, exact: false, list: List::default() })
    }

    /// Begins a plain object.
    pub(super) fn begin(&mut self) {
        self.list.clear();
    }

    /// Adds a property of the object.
    pub(super) fn property(&mut self, name: &str) {
        self.list.add(name);
    }

    /// Ends the object and counts it.
    pub(super) fn end(&mut self) -> Result<(), StageError> {
        let (list, order) = (&self.list, self.objects);
        self.objects += 1;
        if list.ends.is_empty() {
        } else if let Some(tally) = self.lists.get_mut(list.name.as_str()) {
            tally.count += 1;
            if self.exact && tally.count == 1 {
                (tally.first, tally.properties) = (order, list.properties());
            }
        } else if !self.exact {
            if self.lists.len() == CANDIDATES {
                self.drop_rare();
            }
            if self.lists.len() < CANDIDATES {
                self.held.grow(self.list.bytes())?;
                let tally = Tally { count: 1, first: order, properties: self.list.properties() };
                self.lists.insert(self.list.name.as_str().into(), tally);
            }
        }
        Ok(())
    }

    fn drop_rare(&mut self) {
        self.dropped = true;
        self.lists.retain(|_, tally| {
            tally.count -= 1;
            tally.count > 0
        });
        let texts = |name: &str, tally: &Tally| {
            let properties: usize = tally.properties.iter().map(|property| 2 * property.len() + 16).sum();
            LIST_BYTES + (2 * name.len() + properties) as u64
        };
        let left: u64 = self.lists.iter().map(|(name, tally)| texts(name, tally)).sum();
        self.held.shrink(self.held.bytes().saturating_sub(left));
    }

    /// Whether rare lists were dropped, so that a second pass over the same objects must count the others.
    pub(super) fn needs_second_pass(&mut self) -> bool {
        let first_time = self.dropped && !self.exact;
        if first_time {
            self.exact = true;
            self.objects = 0;
            self.lists.values_mut().for_each(|tally| tally.count = 0);
        }
        first_time
    }

    /// Returns the interfaces, ready for matching.
    pub(super) fn finish(self, budget: &Budget) -> Result<Interfaces, StageError> {
        let objects = self.objects;
        let common = |tally: &Tally| tally.count >= 2 && tally.count.saturating_mul(1000) >= objects;
        let mut lists: Vec<(Box<str>, Tally)> = self.lists.into_iter().filter(|(_, tally)| common(tally)).collect();
        lists.sort_unstable_by_key(|(_, tally)| (Reverse(tally.count), tally.first));
        let definitions = lists.into_iter().map(|(mut name, tally)| {
            let name = std::mem::take(&mut name).into_string() + "}";
            (name, tally.properties)
        });
        let held = budget.reserve("interfaces", SHAPES_BYTES)?;
        Ok(Interfaces::new(definitions, held))
    }
}

/// Interfaces of a snapshot, numbered by popularity.
pub(super) struct Interfaces {
    names: Vec<String>,
    /// Property numbers by text, for properties of interfaces only.
    numbers: FxHashMap<Box<str>, u32>,
    /// Sorted properties per interface; duplicates must match as often.
    properties: Vec<Vec<u32>>,
    /// Interfaces by least property.
    by_least: FxHashMap<u32, Vec<usize>>,
    remembered: FxHashMap<Box<[u32]>, Option<usize>>,
    shape: Vec<u32>,
    _held: Reservation,
}

impl Interfaces {
    fn new(definitions: impl Iterator<Item = Definition>, held: Reservation) -> Self {
        let mut numbers: FxHashMap<Box<str>, u32> = FxHashMap::default();
        let mut by_least: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let (mut names, mut properties) = (Vec::new(), Vec::new());
        for (index, (name, texts)) in definitions.enumerate() {
            let mut list = Vec::with_capacity(texts.len());
            for text in texts {
                let next = numbers.len() as u32;
                list.push(*numbers.entry(text).or_insert(next));
            }
            list.sort_unstable();
            if let Some(&least) = list.first() {
                by_least.entry(least).or_default().push(index);
            }
            names.push(name);
            properties.push(list);
        }
        let (remembered, shape) = (FxHashMap::default(), Vec::new());
        Self { names, numbers, properties, by_least, remembered, shape, _held: held }
    }

    /// Name of an interface.
    pub(super) fn name(&self, interface: usize) -> &str {
        &self.names[interface]
    }

    /// Begins a plain object.
    pub(super) fn begin(&mut self) {
        self.shape.clear();
    }

    /// Adds a property of the object; ignored if in no interface.
    pub(super) fn property(&mut self, name: &str) {
        if let Some(&number) = self.numbers.get(name) {
            self.shape.push(number);
        }
    }

    /// Returns the best interface of the object.
    pub(super) fn best(&mut self) -> Option<usize> {
        self.shape.sort_unstable();
        if let Some(&known) = self.remembered.get(self.shape.as_slice()) {
            return known;
        }
        let mut best: Option<usize> = None;
        for least in self.shape.chunk_by(|a, b| a == b).map(|group| group[0]) {
            for &candidate in self.by_least.get(&least).map_or(&[][..], Vec::as_slice) {
                let rank = |interface: usize| (Reverse(self.properties[interface].len()), interface);
                let better = best.is_none_or(|best| rank(candidate) < rank(best));
                if better && contains(&self.shape, &self.properties[candidate]) {
                    best = Some(candidate);
                }
            }
        }
        if self.remembered.len() == REMEMBERED {
            self.remembered.clear();
        }
        if self.shape.len() <= MOST_REMEMBERED {
            self.remembered.insert(self.shape.as_slice().into(), best);
        }
        best
    }
}

/// Whether one sorted list contains another, as a multiset.
fn contains(all: &[u32], some: &[u32]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|wanted| rest.any(|have| have == wanted))
}

/// Displays a property name; names with punctuation are quoted as in JSON.
fn shown(name: &str) -> Cow<'_, str> {
    if !name.contains([',', '\'', '"', '{', '}']) {
        return name.into();
    }
    let mut text = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            // Writing to a String does not fail.
            '\0'..' ' => drop(write!(text, "\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interfaces(objects: &[&[&str]]) -> Interfaces {
        let budget = Budget::new(8 << 20);
        let mut census = Census::new(&budget).unwrap();
        loop {
            for object in objects {
                census.begin();
                object.iter().for_each(|property| census.property(property));
                census.end().unwrap();
            }
            if !census.needs_second_pass() {
                return census.finish(&budget).unwrap();
            }
        }
    }

    fn best(interfaces: &mut Interfaces, object: &[&str]) -> Option<String> {
        interfaces.begin();
        object.iter().for_each(|property| interfaces.property(property));
        interfaces.best().map(|interface| interfaces.name(interface).to_owned())
    }

    #[test]
    fn the_largest_then_most_popular_interface_wins() {
        let lists: [&[&str]; 7] = [
            &["b", "c"],
            &["b", "c"],
            &["a", "__proto__", "b"],
            &["a", "b"],
            &["a", "b"],
            &["d", "a, b"],
            &["d", "a, b"],
        ];
        let found = &mut interfaces(&lists);
        assert_eq!(best(found, &["c", "b", "a"]).as_deref(), Some("{a, b}"));
        assert_eq!(best(found, &["x", "c", "b"]).as_deref(), Some("{b, c}"));
        assert_eq!(best(found, &["a, b", "d"]).as_deref(), Some("{d, \"a, b\"}"));
        assert_eq!(best(found, &["a", "c"]), None);
        assert_eq!(best(found, &[]), None);
    }

    #[test]
    fn names_end_before_they_get_too_long() {
        let long = "x".repeat(120);
        let lists: [&[&str]; 2] = [&[&long, "y"], &[&long, "z"]];
        let found = &mut interfaces(&lists);
        assert_eq!(best(found, &[&long]), Some(format!("{{{long}}}")));
    }

    #[test]
    fn rare_lists_drop_out_and_common_ones_are_counted_exactly() {
        let own: Vec<String> = (0..40_000).map(|object| format!("own {object}")).collect();
        let mut lists: Vec<Vec<&str>> = own.iter().map(|name| vec![name.as_str()]).collect();
        for at in 0..60 {
            lists.insert(at * 600, vec!["common", "to all"]);
        }
        let lists: Vec<&[&str]> = lists.iter().map(Vec::as_slice).collect();
        let found = &mut interfaces(&lists);
        assert_eq!(best(found, &["to all", "common"]).as_deref(), Some("{common, to all}"));
        assert_eq!(best(found, &["own 7"]), None);
    }
}
