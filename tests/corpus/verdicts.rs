//! Verdicts on the findings of programs, and their table.

use crate::packages::version;
use crate::programs::{Program, Truth};
use serde_json::Value;
use std::fmt::Write;

/// Findings over LOW allowed in a healthy program.
const MOST: usize = 3;

pub(crate) struct Verdict {
    program: String,
    truth: &'static str,
    first: String,
    over_low: usize,
    missed: bool,
    /// Why it is wrong, if it is.
    pub wrong: Option<String>,
}

/// Compares the findings of a program with the truth about it.
pub(crate) fn judge(program: &Program, findings: &[Value]) -> Verdict {
    let over_low = findings.iter().filter(|finding| finding["severity"] != "low").count();
    let packages: String = program.packages.iter().map(|name| format!(" {name}@{}", version(name))).collect();
    let comes_first =
        |text: &str| findings.first().is_some_and(|first| first["severity"] != "low" && names(first, text));
    let missed = matches!(program.truth, Truth::Missed(_));
    let (truth, wrong) = match program.truth {
        Truth::Culprit(text) => (text, (!comes_first(text)).then(|| "the culprit is not the first finding".to_owned())),
        Truth::Missed(text) => (text, comes_first(text).then(|| "no longer missed: make it a culprit".to_owned())),
        Truth::Healthy => {
            let high = findings.iter().any(|finding| finding["severity"] == "high");
            let wrong = if high {
                Some("HIGH in a healthy program".to_owned())
            } else {
                (over_low > MOST).then(|| format!("more than {MOST} findings over LOW in a healthy program"))
            };
            ("healthy", wrong)
        }
    };
    let program = format!("{} {}{packages}", program.file, program.mode);
    Verdict {
        program,
        truth,
        first: findings.first().map_or_else(|| "nothing".to_owned(), shown),
        over_low,
        missed,
        wrong,
    }
}

fn names(finding: &Value, text: &str) -> bool {
    let said = |key: &str| finding[key].as_str().is_some_and(|said| said.contains(text));
    let path = finding["path"].as_array().into_iter().flatten();
    ["subject", "message", "place"].into_iter().any(said)
        || path.into_iter().any(|step| step.as_str().is_some_and(|step| step.contains(text)))
}

fn shown(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap();
    format!("{} {}: {}", text("severity").to_uppercase(), text("rule"), text("message"))
}

/// All verdicts, one below the other; wrong ones with the whole message of the first finding.
pub(crate) fn table(verdicts: &[Verdict]) -> String {
    let mut out = String::new();
    writeln!(out, "{:<8}{:<10}{:<39}{:<60} first finding", "verdict", "over LOW", "truth", "program").unwrap();
    for Verdict { program, truth, first, over_low, missed, wrong } in verdicts {
        let verdict = match wrong {
            Some(_) => "WRONG",
            None if *missed => "missed",
            None => "right",
        };
        let cut: String = first.chars().take(if wrong.is_some() { usize::MAX } else { 110 }).collect();
        writeln!(out, "{verdict:<8}{over_low:<10}{truth:<39}{program:<60} {cut}").unwrap();
        if let Some(wrong) = wrong {
            writeln!(out, "        {wrong}").unwrap();
        }
    }
    out
}
