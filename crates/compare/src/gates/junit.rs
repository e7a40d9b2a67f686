//! Verdicts as JUnit XML, which build servers show as tests.

use super::verdict::{MatchedRow, Outcome, Verdict, Verdicts, change, percent, quantity};
use heaplake_schemas::comparison::Missed;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Error, Writer};
use std::io;

/// Name of the suite.
const SUITE: &str = "heaplake gates";

/// Returns a file with one suite and one case per gate: a failure with rows, or an error if the table is missing. Each
/// missed run is a case with an error too.
pub fn junit(verdicts: &Verdicts) -> io::Result<String> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut xml, verdicts).map_err(io::Error::other)?;
    let text = String::from_utf8(xml.into_inner()).map_err(io::Error::other)?;
    Ok(text + "\n")
}

type Xml = Writer<Vec<u8>>;

fn write(xml: &mut Xml, verdicts: &Verdicts) -> Result<(), Error> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = [
        ("tests", verdicts.gates.len() + verdicts.missed.len()),
        ("failures", verdicts.with(Outcome::Failed)),
        ("errors", verdicts.with(Outcome::Unknown) + verdicts.with(Outcome::Undecided) + verdicts.missed.len()),
    ]
    .map(|(name, number)| (name, number.to_string()));
    for element in ["testsuites", "testsuite"] {
        let mut start = BytesStart::new(element);
        start.push_attribute(("name", SUITE));
        counts.iter().for_each(|(name, number)| start.push_attribute((*name, &**number)));
        xml.write_event(Event::Start(start))?;
    }
    verdicts.gates.iter().try_for_each(|gate| case(xml, gate))?;
    verdicts.missed.iter().try_for_each(|missed| not_seen(xml, missed))?;
    for element in ["testsuite", "testsuites"] {
        xml.write_event(Event::End(BytesEnd::new(element)))?;
    }
    Ok(())
}

fn case(xml: &mut Xml, gate: &Verdict) -> Result<(), Error> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", &*format!("heaplake.{}", gate.table)));
    start.push_attribute(("name", &*clean(&gate.name)));
    xml.write_event(Event::Start(start))?;
    let (message, text) = (gate.headline(), details(gate));
    match gate.outcome {
        Outcome::Passed => element(xml, "system-out", None, &format!("{message}\n{text}"))?,
        Outcome::Failed => element(xml, "failure", Some(&message), &text)?,
        Outcome::Unknown | Outcome::Undecided => element(xml, "error", Some(&message), &text)?,
    }
    xml.write_event(Event::End(BytesEnd::new("testcase"))).map_err(Error::from)
}

fn not_seen(xml: &mut Xml, Missed { path, problem }: &Missed) -> Result<(), Error> {
    let (path, message) = (path.display().to_string(), format!("not seen: {problem}"));
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", "heaplake.runs"));
    start.push_attribute(("name", &*clean(&path)));
    xml.write_event(Event::Start(start))?;
    element(xml, "error", Some(&message), &format!("{path}: {message}"))?;
    xml.write_event(Event::End(BytesEnd::new("testcase"))).map_err(Error::from)
}

fn element(xml: &mut Xml, name: &str, message: Option<&str>, text: &str) -> Result<(), Error> {
    let mut start = BytesStart::new(name);
    if let Some(message) = message {
        start.push_attribute(("message", &*clean(message)));
    }
    xml.write_event(Event::Start(start))?;
    xml.write_event(Event::Text(BytesText::new(&clean(text))))?;
    xml.write_event(Event::End(BytesEnd::new(name)))?;
    Ok(())
}

fn details(gate: &Verdict) -> String {
    let mut lines = vec![format!("fail if, in {}: {}", gate.table, gate.expression)];
    lines.extend(gate.message.clone());
    lines.extend(gate.remarks());
    lines.extend(gate.found.iter().map(row));
    if gate.failing > gate.found.len() as u64 {
        lines.push(format!("… and {} more", gate.failing - gate.found.len() as u64));
    }
    lines.join("\n")
}

fn row(found: &MatchedRow) -> String {
    let amount =
        |value: Option<i64>| value.map_or_else(|| "?".to_owned(), |value| quantity(found.measure, value as f64));
    let delta = found.delta.map_or_else(|| "?".to_owned(), |delta| change(found.measure, delta));
    let percent = found.percent.map_or_else(String::new, |part| format!(", {}", percent(part)));
    let q = found.q.map_or_else(String::new, |q| format!(", q {q:.2e}"));
    let through = found.grew_through.as_ref().map_or_else(String::new, |chain| format!("\n    through {chain}"));
    format!(
        "{}: {} {} → {} ({delta}{percent}{q}), {}{through}",
        found.subject,
        found.measure,
        amount(found.base),
        amount(found.target),
        found.status
    )
}

/// Replaces characters that XML 1.0 cannot hold.
fn clean(text: &str) -> String {
    let allowed = |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if allowed(c) { c } else { '\u{fffd}' }).collect()
}
