//! Applies rules to texts.
//!
//! * A pass over the text finds the keywords of all rules; a second one, the expressions of the rules without keywords.
//!   Only the rules found thus look at the text.
//! * Of two secrets with bytes in common the one of the higher severity counts; of equal severity, rules whose id begins
//!   with `generic` give way, as in gitleaks.
//! * Cost: linear in the text, for each rule that looks at it.
//! * Resident memory: the compiled rules, bounded by [`crate::rules`]; caches of automata.

use crate::rules::{Matched, Rule, Rules, entropy};
use aho_corasick::AhoCorasick;
use heaplake_kit::StageError;
use regex::bytes::{Captures, Regex, RegexSet, RegexSetBuilder};
use std::ops::Range;

/// Limit of the compiled set of the rules without keywords, and of its cache, bytes.
const SET: usize = 64 << 20;
const SET_CACHE: usize = 8 << 20;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Number of the rule.
    pub rule: u16,
    /// Its bytes.
    pub secret: Range<usize>,
    /// All bytes that the expression matched.
    pub whole: Range<usize>,
}

/// Rules, ready to match.
pub struct Matcher {
    rules: Rules,
    keywords: AhoCorasick,
    /// Rules of each keyword.
    of_keyword: Vec<Vec<u16>>,
    /// Rules of texts without keywords, and their expressions.
    always: Vec<u16>,
    set: RegexSet,
    /// Rules of fields.
    fields: Vec<u16>,
}

/// Reusable memory of a search.
#[derive(Default)]
pub struct Marks {
    wanted: Vec<u16>,
    found: Vec<Found>,
}

impl Matcher {
    /// Prepares rules.
    ///
    /// # Errors
    /// [`StageError::Refused`] if all of them together are too large.
    pub fn new(rules: Rules) -> Result<Self, StageError> {
        let numbers = || (0u16..).zip(&rules.rules);
        let of_texts = || numbers().filter(|(_, rule)| rule.field.is_none());
        let mut words: Vec<(&str, u16)> = of_texts()
            .flat_map(|(number, rule)| rule.keywords.iter().map(move |word| (word.as_str(), number)))
            .collect();
        words.sort_unstable();
        let (mut keywords, mut of_keyword): (Vec<&str>, Vec<Vec<u16>>) = (Vec::new(), Vec::new());
        for (word, rule) in words {
            match (keywords.last(), of_keyword.last_mut()) {
                (Some(last), Some(rules)) if *last == word => rules.push(rule),
                _ => {
                    keywords.push(word);
                    of_keyword.push(vec![rule]);
                }
            }
        }
        let always: Vec<u16> =
            of_texts().filter(|(_, rule)| rule.keywords.is_empty()).map(|(number, _)| number).collect();
        let patterns =
            always.iter().filter_map(|&number| rules.rules[usize::from(number)].pattern.as_ref()).map(Regex::as_str);
        let too_large = |error: String| StageError::Refused {
            problem: format!("the rules: {error}"),
            advice: "leave some rules out".to_owned(),
        };
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(&keywords);
        let set = |unicode| {
            let mut builder = RegexSetBuilder::new(patterns.clone());
            builder.unicode(unicode).size_limit(SET).dfa_size_limit(SET_CACHE).build()
        };
        let set = set(false).or_else(|_| set(true));
        Ok(Self {
            keywords: keywords.map_err(|error| too_large(error.to_string()))?,
            set: set.map_err(|error| too_large(error.to_string()))?,
            of_keyword,
            fields: numbers().filter(|(_, rule)| rule.field.is_some()).map(|(number, _)| number).collect(),
            always,
            rules,
        })
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules.rules
    }

    /// The remarks about files of rules.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.rules.remarks
    }

    /// The rule of this number.
    #[must_use]
    pub fn rule(&self, number: u16) -> &Rule {
        &self.rules.rules[usize::from(number)]
    }

    /// Finds the secrets in a text, by their place.
    pub fn find<'m>(&self, text: &[u8], marks: &'m mut Marks) -> &'m [Found] {
        marks.wanted.clear();
        marks.found.clear();
        for keyword in self.keywords.find_overlapping_iter(text) {
            for &rule in &self.of_keyword[keyword.pattern().as_usize()] {
                if !marks.wanted.contains(&rule) {
                    marks.wanted.push(rule);
                }
            }
        }
        if !self.always.is_empty() && self.set.is_match(text) {
            marks.wanted.extend(self.set.matches(text).iter().map(|at| self.always[at]));
        }
        if marks.wanted.is_empty() {
            return &[];
        }
        marks.wanted.sort_unstable();
        for &number in &marks.wanted {
            self.by_rule(number, text, &mut marks.found);
        }
        self.settle(&mut marks.found);
        &marks.found
    }

    /// The rule of fields that a name matches, if one does.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<u16> {
        let matches = |number: &u16| self.rule(*number).field.as_ref().is_some_and(|it| it.is_match(name.as_bytes()));
        self.fields.iter().copied().find(matches)
    }

    /// The secret in the value of a field of this rule.
    #[must_use]
    pub fn value(&self, number: u16, value: &[u8]) -> Option<Range<usize>> {
        if self.rule(number).pattern.is_some() {
            let mut found = Vec::new();
            self.by_rule(number, value, &mut found);
            return found.into_iter().next().map(|found| found.secret);
        }
        let whole = 0..value.len();
        self.accepts(self.rule(number), value, whole.clone(), whole.clone()).then_some(whole)
    }

    fn by_rule(&self, number: u16, text: &[u8], found: &mut Vec<Found>) {
        let rule = self.rule(number);
        let Some(pattern) = &rule.pattern else { return };
        let mut add = |secret: Range<usize>, whole: Range<usize>| {
            if self.accepts(rule, text, secret.clone(), whole.clone()) {
                found.push(Found { rule: number, secret, whole });
            }
        };
        if pattern.captures_len() == 1 {
            pattern.find_iter(text).for_each(|whole| add(whole.range(), whole.range()));
            return;
        }
        for captures in pattern.captures_iter(text) {
            let whole = captures.get(0).map_or(0..0, |whole| whole.range());
            add(secret(&captures, rule.group).unwrap_or_else(|| whole.clone()), whole);
        }
    }

    /// Whether a match is a secret.
    fn accepts(&self, rule: &Rule, text: &[u8], secret: Range<usize>, whole: Range<usize>) -> bool {
        let bytes = &text[secret];
        let is_random = || rule.entropy.is_none_or(|least| entropy(bytes) > least);
        if bytes.is_empty() || !is_random() || rule.check.is_some_and(|check| !check.accepts(bytes)) {
            return false;
        }
        let start = memchr::memrchr(b'\n', &text[..whole.start]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &text[whole.end..]).map_or(text.len(), |end| whole.end + end);
        let matched = Matched { secret: bytes, whole: &text[whole], line: &text[start..end] };
        !rule.allow.iter().chain(&self.rules.allow).any(|allow| allow.allows(matched))
    }

    /// Leaves one of several secrets with bytes in common.
    fn settle(&self, found: &mut Vec<Found>) {
        if found.len() < 2 {
            return;
        }
        found.sort_by_key(|found| (found.secret.start, found.secret.end, found.rule));
        let mut kept = Vec::with_capacity(found.len());
        let mut first = 0;
        // Secrets with bytes in common, directly or through others, follow each other.
        while let Some(one) = found.get(first) {
            let (mut end, mut behind) = (one.secret.end, first + 1);
            while let Some(next) = found.get(behind).filter(|next| next.secret.start < end) {
                end = end.max(next.secret.end);
                behind += 1;
            }
            let all = &found[first..behind];
            kept.extend(all.iter().filter(|one| !self.gives_way(one, all)).cloned());
            first = behind;
        }
        *found = kept;
    }

    /// Whether one of some secrets has bytes in common with this one and goes before it.
    fn gives_way(&self, one: &Found, all: &[Found]) -> bool {
        let rank = |found: &Found| {
            let rule = self.rule(found.rule);
            (rule.severity, rule.is_generic())
        };
        let meets = |other: &Found| other.secret.start < one.secret.end && one.secret.start < other.secret.end;
        all.iter().any(|other| meets(other) && rank(other) < rank(one))
    }
}

/// The secret of a match: the group of the rule, or the first one that is not empty.
fn secret(captures: &Captures<'_>, group: Option<usize>) -> Option<Range<usize>> {
    let group = match group {
        Some(group) => captures.get(group),
        None => captures.iter().skip(1).flatten().find(|group| !group.is_empty()),
    };
    group.map(|group| group.range())
}
