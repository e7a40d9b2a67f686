//! Tests of files of rules.

use super::*;

fn parsed(text: &str) -> Result<Rules, Wrong> {
    parse(DeTable::parse(text).unwrap().get_ref())
}

#[test]
fn all_keys_of_gitleaks_are_read() {
    let text = r#"
title = "config"
minVersion = "v8.25.0"
[extend]
useDefault = true
disabledRules = ["gone"]
[[allowlists]]
description = "of all"
regexTarget = "line"
regexes = ['^#']
paths = ['vendor']
[[rules]]
id = "shop"
description = "Token of the shop"
regex = '''\b(shop_([a-z0-9]{8}))\b'''
secretGroup = 2
entropy = 3.5
keywords = ["SHOP_"]
tags = ["a"]
path = '\.js$'
[[rules.allowlists]]
condition = "AND"
stopwords = ["Example"]
regexes = ['^x']
[[rules]]
id = "of-paths"
path = '\.p12$'
[[rules]]
id = "gone"
regex = 'a'
[[rules]]
id = "pin"
field = '(?i)^pin$'
severity = "low"
check = "mixed"
[rules.allowlist]
commits = ["abc"]
"#;
    let rules = parsed(text).unwrap();
    let ids: Vec<&str> = rules.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["shop", "pin"]);
    let (shop, pin) = (&rules.rules[0], &rules.rules[1]);
    assert_eq!((shop.group, shop.entropy, shop.keywords.as_slice()), (Some(2), Some(3.5), &["shop_".to_owned()][..]));
    assert!(shop.allow[0].all && shop.allow[0].stopwords == ["example"] && shop.severity == Severity::High);
    assert!(pin.field.is_some() && pin.pattern.is_none() && pin.severity == Severity::Low && pin.allow.is_empty());
    assert!(pin.check == Some(Check::Mixed) && rules.allow.len() == 1 && rules.allow[0].target == Target::Line);
    assert_eq!(rules.remarks.len(), 4, "{:?}", rules.remarks);
}

#[test]
fn lists_of_some_rules_are_about_them_alone() {
    let text = "[[rules]]\nid='a'\nregex='a'\n[[rules]]\nid='b'\nregex='b'\n[[allowlists]]\ntargetRules=['b']\nstopwords=['x']\n";
    let rules = parsed(text).unwrap();
    assert!(rules.allow.is_empty() && rules.rules[0].allow.is_empty() && rules.rules[1].allow.len() == 1);
}

#[test]
fn errors_name_the_rule_and_the_line() {
    for (text, line, why) in [
        ("[[rules]]\nregex='a'", 1, "a rule without id"),
        ("[[rules]]\nid='a'", 1, "rule \"a\": it has neither regex nor field"),
        ("[[rules]]\nid='a'\nregex='a('", 3, "rule \"a\": regex: unclosed group"),
        ("[[rules]]\nid='a'\nregex=''", 3, "rule \"a\": regex: expected a regular expression, found an empty text"),
        ("[[rules]]\nid='a'\nregex=1", 3, "rule \"a\": regex: expected a text"),
        ("[[rules]]\nid='a'\nregex='a'\nsecretGroup=1", 1, "rule \"a\": secretGroup: expected at most 0"),
        ("[[rules]]\nid='a'\nregex='a'\nsecretGroup=-1", 4, "rule \"a\": secretGroup: expected the number of a group"),
        ("[[rules]]\nid='a'\nregex='a'\nentropy='x'", 4, "rule \"a\": entropy: expected a number"),
        ("[[rules]]\nid='a'\nregex='a'\nentropy=nan", 4, "rule \"a\": entropy: expected a number"),
        ("[[rules]]\nid='a'\nregex='a'\nseverity='bad'", 4, "rule \"a\": severity: expected high, medium or low"),
        ("[[rules]]\nid='a'\nregex='a'\ncheck='bad'", 4, "rule \"a\": check: expected one of card"),
        ("[[rules]]\nid='a'\nregex='a'\n[[rules]]\nid='a'\nregex='b'", 4, "rule \"a\": a second rule of this id"),
        (
            "[[rules]]\nid='a'\nregex='a'\n[[rules.allowlists]]\nregexes=['a(']",
            5,
            "rule \"a\": regexes: unclosed group",
        ),
        (
            "[[rules]]\nid='a'\nregex='a'\n[[rules.allowlists]]\ncondition='x'",
            5,
            "rule \"a\": condition: expected AND or OR",
        ),
        ("[[rules]]\nid='a'\nregex='a'\n[[rules.allowlists]]\nregexTarget='x'", 5, "rule \"a\": regexTarget: expected"),
        ("rules = 'x'", 1, "rules: expected a list"),
        ("rules = ['x']", 1, "rules: expected a table"),
        ("[[rules]]\nid='a'\nregex='((b{99}){99}){99}'", 3, "rule \"a\": regex: it needs more than 4 MiB"),
    ] {
        let (at, found) = parsed(text).unwrap_err();
        assert!(found.starts_with(why) && !found.contains('\n'), "{text:?}: {found}");
        assert_eq!(text[..at].matches('\n').count() + 1, line, "{text:?}: {found}");
    }
}
