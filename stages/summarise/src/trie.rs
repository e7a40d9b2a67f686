//! Interned paths of classes: paths with a common prefix share its elements.
//!
//! Patterns with as many paths as objects are folded, so that the trie stays small for any heap:
//!
//! - Recursion. An element with the label and class of one of the last [`NEAR`] elements is that element, which then
//!   repeats. So a linked list is one element, and a tree a few. Exception: an element of a common class does not
//!   repeat one across a class of the program: the array of a list in a static field, inside the array of the list of
//!   all classes, is no recursion, and the field is informative.
//! - Depth. Behind [`DEEPEST`] elements the last one is replaced, with a mark for the elements left out.
//! - Labels. After [`LABELLED`] elements, new ones have no labels.
//! - Number. After [`MOST`] elements, a new one begins a path marked as cut.
//!
//! The last two only bound the memory; no known heap of a program reaches them.

use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::chains::{Element, label};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Number of elements searched for recursion.
pub(crate) const NEAR: usize = 4;
/// Maximum number of elements of a path.
pub(crate) const DEEPEST: u16 = 100;
/// Number of elements after which new ones have no labels.
const LABELLED: usize = 1 << 16;
/// Number of elements after which paths are cut.
const MOST: usize = 1 << 17;

/// No element: the root of the trie, or a free place in the table.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) struct Trie {
    elements: BudgetVec<Element>,
    depths: BudgetVec<u16>,
    /// Cache of recent paths, by hash.
    recent: Vec<Recent>,
    /// Positions of elements by hash; a power of two, at most half full.
    table: BudgetVec<u32>,
    /// For each class 1 if it is common to every program.
    common: BudgetVec<u8>,
    budget: Budget,
}

/// A recent path and its element.
#[derive(Clone, Copy)]
struct Recent {
    parent: u32,
    label: u32,
    class: u32,
    place: u32,
}

/// Number of recent paths, a power of two.
const REMEMBERED: usize = 1 << 12;

impl Trie {
    /// Returns an empty trie. `common` is 1 for each class common to every program, and 0 for the program's own.
    pub(crate) fn new(common: BudgetVec<u8>, budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            common,
            // No path has the element `NONE`.
            recent: vec![Recent { parent: NONE, label: NONE, class: NONE, place: NONE }; REMEMBERED],
            elements: budget.growing("chains: elements"),
            depths: budget.growing("chains: depths"),
            table: budget.filled("chains: table", 1 << 10, NONE)?,
            budget: budget.clone(),
        })
    }

    /// The elements; parents first.
    pub(crate) fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Returns the element of a node of this class below the element of its parent ([`NONE`] for the first).
    #[inline]
    pub(crate) fn place(&mut self, parent: u32, label: u32, class: u32) -> Result<u32, StageError> {
        let at = hash(parent, label, class) as usize % REMEMBERED;
        let recent = self.recent[at];
        if recent.place != NONE && (recent.parent, recent.label, recent.class) == (parent, label, class) {
            return Ok(recent.place);
        }
        let before = self.elements.len();
        let place = self.look_up(parent, label, class)?;
        // A path has the same element again, unless it was added beyond the limit.
        if before < LABELLED {
            self.recent[at] = Recent { parent, label, class, place };
        }
        Ok(place)
    }

    fn look_up(&mut self, parent: u32, label: u32, class: u32) -> Result<u32, StageError> {
        if let Some(repeated) = self.repeated(parent, label, class) {
            self.elements[repeated as usize].repeats = 1;
            return Ok(repeated);
        }
        let (parent, label) = match self.depths.get(parent as usize) {
            Some(&depth) if depth >= DEEPEST => (self.elements[parent as usize].parent, label::CUT),
            _ => (parent, label),
        };
        if let Some(found) = self.find(parent, label, class) {
            return Ok(found);
        }
        if self.elements.len() < LABELLED {
            return self.add(parent, label, class);
        }
        self.place_late(parent, label, class)
    }

    /// Returns the element that a new one below `parent` would repeat.
    fn repeated(&self, parent: u32, label: u32, class: u32) -> Option<u32> {
        let is_common = |class: u32| self.common[class as usize] != 0;
        let (mut at, mut crosses) = (parent, false);
        for _ in 0..NEAR {
            let element = self.elements.get(at as usize)?;
            if (element.label, element.class) == (label, class) {
                return (!crosses || !is_common(class)).then_some(at);
            }
            crosses |= !is_common(element.class);
            at = element.parent;
        }
        None
    }

    /// Adds an element beyond [`LABELLED`].
    fn place_late(&mut self, parent: u32, label: u32, class: u32) -> Result<u32, StageError> {
        let (parent, label) = match label {
            _ if self.elements.len() >= MOST => (NONE, label::CUT),
            label::CUT => (parent, label),
            _ => (parent, label::ANY),
        };
        match self.find(parent, label, class) {
            Some(found) => Ok(found),
            None => self.add(parent, label, class),
        }
    }

    fn find(&self, parent: u32, label: u32, class: u32) -> Option<u32> {
        let mut at = self.slot(parent, label, class);
        loop {
            let position = self.table[at];
            let element = self.elements.get(position as usize)?;
            if (element.parent, element.label, element.class) == (parent, label, class) {
                return Some(position);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    fn add(&mut self, parent: u32, label: u32, class: u32) -> Result<u32, StageError> {
        let position = self.elements.len() as u32;
        self.elements.push(Element { parent, label, class, repeats: 0 })?;
        self.depths.push(self.depths.get(parent as usize).map_or(1, |depth| depth + 1))?;
        if self.elements.len() * 2 > self.table.len() {
            self.table = self.budget.filled("chains: table", self.table.len() * 2, NONE)?;
            (0..=position).for_each(|position| self.enter(position));
        } else {
            self.enter(position);
        }
        Ok(position)
    }

    fn enter(&mut self, position: u32) {
        let Element { parent, label, class, .. } = self.elements[position as usize];
        let mut at = self.slot(parent, label, class);
        while self.table[at] != NONE {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = position;
    }

    /// First slot of the search for an element.
    fn slot(&self, parent: u32, label: u32, class: u32) -> usize {
        hash(parent, label, class) as usize & (self.table.len() - 1)
    }
}

#[inline]
fn hash(parent: u32, label: u32, class: u32) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(u64::from(parent) << 32 | u64::from(label));
    hasher.write_u32(class);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trie with classes of the program only.
    fn trie() -> Trie {
        let budget = Budget::new(64 << 20);
        Trie::new(budget.zeroed("common", 2 * MOST + 2).unwrap(), &budget).unwrap()
    }

    /// Labels, classes and repetitions of the path to an element.
    fn path(trie: &Trie, mut at: u32) -> Vec<(u32, u32, u32)> {
        let mut path = Vec::new();
        while let Some(element) = trie.elements().get(at as usize) {
            path.push((element.label, element.class, element.repeats));
            at = element.parent;
        }
        path.reverse();
        path
    }

    /// Places a path; returns its last element.
    fn walk(trie: &mut Trie, steps: impl IntoIterator<Item = (u32, u32)>) -> u32 {
        steps.into_iter().fold(NONE, |at, (label, class)| trie.place(at, label, class).unwrap())
    }

    #[test]
    fn equal_paths_are_one() {
        let mut trie = trie();
        let first = walk(&mut trie, [(1, 1), (2, 2)]);
        assert_eq!(walk(&mut trie, [(1, 1), (2, 2)]), first);
        assert_ne!(walk(&mut trie, [(1, 1), (3, 2)]), first);
        assert_ne!(walk(&mut trie, [(1, 1), (2, 3)]), first);
        assert_eq!(trie.elements().len(), 4);
    }

    #[test]
    fn a_list_is_one_element() {
        let mut trie = trie();
        let end = walk(&mut trie, [(1, 1), (2, 2)].into_iter().chain(std::iter::repeat_n((3, 2), 10_000)));
        assert_eq!(path(&trie, end), [(1, 1, 0), (2, 2, 0), (3, 2, 1)]);
        assert_eq!(trie.elements().len(), 3);
    }

    #[test]
    fn recursion_through_others_folds() {
        let mut trie = trie();
        let end = walk(&mut trie, [(1, 1)].into_iter().chain([(2, 2), (3, 3), (4, 4), (5, 5)].repeat(1000)));
        assert_eq!(path(&trie, end), [(1, 1, 0), (2, 2, 1), (3, 3, 0), (4, 4, 0), (5, 5, 0)]);
        // One element more is too far back.
        let mut trie = self::trie();
        let end = walk(&mut trie, [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (2, 2)]);
        assert_eq!(path(&trie, end).len(), 6);
    }

    #[test]
    fn common_classes_are_no_recursion_across_classes_of_the_program() {
        let budget = Budget::new(64 << 20);
        let mut common = budget.filled("common", 10, 1).unwrap();
        common[9] = 0;
        let mut trie = Trie::new(common, &budget).unwrap();
        // list, array, class of the program, list, array, session
        let end = walk(&mut trie, [(1, 1), (2, 2), (0, 9), (3, 1), (2, 2), (0, 5)]);
        assert_eq!(path(&trie, end).len(), 6);
        let end = walk(&mut trie, [(1, 1), (2, 2), (0, 3), (3, 1), (2, 2), (0, 5)]);
        assert_eq!(path(&trie, end), [(1, 1, 0), (2, 2, 1), (0, 5, 0)]);
        // Recursion of the program's class itself stays short.
        let end = walk(&mut trie, [(0, 9), (1, 1), (2, 2)].repeat(1000));
        assert_eq!(path(&trie, end).len(), 3);
    }

    #[test]
    fn deep_paths_are_cut() {
        let mut trie = trie();
        let end = walk(&mut trie, (0..100_000).map(|i| (0, i)));
        let path = path(&trie, end);
        assert_eq!(path.len(), usize::from(DEEPEST));
        assert_eq!(path[..2], [(0, 0, 0), (0, 1, 0)]);
        assert_eq!(path[usize::from(DEEPEST) - 1], (label::CUT, 99_999, 0));
    }

    #[test]
    fn what_is_too_much_loses_its_labels_and_then_its_beginning() {
        let mut trie = trie();
        for label in 0..=LABELLED as u32 {
            walk(&mut trie, [(label, 1)]);
        }
        assert_eq!(trie.elements().len(), LABELLED + 1);
        let last = walk(&mut trie, [(LABELLED as u32 + 7, 1)]);
        assert_eq!(path(&trie, last), [(label::ANY, 1, 0)]);
        for class in 0..2 * MOST as u32 {
            walk(&mut trie, [(0, 1), (0, 2 + class % MOST as u32)]);
        }
        let first = trie.find(NONE, 0, 1).unwrap();
        let late = trie.place(first, 0, MOST as u32 + 1).unwrap();
        assert_eq!(path(&trie, late), [(label::CUT, MOST as u32 + 1, 0)]);
    }
}
