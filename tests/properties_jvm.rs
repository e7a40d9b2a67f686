//! Thousands of small adversarial heap dumps, each through the whole pipeline, against the naive oracle.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

#[path = "support/jvm.rs"]
mod jvm;
mod support;

use heaplake::analyze::{Request, analyze};
use heaplake::progress::Mode;
use heaplake_ingest::source::Input;
use heaplake_oracle::jvm::{Referents, truth};
use heaplake_oracle::strategies;
use heaplake_schemas::run::{self, Options, Tables};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Analyses a dump in-process; the folder of its run.
fn analysed(folder: &Path, bytes: &[u8], threads: usize, referents: Referents) -> PathBuf {
    let input = folder.join("input.hprof");
    fs::write(&input, bytes).unwrap();
    let request = Request {
        input: Input::File(input),
        lake: folder.join("lake"),
        release: "none".to_owned(),
        snapshot: Some("it".to_owned()),
        options: Options {
            tables: Tables::all(),
            referents: policy(referents),
            big: support::all_classes(),
            ..Options::default()
        },
        memory: 96 << 20,
        threads,
        scratch: None,
        force: true,
    };
    match analyze(&request, Mode::Quiet, &AtomicBool::new(false)) {
        Ok(outcome) => outcome.place,
        Err(failure) => panic!("{failure}"),
    }
}

fn policy(referents: Referents) -> run::Referents {
    match referents {
        Referents::Hold => run::Referents::Hold,
        Referents::Skip => run::Referents::Skip,
    }
}

/// The tables that must not depend on anything but input and options.
fn bytes(run: &Path) -> Vec<Vec<u8>> {
    ["nodes", "edges", "classes", "threads", "chains", "owners"]
        .map(|table| fs::read(run.join(format!("{table}.parquet"))).unwrap())
        .to_vec()
}

/// Cases of a test: few by default, more where HEAPLAKE_CASES says so (`make test-long`).
fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(1000))]
    #[test]
    fn tables_equal_the_oracle(
        draft in strategies::dump_drafts(40),
        layout in strategies::dump_layouts(),
        skip in proptest::bool::weighted(0.3),
    ) {
        let folder = support::fast_folder();
        let dump = draft.build();
        let referents = if skip { Referents::Skip } else { Referents::Hold };
        let place = analysed(folder.path(), &dump.to_bytes(&layout), 2, referents);
        jvm::check(&truth(&dump, referents), &place);
    }
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn threads_change_no_byte(draft in strategies::dump_drafts(40), layout in strategies::dump_layouts()) {
        let folder = support::fast_folder();
        let file = draft.build().to_bytes(&layout);
        let expected = bytes(&analysed(folder.path(), &file, 1, Referents::Hold));
        for threads in [2, 7] {
            prop_assert_eq!(&bytes(&analysed(folder.path(), &file, threads, Referents::Hold)), &expected);
        }
    }
}
