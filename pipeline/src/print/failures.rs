//! Text of the failures of a batch: a table by kind of error.

use super::terminal::Look;
use crate::metrics::tally::Tally;
use heaplake_kit::text::count;
use std::fmt::Write;

/// Maximum characters of the first example.
const EXAMPLE: usize = 200;
/// Characters before the example.
const USED: usize = 22;

/// Kinds of failures with the number of inputs, the first example and what to do; empty without failures.
pub(crate) fn text(tally: &Tally, look: &Look) -> String {
    let mut out = String::new();
    if tally.failed.is_empty() {
        return out;
    }
    // Writing into a string cannot fail.
    let _ = writeln!(out, "\n  {:<11} {:>6}  first example", "error", "inputs");
    for (kind, number) in &tally.failed {
        let Some((cause, advice)) = tally.first.get(kind) else { continue };
        let example = look.fit(cause, USED, EXAMPLE);
        let _ = writeln!(out, "  {:<11} {:>6}  {example}", kind.name(), count(*number));
        let _ = writeln!(out, "{:USED$}-> {}", "", look.wrap(advice, USED + 3, USED + 3));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;

    #[test]
    fn each_kind_has_its_first_example_and_advice() {
        let mut tally = Tally::begin();
        assert_eq!(text(&tally, &Look::PLAIN), "");
        for name in ["a", "b"] {
            tally.fail(&Diagnostic::failed(format!("{name}: refused"), "name another"));
        }
        tally.fail(&heaplake_kit::StageError::Cancelled.into());
        let text = text(&tally, &Look::PLAIN);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "  error       inputs  first example");
        assert_eq!(lines[1], "  refused          2  a: refused");
        assert_eq!(lines[2], format!("{:22}-> name another", ""));
        assert!(lines[3].starts_with("  interrupted      1  ") && lines.len() == 5, "{text}");
    }
}
