//! The file of `--owners`: rules that assign objects to owners.
//!
//! ```toml
//! packages = true              # what fits no rule belongs to its package; this is the default
//!
//! [[owner]]                    # the first rule that fits counts
//! name = "payments"
//! package = ["com.acme.pay", "com.acme.pay.*", "@acme/pay-*"]
//!
//! [[owner]]
//! name = "payments"
//! script = "*/src/payments/*"
//! class = ["Invoice*", "Receipt"]
//! ```
//!
//! A rule has a name and patterns for classes, script paths, packages, or classes of class loaders. It matches an
//! object if, for each kind of pattern it has, at least one pattern matches. In patterns, `*` matches any characters
//! including dots and slashes, `?` one character, `[ab]` one of these.

use crate::diagnostic::Diagnostic;
use crate::rule_file::{self, Wrong, expected, kind};
use glob::Pattern;
use heaplake_schemas::owners::{NONE, UNREACHABLE};
use heaplake_schemas::owners::{OwnerRule, OwnerRules};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of a rule.
const KEYS: &str = "name, class, script, package or loader";

/// Advice for a file that cannot be used.
const ADVICE: &str = "a rule is [[owner]] with name and class, script, package or loader, lists of glob patterns";

/// Reads a file of rules. A diagnostic names file, line, the expected and the found.
pub fn read(path: &Path) -> Result<OwnerRules, Diagnostic> {
    rule_file::read(path, ADVICE, rules)
}

fn rules(table: &DeTable<'_>) -> Result<OwnerRules, Wrong> {
    let mut rules = OwnerRules { packages: true, rules: Vec::new() };
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("packages", DeValue::Boolean(packages)) => rules.packages = *packages,
            ("packages", other) => return expected(&value.span(), "true or false", kind(other)),
            ("owner", DeValue::Array(items)) => {
                for item in items {
                    rules.rules.push(rule(item)?);
                }
            }
            ("owner", other) => return expected(&value.span(), "[[owner]]", kind(other)),
            (other, _) => return expected(&key.span(), "owner or packages", format!("{other:?}")),
        }
    }
    Ok(rules)
}

fn rule(item: &Spanned<DeValue<'_>>) -> Result<OwnerRule, Wrong> {
    let DeValue::Table(table) = item.get_ref() else {
        return expected(&item.span(), "[[owner]]", kind(item.get_ref()));
    };
    let mut rule = OwnerRule::default();
    for (key, value) in table {
        let patterns = match key.get_ref().as_ref() {
            "name" => {
                rule.name = name(value)?;
                continue;
            }
            "class" => &mut rule.class,
            "script" => &mut rule.script,
            "package" => &mut rule.package,
            "loader" => &mut rule.loader,
            other => return expected(&key.span(), KEYS, format!("{other:?}")),
        };
        match value.get_ref() {
            DeValue::Array(items) if !items.is_empty() => {
                for item in items {
                    patterns.push(pattern(item)?);
                }
            }
            DeValue::Array(_) => return expected(&value.span(), "a pattern", "an empty list"),
            _ => patterns.push(pattern(value)?),
        }
    }
    if rule.name.is_empty() {
        return expected(&item.span(), "a rule with a name", "none");
    }
    if [&rule.class, &rule.script, &rule.package, &rule.loader].iter().all(|patterns| patterns.is_empty()) {
        return expected(&item.span(), "a rule with class, script, package or loader", "none of them");
    }
    Ok(rule)
}

fn name(value: &Spanned<DeValue<'_>>) -> Result<String, Wrong> {
    match value.get_ref() {
        DeValue::String(name) if [NONE, UNREACHABLE].contains(&name.as_ref()) => {
            expected(&value.span(), "the name of an owner", format!("{name:?}, which stands for nobody"))
        }
        DeValue::String(name) if !name.trim().is_empty() => Ok(name.clone().into_owned()),
        DeValue::String(_) => expected(&value.span(), "the name of an owner", "an empty text"),
        other => expected(&value.span(), "the name of an owner", kind(other)),
    }
}

fn pattern(value: &Spanned<DeValue<'_>>) -> Result<String, Wrong> {
    let DeValue::String(text) = value.get_ref() else {
        return expected(&value.span(), "a glob pattern", kind(value.get_ref()));
    };
    match Pattern::new(text) {
        Ok(_) if text.is_empty() => expected(&value.span(), "a glob pattern", "an empty text"),
        Ok(_) => Ok(text.clone().into_owned()),
        Err(error) => expected(&value.span(), "a glob pattern", format!("{text:?} ({})", error.msg)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OwnerRules, Wrong> {
        rule_file::tables(text, rules)
    }

    #[test]
    fn rules_in_their_order() {
        let text = "packages = false\n[[owner]]\nname = 'b'\nclass = ['X*', 'Y']\nloader = 'L'\n[[owner]]\nname = 'a'\npackage = 'p'\n";
        let rules = parse(text).unwrap();
        assert!(!rules.packages);
        let [b, a] = &rules.rules[..] else { panic!("two rules") };
        assert_eq!((&*b.name, &b.class[..], &b.loader[..]), ("b", &["X*".into(), "Y".into()][..], &["L".into()][..]));
        assert_eq!((&*a.name, &a.package[..]), ("a", &["p".into()][..]));
        assert_eq!(parse("").unwrap(), OwnerRules { packages: true, rules: Vec::new() });
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, problem) in [
            ("packages = 1", 1, "expected true or false, found a number"),
            ("\nowners = []", 2, "expected owner or packages, found \"owners\""),
            ("owner = 'x'", 1, "expected [[owner]], found a text"),
            ("owner = [1]", 1, "expected [[owner]], found a number"),
            ("[[owner]]\nname='a'\nclas='X'", 3, "expected name, class, script, package or loader, found \"clas\""),
            ("[[owner]]\nclass='X'", 1, "expected a rule with a name, found none"),
            ("[[owner]]\nname='a'", 1, "expected a rule with class, script, package or loader, found none of them"),
            ("[[owner]]\nname=''\nclass='X'", 2, "expected the name of an owner, found an empty text"),
            ("[[owner]]\nname='(none)'\nclass='X'", 2, "found \"(none)\", which stands for nobody"),
            ("[[owner]]\nname=['a']\nclass='X'", 2, "expected the name of an owner, found a list"),
            ("[[owner]]\nname='a'\nclass=[\n'X',\n3]", 5, "expected a glob pattern, found a number"),
            ("[[owner]]\nname='a'\nclass='[x'", 3, "expected a glob pattern, found \"[x\""),
            ("[[owner]]\nname='a'\nclass=[]", 3, "expected a pattern, found an empty list"),
            ("[[owner]]\nname='a'\nname='b'\nclass='X'", 3, "expected TOML: "),
            ("[[owner]\nname='a'", 1, "expected TOML: "),
            ("a = 'x", 1, "expected TOML: "),
        ] {
            let (at, found) = parse(text).unwrap_err();
            assert!(found.contains(problem) && !found.contains('\n'), "{text:?}: {found}");
            assert_eq!(text[..at].matches('\n').count() + 1, line, "{text:?}: {found}");
        }
    }
}
