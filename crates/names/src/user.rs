//! Rules of the user.

use crate::runtime::Runtime;
use heaplake_schemas::names::NameRules;
use regex::Regex;
use std::borrow::Cow;

/// Compiled rules of the user for one runtime.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserRules(Vec<(Regex, String)>);

impl UserRules {
    /// Compiles the rules of a runtime. Skips invalid patterns, which [`check`] has reported.
    pub(crate) fn of(rules: &NameRules, runtime: Runtime) -> Self {
        let fit = |name: &Option<String>| name.as_deref().is_none_or(|name| name == runtime.name());
        let rules = rules.rules.iter().filter(|rule| fit(&rule.runtime));
        Self(rules.filter_map(|rule| Some((compiled(&rule.pattern).ok()?, rule.replace.clone()))).collect())
    }

    /// Applies all rules to a name. A name never becomes empty.
    pub(crate) fn apply<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let mut now = Cow::Borrowed(name);
        for (pattern, replace) in &self.0 {
            if let Cow::Owned(next) = pattern.replace_all(&now, replace)
                && !next.is_empty()
            {
                now = Cow::Owned(next);
            }
        }
        now
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(pattern)
}

/// Checks a pattern of a user rule; an error is one line.
pub fn check(pattern: &str) -> Result<(), String> {
    let problem = |error: regex::Error| match error {
        regex::Error::CompiledTooBig(most) => format!("it would take more than {most} bytes"),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    };
    compiled(pattern).map(|_| ()).map_err(problem)
}
