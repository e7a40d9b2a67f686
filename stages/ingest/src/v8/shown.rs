//! The parts of each kind of object that a V8 snapshot has, and those that it omits: the list that makes a set of
//! duplicates exact or only possible. Used by [`super::equality`].
//!
//! [`SHOWN`] is that list; `docs/formats.md` has it as a table. Kinds outside the list have hidden state. Class names
//! do not matter, since programs derive classes from those of the engine and name them freely. V8's maps (hidden
//! classes) refer to the function that created their objects, which for a class derived from an engine's class is the
//! engine's ([`super::survey`]).

use super::survey::traits;
use heaplake_kit::StringTable;
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::limits;
use rustc_hash::FxHashMap;

/// A row of the list.
pub struct Row {
    /// The kind of object.
    pub thing: &'static str,
    /// The parts in the file.
    pub shown: &'static str,
    /// The parts that it omits.
    pub hidden: &'static str,
    /// The [`limits`] of a node that lacks them.
    pub limits: u8,
}

const fn row(thing: &'static str, shown: &'static str, hidden: &'static str, limits: u8) -> Row {
    Row { thing, shown, hidden, limits }
}

/// The parts that V8 writes, in the versions of Node.js 20 to 26, Deno and Chromium. Rows without limits can be exact.
pub const SHOWN: &[Row] = &[
    row(
        "number",
        "small integers and doubles, where numbers were captured",
        "all, where they were not",
        limits::NUMBERS,
    ),
    row("heap number `0`", "nothing else", "the sign: 0 and -0 are written alike", limits::NUMBERS),
    row("string, one byte per character", "all characters; NUL is written as a space", "", 0),
    row(
        "string, two bytes per character",
        "characters up to U+FFFF",
        "the upper bits of other characters; lone surrogates (`???`). Exact where the size leaves no room for such",
        limits::CHARACTERS,
    ),
    row("string, cut", "1,024 characters or bytes", "the rest, which the size gives away", limits::TEXTS),
    row("string in two parts", "both parts", "", 0),
    row("slice of a string", "the string", "beginning and length", limits::CONTENTS),
    row("bigint", "its size", "its value", limits::CONTENTS),
    row("regular expression", "its source", "flags, `lastIndex`", limits::STATE),
    row("symbol, function, code, map, context", "", "compared by identity, never duplicates", 0),
    row(
        "object of a class or a literal, error",
        "all properties, private ones too; their order and attributes are in the map",
        "",
        0,
    ),
    row(
        "object with a dictionary of properties",
        "names and values",
        "order and attributes of the properties",
        limits::CONTENTS,
    ),
    row(
        "array, arguments and other objects with elements",
        "objects, strings and captured numbers by their index",
        "the length, unless the array is packed or its store is full; holes; arrays of small integers or doubles; \
         attributes of elements in a dictionary",
        limits::CONTENTS,
    ),
    row(
        "`Map`, `Set`",
        "objects and strings among keys and values, and their order",
        "numbers, booleans, `null`, `undefined`; the number of entries, unless the table is full",
        limits::CONTENTS,
    ),
    row(
        "store of elements, properties or entries, on its own",
        "objects and strings by their position",
        "small integers, booleans, holes. Exact where each slot has an object",
        limits::SLOTS,
    ),
    row(
        "`WeakRef`, tables of weak containers",
        "targets, which are compared by identity",
        "whatever else they have",
        limits::STATE,
    ),
    row(
        "every other object of the engine or the embedder: `Number`, `Boolean`, `Date`, `ArrayBuffer`, typed arrays and \
         other views, `Promise`, generators, iterators and their helpers, `Proxy`, `Intl`, `Temporal`, `WebAssembly`, \
         objects of Blink and of native addons, and kinds that are not known yet",
        "what it refers to",
        "its state: bytes, offset and length, position, status, settings",
        limits::STATE,
    ),
];

/// Default limit of the characters that V8 writes of a string.
const CUT: u64 = 1024;

/// Bytes of the largest string that refers to its text (external, thin).
const REFERENCE: u64 = 40;

/// V8's encoding of a text, by its map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// No map known.
    #[default]
    Unknown,
    /// Latin-1.
    OneByte,
    /// UTF-16.
    TwoByte,
}

/// Texts of more bytes are cached, since many strings may share one.
const LONG: usize = 1 << 16;

/// Bytes of a text examined in one piece.
const PIECE: usize = 1 << 12;

/// Properties of a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    bytes: u64,
    /// UTF-16 units.
    units: u64,
    /// Whether it has replacements of characters that could not be written.
    is_lossy: bool,
    is_latin: bool,
}

impl Text {
    /// Examines a text.
    pub fn of(text: &[u8]) -> Self {
        let mut found = Self { bytes: text.len() as u64, units: 0, is_lossy: false, is_latin: true };
        for start in (0..text.len()).step_by(PIECE) {
            let end = text.len().min(start + PIECE);
            let piece = &text[start..end];
            let count = |matches: fn(u8) -> bool| piece.iter().filter(|&&byte| matches(byte)).count() as u64;
            // Characters of four bytes are two units.
            found.units += count(|byte| byte & 0xc0 != 0x80) + count(|byte| byte >= 0xf0);
            // 0xc4 begins the first character beyond Latin-1.
            found.is_latin &= count(|byte| byte >= 0xc4) == 0;
            if !found.is_lossy && count(|byte| byte == b'?' || byte == 0xef) > 0 {
                let with_next = &text[start..text.len().min(end + 2)];
                found.is_lossy = with_next.windows(3).any(|three| three == b"???" || three == [0xef, 0xbf, 0xbd]);
            }
        }
        found
    }

    /// Returns the limits of the text for a string of `bytes` bytes, in a heap with slots of `slot` bytes.
    #[must_use]
    pub fn limits(self, bytes: u64, encoding: Encoding, slot: u64) -> u8 {
        let Self { units, is_lossy, .. } = self;
        let one_byte = match encoding {
            Encoding::OneByte => true,
            Encoding::TwoByte => false,
            Encoding::Unknown => !is_lossy && self.is_latin,
        };
        let (width, most) = if one_byte { (1, units) } else { (2, 2 * units) };
        let is_longer = bytes > REFERENCE && bytes > most * width + 23;
        let is_shorter = bytes > REFERENCE && bytes < 12 + CUT * width;
        // A cut inside a character omits at most three bytes.
        let by_bytes = (CUT - 3..=CUT).contains(&self.bytes) && units < self.bytes;
        let by_units = units <= CUT && CUT <= most && !is_shorter;
        let cut = if is_longer || by_bytes || by_units { limits::TEXTS } else { 0 };
        // Characters beyond U+FFFF look like others, and take one more unit.
        let header = if slot == 8 { 16 } else { 12 };
        let has_room = bytes <= REFERENCE || bytes != header + 2 * units || !bytes.is_multiple_of(slot);
        let lossy = if !one_byte && (is_lossy || has_room) { limits::CHARACTERS } else { 0 };
        cut | lossy
    }
}

/// The texts of strings, with a cache of long ones: 40 bytes each, little beside the texts themselves.
pub struct Texts<'a> {
    strings: &'a StringTable,
    long: FxHashMap<StringId, Text>,
}

impl<'a> Texts<'a> {
    /// Creates the cache for a string table.
    pub fn new(strings: &'a StringTable) -> Self {
        Self { strings, long: FxHashMap::default() }
    }

    /// Returns the limits of a text, see [`Text::limits`].
    pub fn limits(&mut self, name: StringId, bytes: u64, encoding: Encoding, slot: u64) -> u8 {
        let text = self.strings.get(name.index());
        // So short a one-byte string cannot be cut.
        if encoding == Encoding::OneByte && bytes <= REFERENCE && (text.len() as u64) < CUT - 3 {
            return 0;
        }
        let text =
            if text.len() <= LONG { Text::of(text) } else { *self.long.entry(name).or_insert_with(|| Text::of(text)) };
        text.limits(bytes, encoding, slot)
    }
}

/// Observations on the edges of an object or array.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    /// Traits of its map.
    pub map: u8,
    /// Whether it has properties of its own.
    pub properties: bool,
    /// Whether it has a store of elements.
    pub elements: bool,
    /// Traits of its table of entries, if it has one.
    pub table: Option<u8>,
    /// Whether it has engine references that plain objects lack.
    pub foreign: bool,
    /// Whether it refers to an incomplete array.
    pub partial: bool,
    /// Whether a number's text was captured.
    pub number: bool,
    /// Whether that text is `0`.
    pub zero: bool,
    /// Encoding of a text.
    pub encoding: Encoding,
}

/// Returns the limits of an object with these traits, if numbers were captured.
pub fn object(own: u8, seen: &Seen) -> u8 {
    let creator = seen.map & traits::CREATOR;
    let holds_entries = matches!(creator, traits::MAP | traits::SET);
    if creator == traits::UNKNOWN || seen.foreign || holds_entries != seen.table.is_some() {
        return limits::STATE;
    }
    let in_dictionary = seen.properties && seen.map & traits::DESCRIBED == 0;
    let is_packed = creator == traits::ARRAY && seen.map & traits::COMPLETE != 0;
    let has_length = !seen.elements || own & traits::COMPLETE != 0 || is_packed;
    let is_full = seen.table.is_none_or(|table| table & traits::FULL_TABLE != 0);
    if !in_dictionary && has_length && is_full && !seen.partial { 0 } else { limits::CONTENTS }
}

/// [`object`] for an array of the engine: a store of elements, properties or entries, or an internal part.
pub fn array(own: u8, seen: &Seen) -> u8 {
    let slots = if own & traits::PARTIAL == 0 { 0 } else { limits::SLOTS };
    slots | if seen.partial { limits::CONTENTS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    const MARKS: [&str; 2] = ["<!-- shown by V8: begin -->\n", "<!-- shown by V8: end -->"];

    /// The table in `docs/formats.md`. `HEAPLAKE_UPDATE=1` updates it.
    #[test]
    fn the_page_has_the_list() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
        let page = fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(MARKS[0]).unwrap();
        let (_, after) = rest.split_once(MARKS[1]).unwrap();
        let mut table = "| of | the file has | it lacks | duplicates are |\n|---|---|---|---|\n".to_owned();
        for Row { thing, shown, hidden, limits } in SHOWN {
            let status = if *limits == 0 { "`exact`" } else { "`possible`" };
            let _ = writeln!(table, "| {thing} | {shown} | {hidden} | {status} |");
        }
        let renewed = format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1]);
        if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
            fs::write(&path, renewed).unwrap();
        } else {
            assert!(page == renewed, "docs/formats.md is stale: run this test with HEAPLAKE_UPDATE=1");
        }
    }

    /// Limits of an uncut string of `units` units that V8 writes as `shown`.
    fn of(shown: &str, units: u64, encoding: Encoding) -> u8 {
        let width = if encoding == Encoding::TwoByte { 2 } else { 1 };
        Text::of(shown.as_bytes()).limits((16 + units * width).next_multiple_of(8), encoding, 8)
    }

    #[test]
    fn texts_that_are_cut() {
        let q = |count| "q".repeat(count);
        assert_eq!(of(&q(1023), 1023, Encoding::OneByte), 0);
        assert_eq!(of(&q(1024), 1024, Encoding::OneByte), limits::TEXTS);
        assert_eq!(of(&q(1024), 1500, Encoding::OneByte), limits::TEXTS);
        // Detected by the size, whatever the limit was.
        assert_eq!(of(&q(100), 200, Encoding::OneByte), limits::TEXTS);
        // External strings have no text in the heap.
        assert_eq!(Text::of(q(900).as_bytes()).limits(32, Encoding::OneByte, 8), 0);
        // Latin-1 takes two bytes in the file.
        assert_eq!(of(&"é".repeat(900), 900, Encoding::OneByte), 0);
        // Possibly cut after 1,024 bytes.
        assert_eq!(of(&"é".repeat(512), 512, Encoding::OneByte), limits::TEXTS);
        // Inside a character of four bytes, and after one of two units.
        let smile = format!("\u{f600}{}", q(1022));
        assert_eq!(of(&smile, 1090, Encoding::TwoByte) & limits::TEXTS, limits::TEXTS);
        assert_eq!(of(&"☃".repeat(1000), 1000, Encoding::TwoByte) & limits::TEXTS, 0);
        assert_eq!(of(&"☃".repeat(1024), 1100, Encoding::TwoByte) & limits::TEXTS, limits::TEXTS);
    }

    #[test]
    fn characters_that_look_alike() {
        // Sixteen units fill their slots; with fifteen, one might be a pair.
        assert_eq!(of(&"文".repeat(16), 16, Encoding::TwoByte), 0);
        assert_eq!(of(&"文".repeat(15), 15, Encoding::TwoByte), limits::CHARACTERS);
        assert_eq!(of(&"文".repeat(16), 17, Encoding::TwoByte), limits::CHARACTERS);
        assert_eq!(of("abcd", 5, Encoding::TwoByte), limits::CHARACTERS);
        assert_eq!(of("???A", 2, Encoding::TwoByte), limits::CHARACTERS);
        assert_eq!(of("really???", 9, Encoding::OneByte), 0);
        assert_eq!(of("plain", 5, Encoding::Unknown), 0);
        assert_eq!(of("???A", 4, Encoding::Unknown), limits::CHARACTERS);
    }

    #[test]
    fn objects_by_what_created_them() {
        let seen = |map| Seen { map, properties: true, ..Seen::default() };
        let plain = traits::PLAIN | traits::DESCRIBED;
        assert_eq!(object(0, &seen(plain)), 0);
        assert_eq!(object(0, &seen(traits::PLAIN)), limits::CONTENTS, "a dictionary");
        assert_eq!(object(0, &seen(traits::UNKNOWN | traits::DESCRIBED)), limits::STATE);
        assert_eq!(object(0, &Seen { foreign: true, ..seen(plain) }), limits::STATE);
        assert_eq!(object(0, &Seen { partial: true, ..seen(plain) }), limits::CONTENTS);
        let array = Seen { map: traits::ARRAY, elements: true, ..Seen::default() };
        assert_eq!(object(0, &array), limits::CONTENTS);
        assert_eq!(object(traits::COMPLETE, &array), 0, "its store is full");
        assert_eq!(object(0, &Seen { map: traits::ARRAY | traits::COMPLETE, ..array }), 0, "it is packed");
        let map = Seen { map: traits::MAP, table: Some(traits::PARTIAL), ..Seen::default() };
        assert_eq!(object(0, &map), limits::CONTENTS);
        assert_eq!(object(0, &Seen { table: Some(traits::PARTIAL | traits::FULL_TABLE), ..map }), 0);
        assert_eq!(object(0, &Seen { table: None, ..map }), limits::STATE);
    }
}
