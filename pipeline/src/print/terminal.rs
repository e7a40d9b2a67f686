//! Capabilities of standard output: its width, and whether to use colours.

use clap::ValueEnum;
use heaplake_kit::text::{middle, shorten, visible, visible_lines};
use heaplake_schemas::findings::Severity;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::sync::OnceLock;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set; with CLICOLOR_FORCE anywhere.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The user's choice.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Sets the choice for the whole process; the first call counts.
pub fn choose(colour: Colour) {
    let _ = CHOSEN.set(colour);
}

/// Minimum width: narrower lines are unreadable.
const NARROWEST: usize = 60;

/// Minimum characters of a text in the shortest line.
const SHORTEST: usize = 12;

/// Style of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters of a line; `None` for lines of any length.
    pub width: Option<usize>,
    /// Whether to use colours.
    pub colour: bool,
}

impl Look {
    /// Lines of any length, no colours: the style of files and pipes.
    pub const PLAIN: Self = Self { width: None, colour: false };

    /// Style of standard output.
    pub fn stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let colour = wants_colour(CHOSEN.get().copied().unwrap_or_default(), terminal, |name| env::var(name).ok());
        let told = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let measured = || terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
        let width = told.or_else(measured).filter(|&width| width > 0);
        Self { width: width.map(|width| width.max(NARROWEST)), colour }
    }

    /// Shortens a text: in the middle, to the rest of a line after `used` characters; in a line of any length, at the
    /// end, to `most` characters.
    pub fn fit(&self, text: &str, used: usize, most: usize) -> String {
        match self.width {
            Some(width) => middle(text, width.saturating_sub(used).max(SHORTEST).min(most)),
            None => shorten(text, most),
        }
    }

    /// Wraps a paragraph; lines after the first begin with `indent` spaces. `used` characters precede the first.
    pub fn wrap(&self, text: &str, used: usize, indent: usize) -> String {
        let text = visible(text);
        let Some(width) = self.width else { return text };
        let (mut out, mut at) = (String::new(), used);
        for word in text.split(' ') {
            let length = word.chars().count();
            let first = at == used && out.is_empty();
            if !first && at + 1 + length > width && at > indent {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                at = indent;
            } else if !first {
                out.push(' ');
                at += 1;
            }
            out += word;
            at += length;
        }
        out
    }

    /// Indentation of a tree level. It is limited to a fifth of the line, which leaves space for texts.
    pub fn indent(&self, level: usize) -> String {
        let deepest = self.width.map_or(DEEPEST, |width| (width / 10).min(DEEPEST));
        "  ".repeat(level.min(deepest))
    }

    /// Name of a severity in capitals, `width` characters wide.
    pub fn severity(&self, severity: Severity, width: usize) -> String {
        let code = match severity {
            Severity::High => "1;31",
            Severity::Medium => "33",
            Severity::Low => "36",
        };
        self.painted(&format!("{:<width$}", severity.name().to_uppercase()), code)
    }

    /// Paints a text in a colour given by its terminal code. [`shown`] turns it into escape sequences.
    pub fn painted(&self, text: &str, code: &str) -> String {
        let mark = mark();
        if self.colour { format!("{mark}{code}m{text}{mark}0m") } else { text.to_owned() }
    }
}

/// Placeholder for the beginning of an escape sequence until a text is [`shown`]. It is random per process, so that no
/// text of a snapshot can contain it.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{1b}{:016x}[", RandomState::new().hash_one("mark")))
}

/// Renders a text for the terminal: with [painted](Look::painted) colours, and no other escape sequences.
pub fn shown(text: &str) -> String {
    let mut pieces = text.split(mark());
    let mut out = visible_lines(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (code, rest) = piece.split_once('m').unwrap_or(("0", piece));
        out += &format!("\u{1b}[{code}m{}", visible_lines(rest));
    }
    out
}

/// Id of an object, after its class; empty for artificial ids, such as the root's in some formats.
pub fn shown_id(id: Option<u64>) -> String {
    const LARGEST: u64 = u64::MAX >> 1;
    id.filter(|&id| id <= LARGEST).map_or_else(String::new, |id| format!(" @{id}"))
}

/// Maximum indented levels of a tree in a line of any length.
const DEEPEST: usize = 20;

/// Whether to use colours: <https://no-color.org> and <https://bixense.com/clicolors>.
fn wants_colour(chosen: Colour, terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value == wanted);
    match chosen {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if set("NO_COLOR") => false,
        Colour::Auto if set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
        Colour::Auto => terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_choice_the_variables_and_the_terminal() {
        let wants = |chosen, terminal, set: &[(&str, &str)]| {
            let variable =
                |name: &str| set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
            wants_colour(chosen, terminal, variable)
        };
        assert!(wants(Colour::Auto, true, &[]) && !wants(Colour::Auto, false, &[]));
        assert!(!wants(Colour::Auto, true, &[("NO_COLOR", "1")]) && wants(Colour::Auto, true, &[("NO_COLOR", "")]));
        assert!(wants(Colour::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!wants(Colour::Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!wants(Colour::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!wants(Colour::Auto, true, &[("CLICOLOR", "0")]) && !wants(Colour::Auto, true, &[("TERM", "dumb")]));
        assert!(wants(Colour::Always, false, &[("NO_COLOR", "1")]));
        assert!(!wants(Colour::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn texts_fit_into_the_line() {
        let narrow = Look { width: Some(60), colour: false };
        assert_eq!(narrow.fit(&"ab".repeat(40), 40, 80).chars().count(), 20);
        assert_eq!(narrow.fit("short", 40, 80), "short");
        assert_eq!(Look::PLAIN.fit(&"a".repeat(90), 40, 80).chars().count(), 80);
        let text = "word ".repeat(40);
        let wrapped = narrow.wrap(text.trim(), 10, 4);
        for (at, line) in wrapped.lines().enumerate() {
            let used = if at == 0 { 10 } else { 0 };
            assert!(line.chars().count() + used <= 60 && (at == 0 || line.starts_with("    word")), "{line:?}");
        }
        assert_eq!(wrapped.split_whitespace().count(), 40);
        // A word longer than any line stays whole: it may be a path or a command.
        let long = "x".repeat(100);
        assert_eq!(narrow.wrap(&format!("a {long} b"), 4, 4), format!("a\n    {long}\n    b"));
        assert_eq!((narrow.indent(3).len(), narrow.indent(50).len()), (6, 12));
    }

    #[test]
    fn only_what_was_painted_is_obeyed() {
        let colours = Look { width: None, colour: true };
        let text = format!("a\u{1b}[31mb\n{}\u{9b}2J\u{202e}", colours.painted("c\u{1b}]0;x\u{7}", "33"));
        assert_eq!(shown(&text), "a\\u{1b}[31mb\n\u{1b}[33mc\\u{1b}]0;x\\u{7}\u{1b}[0m\\u{9b}2J\\u{202e}");
    }

    #[test]
    fn severities_are_painted_only_with_colours() {
        let colours = Look { width: None, colour: true };
        assert_eq!(shown(&colours.severity(Severity::High, 6)), "\u{1b}[1;31mHIGH  \u{1b}[0m");
        assert_eq!(Look::PLAIN.severity(Severity::Medium, 6), "MEDIUM");
    }
}
