//! Generated traces of EventPipe, whose answers are known.

use crate::support::{EXACT, replay_with};
use heaplake_generator::trace::{self, Plan};
use heaplake_schemas::replay as columns;
use std::collections::BTreeMap;

#[test]
fn generated_traces_have_their_answers() {
    for between in [999, 10_000] {
        let plan = Plan { allocations: 200_000, between, stacks: 300, ..Plan::default() };
        let mut trace = Vec::new();
        let answers = trace::write(&plan, &mut trace).unwrap();
        let replayed = replay_with(&trace, EXACT, 64 << 20, 10_007).unwrap();
        assert!(replayed.metadata.anomalies.is_empty(), "{:?}", replayed.metadata.anomalies);
        let rows = replayed.rows(columns::COLLECTIONS);
        let found: Vec<(u64, u64)> = rows.iter().map(|row| (row.live_objects, row.dead_objects)).collect();
        let expected: Vec<(u64, u64)> = answers.live.iter().copied().zip(answers.dead.iter().copied()).collect();
        assert_eq!(found, expected);
        assert_eq!(replayed.metadata.live_count, answers.alive);
        let names = replayed.strings(columns::TYPE_NAMES);
        let types: BTreeMap<u64, (u64, u64)> = replayed
            .rows(columns::TYPES)
            .iter()
            .map(|row| {
                let name = names.text(row.type_id as usize).into_owned();
                let number = name.strip_prefix("Generated.Type").unwrap().parse().unwrap();
                (number, (row.allocated_count, row.exact_bytes))
            })
            .collect();
        assert_eq!(types, answers.types);
        let functions = replayed.rows(columns::FUNCTIONS);
        let exclusive: u64 = functions.iter().map(|row| row.exclusive_count).sum();
        assert_eq!(exclusive, plan.allocations);
    }
}
