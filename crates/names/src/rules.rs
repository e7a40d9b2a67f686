//! Rules, and application of rule lists.

use std::borrow::Cow;

/// A rule of normalisation. The lists drive both the code and `docs/signatures.md`.
pub struct Rule {
    /// Title.
    pub name: &'static str,
    /// Description of a match.
    pub matches: &'static str,
    /// Description of the replacement.
    pub becomes: &'static str,
    /// Names and their results under the rules of the runtime. The tests check each.
    pub examples: &'static [(&'static str, &'static str)],
    /// Applies the rule; `None` if nothing changes.
    pub(crate) apply: fn(&str) -> Option<String>,
}

/// A list of rules and the names it is for.
pub struct RuleList {
    /// Title: the names.
    pub title: &'static str,
    /// Description of the list.
    pub about: &'static str,
    /// The rules, in order of application.
    pub rules: &'static [Rule],
}

/// Maximum applications of a rule to a name, and of all rules. Each change removes letters or digits; names of programs
/// need one or two.
const ROUNDS: usize = 64;

/// Applies all rules until none changes the name, so the result is a fixed point.
pub(crate) fn apply<'a>(rules: &[&'static [Rule]], name: &'a str) -> Cow<'a, str> {
    if is_plain(name) { Cow::Borrowed(name) } else { apply_to_any(rules, name) }
}

/// Applies rules that change plain words, too.
pub(crate) fn apply_to_any<'a>(rules: &[&'static [Rule]], text: &'a str) -> Cow<'a, str> {
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
