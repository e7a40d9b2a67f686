//! Snapshots with a few random changes: each is analysed or refused with an error about the input.

use super::good::GOOD;
use heaplake::diagnostic::Diagnostic;
use heaplake_kit::StageError;
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// One change to a file.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    Set(u8),
    Flip(u8),
    Delete(usize),
    Insert(Vec<u8>),
    /// Replaces the next number.
    Number(u64),
    /// Overwrites with another piece of the file.
    Copy(prop::sample::Index, usize),
    Truncate,
}

impl Mutation {
    pub(crate) fn apply(&self, at: &prop::sample::Index, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let at = at.index(bytes.len());
        match self {
            Self::Set(byte) => bytes[at] = *byte,
            Self::Flip(bit) => bytes[at] ^= 1 << bit,
            Self::Delete(count) => drop(bytes.drain(at..(at + count).min(bytes.len()))),
            Self::Insert(more) => drop(bytes.splice(at..at, more.iter().copied())),
            Self::Number(number) => {
                let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else { return };
                let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(start..start + length, number.to_string().into_bytes());
            }
            Self::Copy(from, length) => {
                let from = from.index(bytes.len());
                let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
                bytes.splice(at..(at + length).min(bytes.len()), piece);
            }
            Self::Truncate => bytes.truncate(at),
        }
    }
}

pub(crate) fn mutation() -> impl Strategy<Value = Mutation> {
    let telling = prop::sample::select(b"0123456789,,,[]{}\"\\:-.e \n\xff".to_vec());
    let numbers = prop_oneof![
        0..40_u64,
        prop::sample::select(vec![254, 255, 256, 65_536, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 32]),
        prop::sample::select(vec![i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX]),
    ];
    prop_oneof![
        3 => telling.clone().prop_map(Mutation::Set),
        2 => (0..8_u8).prop_map(Mutation::Flip),
        2 => (1..20_usize).prop_map(Mutation::Delete),
        2 => prop::collection::vec(telling, 1..5).prop_map(Mutation::Insert),
        8 => numbers.prop_map(Mutation::Number),
        2 => (any::<prop::sample::Index>(), 1..60_usize).prop_map(|(from, length)| Mutation::Copy(from, length)),
        1 => Just(Mutation::Truncate),
    ]
}

/// A few thousand fixed cases, or `HEAPLAKE_CASES` random ones if set (`make test-long`).
pub(crate) fn chance() -> ProptestConfig {
    let cases = std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok());
    let rng_seed = if cases.is_some() { RngSeed::Random } else { RngSeed::Fixed(7) };
    ProptestConfig { cases: cases.unwrap_or(3000), rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Whether an input may cause this failure. Any other failure is a defect of heaplake.
pub(crate) fn is_of_the_input(failure: &Diagnostic) -> bool {
    use StageError::{Budget, Input, Overflow, Plan};
    matches!(failure.error.as_deref(), Some(Input(_) | Budget { .. } | Plan { .. } | Overflow(_)))
}

proptest! {
    #![proptest_config(chance())]
    #[test]
    fn mutated_snapshots_are_read_or_refused(
        mutations in prop::collection::vec((any::<prop::sample::Index>(), mutation()), 1..4),
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        mutations.iter().for_each(|(at, mutation)| mutation.apply(at, &mut bytes));
        let lake = Lake::new();
        let input = lake.input("Heap.heapsnapshot", &bytes);
        match analyze(&lake.path(), &input, Analysis::default()) {
            Ok(outcome) => prop_assert!(Table::read(&outcome.place, "nodes.parquet").rows() > 0),
            Err(failure) => {
                prop_assert!(is_of_the_input(&failure), "{failure}");
                prop_assert!(!failure.advice.is_empty());
                prop_assert_eq!(failure.to_string().lines().count(), 1);
                lake.assert_empty();
            }
        }
    }
}
