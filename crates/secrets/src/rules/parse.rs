//! Files of rules, in the format of gitleaks.
//!
//! ```toml
//! [[rules]]
//! id = "shop-token"
//! description = "Token of the shop"
//! regex = '''\b(shop_[a-z0-9]{32})\b'''
//! secretGroup = 1
//! entropy = 3
//! keywords = ["shop_"]
//! severity = "high"               # of heaplake: high, medium or low
//! check = "mixed"                 # of heaplake: card, iban, jwt, basic, mail or mixed
//!
//! [[rules.allowlists]]
//! stopwords = ["example"]
//!
//! [[rules]]
//! id = "shop-pin"
//! description = "Value of a field with the name pin"
//! field = '''(?i)^pin$'''         # of heaplake: names of fields, properties and keys
//! ```
//!
//! Paths and commits have no meaning in a heap: lists about them alone are left out with a remark. The rules of gitleaks
//! are not part of heaplake, so `extend` is left out, too, except for `disabledRules`.

use super::allow::{Allowlist, Target};
use super::check::Check;
use super::compile::Compiler;
use super::rule::{Rule, Rules};
use super::values::{Value, Wrong, list, number, table, text, texts};
use heaplake_schemas::findings::Severity;
use regex::bytes::Regex;
use std::ops::Range;
use toml::de::DeTable;

/// Limit of the number of rules.
const MOST: usize = 4096;

/// Keys at the top of a file that say nothing about strings.
const IGNORED: [&str; 3] = ["title", "description", "minVersion"];

/// Parses a file of rules.
///
/// # Errors
/// The first problem: the offset, the rule, and the reason.
pub fn parse(file: &DeTable<'_>) -> Result<Rules, Wrong> {
    let mut parser =
        Parser { compiler: Compiler::new(), rules: Rules::default(), disabled: Vec::new(), of_some: Vec::new() };
    for (key, value) in file {
        match key.get_ref().as_ref() {
            "rules" => {
                for item in list("rules", value)? {
                    parser.rule(table("rules", item)?, &item.span())?;
                }
            }
            "allowlist" => parser.global(value)?,
            "allowlists" => {
                for item in list("allowlists", value)? {
                    parser.global(item)?;
                }
            }
            "extend" => parser.extend(table("extend", value)?)?,
            ignored if IGNORED.contains(&ignored) => {}
            other => parser.rules.remarks.push(format!("the key {other:?} is left out")),
        }
    }
    let Parser { mut rules, disabled, of_some, .. } = parser;
    for (targets, allow) in of_some {
        let named = rules.rules.iter_mut().filter(|rule| targets.contains(&rule.id));
        named.for_each(|rule| rule.allow.push(allow.clone()));
    }
    rules.retain(|rule| !disabled.contains(&rule.id));
    Ok(rules)
}

struct Parser {
    compiler: Compiler,
    rules: Rules,
    disabled: Vec<String>,
    /// Allowlists of some rules, which may follow in the file.
    of_some: Vec<(Vec<String>, Allowlist)>,
}

impl Parser {
    fn extend(&mut self, extend: &DeTable<'_>) -> Result<(), Wrong> {
        for (key, value) in extend {
            match key.get_ref().as_ref() {
                "disabledRules" => self.disabled = texts("disabledRules", value)?,
                other => self.rules.remarks.push(format!("extend.{other} is left out: list the files with --rules")),
            }
        }
        Ok(())
    }

    fn global(&mut self, value: &Value<'_>) -> Result<(), Wrong> {
        let item = table("allowlists", value)?;
        let targets = item.iter().find(|(key, _)| key.get_ref().as_ref() == "targetRules");
        let targets = targets.map(|(_, value)| texts("targetRules", value)).transpose()?;
        let Some(allow) = self.allowlist("the allowlists of all rules", value)? else { return Ok(()) };
        match targets {
            None => self.rules.allow.push(allow),
            Some(targets) => self.of_some.push((targets, allow)),
        }
        Ok(())
    }

    fn rule(&mut self, item: &DeTable<'_>, span: &Range<usize>) -> Result<(), Wrong> {
        let id = item.iter().find(|(key, _)| key.get_ref().as_ref() == "id").map(|(_, value)| text("id", value));
        let Some(id) = id.transpose()?.filter(|id| !id.is_empty()) else {
            return Err((span.start, "a rule without id".to_owned()));
        };
        let mut rule = empty(id);
        let mut has_path = false;
        for (key, value) in item {
            let key = key.get_ref().as_ref();
            has_path |= key == "path";
            self.key(&mut rule, key, value).map_err(|(at, why)| (at, format!("rule {:?}: {why}", rule.id)))?;
        }
        self.finish(rule, has_path, span)
    }

    fn finish(&mut self, rule: Rule, has_path: bool, span: &Range<usize>) -> Result<(), Wrong> {
        let wrong = |why: String| Err((span.start, format!("rule {:?}: {why}", rule.id)));
        let groups = rule.pattern.as_ref().map_or(0, |pattern| pattern.captures_len() - 1);
        if rule.pattern.is_none() && rule.field.is_none() {
            if has_path {
                self.rules.remarks.push(format!("rule {:?} is left out: it is about paths alone", rule.id));
                return Ok(());
            }
            return wrong("it has neither regex nor field".to_owned());
        }
        if rule.group.is_some_and(|group| group > groups) {
            return wrong(format!("secretGroup: expected at most {groups}, the groups of its regex"));
        }
        if self.rules.rules.iter().any(|known| known.id == rule.id) {
            return wrong("a second rule of this id".to_owned());
        }
        if self.rules.rules.len() == MOST {
            return wrong(format!("expected at most {MOST} rules"));
        }
        if has_path {
            self.rules.remarks.push(format!("rule {:?}: its path is left out, so it is about all texts", rule.id));
        }
        self.rules.rules.push(rule);
        Ok(())
    }

    fn key(&mut self, rule: &mut Rule, key: &str, value: &Value<'_>) -> Result<(), Wrong> {
        match key {
            "id" | "path" | "tags" => {}
            "description" => rule.description = text(key, value)?,
            "regex" => rule.pattern = Some(self.regex(key, value)?),
            "field" => rule.field = Some(self.regex(key, value)?),
            "secretGroup" => rule.group = group(value)?,
            "entropy" => rule.entropy = Some(number(key, value)?).filter(|&bits| bits > 0.0),
            "keywords" => {
                let words = texts(key, value)?;
                rule.keywords =
                    words.iter().map(|word| word.to_ascii_lowercase()).filter(|word| !word.is_empty()).collect();
            }
            "severity" => {
                let name = text(key, value)?;
                rule.severity = Severity::named(&name).ok_or_else(|| {
                    (value.span().start, format!("severity: expected high, medium or low, found {name:?}"))
                })?;
            }
            "check" => {
                let name = text(key, value)?;
                let known = || Check::ALL.map(Check::name).join(", ");
                let check = Check::ALL.into_iter().find(|check| check.name() == name);
                rule.check = Some(check.ok_or_else(|| {
                    (value.span().start, format!("check: expected one of {}, found {name:?}", known()))
                })?);
            }
            "allowlist" => rule.allow.extend(self.allowlist(&rule.id, value)?),
            "allowlists" => {
                for item in list(key, value)? {
                    rule.allow.extend(self.allowlist(&rule.id, item)?);
                }
            }
            other => self.rules.remarks.push(format!("rule {:?}: the key {other:?} is left out", rule.id)),
        }
        Ok(())
    }

    /// Parses an allowlist; `None` if no string can meet it.
    fn allowlist(&mut self, of: &str, value: &Value<'_>) -> Result<Option<Allowlist>, Wrong> {
        let mut allow = Allowlist::default();
        for (key, value) in table("allowlist", value)? {
            let key = key.get_ref().as_ref();
            match key {
                "description" | "targetRules" => {}
                "condition" => allow.all = is_all(value)?,
                "regexTarget" => allow.target = target(value)?,
                "regexes" => {
                    for regex in list(key, value)? {
                        allow.regexes.push(self.regex(key, regex)?);
                    }
                }
                "stopwords" => {
                    let words = texts(key, value)?;
                    allow.stopwords = words.iter().map(|word| word.to_ascii_lowercase()).collect();
                    allow.stopwords.retain(|word| !word.is_empty());
                }
                "paths" | "commits" => allow.is_about_files |= !list(key, value)?.is_empty(),
                other => self.rules.remarks.push(format!("an allowlist of {of:?}: the key {other:?} is left out")),
            }
        }
        let is_empty = allow.regexes.is_empty() && allow.stopwords.is_empty();
        let never = allow.all && allow.is_about_files;
        let is_met = !(is_empty || never);
        if !is_met && allow.is_about_files {
            self.rules.remarks.push(format!("an allowlist of {of:?} is left out: it is about paths or commits"));
        }
        Ok(is_met.then_some(allow))
    }

    fn regex(&mut self, key: &str, value: &Value<'_>) -> Result<Regex, Wrong> {
        let pattern = text(key, value)?;
        if pattern.is_empty() {
            return Err((value.span().start, format!("{key}: expected a regular expression, found an empty text")));
        }
        self.compiler.compile(&pattern).map_err(|why| (value.span().start, format!("{key}: {why}")))
    }
}

fn empty(id: String) -> Rule {
    Rule {
        id,
        description: String::new(),
        severity: Severity::High,
        field: None,
        pattern: None,
        group: None,
        entropy: None,
        keywords: Vec::new(),
        check: None,
        allow: Vec::new(),
    }
}

/// The group of the secret; 0 is the default, as in gitleaks.
fn group(value: &Value<'_>) -> Result<Option<usize>, Wrong> {
    let group = number("secretGroup", value)?;
    let is_whole = group >= 0.0 && group.fract() == 0.0 && group < 1e6;
    if !is_whole {
        return Err((value.span().start, "secretGroup: expected the number of a group".to_owned()));
    }
    Ok(Some(group as usize).filter(|&group| group > 0))
}

fn is_all(value: &Value<'_>) -> Result<bool, Wrong> {
    match text("condition", value)?.to_ascii_uppercase().as_str() {
        "AND" | "&&" => Ok(true),
        "OR" | "||" | "" => Ok(false),
        other => Err((value.span().start, format!("condition: expected AND or OR, found {other:?}"))),
    }
}

fn target(value: &Value<'_>) -> Result<Target, Wrong> {
    match text("regexTarget", value)?.as_str() {
        "secret" | "" => Ok(Target::Secret),
        "match" => Ok(Target::Match),
        "line" => Ok(Target::Line),
        other => Err((value.span().start, format!("regexTarget: expected secret, match or line, found {other:?}"))),
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
