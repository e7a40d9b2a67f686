//! The language: what is printed parses to the same, and whatever is typed is an answer or an error with a column.

use super::random::{one, query};
use crate::filter::ast::{Filter, Query, Test};
use heaplake_oracle::SplitMix64;

#[test]
fn what_is_printed_parses_to_the_same() {
    let mut lengths = 0;
    for seed in 0..20_000 {
        let query = query(&mut SplitMix64::new(seed));
        let text = query.to_string();
        assert_eq!(Query::parse(&text), Ok(query), "seed {seed}: {text}");
        lengths += text.len();
    }
    assert!(lengths > 20_000 * 60, "{lengths}");
}

/// Parts of queries, and of none.
const WORDS: &str = "class retained path field . a detached dominator dominated dominates by any references referenced \
                     instance of and or not in is null contains starts with ( ) , = != ~ !~ < 1 1.5MB 'a' \"[b\" \
                     select group order limit count sum *";
const CHARACTERS: &str = "aB09._$@-\"'\\()=!~< \n\0ü\u{202e}\u{1f600}";

#[test]
fn any_text_is_a_query_or_an_error_in_it() {
    let (words, characters): (Vec<&str>, Vec<char>) = (WORDS.split(' ').collect(), CHARACTERS.chars().collect());
    let (mut parsed, mut failed) = (0, 0);
    for seed in 0..60_000 {
        let rng = &mut SplitMix64::new(seed);
        let text: String = match rng.one_in(2) {
            true => (0..rng.below(12)).map(|_| format!("{} ", one(rng, &words))).collect(),
            false => (0..rng.below(30)).map(|_| *one(rng, &characters)).collect(),
        };
        match Query::parse(&text) {
            Ok(query) => {
                parsed += 1;
                assert_eq!(Query::parse(&query.to_string()), Ok(query), "{text:?}");
            }
            Err(wrong) => {
                failed += 1;
                assert!((1..=text.chars().count() + 1).contains(&wrong.column), "{text:?}: {wrong:?}");
                assert!(!wrong.problem.is_empty(), "{text:?}");
            }
        }
    }
    assert!(parsed > 500 && failed > 30_000, "{parsed} {failed}");
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("(", ")"), ("not ", ""), ("dominator (", ")"), ("dominator.", ""), (".a (", ")")] {
        for depth in [20, 10_000] {
            let text = format!("{}node = 1{}", open.repeat(depth), close.repeat(depth));
            let parsed = Query::parse(&text);
            match depth {
                20 => assert!(parsed.is_ok(), "{text}: {parsed:?}"),
                _ => assert!(parsed.is_err(), "{open} {depth}"),
            }
        }
    }
    let chain = |depth: usize| Query::parse(&format!(".{}b = 1", "a.".repeat(depth)));
    assert!(chain(20).is_ok() && chain(10_000).is_err());
    let long = format!("node = 1{}", " and node = 1".repeat(10_000));
    assert!(Query::parse(&long).unwrap_err().problem.contains("expected at most"));
}

#[test]
fn errors_name_the_column_and_what_was_expected() {
    for (text, column, problem) in [
        ("clas = \"a\"", 1, "expected a term, found \"clas\"; the nearest: class"),
        ("retaned > 1", 1, "expected a term, found \"retaned\"; the nearest: retained"),
        ("class = 1", 9, "class is compared with a text in quotes, found the number 1"),
        ("class = Foo", 9, "expected a text in quotes, found \"Foo\""),
        ("retained > \"x\"", 12, "retained is compared with a number of bytes, such as 1MB, found the text \"x\""),
        ("retained ~ \"x\"", 10, "retained is no text: expected =, !=, <, <=, >, >=, in, or is null"),
        ("class ~ \"(\"", 9, "expected a regular expression: unclosed group"),
        ("class = \"a\" class", 13, "expected and, or, select, group by, order by, limit, or the end, found \"class\""),
        ("(class = \"a\"", 13, "expected and, or, or \")\", found the end"),
        ("class in (\"a\" \"b\")", 15, "expected \",\" or \")\", found the text \"b\""),
        ("owner is 1", 10, "expected null, found the number 1"),
        ("owner = null", 9, "expected a value, found null; write is null, or is not null"),
        ("count > 1", 1, "expected a term, found \"count\""),
        ("detached > true", 10, "detached is true or false: expected = or !="),
        ("node = 1 limit 0", 16, "expected a number from 1 to 1000000, found the number 0"),
        ("node = 1 select count", 1, "count needs group by"),
        ("node = 1 group by retained", 19, "expected a name, a number or a flag, found the size retained"),
        ("node = 1 order by count", 1, "count needs group by"),
        ("select class from java.lang.String", 14, "expected where, group by, order by or limit"),
    ] {
        let wrong = Query::parse(text).unwrap_err();
        assert_eq!(wrong.column, column, "{text}: {wrong}");
        assert!(wrong.problem.starts_with(problem), "{text}: {wrong}");
    }
    let large = format!("class ~ \"{}\"", "(a{1000}){1000}");
    assert!(Query::parse(&large).is_err());
}

#[test]
fn forms_of_one_meaning_are_equal() {
    for (a, b) in [
        ("retained >= 1MiB", "RETAINED_BYTES >= 1_048_576"),
        ("size > 1kB", "self > 1000"),
        ("class not in (\"a\")", "not class in ('a')"),
        ("owner is not null", "not owner is null"),
        ("not (a.b = 1)", "not .a.b = 1"),
        ("dominator.class = \"a\"", "dominator (class = \"a\")"),
        (".next.class = \"a\"", "field next (class = \"a\")"),
        ("references any (node = 1)", "references (node = 1)"),
        ("instanceof \"a\"", "instance of \"a\""),
        ("node = 1 and node = 2 or node = 3", "(node = 1 and node = 2) or node = 3"),
        ("select class where node = 1", "node = 1 select class"),
        ("id = @0x10", "address = 16"),
        ("node <> 1", "node != 1"),
        ("(((node = 1)))", "node = 1"),
        ("order by count() desc group by class", "group by class order by count(*) DESC"),
    ] {
        let [a, b] = [a.replace("(a.b", "(.a.b"), b.to_owned()]
            .map(|text| Query::parse(&text).map_err(|wrong| format!("{text}: {wrong}")));
        assert_eq!(a, b);
        assert!(a.is_ok(), "{a:?}");
    }
    assert!(matches!(
        Query::parse("references > 3").unwrap().filter,
        Filter::Test(Test::Column(term, _)) if term.described().name == "references"
    ));
    assert!(Query::parse("").unwrap().filter.is_all());
}
