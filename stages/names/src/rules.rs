//! What a rule is, and how a list of them is applied.

use std::borrow::Cow;

/// A rule of normalisation. The list of them is both what runs and what `docs/signatures.md` shows.
pub struct Rule {
    /// What it is about.
    pub name: &'static str,
    /// What it matches.
    pub matches: &'static str,
    /// What becomes of that.
    pub becomes: &'static str,
    /// Names, and what the rules of the runtime make of them. The tests check each.
    pub examples: &'static [(&'static str, &'static str)],
    /// The text with the rule applied; nothing where that changes nothing.
    pub(crate) apply: fn(&str) -> Option<String>,
}

/// A list of rules and the names that they are for.
pub struct RuleList {
    /// The names, as a title.
    pub title: &'static str,
    /// What is to be said of all of them.
    pub about: &'static str,
    /// The rules, in the order in which they apply.
    pub rules: &'static [Rule],
}

/// How often a rule changes a name at most, and how often all run over it. Each change takes away letters or digits;
/// names of programs need one or two.
const ROUNDS: usize = 64;

/// A name with all rules applied until none of them changes it: a signature is its own signature.
pub fn apply<'a>(rules: &[&'static [Rule]], name: &'a str) -> Cow<'a, str> {
    if is_plain(name) { Cow::Borrowed(name) } else { apply_to_any(rules, name) }
}

/// The same for rules that change plain words, too.
pub fn apply_to_any<'a>(rules: &[&'static [Rule]], text: &'a str) -> Cow<'a, str> {
    let mut now = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let mut changed = false;
        for rule in rules.iter().copied().flatten() {
            changed |= apply_rule(rule, &mut now);
        }
        if !changed {
            break;
        }
    }
    now
}

fn apply_rule(rule: &Rule, now: &mut Cow<'_, str>) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let Some(next) = (rule.apply)(now).filter(|next| !next.is_empty() && *next != **now) else { break };
        *now = Cow::Owned(next);
        changed = true;
    }
    changed
}

/// Whether no rule of any runtime can match: most names are words.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.'))
}
