//! Folds edge labels that carry little information.
//!
//! An object used as a dictionary has as many edge labels as entries; a global object, the context of a module and a
//! function have many, too. Paths that differ only in such labels do not deserve separate rows. So among the elements
//! of one class below the same element, only the labels of the heaviest chains are kept, at most [`NAMES`], and only if
//! such a chain has a minimum weight. The other elements are merged into one with any label, and so are the elements
//! below them. Sums are unchanged.

use crate::trie::NONE;
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::chains::{Element, label};
use std::cmp::Reverse;

/// Maximum number of labels kept from one element to the same class.
pub(crate) const NAMES: usize = 16;

/// Sums of merged elements.
pub(crate) trait Merge: Copy {
    const NOTHING: Self;

    /// Size of the chain that ends here, if one does.
    fn weight(&self) -> Option<u64>;

    /// Adds the sum at another element.
    fn merge(&mut self, other: &Self) -> Result<(), StageError>;
}

/// An element to be folded: its new parent, its class and label, and the weight of the heaviest chain below any element
/// with the same three.
#[derive(Clone, Copy)]
struct Entry {
    parent: u32,
    class: u32,
    label: u32,
    element: u32,
    weight: u64,
}

/// Returns the folded elements, parents first, and their sums. A chain that weighs less than `least` keeps no name.
pub(crate) fn fold<T: Merge>(
    elements: &[Element],
    tallies: &[T],
    least: u64,
    budget: &Budget,
) -> Result<(BudgetVec<Element>, BudgetVec<T>), StageError> {
    let weights = weights(elements, tallies, budget)?;
    let mut new = budget.growing("chains: folded elements");
    let mut sums = budget.growing("chains: folded sums");
    let mut place = budget.filled("chains: places", elements.len(), NONE)?;
    let mut level = budget.growing("chains: level");
    let levels = by_depth(elements, budget)?;
    let mut start = 0;
    while start < levels.len() {
        let depth = levels[start].0;
        let end = start + levels[start..].partition_point(|&(other, _)| other == depth);
        level.clear();
        for &(_, at) in &levels[start..end] {
            let Element { parent, class, label, .. } = elements[at as usize];
            let parent = place.get(parent as usize).copied().unwrap_or(NONE);
            // After recursion was folded, an element may have no chain below.
            if let Some(weight) = weights[at as usize].checked_sub(1) {
                level.push(Entry { parent, class, label, element: at, weight })?;
            }
        }
        name(&mut level, least);
        level.sort_unstable_by_key(|entry| (entry.parent, entry.class, entry.label, entry.element));
        for group in level.chunk_by(|a, b| (a.parent, a.class, a.label) == (b.parent, b.class, b.label)) {
            let Entry { parent, class, label, .. } = group[0];
            let (mut repeats, mut sum) = (0, T::NOTHING);
            for entry in group {
                place[entry.element as usize] = new.len() as u32;
                repeats |= elements[entry.element as usize].repeats;
                sum.merge(&tallies[entry.element as usize])?;
            }
            new.push(Element { parent, label, class, repeats })?;
            sums.push(sum)?;
        }
        start = end;
    }
    Ok((new, sums))
}

/// Replaces names by [`label::ANY`] in the entries of one level.
fn name(level: &mut [Entry], least: u64) {
    level.sort_unstable_by_key(|entry| (entry.parent, entry.class, entry.label, Reverse(entry.weight)));
    for group in level.chunk_by_mut(|a, b| (a.parent, a.class) == (b.parent, b.class)) {
        // Every name has the weight of its heaviest element.
        for same in group.chunk_by_mut(|a, b| a.label == b.label) {
            let weight = same[0].weight;
            same.iter_mut().for_each(|entry| entry.weight = weight);
        }
        group.sort_unstable_by_key(|entry| (Reverse(entry.weight), entry.label));
        let names = group.chunk_by(|a, b| a.label == b.label);
        let kept = names.take(NAMES).take_while(|same| same[0].weight >= least).map(<[Entry]>::len).sum::<usize>();
        let rest = &mut group[kept..];
        // A single remaining name needs no replacement.
        if rest.iter().any(|entry| entry.label != rest[0].label) {
            rest.iter_mut().for_each(|entry| entry.label = label::ANY);
        }
    }
}

/// Returns one more than the weight of the heaviest chain that ends at or below each element; 0 without a chain.
fn weights<T: Merge>(elements: &[Element], tallies: &[T], budget: &Budget) -> Result<BudgetVec<u64>, StageError> {
    let mut weights = budget.zeroed("chains: weights", elements.len())?;
    for at in (0..elements.len()).rev() {
        let weight = tallies[at].weight().map_or(0, |weight| weight.saturating_add(1)).max(weights[at]);
        weights[at] = weight;
        if let Some(above) = weights.get_mut(elements[at].parent as usize) {
            *above = weight.max(*above);
        }
    }
    Ok(weights)
}

/// Depths and positions of the elements, by depth.
fn by_depth(elements: &[Element], budget: &Budget) -> Result<BudgetVec<(u32, u32)>, StageError> {
    let mut order = budget.filled("chains: order", elements.len(), (0, 0))?;
    for (at, element) in elements.iter().enumerate() {
        order[at] = (order.get(element.parent as usize).map_or(1, |above| above.0 + 1), at as u32);
    }
    order.sort_unstable();
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Merge for u64 {
        const NOTHING: Self = 0;

        fn weight(&self) -> Option<u64> {
            Some(*self).filter(|&weight| weight > 0)
        }

        fn merge(&mut self, other: &Self) -> Result<(), StageError> {
            *self += other;
            Ok(())
        }
    }

    /// Folds a trie given as (parent, label, class, sum).
    fn folded(trie: &[(u32, u32, u32, u64)], least: u64) -> Vec<(u32, u32, u32, u64)> {
        let elements: Vec<Element> =
            trie.iter().map(|&(parent, label, class, _)| Element { parent, label, class, repeats: 0 }).collect();
        let sums: Vec<u64> = trie.iter().map(|row| row.3).collect();
        let (elements, sums) = fold(&elements, &sums, least, &Budget::new(1 << 20)).unwrap();
        elements.iter().zip(sums.iter()).map(|(e, &sum)| (e.parent, e.label, e.class, sum)).collect()
    }

    #[test]
    fn heavy_names_stay() {
        let trie: Vec<_> = (0..100).map(|i| (NONE, i, 1, u64::from(i) + 1)).collect();
        let folded = folded(&trie, 1);
        assert_eq!(folded.len(), NAMES + 1);
        assert_eq!(folded[NAMES], (NONE, label::ANY, 1, (1..85).sum()));
        assert_eq!(folded[..NAMES], trie[84..]);
    }

    #[test]
    fn light_names_go_with_what_is_behind_them() {
        let trie =
            [(NONE, 1, 1, 0), (NONE, 2, 1, 0), (NONE, 3, 1, 0), (0, 5, 2, 9), (1, 6, 2, 3), (2, 6, 2, 4), (2, 7, 3, 1)];
        let expected = [(NONE, 1, 1, 0), (NONE, label::ANY, 1, 0), (0, 5, 2, 9), (1, 6, 2, 7), (1, 7, 3, 1)];
        assert_eq!(folded(&trie, 5), expected);
        // All names weigh enough.
        assert_eq!(folded(&trie, 1), trie);
    }

    #[test]
    fn what_leads_nowhere_goes() {
        let trie = [(NONE, 1, 1, 0), (NONE, 2, 1, 5), (0, 3, 2, 0)];
        assert_eq!(folded(&trie, 100), [(NONE, 2, 1, 5)]);
    }

    #[test]
    fn a_single_name_stays_however_light() {
        let trie = [(NONE, 1, 1, 0), (0, 2, 2, 1), (0, 3, 3, 1)];
        assert_eq!(folded(&trie, 100), trie);
    }
}
