//! Text of the contents of objects: an object is a column, a field a line.

use super::terminal::{Look, shown_id};
use heaplake_kit::text::{count, shorten, size};
use heaplake_query::object::{Field, Objects, Value};

/// Maximum characters of a name, and of a value.
const NAME: usize = 28;
const VALUE: usize = 34;
/// Maximum characters of a value that is alone on its line.
const ALONE: usize = 100;

/// Text of the objects and their fields. A line that differs between them begins with a mark.
pub fn text(answer: &Objects, _look: &Look) -> String {
    let objects = &answer.objects;
    let mut out = String::new();
    for (number, row) in (1..).zip(objects) {
        let name = row.name.as_ref().map_or_else(String::new, |name| format!(" {:?}", shorten(name, 40)));
        let sizes = format!("shallow {}, retained {}", size(row.shallow_bytes), size(row.retained_bytes));
        let class = shorten(&row.class, 60);
        out += &format!("#{number}  node {}: {class}{}{name}, {sizes}\n", row.node, shown_id(row.id));
    }
    if let Some(others) = answer.others.filter(|&others| others > 0) {
        out += &format!("and {} more members\n", count(others));
    }
    if answer.fields.is_empty() {
        return out + "\nThe input has no values of it.\n";
    }
    out += &format!("\n  {:<NAME$}", "");
    for number in 1..=objects.len() {
        out += &format!("  {:<VALUE$}", format!("#{number}"));
    }
    out = out.trim_end().to_owned() + "\n";
    answer.fields.iter().for_each(|field| out += &line(field));
    let differing = answer.fields.iter().filter(|field| !field.same).count();
    match (objects.len(), differing) {
        (1, _) => out,
        (_, 0) => out + "\nNo field differs. References to members of one set count as equal.\n",
        _ => out + "\n* differs. References to members of one set count as equal.\n",
    }
}

fn line(field: &Field) -> String {
    let width = if field.values.len() == 1 { ALONE } else { VALUE };
    let mark = if field.values.len() == 1 || field.same { ' ' } else { '*' };
    let mut line = format!("{mark} {:<NAME$}", shorten(&field.name, NAME));
    for value in &field.values {
        let shown = value.as_ref().map_or_else(|| "-".to_owned(), cell);
        line += &format!("  {:<width$}", shorten(&shown, width));
    }
    line.trim_end().to_owned() + "\n"
}

/// Text of a value: a reference has class and node number, then the text of its target.
fn cell(value: &Value) -> String {
    let text = match (&*value.kind, &value.value) {
        ("reference" | "text", Some(text)) => Some(format!("{text:?}")),
        ("null", _) => Some("null".to_owned()),
        ("reference", None) => None,
        (_, Some(text)) => Some(text.clone()),
        (_, None) => Some("(not in the input)".to_owned()),
    };
    let to = value.to.map(|to| format!("{} #{to}", value.class.as_deref().unwrap_or("node")));
    match (value.kind.as_str(), text, to) {
        ("number", Some(text), _) => text,
        (_, Some(text), Some(to)) => format!("{text} {to}"),
        (_, Some(text), None) => text,
        (_, None, to) => to.unwrap_or_default(),
    }
}
