//! Thousands of small adversarial heap dumps, each through the whole pipeline, against the naive oracle.

use super::check::check;
use heaplake_oracle::jvm::{Referents, truth};
use heaplake_oracle::strategies;
use heaplake_schemas::options::{self, AnalysisOptions};
use heaplake_support::cases::cases;
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::fast_folder;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Analyses a dump in this process; returns its run.
fn analyzed(folder: &Path, bytes: &[u8], threads: usize, referents: Referents) -> PathBuf {
    let input = folder.join("input.hprof");
    fs::write(&input, bytes).unwrap();
    let options = AnalysisOptions { referents: policy(referents), ..Analysis::default().options };
    let analysis = Analysis { options, memory: 96 << 20, threads };
    analyze(&folder.join("lake"), &input, analysis).unwrap_or_else(|failure| panic!("{failure}")).place
}

fn policy(referents: Referents) -> options::Referents {
    match referents {
        Referents::Hold => options::Referents::Hold,
        Referents::Skip => options::Referents::Skip,
    }
}

/// The tables that depend on nothing but input and options.
fn bytes(run: &Path) -> Vec<Vec<u8>> {
    ["nodes", "edges", "classes", "threads", "chains", "owners"]
        .map(|table| fs::read(run.join(format!("{table}.parquet"))).unwrap())
        .to_vec()
}

fn config(default: u32) -> ProptestConfig {
    ProptestConfig { cases: cases(default), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(1000))]
    #[test]
    fn tables_equal_the_oracle(
        draft in strategies::dump_drafts(40),
        layout in strategies::dump_layouts(),
        skip in proptest::bool::weighted(0.3),
    ) {
        let folder = fast_folder();
        let dump = draft.build();
        let referents = if skip { Referents::Skip } else { Referents::Hold };
        let place = analyzed(folder.path(), &dump.to_bytes(&layout), 2, referents);
        check(&truth(&dump, referents), &place);
    }
}

proptest! {
    #![proptest_config(config(100))]
    #[test]
    fn threads_change_no_byte(draft in strategies::dump_drafts(40), layout in strategies::dump_layouts()) {
        let folder = fast_folder();
        let file = draft.build().to_bytes(&layout);
        let expected = bytes(&analyzed(folder.path(), &file, 1, Referents::Hold));
        for threads in [2, 7] {
            prop_assert_eq!(&bytes(&analyzed(folder.path(), &file, threads, Referents::Hold)), &expected);
        }
    }
}
