//! Storage modes of arrays: resident, packed in memory, or paged.

/// Minimum page frames of an array, bytes.
pub(crate) const LEAST_FRAMES: u64 = 1 << 20;

/// Storage mode of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageMode {
    /// Entirely in memory.
    Resident,
    /// A column in memory in packed form, behind page frames of this many bytes.
    Packed(u64),
    /// In a file, behind page frames of this many bytes.
    Paged(u64),
}

impl StorageMode {
    /// Mode of an array that is read sequentially.
    pub(crate) fn streamed(size: u64) -> Self {
        if size > LEAST_FRAMES { Self::Paged(LEAST_FRAMES) } else { Self::Resident }
    }

    /// Bytes of page frames; `None` if resident.
    pub(crate) fn frames(self) -> Option<u64> {
        match self {
            Self::Resident => None,
            Self::Packed(bytes) | Self::Paged(bytes) => Some(bytes),
        }
    }

    /// Bytes in memory, from the size of the array and of its packed file.
    fn bytes(self, size: u64, packed: Option<u64>) -> u64 {
        match self {
            Self::Resident => size,
            Self::Packed(frames) => frames + packed.unwrap_or(0),
            Self::Paged(frames) => frames,
        }
    }
}

/// Chooses the mode of each array within `budget`. All are resident if they fit. Otherwise columns with a packed file
/// are packed, which leaves memory for the arrays behind them; memory left over makes packed arrays resident again or
/// adds page frames.
pub(crate) fn decide<const N: usize>(budget: u64, sizes: [u64; N], packed: [Option<u64>; N]) -> [StorageMode; N] {
    let resident = in_order(budget, sizes, [None; N]);
    if resident.iter().all(|form| *form == StorageMode::Resident) {
        return resident;
    }
    let mut forms = in_order(budget, sizes, packed);
    let taken: [u64; N] = std::array::from_fn(|i| forms[i].bytes(sizes[i], packed[i]));
    let mut free = budget.saturating_sub(taken.iter().sum());
    for ((form, size), taken) in forms.iter_mut().zip(sizes).zip(taken) {
        if matches!(form, StorageMode::Packed(_)) && size <= taken + free {
            free = taken + free - size;
            *form = StorageMode::Resident;
        }
    }
    // The remaining non-resident arrays share the rest.
    let mut rest = forms.iter().filter(|form| **form != StorageMode::Resident).count() as u64;
    for (form, size) in forms.iter_mut().zip(sizes) {
        if let StorageMode::Packed(frames) | StorageMode::Paged(frames) = form {
            let more = (free / rest).min(size.saturating_sub(*frames));
            (*frames, free, rest) = (*frames + more, free - more, rest - 1);
        }
    }
    forms
}

/// Chooses modes in the order of the arrays; each leaves the minimum for those behind it.
fn in_order<const N: usize>(mut free: u64, sizes: [u64; N], packed: [Option<u64>; N]) -> [StorageMode; N] {
    std::array::from_fn(|i| {
        let (size, rest) = (sizes[i], (N - i) as u64);
        let fits = |bytes: u64| bytes.saturating_add((rest - 1) * LEAST_FRAMES) <= free;
        let form = match packed[i].map(|packed| packed + LEAST_FRAMES).filter(|packed| *packed < size) {
            Some(packed) if fits(packed) => StorageMode::Packed(LEAST_FRAMES),
            _ if fits(size) => StorageMode::Resident,
            // Paged arrays share the rest evenly.
            _ => StorageMode::Paged((free / rest).clamp(LEAST_FRAMES, size.max(LEAST_FRAMES))),
        };
        free = free.saturating_sub(form.bytes(size, packed[i]));
        form
    })
}

#[cfg(test)]
mod tests {
    use super::StorageMode::{Packed, Paged, Resident};
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn columns_are_packed_where_not_all_arrays_fit() {
        let (sizes, packed) = ([40 * MIB, 20 * MIB, 40 * MIB], [Some(9 * MIB), Some(4 * MIB), None]);
        let decided = |budget| decide(budget * MIB, sizes, packed);
        assert_eq!(decided(100), [Resident; 3]);
        assert_eq!(decided(99), [Resident, Packed(15 * MIB), Resident]);
        assert_eq!(decided(69), [Packed(8 * MIB), Packed(8 * MIB), Resident]);
        assert_eq!(decided(54), [Packed(MIB), Packed(MIB), Paged(39 * MIB)]);
        assert_eq!(decided(15), [Packed(MIB), Paged(5 * MIB / 2), Paged(5 * MIB / 2)]);
        assert_eq!(decided(2), [Paged(MIB); 3]);
    }

    #[test]
    fn a_file_that_packing_does_not_make_smaller_is_paged() {
        assert_eq!(decide(5 * MIB, [6 * MIB, MIB], [Some(5 * MIB), None]), [Paged(4 * MIB), Resident]);
    }
}
