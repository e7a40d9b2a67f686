//! The page: styles, script and data in one file that loads nothing.
//!
//! Data is JSON in an element that browsers do not execute. The page's script inserts it as text, never as markup. A
//! content security policy allows, by hash, only the two scripts that are part of heaplake, and forbids every request:
//! should a name from a snapshot ever escape, it can do nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const TEMPLATE: &str = include_str!("../assets/report.html");
const STYLE: &str = include_str!("../assets/report.css");
/// One script of several files in a scope of its own.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../assets/elements.js"),
    include_str!("../assets/common.js"),
    include_str!("../assets/report.js"),
    include_str!("../assets/holders.js"),
    include_str!("../assets/steps.js"),
    include_str!("../assets/findings.js"),
    include_str!("../assets/duplicates.js"),
    include_str!("../assets/flame.js"),
    include_str!("../assets/trace.js"),
    include_str!("../assets/alive.js"),
    include_str!("../assets/old_objects.js"),
    include_str!("../assets/begin.js"),
    "})();\n"
);
/// Script of a comparison's page.
const COMPARISON: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../assets/elements.js"),
    include_str!("../assets/common.js"),
    include_str!("../assets/rows.js"),
    include_str!("../assets/comparison.js"),
    include_str!("../assets/growth.js"),
    "})();\n"
);
/// Script of a trend's page.
const TREND: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../assets/elements.js"),
    include_str!("../assets/common.js"),
    include_str!("../assets/rows.js"),
    include_str!("../assets/series.js"),
    "})();\n"
);
/// Script of a fleet's page.
const FLEET: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../assets/elements.js"),
    include_str!("../assets/common.js"),
    include_str!("../assets/fleet.js"),
    "})();\n"
);
/// Apache ECharts, with a treemap only.
const CHARTS: &str = include_str!("../assets/echarts.min.js");

/// Page of a run. `title` and data are untrusted; `charts` is needed for a treemap only.
pub fn html(title: &str, json: &str, charts: bool) -> String {
    filled(title, json, charts, SCRIPT)
}

/// Page of a comparison; see [`html`].
pub fn of_comparison(title: &str, json: &str, charts: bool) -> String {
    filled(title, json, charts, COMPARISON)
}

/// Page of a trend; see [`html`].
pub fn of_trend(title: &str, json: &str) -> String {
    filled(title, json, false, TREND)
}

/// Page of a fleet; see [`html`].
pub fn of_fleet(title: &str, json: &str) -> String {
    filled(title, json, false, FLEET)
}

fn filled(title: &str, json: &str, charts: bool, script: &str) -> String {
    let charts = if charts { CHARTS } else { "" };
    let hashes: Vec<String> = [charts, script].iter().map(|script| format!("'sha256-{}'", sha256(script))).collect();
    let policy = format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        hashes.join(" ")
    );
    let mut page = String::with_capacity(TEMPLATE.len() + STYLE.len() + script.len() + charts.len() + json.len());
    // Substituted text is not searched for marks.
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let (mark, after) = after.split_once("}}").unwrap_or((after, ""));
        match mark {
            "policy" => page += &policy,
            "title" => page += &markup(title),
            "style" => page += STYLE,
            "data" => page += &harmless(json),
            "charts" => page += charts,
            "script" => page += script,
            _ => {}
        }
        rest = after;
    }
    page + rest
}

fn sha256(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

/// Escapes JSON so that it contains no markup and no line terminator of JavaScript; the value is unchanged.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // These occur only in strings, where an escape is equivalent.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out += &format!("\\u{:04x}", u32::from(c)),
            _ => out.push(c),
        }
    }
    out
}

/// Escapes text as content of an element.
fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_data_stays_data() {
        let bad = "</script><script>alert(1)</script><!--\u{2028}{{script}}";
        let page = html(bad, &serde_json::to_string(bad).unwrap_or_default(), true);
        assert_eq!(page.matches("</script>").count(), 3);
        assert_eq!(page.matches("<script").count(), 3);
        let begin = page.find("type=\"application/json\">").map(|at| at + 24).unwrap_or_default();
        let data = &page[begin..begin + page[begin..].find("</script>").unwrap_or_default()];
        assert_eq!(serde_json::from_str::<String>(data).ok().as_deref(), Some(bad));
        assert!(!data.contains(['<', '>', '&', '\u{2028}']));
    }

    #[test]
    fn nothing_in_it_ends_it() {
        for part in [CHARTS, SCRIPT, COMPARISON, TREND, FLEET, STYLE] {
            // The first two end an element, the other two change its end.
            for end in ["</script", "</style", "<script", "<!--"] {
                assert!(!part.to_lowercase().contains(end), "{end}");
            }
        }
    }

    #[test]
    fn it_asks_for_nothing() {
        let page = html("a", "{}", true);
        assert!(page.contains("default-src 'none'"));
        for ask in ["src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
            for part in [SCRIPT, COMPARISON, TREND, FLEET, STYLE, TEMPLATE] {
                assert!(!part.contains(ask), "{ask}");
            }
        }
    }
}
