//! Checks the shape of the repository's Rust sources: short files and functions, no cycle of files inside a crate,
//! allowed dependencies only, no silenced lint without a reason, plain words in comments; one module opens users' files, and only its functions
//! change them.
//!
//! Uses the standard library only, so that it builds in a second and runs without the product. It parses sources
//! formatted by rustfmt, without a compiler: it does not see the output of macros.

mod attributes;
mod code;
mod crates;
mod documents;
mod functions;
mod modules;
mod outputs;
mod paths;
mod python;
mod reading;
mod sources;
mod words;

use sources::Source;

/// Maximum length of a file and of a function, in lines, and the length that nine of ten functions stay below.
const FILE_LINES: usize = 450;
const FUNCTION_LINES: usize = 60;
const MOST_FUNCTIONS_LINES: usize = 25;

#[track_caller]
fn expect_none(findings: &[String]) {
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn files_fit_in_one_reading() {
    let long = |source: &Source| {
        let lines = source.text.lines().count();
        (lines > FILE_LINES).then(|| {
            format!("{}:{lines}: over {FILE_LINES} lines; move one of its nouns to a file of its own", source.path)
        })
    };
    expect_none(&sources::all().iter().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn functions_fit_on_a_screen() {
    expect_none(&functions::long(&functions::of(sources::all()), FUNCTION_LINES));
}

#[test]
fn most_functions_are_short() {
    expect_none(&functions::mostly_long(&functions::of(sources::all()), MOST_FUNCTIONS_LINES));
}

#[test]
fn files_of_a_crate_point_one_way() {
    expect_none(&modules::circles(sources::all()));
}

#[test]
fn folders_of_the_pipeline_point_one_way() {
    expect_none(&modules::circles_of_folders(sources::all(), "pipeline/src/lib.rs"));
}

#[test]
fn crates_point_one_way() {
    expect_none(&crates::backwards(&sources::root()));
}

#[test]
fn modules_of_python_point_one_way() {
    expect_none(&python::circles(&sources::root()));
}

#[test]
fn silenced_lints_are_expected_and_have_a_reason() {
    expect_none(&attributes::silenced(sources::all()));
}

#[test]
fn comments_use_plain_words() {
    expect_none(&words::riddles(sources::all()));
}

#[test]
fn files_are_changed_with_care() {
    expect_none(&outputs::careless(sources::all()));
}

#[test]
fn files_of_users_are_opened_by_one_module() {
    expect_none(&reading::unguarded(sources::all()));
}

#[test]
fn each_capability_of_the_documents_has_a_test() {
    expect_none(&documents::unproved(&sources::root()));
}
