//! HotSpot's placement of fields in instances, which determines their sizes.
//!
//! A class places its fields after those of its superclass: first those of eight bytes, then smaller ones by size, then
//! references. Each goes into the smallest alignment gap that it fits, otherwise to the end. (OpenJDK,
//! `fieldLayoutBuilder.cpp`, since JDK 15.)

use super::value;
use bytemuck::{Pod, Zeroable};

/// Padding around `@Contended` fields, so that no other field shares their cache line.
const PADDING: u32 = 128;

/// Widths of primitive fields, in the order of placement.
const WIDTHS: [u32; 4] = [8, 4, 2, 1];

/// Unused bytes between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Gap {
    start: u32,
    end: u32,
}

/// Fields that are placed together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Number of fields of each of [`WIDTHS`].
    counts: [u32; 4],
    references: u32,
}

impl Group {
    /// Adds a field of this type code.
    pub(super) fn add(&mut self, kind: u8) {
        match value::width(kind, 0) {
            Some(0) => self.references += 1,
            Some(width) => self.counts[3 - width.ilog2() as usize] += 1,
            None => {}
        }
    }

    /// Returns the widths of the fields with their numbers, in the order of placement.
    fn widths(self, reference: u32) -> impl Iterator<Item = (u32, u32)> {
        WIDTHS.into_iter().zip(self.counts).chain([(reference, self.references)])
    }
}

/// The placed fields of a class and its superclasses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// End of the last field.
    pub end: u32,
    /// Gaps before the end, ascending.
    pub gaps: Vec<Gap>,
}

impl Placed {
    /// Places a group of fields.
    pub(super) fn place(&mut self, group: Group, reference: u32) {
        for (width, count) in group.widths(reference) {
            let mut fits = true;
            for _ in 0..count {
                fits = fits && self.fill(width);
                if !fits {
                    self.append(width);
                }
            }
        }
    }

    /// Places isolated groups after all other fields, with padding around them. Later fields follow them.
    pub(super) fn place_apart(&mut self, groups: &[Group], reference: u32) {
        for &group in groups {
            self.end = self.end.saturating_add(PADDING);
            for (width, count) in group.widths(reference) {
                (0..count).for_each(|_| self.append(width));
            }
        }
        self.end = self.end.saturating_add(PADDING);
        self.gaps.clear();
    }

    fn append(&mut self, width: u32) {
        let start = self.end.next_multiple_of(width);
        if start > self.end {
            self.gaps.push(Gap { start: self.end, end: start });
        }
        self.end = start + width;
    }

    /// Places a field in the smallest gap that it fits, the last of equal ones; returns false if there is none.
    fn fill(&mut self, width: u32) -> bool {
        let fits = |gap: &Gap| gap.start.next_multiple_of(width) + width <= gap.end;
        let fitting = self.gaps.iter().enumerate().rev().filter(|(_, gap)| fits(gap));
        let Some((at, &Gap { start, end })) = fitting.min_by_key(|(_, gap)| gap.end - gap.start) else { return false };
        let field = start.next_multiple_of(width);
        let rest = [Gap { start, end: field }, Gap { start: field + width, end }];
        self.gaps.splice(at..=at, rest.into_iter().filter(|gap| gap.start < gap.end));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The placement, naively, over an array of occupied bytes.
    fn naive(head: usize, levels: &[Vec<u8>], reference: usize) -> Vec<bool> {
        let mut taken = vec![true; head];
        for level in levels {
            let mut widths: Vec<(bool, usize)> =
                level.iter().map(|&kind| (kind == value::OBJECT, value::width(kind, reference).unwrap())).collect();
            widths.sort_by_key(|&(is_reference, width)| (is_reference, std::cmp::Reverse(width)));
            for (_, width) in widths {
                let last = taken.iter().rposition(|&byte| byte).map_or(0, |last| last + 1);
                let is_free = |at: usize| (at..at + width).all(|byte| !taken[byte]);
                // The free bytes around a place, up to the fields on both sides.
                let around = |at: usize| {
                    let before = (0..at).rev().take_while(|&byte| !taken[byte]).count();
                    before + (at..last).take_while(|&byte| !taken[byte]).count()
                };
                let places = (0..last.saturating_sub(width - 1)).filter(|&at| at % width == 0 && is_free(at));
                // The last of equal gaps; the first place in a gap.
                let best = places.min_by_key(|&at| {
                    let before = (0..at).rev().take_while(|&byte| !taken[byte]).count();
                    (around(at), std::cmp::Reverse(at - before), at)
                });
                let at = best.unwrap_or(last.next_multiple_of(width));
                taken.resize(taken.len().max(at + width), false);
                taken[at..at + width].fill(true);
            }
        }
        taken
    }

    #[test]
    fn sizes_of_real_classes() {
        let size = |head: u32, reference: u32, levels: &[&[u8]]| {
            let mut placed = Placed { end: head, gaps: Vec::new() };
            for level in levels {
                let mut group = Group::default();
                level.iter().for_each(|&kind| group.add(kind));
                placed.place(group, reference);
            }
            placed.end.next_multiple_of(8)
        };
        // java.lang.Object, HashMap$Node, Long, a byte in each of three classes.
        let node: &[u8] = &[value::INT, value::OBJECT, value::OBJECT, value::OBJECT];
        let bytes: &[&[u8]] = &[&[value::BYTE], &[value::BYTE], &[value::BYTE]];
        for (levels, expected) in
            [(&[][..], [8, 16, 16]), (&[node], [24, 32, 48]), (&[&[value::LONG]], [16, 24, 24]), (bytes, [16, 16, 24])]
        {
            let sizes = [size(8, 4, levels), size(12, 4, levels), size(16, 8, levels)];
            assert_eq!(sizes, expected, "{levels:?}");
        }
    }

    #[test]
    fn fields_apart_have_lines_of_their_own() {
        // Striped64$Cell of JDK 25.
        let mut placed = Placed { end: 8, gaps: Vec::new() };
        let mut group = Group::default();
        group.add(value::LONG);
        placed.place_apart(&[group], 4);
        assert_eq!(placed, Placed { end: 272, gaps: Vec::new() });
    }

    proptest! {
        #[test]
        fn fields_lie_where_a_list_of_bytes_has_room(
            head in prop::sample::select(vec![8usize, 12, 16]),
            reference in prop::sample::select(vec![4usize, 8]),
            levels in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![2u8, 4, 5, 6, 7, 8, 9, 10, 11]), 0..6), 0..6),
        ) {
            let mut placed = Placed { end: head as u32, gaps: Vec::new() };
            for level in &levels {
                let mut group = Group::default();
                level.iter().for_each(|&kind| group.add(kind));
                placed.place(group, reference as u32);
            }
            let taken = naive(head, &levels, reference);
            prop_assert_eq!(placed.end as usize, taken.len());
            let mut free = vec![true; taken.len()];
            for gap in &placed.gaps {
                free[gap.start as usize..gap.end as usize].fill(false);
            }
            prop_assert_eq!(free, taken);
        }
    }
}
