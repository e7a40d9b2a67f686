//! The file of `--names`: rules that rewrite names the same way in every run.
//!
//! ```toml
//! [[rule]]                     # each rule works on what the one before it left
//! pattern = "^Job_[a-z0-9]+$"  # a regular expression
//! replace = "Job"              # $1 or ${name} stands for a group of the pattern
//!
//! [[rule]]
//! pattern = "com\\.acme\\.generated\\.v\\d+\\."
//! replace = "com.acme.generated."
//! runtime = "jvm"              # v8, jvm or dotnet; without it, the rule is for all
//! ```
//!
//! The rules apply to names of classes (for V8 without their place), fields, variables, functions, packages and
//! scripts, before the rules of the runtime. Every match in a name is replaced; `^` and `$` anchor to the whole name. A
//! name that would become empty is left unchanged.

use crate::diagnostic::Diagnostic;
use crate::rule_file::{self, Wrong, expected};
use heaplake_names::{Runtime, check_pattern};
use heaplake_schemas::names::{NameRule, NameRules};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of a rule.
const KEYS: &str = "pattern, replace or runtime";

/// Advice for a file that cannot be used.
const ADVICE: &str = "a rule is [[rule]] with pattern, a regular expression, replace, a text, and runtime where it is for one of v8, jvm and dotnet";

/// Reads a file of rules. A diagnostic names file, line, the expected and the found.
pub fn read(path: &Path) -> Result<NameRules, Diagnostic> {
    rule_file::read(path, ADVICE, rules)
}

fn rules(table: &DeTable<'_>) -> Result<NameRules, Wrong> {
    let mut rules = NameRules::default();
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("rule", DeValue::Array(items)) => {
                for item in items {
                    rules.rules.push(rule(item)?);
                }
            }
            ("rule", _) => return expected(&value.span(), "[[rule]]", "something else"),
            (other, _) => return expected(&key.span(), "rule", format!("{other:?}")),
        }
    }
    Ok(rules)
}

fn rule(item: &Spanned<DeValue<'_>>) -> Result<NameRule, Wrong> {
    let DeValue::Table(table) = item.get_ref() else {
        return expected(&item.span(), "[[rule]]", "something else");
    };
    let (mut pattern, mut replace, mut runtime) = (None, None, None);
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "pattern" => pattern = Some(regular_expression(value)?),
            "replace" => replace = Some(text(value, "a text to replace with")?),
            "runtime" => runtime = Some(known_runtime(value)?),
            other => return expected(&key.span(), KEYS, format!("{other:?}")),
        }
    }
    match (pattern, replace) {
        (Some(pattern), Some(replace)) => Ok(NameRule { pattern, replace, runtime }),
        (None, _) => expected(&item.span(), "a rule with a pattern", "none"),
        (_, None) => expected(&item.span(), "a rule with a text to replace with", "none"),
    }
}

fn text(value: &Spanned<DeValue<'_>>, what: &str) -> Result<String, Wrong> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        _ => expected(&value.span(), what, "something else"),
    }
}

fn regular_expression(value: &Spanned<DeValue<'_>>) -> Result<String, Wrong> {
    let pattern = text(value, "a regular expression")?;
    match check_pattern(&pattern) {
        Ok(()) if pattern.is_empty() => expected(&value.span(), "a regular expression", "an empty text"),
        Ok(()) => Ok(pattern),
        Err(problem) => expected(&value.span(), "a regular expression", format!("{pattern:?} ({problem})")),
    }
}

fn known_runtime(value: &Spanned<DeValue<'_>>) -> Result<String, Wrong> {
    let name = text(value, "v8, jvm or dotnet")?;
    if Runtime::ALL.iter().any(|runtime| runtime.name() == name) {
        return Ok(name);
    }
    expected(&value.span(), "v8, jvm or dotnet", format!("{name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NameRules, Wrong> {
        rule_file::tables(text, rules)
    }

    #[test]
    fn rules_in_their_order() {
        let rules = parse(
            "[[rule]]\npattern = '^A(\\d+)$'\nreplace = 'A of $1'\n[[rule]]\nreplace=''\npattern='b'\nruntime='jvm'\n",
        );
        let rule = |pattern: &str, replace: &str, runtime: Option<&str>| NameRule {
            pattern: pattern.to_owned(),
            replace: replace.to_owned(),
            runtime: runtime.map(str::to_owned),
        };
        let expected = vec![rule("^A(\\d+)$", "A of $1", None), rule("b", "", Some("jvm"))];
        assert_eq!(rules, Ok(NameRules { rules: expected }));
        assert_eq!(parse(""), Ok(NameRules::default()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, problem) in [
            ("\nrules = []", 2, "expected rule, found \"rules\""),
            ("rule = 'x'", 1, "expected [[rule]], found something else"),
            ("rule = [1]", 1, "expected [[rule]], found something else"),
            ("[[rule]]\npattern='a'\nwith='b'", 3, "expected pattern, replace or runtime, found \"with\""),
            ("[[rule]]\nreplace='X'", 1, "expected a rule with a pattern, found none"),
            ("[[rule]]\npattern='X'", 1, "expected a rule with a text to replace with, found none"),
            ("[[rule]]\npattern='X'\nreplace=1", 3, "expected a text to replace with, found something else"),
            ("[[rule]]\nreplace='X'\npattern=['a']", 3, "expected a regular expression, found something else"),
            ("[[rule]]\nreplace='X'\npattern='a('", 3, "expected a regular expression, found \"a(\" (unclosed group)"),
            ("[[rule]]\npattern=''\nreplace='X'", 2, "expected a regular expression, found an empty text"),
            ("[[rule]]\npattern='a'\nreplace='X'\nruntime='java'", 4, "expected v8, jvm or dotnet, found \"java\""),
            ("[[rule]\npattern='a'", 1, "expected TOML: "),
        ] {
            let (at, found) = parse(text).unwrap_err();
            assert!(found.contains(problem) && !found.contains('\n'), "{text:?}: {found}");
            assert_eq!(text[..at].matches('\n').count() + 1, line, "{text:?}: {found}");
        }
    }
}
