//! Text of a forecast.

use super::terminal::Look;
use crate::engine::forecast::Forecast;
use heaplake_kit::text::{count, size, visible};
use std::fmt::Write;

/// Renders the forecast of an input of this name as a table.
pub fn text(forecast: &Forecast, input: &str, look: &Look) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = write(forecast, input, look, &mut out);
    out
}

fn write(forecast: &Forecast, input: &str, look: &Look, out: &mut String) -> std::fmt::Result {
    let about = if forecast.estimated { "about " } else { "" };
    let input = visible(input);
    writeln!(out, "{input}: {about}{} nodes, {} edges\n", count(forecast.nodes), count(forecast.edges))?;
    let width = forecast.stages.iter().map(|stage| stage.stage.len()).max().unwrap_or(0);
    writeln!(out, "  {:<width$} {:>12} {:>12} {:>12}  passes", "stage", "wants", "gets", "scratch")?;
    for stage in &forecast.stages {
        let mark = if stage.refused { "!" } else { "*" };
        let given = format!("{}{}", size(stage.given), if stage.paged || stage.refused { mark } else { "" });
        let scratch = if stage.scratch == 0 { "-".to_owned() } else { size(stage.scratch) };
        let (name, wanted) = (&stage.stage, size(stage.wanted));
        let passes = look.fit(stage.passes, width + 43, 200);
        writeln!(out, "  {name:<width$} {wanted:>12} {given:>12} {scratch:>12}  {passes}")?;
    }
    let refused = if forecast.stages.iter().any(|stage| stage.refused) { "; ! cannot do with so little" } else { "" };
    let marks = format!("* pages, because the budget is smaller{refused}");
    writeln!(out, "\nscratch at most {} and the strings; {marks}", size(forecast.scratch))?;
    let verdict = if forecast.memory < forecast.least_memory {
        format!("too little: it needs {} at least", size(forecast.least_memory))
    } else if forecast.memory < forecast.resident_memory {
        format!("enough; from {} on nothing is paged", size(forecast.resident_memory))
    } else {
        "enough for everything to be resident".to_owned()
    };
    writeln!(out, "memory {}: {verdict}", size(forecast.memory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::forecast::Heap;
    use heaplake_ingest::v8::V8;
    use heaplake_schemas::options::{AnalysisOptions, Options};

    #[test]
    fn verdicts_follow_the_budget() {
        let heap = Heap { format: &V8, nodes: 10_000_000, edges: 40_000_000, estimated: false };
        let options = Options::Analysis(AnalysisOptions::default());
        let text = |memory| text(&Forecast::new(&heap, memory, &options), "it", &Look::PLAIN);
        assert!(text(8 << 30).contains("everything to be resident") && !text(8 << 30).contains("MiB*"));
        assert!(text(128 << 20).contains("from ") && text(128 << 20).contains("128.0 MiB*"));
        assert!(text(16 << 20).contains("too little") && text(16 << 20).contains("16.0 MiB!"));
        assert!(!text(128 << 20).contains('!'));
    }
}
