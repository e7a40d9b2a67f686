//! Comments in plain words: how often a few words occur that mark riddles, for each 1,000 words of a crate's comments.

use crate::sources::Source;
use std::collections::BTreeMap;

/// Words, and how often they may occur in 1,000.
const RARE: [(&[&str], f64); 4] =
    [(&["what"], 3.0), (&["so many", "so much"], 0.2), (&["stands", "stood"], 0.5), (&["told", "untold"], 0.3)];

/// Crates with fewer words of comments than this are too small to count.
const FEWEST: usize = 1000;

/// Every crate with too many of these words.
pub(crate) fn riddles(sources: &[Source]) -> Vec<String> {
    let mut comments: BTreeMap<&str, String> = BTreeMap::new();
    for source in sources {
        let text = comments.entry(krate(&source.path)).or_default();
        let lines = source.text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
        lines.for_each(|line| {
            *text += line.trim_start_matches(['/', '!']);
            text.push('\n');
        });
    }
    comments.iter().flat_map(|(folder, text)| of_crate(folder, text)).collect()
}

/// The folder of a crate: two steps below `crates`, `stages`, `recorders`, `tests` and `benches`, else one.
fn krate(path: &str) -> &str {
    let deep = ["crates/", "stages/", "recorders/", "tests/", "benches/"].iter().any(|folder| path.starts_with(folder));
    path.match_indices('/').nth(usize::from(deep)).map_or(path, |(end, _)| &path[..end])
}

fn of_crate(folder: &str, text: &str) -> Vec<String> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let too_often = |&(rare, most): &(&[&str], f64)| {
        let count: usize = rare.iter().map(|phrase| occurrences(&words, phrase)).sum();
        let rate = 1000.0 * count as f64 / words.len() as f64;
        (words.len() >= FEWEST && rate > most).then(|| {
            format!("{folder}: {rate:.1} times {rare:?} in 1,000 words of comments, at most {most}; write plainly")
        })
    };
    RARE.iter().filter_map(too_often).collect()
}

fn occurrences(words: &[String], phrase: &str) -> usize {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).filter(|window| window.iter().zip(&phrase).all(|(a, b)| a == b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn riddles_are_counted_for_each_crate() {
        let plain = "/// Returns the number of nodes.\n".repeat(300);
        let riddle = "/// What so many have at most.\nlet what = 1;\n".repeat(20);
        let sources = [
            Source::new("crates/a/src/lib.rs", &plain),
            Source::new("crates/b/src/lib.rs", &(plain.clone() + &riddle)),
            Source::new("schemas/src/lib.rs", &riddle),
        ];
        let found = riddles(&sources);
        assert!(found.len() == 2 && found.iter().all(|text| text.starts_with("crates/b:")), "{found:?}");
        assert_eq!(krate("pipeline/src/engine/mod.rs"), "pipeline");
        assert_eq!(occurrences(&["so".into(), "much".into(), "so".into(), "many".into()], "so many"), 1);
    }
}
