//! Steps of chains and paths: a class or name, then the field or index that leads on.

use crate::rules::Rule;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Class, or another name.
    pub name: String,
    /// Rest: `.field`, `[]`, both, or empty.
    pub out: String,
}

impl Step {
    /// A step without a rest.
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), out: String::new() }
    }

    /// Adds an index, unless the step ends in one.
    pub(crate) fn index(&mut self) {
        if !self.out.ends_with("[]") {
            self.out.push_str("[]");
        }
    }
}

/// Joins steps; drops a step that equals the one before it.
pub(crate) fn join<'a>(steps: impl Iterator<Item = (&'a str, &'a str)>, between: &str) -> String {
    let mut text = String::new();
    let mut last = None;
    for step in steps {
        if last == Some(step) {
            continue;
        }
        if last.is_some() {
            text.push_str(between);
        }
        text.push_str(step.0);
        text.push_str(step.1);
        last = Some(step);
    }
    text
}

/// Rules for labels of edges, and rests of steps.
pub(crate) const LABELS: &[Rule] = &[
    Rule {
        name: "roots of running code",
        matches: "handles and pending microtasks, which hold what the stack holds a moment before or after",
        becomes: "`stack`",
        examples: &[("handles of running code.server", "stack.server"), ("pending microtasks[]", "stack[]")],
        apply: |text| {
            let rest =
                ["handles of running code", "pending microtasks"].iter().find_map(|root| text.strip_prefix(root))?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then(|| format!("stack{rest}"))
        },
    },
    Rule {
        name: "functions of timers",
        matches: "`setTimeout`, `setInterval`, `setImmediate` and those that clear, all of which hold the lists of timers",
        becomes: "`timers`",
        examples: &[("global.clearTimeout", "global.timers"), ("setInterval().timerListMap", "timers().timerListMap")],
        apply: functions_of_timers,
    },
    Rule {
        name: "lists both ways",
        matches: "the way back in lists of timers: `_idlePrev`, which is as short as the way forth",
        becomes: "`_idleNext`",
        examples: &[("_idlePrev", "_idleNext"), ("TimersList._idlePrev", "TimersList._idleNext")],
        apply: |text| text.contains("_idlePrev").then(|| text.replace("_idlePrev", "_idleNext")),
    },
    Rule {
        name: "stars",
        matches: "`*` behind a step of a path that repeats",
        becomes: "nothing: a list of one element is a list, too",
        examples: &[("Node.next*", "Node.next")],
        apply: |text| {
            let stem = text.strip_suffix('*').filter(|stem| stem.ends_with(is_letter) || stem.ends_with("[]"))?;
            (!stem.ends_with(".*")).then(|| stem.to_owned())
        },
    },
    Rule {
        name: "arrays in arrays",
        matches: "`[]` more than once",
        becomes: "`[]` once",
        examples: &[("ModuleWrap[][][][]", "ModuleWrap[]")],
        apply: |text| text.contains("[][]").then(|| text.replace("[][]", "[]")),
    },
];

const TIMERS: [&str; 6] =
    ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"];

fn functions_of_timers(text: &str) -> Option<String> {
    let timer = TIMERS.iter().find(|timer| text.contains(*timer))?;
    if text == *timer {
        return Some("timers".to_owned());
    }
    if text.strip_prefix("global.") == Some(timer) {
        return Some("global.timers".to_owned());
    }
    let rest = text.strip_prefix(timer).filter(|rest| rest.starts_with("()"))?;
    Some(format!("timers{rest}"))
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Maximum letters of a name made by a minifier.
const SHORT: usize = 2;

/// Normalises a variable of a scope after bundlers: drops the number of a copy and the letters of a short name.
pub(crate) fn variable(name: &str) -> &str {
    if name.chars().count() <= SHORT {
        return "*";
    }
    let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
    if stem.len() > SHORT && name.len() - stem.len() < 3 { stem } else { name }
}
