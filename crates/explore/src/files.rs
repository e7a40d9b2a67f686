//! The files of the page, as they are served. Nothing is read from disk.
//!
//! Elements, sizes, colours and steps of paths come from the files of the report, so that both look and behave alike.

/// Path and type of a file, and its content.
type File = (&'static str, &'static str, &'static str);

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page.
pub const PAGE: &str = include_str!("../assets/index.html");

/// Scripts that the report has too, as a module.
const SHARED: &str = concat!(
    include_str!("../../report/assets/elements.js"),
    include_str!("../../report/assets/steps.js"),
    "export { bar, byId, capital, clauses, colorOf, count, dark, drawing, el, flat, name, pathOf, plural, ranked, size, soft };\n"
);

macro_rules! script {
    ($name:literal) => {
        (concat!("/assets/", $name), SCRIPT, include_str!(concat!("../assets/", $name)))
    };
}

const FILES: [File; 18] = [
    ("/assets/report.css", STYLE, include_str!("../../report/assets/report.css")),
    ("/assets/explore.css", STYLE, include_str!("../assets/explore.css")),
    ("/assets/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/assets/shared.js", SCRIPT, SHARED),
    script!("main.js"),
    script!("ask.js"),
    script!("route.js"),
    script!("parts.js"),
    script!("table.js"),
    script!("tree.js"),
    script!("treemap.js"),
    script!("lake.js"),
    script!("run.js"),
    script!("lists.js"),
    script!("class.js"),
    script!("object.js"),
    script!("several.js"),
    script!("sql.js"),
];

/// Type and content of a file, by its path.
#[must_use]
pub fn file(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(name, ..)| *name == path).map(|(_, kind, content)| (*kind, *content))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files that a module or the page names.
    fn named(text: &str) -> Vec<String> {
        let parts = text.split('"').filter(|part| part.starts_with("./") || part.starts_with("assets/"));
        parts.map(|part| format!("/assets/{}", part.trim_start_matches("./").trim_start_matches("assets/"))).collect()
    }

    #[test]
    fn whatever_is_named_is_served() {
        let mut seen = named(PAGE);
        let mut at = 0;
        while let Some(path) = seen.get(at).cloned() {
            let (_, content) = file(&path).unwrap_or_else(|| panic!("{path} is missing"));
            for more in named(content) {
                if !seen.contains(&more) {
                    seen.push(more);
                }
            }
            at += 1;
        }
        assert_eq!(seen.len(), FILES.len(), "{seen:?}");
    }

    #[test]
    fn nothing_is_inline_or_from_elsewhere() {
        for bad in ["<style", "style=", " onclick", "javascript:", "<script>", "http:", "https:"] {
            assert!(!PAGE.contains(bad), "{bad}");
        }
        for (path, _, content) in FILES {
            for bad in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "@import", "url("] {
                assert!(!content.contains(bad), "{path}: {bad}");
            }
            let elsewhere = content.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !elsewhere.contains("//www") && !elsewhere.contains("http:") && !elsewhere.contains("https:"),
                "{path}"
            );
        }
    }
}
