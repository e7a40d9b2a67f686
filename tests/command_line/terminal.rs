//! Terminal output: the help of every verb, a plan, the summary of an analysis.
//!
//! The texts are in `snapshots`, and any difference fails. To accept intended changes, update, review and commit the
//! texts:
//!
//! INSTA_UPDATE=always cargo test -p heaplake --test command_line terminal

use super::common::{analyze, small, stdout};
use heaplake_support::lake::{Lake, heaplake};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/command_line/snapshots")
}

/// Compares a text with the accepted one of this name. Times, memory sizes and paths are masked.
fn assert_accepted(name: &str, text: &str, lake: Option<&Lake>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    if let Some(lake) = lake {
        settings.add_filter(&lake.folder().display().to_string(), "FOLDER");
    }
    settings.add_filter(r"\d+\.\d+ s\b", "TIME s");
    // Sizes of compressed tables depend on the length of the paths in them.
    settings.add_filter(r" +[\d.]+ [KM]iB( +[\d,]+ rows? )", "  SIZE$1");
    settings.add_filter(r"peak memory [\d.]+ [KMG]iB, scratch [\d.]+ [KMG]?i?B", "peak memory SIZE, scratch SIZE");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Help at 100 columns.
fn help(verb: &[String]) -> String {
    stdout(heaplake().args(verb).arg("--help").env("COLUMNS", "100"))
}

/// The verbs in the help, each with its parents: `lake`, `lake verify`.
fn verbs() -> Vec<Vec<String>> {
    let below = |above: &[String]| -> Vec<Vec<String>> {
        let help = help(above);
        let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
        let lines = list.lines().take_while(|line| !line.is_empty());
        // Continuation lines are indented more.
        let verbs = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
        let names = verbs.map(|line| line.split_whitespace().next().unwrap()).filter(|verb| *verb != "help");
        names.map(|name| above.iter().cloned().chain([name.to_owned()]).collect()).collect()
    };
    let first = below(&[]);
    let second: Vec<_> = first.iter().flat_map(|verb| below(verb)).collect();
    first.into_iter().chain(second).collect()
}

#[test]
fn help_of_every_verb() {
    assert_accepted("help", &help(&[]), None);
    for verb in verbs() {
        assert_accepted(&format!("help-{}", verb.join("-")), &help(&verb), None);
    }
    // No text is left of a removed verb.
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let accepted: BTreeSet<String> =
        files.filter_map(|file| Some(file.strip_prefix("help-")?.strip_suffix(".snap")?.to_owned())).collect();
    assert_eq!(accepted, verbs().into_iter().map(|verb| verb.join("-")).collect());
}

/// Names of options in a text, such as `--so`.
fn options(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_lowercase() || c == '-';
    let parts = text.split("--").skip(1).map(|part| part.split(|c| !word(c)).next().unwrap_or_default());
    parts.filter(|name| name.len() > 1 && !name.starts_with('-')).map(str::to_owned).collect()
}

#[test]
fn short_help_has_a_line_for_each_option() {
    for verb in verbs() {
        let text = stdout(heaplake().args(&verb).arg("-h").env("COLUMNS", "100"));
        let (_, listed) = text.split_once("Options:\n").unwrap();
        for line in listed.lines().filter(|line| line.starts_with("  ") && !line.contains("heaplake")) {
            assert!(line.trim_start().starts_with('-'), "{verb:?}: {line:?} goes on from the line before");
        }
        assert!(text.contains("Example"), "{verb:?}");
        // The long help has at least as many.
        assert!(options(&help(&verb)).is_superset(&options(listed)), "{verb:?}");
    }
}

#[test]
fn the_page_about_the_command_line_has_all_commands_and_options() {
    let page = fs::read_to_string(folder().join("../../../docs/cli.md")).unwrap();
    let mut all = BTreeSet::from(["help".to_owned()]);
    for verb in verbs() {
        let name = verb.join(" ");
        assert!(page.contains(&format!("`heaplake {name}")), "docs/cli.md has no {name}");
        let text = help(&verb);
        let (_, listed) = text.split_once("Options:\n").unwrap();
        let heads = listed.lines().filter(|line| line.trim_start().starts_with('-'));
        all.extend(heads.flat_map(|line| options(line.split("  <").next().unwrap_or(line))));
    }
    let told = options(&page);
    let missing: Vec<_> = all.iter().filter(|name| !told.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/cli.md does not say what these are: {missing:?}");
    let unknown: Vec<_> = told.iter().filter(|name| !all.contains(*name)).collect();
    assert!(unknown.is_empty(), "docs/cli.md has options that no command takes: {unknown:?}");
}

#[test]
fn texts_fit_the_terminal() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    lake.analyze(&input).args(["--edges", "--label", "a=it's"]).assert().success();
    let run = lake.run();
    for width in [80, 100, 160] {
        for command in [&["show"][..], &["top"], &["dominators"], &["why", "720"]] {
            let (verb, rest) = command.split_first().unwrap();
            let mut heaplake = heaplake();
            heaplake.arg(verb).arg(&run).args(rest).env("COLUMNS", width.to_string());
            for line in
                stdout(&mut heaplake).lines().filter(|line| !line.contains("heaplake ") && !line.contains("polars:"))
            {
                assert!(line.chars().count() <= width.max(run.display().to_string().len() + 10), "{width}: {line}");
            }
        }
    }
}

#[test]
fn colours_only_where_they_are_welcome() {
    let lake = Lake::new();
    lake.analyze(lake.input("Heap.heapsnapshot", &small())).assert().success();
    let show = |arguments: &[&str], set: &[(&str, &str)]| {
        let mut heaplake = heaplake();
        heaplake.arg("show").arg(lake.run()).args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        stdout(heaplake.envs(set.iter().copied())).contains("\u{1b}[")
    };
    assert!(!show(&[], &[]) && show(&["--color", "always"], &[]) && show(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!show(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!show(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn a_plan_and_a_summary() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let memory = ["--memory", "256MiB"];
    assert_accepted("plan", &stdout(heaplake().arg("plan").arg(&input).args(memory)), Some(&lake));
    let output = analyze(&lake).arg(&input).args(memory).args(["--threads", "2"]).output().unwrap();
    assert_accepted("summary", &String::from_utf8(output.stdout).unwrap(), Some(&lake));
}
