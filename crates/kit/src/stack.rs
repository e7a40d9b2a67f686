//! A stack that spills to disk.

use crate::fs::File;
use crate::{Budget, IoAt, Reservation, Scratch, StageError};
use bytemuck::Pod;
use std::sync::Arc;

/// Bytes in memory, in two halves: a full stack writes its lower half to the file, an empty one reads a half back.
const HELD: usize = 1 << 20;

/// A stack of any length in a fixed amount of memory. Graph searches may follow lists of 10^8 nodes.
pub struct Stack<T> {
    scratch: Scratch,
    file: Option<Arc<File>>,
    items: Vec<T>,
    /// Number of halves in the file.
    stored: u64,
    _reservation: Reservation,
}

impl<T: Pod> Stack<T> {
    const HALF: usize = HELD / size_of::<T>() / 2;

    /// Bytes of budget per stack.
    pub const BYTES: u64 = HELD as u64;

    /// Creates an empty stack; an unnamed file in scratch is created on the first spill.
    pub fn new(budget: &Budget, scratch: &Scratch, name: &'static str) -> Result<Self, StageError> {
        let reservation = budget.reserve(name, Self::BYTES)?;
        Ok(Self { scratch: scratch.clone(), file: None, items: Vec::new(), stored: 0, _reservation: reservation })
    }

    /// Pushes an item.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), StageError> {
        if self.items.len() == 2 * Self::HALF {
            self.store()?;
        }
        self.items.push(item);
        Ok(())
    }

    /// Pops the top item.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<T>, StageError> {
        if self.items.is_empty() && self.stored > 0 {
            self.restore()?;
        }
        Ok(self.items.pop())
    }

    /// True if the stack is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.stored == 0
    }

    #[cold]
    fn store(&mut self) -> Result<(), StageError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.scratch.unnamed()?),
        };
        let bytes: &[u8] = bytemuck::cast_slice(&self.items[..Self::HALF]);
        file.write_all_at(bytes, self.stored * bytes.len() as u64).at(self.scratch.folder(), "write a file in")?;
        self.stored += 1;
        self.items.drain(..Self::HALF);
        Ok(())
    }

    #[cold]
    fn restore(&mut self) -> Result<(), StageError> {
        let Some(file) = &self.file else { return Ok(()) };
        self.stored -= 1;
        self.items.resize(Self::HALF, T::zeroed());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.items);
        let length = bytes.len() as u64;
        file.read_exact_at(bytes, self.stored * length).at(self.scratch.folder(), "read a file in")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_stacks_come_back_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut stack = Stack::<u32>::new(&Budget::new(1 << 20), &scratch, "stack").unwrap();
        let mut model = Vec::new();
        let mut state = 3u32;
        // Up to a million items, with random sequences of pushes and pops.
        for round in 0..60 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            for i in 0..state % 150_000 {
                if round % 3 < 2 {
                    stack.push(i).unwrap();
                    model.push(i);
                } else {
                    assert_eq!(stack.pop().unwrap(), model.pop());
                }
            }
        }
        while let Some(item) = model.pop() {
            assert_eq!(stack.pop().unwrap(), Some(item));
        }
        assert!(stack.is_empty() && stack.pop().unwrap().is_none());
    }
}
