//! Every command of the pages about other tools runs.

use crate::filters::made;
use heaplake_support::lake::{heaplake, said};
use std::fs;
use std::path::Path;

/// Words of a command line whose quotes are single.
fn words(command: &str) -> Vec<String> {
    let parts: Vec<&str> = command.split('\'').collect();
    assert!(parts.len() % 2 == 1, "{command}");
    let mut words = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn every_command_of_the_page_runs() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coming-from.md")).unwrap();
    let (_lake, v8, java) = made();
    let (mut run, mut rows, mut asked, mut with_objects) = (&java, 0, 0, Vec::new());
    for line in page.lines() {
        if line.starts_with("## ") {
            run = if line.contains("OQL") { &java } else { &v8 };
        }
        let Some((_, here)) = line.strip_prefix("| ").and_then(|row| row.rsplit_once(" | ")) else { continue };
        rows += u32::from(here != "here |");
        for command in here.split('`').filter(|code| code.starts_with("heaplake ") && code.contains(" RUN")) {
            let place = run.to_string_lossy().into_owned();
            let words: Vec<String> = words(command)
                .into_iter()
                .skip(1)
                .map(|word| if word == "RUN" { place.clone() } else { word })
                .collect();
            let text = said(heaplake().args(&words));
            if words[0] == "query" {
                let population = text.lines().find(|line| line.contains(" objects that match")).unwrap();
                let found = !population.contains(" 0 objects that match") && !population.starts_with("0 of");
                with_objects.extend(found.then(|| command.to_owned()));
                asked += 1;
            }
        }
    }
    assert!(rows > 40 && asked > 45, "{rows} {asked}");
    assert!(with_objects.len() > 38, "{} of {asked} find objects: {with_objects:#?}", with_objects.len());
}
