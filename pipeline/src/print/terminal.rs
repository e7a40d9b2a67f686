//! What standard output can show: how wide it is, and whether colours are welcome.

use clap::ValueEnum;
use heaplake_kit::text::{middle, shorten, visible, visible_lines};
use heaplake_schemas::findings::Severity;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::sync::OnceLock;

/// When colours are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set; with CLICOLOR_FORCE anywhere.
    #[default]
    Auto,
    /// Anywhere.
    Always,
    /// Nowhere.
    Never,
}

/// What the user chose.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

/// Takes the user's choice, for the whole process; the first one counts.
pub fn choose(colour: Colour) {
    let _ = CHOSEN.set(colour);
}

/// Narrowest width that texts are fitted to: below it nothing is readable any more.
const NARROWEST: usize = 60;

/// Characters that are left of a text in the shortest line.
const SHORTEST: usize = 12;

/// How texts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters of a line; `None` where lines may have any length.
    pub width: Option<usize>,
    /// Whether colours are welcome.
    pub colour: bool,
}

impl Look {
    /// Lines of any length, no colours: that of files and pipes.
    pub const PLAIN: Self = Self { width: None, colour: false };

    /// That of standard output.
    #[must_use]
    pub fn stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let colour = wants_colour(CHOSEN.get().copied().unwrap_or_default(), terminal, |name| env::var(name).ok());
        let told = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let measured = || terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
        let width = told.or_else(measured).filter(|&width| width > 0);
        Self { width: width.map(|width| width.max(NARROWEST)), colour }
    }

    /// A text in what is left of a line after `used` characters, cut in the middle; of at most `most` characters in a
    /// line of any length, there cut at the end.
    #[must_use]
    pub fn fit(&self, text: &str, used: usize, most: usize) -> String {
        match self.width {
            Some(width) => middle(text, width.saturating_sub(used).max(SHORTEST).min(most)),
            None => shorten(text, most),
        }
    }

    /// A paragraph whose lines after the first begin with `indent` spaces. `used` characters stand before the first.
    #[must_use]
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

    /// The indentation of a level of a tree. It stops growing at a fifth of the line, so that the texts keep theirs.
    #[must_use]
    pub fn indent(&self, level: usize) -> String {
        let deepest = self.width.map_or(DEEPEST, |width| (width / 10).min(DEEPEST));
        "  ".repeat(level.min(deepest))
    }

    /// The name of a severity in capitals, `width` characters wide.
    #[must_use]
    pub fn severity(&self, severity: Severity, width: usize) -> String {
        let code = match severity {
            Severity::High => "1;31",
            Severity::Medium => "33",
            Severity::Low => "36",
        };
        self.painted(&format!("{:<width$}", severity.name().to_uppercase()), code)
    }

    /// A text in a colour of the terminal, given by its code. The [`shown`] text has it.
    #[must_use]
    pub fn painted(&self, text: &str, code: &str) -> String {
        let mark = mark();
        if self.colour { format!("{mark}{code}m{text}{mark}0m") } else { text.to_owned() }
    }
}

/// What stands for the beginning of an escape sequence until a text is shown. It is drawn by lot once for the process,
/// so that no text of a snapshot can hold it.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{1b}{:016x}[", RandomState::new().hash_one("mark")))
}

/// A text as the terminal gets it: colours that were [painted](Look::painted), and nothing else that a terminal would
/// obey.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut pieces = text.split(mark());
    let mut out = visible_lines(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (code, rest) = piece.split_once('m').unwrap_or(("0", piece));
        out += &format!("\u{1b}[{code}m{}", visible_lines(rest));
    }
    out
}

/// An object's id behind its class: nothing for one that is made up, as that of the root of some formats.
#[must_use]
pub fn shown_id(id: Option<u64>) -> String {
    const LARGEST: u64 = u64::MAX >> 1;
    id.filter(|&id| id <= LARGEST).map_or_else(String::new, |id| format!(" @{id}"))
}

/// Levels of a tree that are indented in a line of any length.
const DEEPEST: usize = 20;

/// Whether colours are welcome: <https://no-color.org> and <https://bixense.com/clicolors>.
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
        // A word that is longer than any line stays whole: it may be a path or a command.
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
