//! Records of spilled and kept rows: a head, and the measures of the table.

use bytemuck::{Pod, Zeroable};

/// Identity of a row, and which of its measures are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Head {
    /// Key by which rows are grouped: the fingerprint, or a hash of the class key.
    pub key: u64,
    /// Run number.
    pub run: u32,
    /// Row in the table of the run.
    pub row: u32,
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class that the row leads to; 0 if none.
    pub class: u64,
    /// Bit set of the measures that are null.
    pub nulls: u64,
}

/// Words of a head.
pub(super) const HEAD: usize = size_of::<Head>() / size_of::<u64>();

/// A record in a list of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Head.
    pub head: &'a Head,
    /// Measures; 0 if null.
    pub measures: &'a [u64],
}

impl<'a> Record<'a> {
    /// The record that consists of these words.
    pub(super) fn of(words: &'a [u64]) -> Self {
        let (head, measures) = words.split_at(HEAD);
        Self { head: &bytemuck::cast_slice(head)[0], measures }
    }

    /// Records of `width` words each.
    pub(super) fn all(words: &'a [u64], width: usize) -> impl Iterator<Item = Self> {
        words.chunks_exact(width).map(Self::of)
    }

    /// Returns a measure; `None` if null.
    pub(crate) fn value(&self, measure: usize) -> Option<i64> {
        let is_null = self.head.nulls >> measure & 1 == 1;
        (!is_null).then(|| i64::try_from(self.measures[measure]).unwrap_or(i64::MAX))
    }
}

/// Appends a record; its nulls are those of the measures.
pub(super) fn push(words: &mut Vec<u64>, head: Head, measures: impl Iterator<Item = Option<u64>>) {
    let start = words.len();
    words.extend_from_slice(bytemuck::cast_slice(&[head]));
    let mut nulls = 0;
    for (at, measure) in measures.enumerate() {
        nulls |= u64::from(measure.is_none()) << at;
        words.push(measure.unwrap_or(0));
    }
    head_mut(&mut words[start..]).nulls = nulls;
}

/// Head of the record that begins with these words.
pub(super) fn head_mut(words: &mut [u64]) -> &mut Head {
    &mut bytemuck::cast_slice_mut(&mut words[..HEAD])[0]
}
