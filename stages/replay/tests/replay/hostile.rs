//! Traces that are cut off, changed or inconsistent: errors or counted anomalies, no panic, no silently wrong numbers.

use crate::support::{Chance, EXACT, fixture, replay, replay_with, try_replay};
use heaplake_kit::StageError;
use heaplake_schemas::replay as columns;

const HEAD: &str = "# clrprof 1\nT 1 X\n";

fn anomaly(log: &str, name: &str) -> u64 {
    let log = format!("{HEAD}{log}");
    replay(log.as_bytes(), EXACT).anomaly(name)
}

#[test]
fn what_does_not_fit_together_is_counted() {
    // Two ranges claim the object at 108; the one that begins later counts.
    let overlap = "A 1 108 1 24 0\nG 1 1 0\nB 0 100 100 100\nM 100 500 40\nM 104 600 40\nE 1\n";
    assert_eq!(anomaly(overlap, "overlapping_ranges"), 1);
    // A range is moved onto an object that is not collected.
    let onto = "A 1 108 1 24 0\nA 1 508 1 24 0\nG 1 1 0\nB 0 100 100 100\nB 2 500 100 100\nM 108 508 18\nE 1\n";
    assert_eq!(anomaly(onto, "overrun_objects"), 1);
    assert_eq!(anomaly("A 1 108 1 24 0\nA 1 108 1 32 0\n", "replaced_objects"), 1);
    assert_eq!(anomaly("E 3\n", "ends_without_start"), 1);
    assert_eq!(anomaly("G 3 1 0\n", "starts_without_end"), 1);
    assert_eq!(anomaly("M 1 2 3\nV 1 2\nB 0 1 1 1\nO 5 1\nR 5 0 0 0\n", "events_outside_collections"), 5);
    assert_eq!(anomaly("A 1 108 1 24 7\n", "unknown_stacks"), 1);
    assert_eq!(
        anomaly("A 1 108 1 24 0\nG 1 1 0\nB 0 100 100 100\nV 108 18\nO 108 1\nO 200 1\nE 1\n", "unknown_objects"),
        1
    );
    assert_eq!(anomaly("T 1 Y\n", "redefined_types"), 1);
    assert_eq!(anomaly("F 1 f\nS 1 1 2\nA 1 108 1 24 1\n", "unresolved_frames"), 1);
}

/// After each anomaly the sum still holds: what was allocated died, lives, or was counted as lost.
#[test]
fn nothing_is_invented() {
    let log =
        format!("{HEAD}A 1 108 1 24 0\nA 1 508 1 24 0\nA 1 108 1 24 0\nG 1 1 0\nB 0 100 100 100\nM 108 508 18\nE 1\n");
    let replayed = replay(log.as_bytes(), EXACT);
    assert_eq!(replayed.metadata.allocated_count, 3);
    assert_eq!(replayed.metadata.live_count, 1);
    assert_eq!(replayed.metadata.anomalies["replaced_objects"] + replayed.metadata.anomalies["overrun_objects"], 2);
}

#[test]
fn lines_that_are_none_are_refused_with_their_place() {
    for bad in [
        "X 1 2\n",
        "A 1 2\n",
        "A 1 xyz 1 2 3\n",
        "A 1 2 1 2 3 4\n",
        "G 1 123 1\n",
        "B 7 1 1 1\n",
        "M 1 2\n",
        "\n",
        "T\n",
        "S 9999999 1\n",
        "E one\n",
        "A 1 11112222333344445 1 1 0\n",
        "A 1 1 1 99999999999999999999 0\n",
    ] {
        let log = format!("{HEAD}{bad}");
        let Err(StageError::Input(error)) = replay_with(log.as_bytes(), EXACT, 64 << 20, 100) else {
            panic!("{bad:?} was taken");
        };
        assert_eq!(error.offset, HEAD.len() as u64, "{bad:?}: {error}");
    }
    assert!(replay_with(b"# clrprof 2 x\n", EXACT, 64 << 20, 100).is_err());
}

#[test]
fn a_long_line_is_refused() {
    let log = format!("{HEAD}T 2 {}", "x".repeat(17 << 20));
    assert!(matches!(replay_with(log.as_bytes(), EXACT, 256 << 20, 1 << 16), Err(StageError::Input(_))));
}

#[test]
fn what_is_alive_must_fit() {
    let mut log = HEAD.to_owned();
    for at in 0..500_000_u64 {
        log += &format!("A 1 {:x} 1 24 0\n", 0x10_0000 + at * 24);
    }
    let Err(error) = replay_with(log.as_bytes(), EXACT, 16 << 20, 1 << 16) else { panic!("it fits") };
    assert!(error.to_string().contains("the objects that are alive"), "{error}");
    assert!(error.is_resource());
}

/// Cut at any place: an error that names it, or for logs between two lines a shorter trace.
#[test]
fn truncated_anywhere() {
    let trace = fixture("dotnet/both.nettrace.zst");
    for cut in (0..trace.len()).step_by(997).chain(trace.len() - 40..trace.len()).filter(|&cut| cut >= 8) {
        match try_replay(&trace[..cut], EXACT) {
            Err(StageError::Input(error)) => assert!(error.offset <= cut as u64, "{cut}: {error}"),
            Err(error) => panic!("{cut}: {error}"),
            Ok(_) => panic!("{cut}: taken as whole"),
        }
    }
    let log = fixture("dotnet/both.log.zst");
    for cut in (20..200_000).step_by(1009) {
        let whole = log[cut - 1] == b'\n';
        let result = try_replay(&log[..cut], EXACT);
        assert_eq!(result.is_ok(), whole, "{cut}");
        assert!(result.is_ok_and(|replayed| replayed.metadata.anomalies["traces_without_end"] == 1) || !whole);
    }
}

/// Bytes changed at random: never a panic, and what is taken still adds up.
#[test]
fn changed_anywhere() {
    let traces = [fixture("dotnet/both.nettrace.zst"), fixture("dotnet/both.log.zst")[..60_000].to_vec(), small_part()];
    let mut chance = Chance::new(11);
    for round in 0..450 {
        let mut trace = traces[round % 3].clone();
        for _ in 0..1 + chance.below(4) {
            let at = 8 + chance.below(trace.len() as u64 - 8) as usize;
            trace[at] = if chance.percent(50) { chance.next() as u8 } else { trace[at] ^ (1 << chance.below(8)) };
        }
        if let Ok(replayed) = try_replay(&trace, EXACT) {
            let died: u64 = replayed.rows(columns::LIFETIMES).iter().map(|row| row.count).sum();
            let metadata = &replayed.metadata;
            let lost = replayed.anomaly("replaced_objects") + replayed.anomaly("overrun_objects");
            if metadata.tracked && metadata.coverage == columns::Coverage::Every {
                assert_eq!(died + lost, metadata.allocated_count, "round {round}");
            }
        }
    }
}

/// The first blocks of a trace with every allocation, and an end.
fn small_part() -> Vec<u8> {
    let trace = fixture("dotnet/net8_both.nettrace.zst");
    let mut at = 8 + 4 + 20;
    let number = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap()) as usize;
    loop {
        let name = number(at + 11);
        let body = at + 15 + name + 1;
        let end = if &trace[at + 15..at + 15 + name] == b"Trace" {
            body + 48
        } else {
            (body + 4).next_multiple_of(4) + number(body)
        };
        if end + 1 > 200_000 {
            return [&trace[..at], &[1]].concat();
        }
        at = end + 1;
    }
}

#[test]
fn other_versions_are_refused_by_name() {
    let six = [&b"Nettrace"[..], &0_u32.to_le_bytes(), &6_u32.to_le_bytes(), &0_u32.to_le_bytes()].concat();
    let Err(error) = replay_with(&six, EXACT, 64 << 20, 100) else { panic!("taken") };
    assert!(error.to_string().contains("version 6.0"), "{error}");
}
