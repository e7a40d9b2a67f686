//! Text of the answer to `heaplake secrets`.

use super::terminal::Look;
use heaplake_kit::text::{count, shorten, visible};
use heaplake_secrets::report::{Finding, Report};

/// Characters of a holder, and of a path in a line of any length.
const HOLDER: usize = 80;
const PATH: usize = 400;

/// Findings that are shown.
const MOST: usize = 200;

/// Characters before the holder of a line: columns of severity, rule, numbers.
const NUMBERS: usize = 71;

/// The findings, each with its path, and the limits of the search.
pub fn secrets(report: &Report, look: &Look) -> String {
    let Report { rules, searched, findings, .. } = report;
    let input = visible(&report.input);
    let searched_texts = format!("{} texts, {rules} rules", count(searched.texts));
    let mut text = if findings.is_empty() {
        format!("{input}: no secrets found ({searched_texts})\n")
    } else {
        let known = findings.iter().filter(|finding| finding.known).count();
        let known = if known > 0 { format!(", {known} of them known") } else { String::new() };
        let places = if findings.len() == 1 { "place" } else { "places" };
        format!("{input}: secrets at {} {places}{known} ({searched_texts})\n\n", count(findings.len() as u64))
    };
    if !findings.is_empty() {
        text +=
            &format!("  {:<8} {:<26} {:>9} {:>9} {:>9}  holder\n", "severity", "rule", "different", "objects", "bytes");
    }
    findings.iter().take(MOST).for_each(|finding| text += &line(finding, look));
    if findings.len() > MOST {
        text += &format!("  … and {} more: --json has all\n", count((findings.len() - MOST) as u64));
    }
    if !searched.notes.is_empty() {
        text.push('\n');
    }
    for note in &searched.notes {
        text += &format!("note: {}\n", look.wrap(note, 6, 6));
    }
    text
}

fn line(finding: &Finding, look: &Look) -> String {
    let Finding { shortest, longest, rule, holder, .. } = finding;
    let bytes = if shortest == longest { shortest.to_string() } else { format!("{shortest}-{longest}") };
    let known = if finding.known { " (known)" } else { "" };
    let mut text = format!(
        "  {} {:<26} {:>9} {:>9} {bytes:>9}  {}{known}\n",
        look.severity(finding.severity, 8),
        shorten(rule, 26),
        count(finding.distinct),
        count(finding.objects),
        look.fit(holder, NUMBERS, HOLDER),
    );
    if !finding.path.is_empty() {
        let path = format!("{} → node {}", finding.path.join(" → "), finding.node);
        text += &format!("           {}\n", look.fit(&path, 11, PATH));
    }
    text
}
