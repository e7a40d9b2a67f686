//! Lines about the subjects of comparisons, trends and rollups.

use super::terminal::Look;
use heaplake_kit::text::{count, size, visible};

/// Maximum characters of a name in a line of any length.
pub(super) const NAME: usize = 100;

/// Lines of a text.
pub(super) struct Lines<'a> {
    pub out: String,
    pub look: &'a Look,
}

impl<'a> Lines<'a> {
    /// Starts a text.
    pub(super) fn new(look: &'a Look) -> Self {
        Self { out: String::new(), look }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, text: &str) {
        self.out += text;
        self.out.push('\n');
    }

    /// Heading of a table, with its format if the runs have several.
    pub(super) fn heading(&self, table: &str, format: Option<&str>, measure: &str) -> String {
        let what = table.split_once('_').map_or(table, |(_, name)| name).replace('_', " ");
        let of = format.map_or_else(String::new, |format| format!(" of {}", visible(format)));
        format!("{}{of} by {measure}", self.look.painted(&what, "1"))
    }

    /// Adds a line about a subject: a number in the colour of a code, a text between, its name, an ending.
    pub(super) fn subject(&mut self, (number, code): (&str, Option<&str>), between: &str, name: &str, ending: &str) {
        let number = format!("{number:>11}");
        let number = code.map_or_else(|| number.clone(), |code| self.look.painted(&number, code));
        let used = 2 + 11 + 2 + between.chars().count() + ending.chars().count();
        let name = self.look.fit(name, used, NAME);
        self.line(&format!("  {number}  {between}{name}{ending}"));
    }

    /// Adds remarks, one in a paragraph.
    pub(super) fn remarks(&mut self, remarks: &[String]) {
        for remark in remarks {
            let remark = self.look.wrap(remark, 0, 0);
            self.line(&format!("\n{remark}"));
        }
    }
}

/// Magnitude of a measure: a size with its unit, or a count.
pub(super) fn amount(is_size: bool, number: i64) -> String {
    match is_size {
        true => size(number.unsigned_abs()),
        false => count(number.unsigned_abs()),
    }
}

/// The same with its sign.
pub(super) fn change(is_size: bool, number: i64) -> String {
    format!("{}{}", if number < 0 { '-' } else { '+' }, amount(is_size, number))
}
