//! Reads the file of `--gates`.

use super::columns::{self, About};
use super::error::GateError;
use super::parts::Gate;
use heaplake_kit::fs::{TooLong, read_at_most};
use heaplake_kit::text::shorten;
use heaplake_schemas::diff::CLASSES;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum file size in bytes.
const MOST: u64 = 4 << 20;

const ADVICE: &str = "a gate is [[gate]] with name, fail_if, and perhaps table and message";

pub(crate) fn read(path: &Path) -> Result<Vec<Gate>, GateError> {
    let file = path.display().to_string();
    let whole = |problem: String| GateError { cause: format!("{file}: {problem}"), advice: ADVICE.to_owned() };
    let bytes = read_at_most(path, MOST).map_err(|error| match TooLong::is(&error) {
        true => whole(format!("expected at most {MOST} bytes of gates, found more")),
        false => whole(format!("cannot read: {error}")),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count() + 1;
        whole(format!("line {line}: expected UTF-8, found other bytes"))
    })?;
    parse(&file, &text)
}

/// Parses gates; `file` is the name for messages.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Gate>, GateError> {
    let source = Source { file, text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.wrong(at, &format!("expected TOML: {}", error.message().replace('\n', " ")))
    })?;
    let mut gates: Vec<Gate> = Vec::new();
    for (key, value) in table.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("gate", DeValue::Array(items)) => {
                for item in items {
                    let gate = source.gate(item)?;
                    if gates.iter().any(|other| other.name == gate.name) {
                        let problem = format!("expected gates with different names, found {:?} again", gate.name);
                        return Err(source.wrong(item.span().start, &problem));
                    }
                    gates.push(gate);
                }
            }
            ("gate", other) => return source.expected(&value.span(), "[[gate]]", kind(other)),
            (other, _) => return source.expected(&key.span(), "[[gate]]", format!("{other:?}")),
        }
    }
    Ok(gates)
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn gate(&self, item: &Spanned<DeValue<'_>>) -> Result<Gate, GateError> {
        let DeValue::Table(fields) = item.get_ref() else {
            return self.expected(&item.span(), "[[gate]]", kind(item.get_ref()));
        };
        let (mut name, mut message, mut fail_if) = (None, None, None);
        let mut about = About { table: &CLASSES, clusters: false };
        for (key, value) in fields {
            match key.get_ref().as_ref() {
                "name" => name = Some(self.text_of(value)?),
                "message" => message = Some(self.text_of(value)?),
                "table" => about = self.about(value)?,
                "fail_if" => fail_if = Some((self.text_of(value)?, value.span())),
                other => return self.expected(&key.span(), "name, table, fail_if or message", format!("{other:?}")),
            }
        }
        let Some(name) = name else { return self.expected(&item.span(), "a gate with a name", "none") };
        let Some((fail_if, span)) = fail_if else {
            return self.expected(&item.span(), "a gate with fail_if", "none");
        };
        let called = format!("{}: gate {:?}", self.place(span.start), shorten(&name, 60));
        Gate::new(name, about, &fail_if, message, &called)
    }

    fn about(&self, value: &Spanned<DeValue<'_>>) -> Result<About, GateError> {
        let name = self.text_of(value)?;
        columns::table(&name).map_err(|(problem, advice)| GateError {
            cause: format!("{}: {problem}", self.place(value.span().start)),
            advice,
        })
    }

    fn text_of(&self, value: &Spanned<DeValue<'_>>) -> Result<String, GateError> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.clone().into_owned()),
            DeValue::String(_) => self.expected(&value.span(), "a text", "an empty one"),
            other => self.expected(&value.span(), "a text", kind(other)),
        }
    }

    fn place(&self, at: usize) -> String {
        let line = self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1;
        format!("{}: line {line}", self.file)
    }

    fn wrong(&self, at: usize, problem: &str) -> GateError {
        GateError { cause: format!("{}: {problem}", self.place(at)), advice: ADVICE.to_owned() }
    }

    fn expected<T>(&self, span: &Range<usize>, what: &str, found: impl std::fmt::Display) -> Result<T, GateError> {
        Err(self.wrong(span.start, &format!("expected {what}, found {found}")))
    }
}

/// Type of a value, with article.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
