//! Templates of releases and labels: texts with placeholders, such as `web-{stem}`, that each input fills.

use crate::inputs;
use heaplake_input::source::Input;
use std::path::Path;

/// Returns what a placeholder stands for.
type Fill = fn(&Input) -> String;

/// The placeholders.
const PLACEHOLDERS: [(&str, Fill); 3] = [("stem", inputs::stem), ("folder", folder), ("parent", folder)];

/// A part of a template.
enum Part<'a> {
    Text(&'a str),
    Placeholder(Fill),
}

/// Refuses a text with a wrong placeholder.
///
/// # Errors
/// The placeholder, and those that there are.
pub(super) fn check(text: &str) -> Result<(), String> {
    parts(text).map(|_| ())
}

/// Fills a template for an input. A text with a wrong placeholder stays as it is.
pub(super) fn filled(text: &str, input: &Input) -> String {
    let parts = parts(text).unwrap_or_else(|_| vec![Part::Text(text)]);
    let fill = |part: &Part<'_>| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Placeholder(fill) => fill(input),
    };
    parts.iter().map(fill).collect()
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(|| wrong(&format!("{{{after}")))?;
        let known = PLACEHOLDERS.iter().find(|(known, _)| *known == name);
        let (_, fill) = known.ok_or_else(|| wrong(&format!("{{{name}}}")))?;
        parts.extend([Part::Text(before), Part::Placeholder(*fill)]);
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

fn wrong(placeholder: &str) -> String {
    let known = PLACEHOLDERS.map(|(name, _)| format!("{{{name}}}")).join(", ");
    format!("there is no placeholder {placeholder}: use one of {known}")
}

/// Name of the folder of an input; empty for standard input.
fn folder(input: &Input) -> String {
    let Input::File(path) = input else { return String::new() };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let folder = path.parent().and_then(Path::file_name);
    folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let of = |path: &str, text: &str| filled(text, &Input::File(path.into()));
        assert_eq!(of("/n/2.4.1/web7.heapsnapshot.gz", "{folder}-{stem}x"), "2.4.1-web7x");
        assert_eq!(of("/n/{stem}/a.hprof", "{parent}"), "{stem}", "a name of a folder is no template");
        assert_eq!(of("/n/m/a.hprof", "plain"), "plain");
        assert_eq!(filled("{stem}:{folder}", &Input::Stdin), "stdin:");
    }

    #[test]
    fn wrong_placeholders_are_named_with_those_that_there_are() {
        for bad in ["{host}", "a{}", "{stem", "{stem}{Stem}", "{ stem}"] {
            let problem = check(bad).unwrap_err();
            assert!(problem.ends_with("use one of {stem}, {folder}, {parent}"), "{problem}");
        }
        assert!(["", "a}", "{stem}", "x{folder}y{parent}"].iter().all(|good| check(good).is_ok()));
    }
}
