//! Sizes of objects in a profiler log, where walks lack them.
//!
//! Sizes come from allocations, whose addresses are tracked through garbage collections. Memory: 16 bytes per live
//! object, up to twice that while lists grow, in pages of 64 KiB of address space. A garbage collection touches the
//! pages of its condemned ranges.

use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use std::collections::BTreeMap;

/// log2 of the bytes of a page.
const PAGE: u32 = 16;

/// Bytes of a page besides its objects.
const ENTRY: u64 = 64;

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sized {
    address: u64,
    bytes: u64,
}

/// A surviving range: its first address, its end, and the first address after the move.
pub(crate) type Survivor = (u64, u64, u64);

/// The sizes of objects by address.
pub(crate) struct Sizes {
    pages: BTreeMap<u64, Vec<Sized>>,
    account: MemoryAccount,
}

impl Sizes {
    /// Starts empty.
    pub(crate) fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            pages: BTreeMap::new(),
            account: MemoryAccount::new(budget, "the objects that are alive in the log")?,
        })
    }

    /// Records an object at an address, replacing an earlier one.
    pub(crate) fn put(&mut self, address: u64, bytes: u64) -> Result<(), StageError> {
        let Self { pages, account } = self;
        if !pages.contains_key(&(address >> PAGE)) {
            account.add(ENTRY)?;
        }
        let page = pages.entry(address >> PAGE).or_default();
        let at = match page.last() {
            Some(last) if last.address >= address => page.partition_point(|object| object.address < address),
            _ => page.len(),
        };
        match page.get_mut(at) {
            Some(object) if object.address == address => object.bytes = bytes,
            _ => {
                account.make_room(page, 1)?;
                page.insert(at, Sized { address, bytes });
            }
        }
        Ok(())
    }

    /// Returns the size of the object at an address.
    pub(crate) fn get(&self, address: u64) -> Option<u64> {
        let page = self.pages.get(&(address >> PAGE))?;
        page.binary_search_by_key(&address, |object| object.address).ok().map(|at| page[at].bytes)
    }

    /// Applies a garbage collection: forgets objects in condemned ranges that do not survive. Both lists are sorted; of
    /// overlapping ranges the earlier counts.
    pub(crate) fn collect(&mut self, condemned: &[(u64, u64)], survivors: &[Survivor]) -> Result<(), StageError> {
        let (mut moved, mut behind, mut left) = (Vec::new(), 0, survivors);
        for &(start, end) in condemned {
            let start = start.max(behind);
            if start >= end {
                continue;
            }
            behind = end;
            let mut next = start >> PAGE;
            while next <= (end - 1) >> PAGE
                && let Some((&key, page)) = self.pages.range_mut(next..=(end - 1) >> PAGE).next()
            {
                next = key + 1;
                self.account.make_room(&mut moved, page.len())?;
                page.retain(|&object| {
                    let address = object.address;
                    if !(start..end).contains(&address) {
                        return true;
                    }
                    while let [(_, end, _), rest @ ..] = left
                        && *end <= address
                    {
                        left = rest;
                    }
                    match left.first() {
                        Some(&(from, _, to)) if from <= address => {
                            let there = Sized { address: to.wrapping_add(address - from), ..object };
                            moved.extend((from != to).then_some(there));
                            from == to
                        }
                        _ => false,
                    }
                });
                if page.is_empty()
                    && let Some(page) = self.pages.remove(&key)
                {
                    self.account.sub(ENTRY + (page.capacity() * size_of::<Sized>()) as u64);
                }
            }
        }
        moved.iter().try_for_each(|object| self.put(object.address, object.bytes))?;
        self.account.sub((moved.capacity() * size_of::<Sized>()) as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a map of all addresses.
    #[test]
    fn sizes_follow_their_objects() {
        let mut chance = 1_u64;
        let mut below = |end: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % end
        };
        for _ in 0..500 {
            let mut sizes = Sizes::new(&Budget::new(16 << 20)).unwrap();
            let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
            let unit = [1, 1 << 10, 1 << 14][below(3) as usize];
            for _ in 0..below(6) {
                for _ in 0..below(40) {
                    let (address, bytes) = (unit * below(200), below(100));
                    sizes.put(address, bytes).unwrap();
                    truth.insert(address, bytes);
                }
                // Parts of the address space are condemned; part of each survives, some of it moved far away.
                let (mut condemned, mut survivors) = (Vec::new(), Vec::new());
                for piece in 0..10 {
                    let (start, end) = (unit * 20 * piece, unit * 20 * (piece + 1));
                    if below(2) == 0 {
                        continue;
                    }
                    condemned.push((start, end));
                    let (from, length) = (start + unit * below(10), unit * below(10));
                    let to = if below(2) == 0 { from } else { from + unit * 1000 };
                    if length > 0 {
                        survivors.push((from, from + length, to));
                    }
                }
                sizes.collect(&condemned, &survivors).unwrap();
                let within = |address: u64, ranges: &[(u64, u64)]| {
                    ranges.iter().any(|&(start, end)| (start..end).contains(&address))
                };
                let mut after = BTreeMap::new();
                for (&address, &bytes) in truth.iter().filter(|(address, _)| !within(**address, &condemned)) {
                    after.insert(address, bytes);
                }
                for (&address, &bytes) in truth.iter().filter(|(address, _)| within(**address, &condemned)) {
                    let survivor = survivors.iter().find(|(from, end, _)| (*from..*end).contains(&address));
                    if let Some(&(from, _, to)) = survivor {
                        after.insert(to + address - from, bytes);
                    }
                }
                truth = after;
                let all = (0..1200).map(|number| unit * number);
                for address in all {
                    assert_eq!(sizes.get(address), truth.get(&address).copied());
                }
            }
        }
    }
}
