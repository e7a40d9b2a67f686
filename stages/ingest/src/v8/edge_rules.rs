//! Rules for essential edges and edges that distances follow. Used by [`super::essential_edges`].

use super::header::{Header, is_indexed};
use super::kinds::Kinds;
use super::names;
use super::paired_names::PairedNames;
use heaplake_kit::{Bitset, Context, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{STRINGS, edge_flags};

/// The rules, with the names and kinds that they compare.
pub struct Rules {
    is_weak: [bool; 256],
    is_shortcut: [bool; 256],
    is_internal: [bool; 256],
    is_indexed: Vec<bool>,
    kinds: Kinds,
    native_context: StringId,
    sloppy_map: StringId,
    map_descriptors: StringId,
    root: u32,
    page_owned: Option<Bitset>,
    ephemerons: PairedNames,
    strings: StringTable,
}

/// The properties of a node that the rules read.
#[derive(Clone, Copy)]
pub struct Source {
    /// Its ordinal.
    pub node: u32,
    /// Its id.
    pub id: u64,
    /// Its special rule, if any.
    pub special: Special,
}

fn kind_is(kind: Option<u8>) -> [bool; 256] {
    std::array::from_fn(|at| Some(at as u8) == kind)
}

impl Rules {
    /// Creates the rules for a snapshot with these page-owned nodes.
    pub(super) fn new(
        header: &Header,
        page_owned: Option<Bitset>,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let kinds = Kinds::of(header);
        let [native_context, sloppy_map, map_descriptors] =
            names::find(scratch, ["system / NativeContext", "sloppy_function_map", "(map descriptors)"])?;
        Ok(Self {
            is_weak: kind_is(kinds.weak),
            is_shortcut: kind_is(kinds.shortcut),
            is_internal: kind_is(kinds.internal),
            is_indexed: header.edge_types.iter().map(|name| is_indexed(name)).collect(),
            kinds,
            native_context,
            sloppy_map,
            map_descriptors,
            root: header.root as u32,
            page_owned,
            ephemerons: PairedNames::load(scratch, context)?,
            strings: StringTable::open(scratch, STRINGS)?,
        })
    }

    /// Returns the flags of an edge, and the number of its ephemeron pair if it has one.
    #[inline]
    pub(super) fn judge(&self, source: &Source, kind: u8, name: u32, to: NodeId) -> (u8, Option<u32>) {
        if self.is_weak[kind as usize] {
            return (0, None);
        }
        let is_root = source.node == self.root;
        let ephemeron = if self.is_internal[kind as usize] { self.ephemerons.get(name) } else { None };
        // Edges into a page count only from inside it, or from the root.
        let enters_page =
            |owned: &Bitset| !is_root && owned.contains(to.index()) && !owned.contains(source.node as usize);
        let dropped = to.0 == source.node
            || (self.is_shortcut[kind as usize] && !is_root)
            || ephemeron.is_some_and(|(table, _)| table == source.id)
            || self.page_owned.as_ref().is_some_and(enters_page);
        let holds = if dropped { 0 } else { edge_flags::ESSENTIAL };
        match source.special {
            Special::MapDescriptors if !self.is_descriptor(kind, name) => (holds | edge_flags::FOLLOWED, None),
            Special::NativeContext if !self.is_indexed[kind as usize] && StringId(name) == self.sloppy_map => {
                (holds, None)
            }
            Special::MapDescriptors => (holds, None),
            _ => match ephemeron {
                Some((_, pair)) => (holds | edge_flags::FOLLOWED | edge_flags::PAIRED, Some(pair)),
                None => (holds | edge_flags::FOLLOWED, None),
            },
        }
    }

    /// Every third entry of an array of map descriptors is a descriptor, which may belong to another map.
    fn is_descriptor(&self, kind: u8, name: u32) -> bool {
        let index = if self.is_indexed[kind as usize] {
            Some(i64::from(name))
        } else {
            leading_integer(self.strings.get(name as usize))
        };
        index.is_some_and(|index| index >= 2 && index % 3 == 1)
    }

    pub(super) fn special(&self, kind: u8, name: StringId) -> Special {
        if Some(kind) == self.kinds.hidden && name == self.native_context {
            Special::NativeContext
        } else if Some(kind) == self.kinds.array && name == self.map_descriptors {
            Special::MapDescriptors
        } else {
            Special::No
        }
    }
}

/// Nodes with a special rule for distances.
#[derive(Clone, Copy)]
pub enum Special {
    /// No special rule.
    No,
    /// Native context of a page or a realm.
    NativeContext,
    /// Descriptors of hidden classes.
    MapDescriptors,
}

/// Returns the integer that JavaScript's `parseInt` finds at the start of a text.
fn leading_integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let (sign, text) = match text.first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.clone().fold(0i64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    (digits.count() > 0).then_some(sign * value)
}

#[cfg(test)]
mod tests {
    use super::leading_integer;

    #[test]
    fn parses_integers_as_javascript_does() {
        for (text, value) in [("7 / x", Some(7)), (" -3", Some(-3)), ("12abc", Some(12)), ("x1", None), ("", None)] {
            assert_eq!(leading_integer(text.as_bytes()), value, "{text:?}");
        }
    }
}
