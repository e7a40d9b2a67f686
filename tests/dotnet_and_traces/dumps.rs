//! .NET heap dumps (`.gcdump`): thousands of small odd ones against the naive oracle, and damaged ones.

use super::check::check_dump;
use super::walks::{analyzed, bytes};
use heaplake::engine::admission::smallest_budget;
use heaplake_oracle::dotnet::gcdump;
use heaplake_oracle::rng::SplitMix64;
use heaplake_support::cases::cases;
use heaplake_support::lake::{Lake, diagnostic, fast_folder};

#[test]
fn dumps_equal_the_oracle() {
    for seed in 0..u64::from(cases(250)) {
        let folder = fast_folder();
        let graph = gcdump::graph(seed, 30);
        let file = graph.to_gcdump(seed);
        let outcome = analyzed(folder.path(), &file, None, 2, 96 << 20);
        let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        check_dump(&graph, &outcome.place);
        if seed % 20 == 0 {
            let expected = bytes(&outcome.place);
            let again = analyzed(folder.path(), &file, None, 1, smallest_budget()).unwrap();
            assert!(bytes(&again.place) == expected, "seed {seed}");
        }
        assert_eq!(outcome.run.summary.format, "dotnet-gcdump");
    }
}

/// Cut anywhere up to the end of the graph, or changed: an error that names the position, or a consistent graph.
#[test]
fn damaged_dumps() {
    let folder = fast_folder();
    let file = gcdump::graph(7, 30).to_gcdump(7);
    let graph = file.len() - 80;
    for cut in (24..graph).step_by(3) {
        let error = analyzed(folder.path(), &file[..cut], None, 1, 96 << 20).expect_err("cut");
        assert!(error.contains("byte ") && error.contains("expected"), "{cut}: {error}");
    }
    let mut rng = SplitMix64::new(5);
    let (mut taken, rounds) = (0, cases(300));
    for _ in 0..rounds {
        let mut file = file.clone();
        let at = 24 + rng.below(file.len() - 24);
        file[at] = rng.next_u64() as u8;
        taken += u32::from(analyzed(folder.path(), &file, None, 1, 96 << 20).is_ok());
    }
    assert!(taken > rounds / 20 && taken < rounds, "{taken}");
}

#[test]
fn other_dumps_are_refused() {
    let lake = Lake::new();
    let file = gcdump::graph(7, 30).to_gcdump(7);
    let refused = |at: usize, byte: u8| {
        let mut file = file.clone();
        file[at] = byte;
        diagnostic(&mut lake.analyze(lake.input("other.gcdump", &file)), 1).0
    };
    // The version of the dump; the reader version that the graph asks for.
    assert!(refused(27, 8).contains("found version 8"));
    assert!(refused(24 + 26 + 7, 1).contains("with names in other files"));
    assert!(refused(24 + 15, b'X').contains("expected an object of type GCHeapDump"));
    lake.assert_empty();
}
