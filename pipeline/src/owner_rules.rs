//! The file of `--owners`: rules that say to whom objects belong.
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
//! A rule has a name and patterns: of classes, of paths of scripts, of packages, of classes of class loaders. A rule
//! fits an object if, of each kind of pattern that it has, at least one fits. In patterns, `*` matches any
//! characters, dots and slashes too, `?` for one, `[ab]` for one of these.

use crate::complaint::Complaint;
use glob::Pattern;
use heaplake_schemas::owners::{NONE, UNREACHABLE};
use heaplake_schemas::owners::{OwnerRule, OwnerRules};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most bytes of a file of rules.
const MOST: u64 = 4 << 20;

/// Keys of a rule.
const KEYS: &str = "name, class, script, package or loader";

/// Advice for a file that cannot be used.
const ADVICE: &str = "a rule is [[owner]] with name and class, script, package or loader, lists of glob patterns";

/// Reads a file of rules.
///
/// # Errors
/// A [`Complaint`] with file, line, what was expected and what was found.
pub fn read(path: &Path) -> Result<OwnerRules, Complaint> {
    let file = path.display();
    let whole = |problem: String| Complaint::usage(format!("{file}: {problem}"), ADVICE);
    let at_line = |line: usize, problem: &str| whole(format!("line {line}: {problem}"));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(|error| whole(format!("cannot read: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(whole(format!("expected at most {MOST} bytes of rules, found more")));
    }
    let line = |bytes: &[u8], at: usize| bytes[..at.min(bytes.len())].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line(error.as_bytes(), error.utf8_error().valid_up_to());
        at_line(line, "expected UTF-8, found other bytes")
    })?;
    parse(&text).map_err(|(at, problem)| at_line(line(text.as_bytes(), at), &problem))
}

/// Where in the text something is wrong, and what.
type Wrong = (usize, String);

fn expected<T>(span: &Range<usize>, what: &str, found: impl std::fmt::Display) -> Result<T, Wrong> {
    Err((span.start, format!("expected {what}, found {found}")))
}

fn parse(text: &str) -> Result<OwnerRules, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, format!("expected TOML: {}", error.message().replace('\n', " ")))
    })?;
    let mut rules = OwnerRules { packages: true, rules: Vec::new() };
    for (key, value) in table.get_ref() {
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

/// What a value is, with its article.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
