//! Metadata of a run, from its description.

use heaplake_schemas::diff::TABLES;
use heaplake_schemas::run::{self, Run};

/// Label for the host.
const HOST: &str = "host";

/// Whether comparisons read a table.
pub fn is_compared(file: &str) -> bool {
    TABLES.iter().any(|table| table.compared.file == file)
}

/// Input format of a run.
pub fn format(run: &Run) -> &str {
    run.replay.as_ref().map_or(&run.summary.format, |replay| &replay.metadata.format)
}

/// Host of a run, from its label.
pub fn host(run: &Run) -> Option<&str> {
    run.options.labels().get(HOST).map(String::as_str)
}

/// Whether a run has a table.
pub fn has_table(run: &Run, file: &str) -> bool {
    run.tables.iter().any(|table: &run::Table| table.file == file)
}

/// Joins the names of hosts or runs with commas, each once; `None` if there are none.
pub(crate) fn names_of(named: &[u32], names: &[String]) -> Option<String> {
    let mut of: Vec<&str> = Vec::new();
    for name in named.iter().filter_map(|&run| names.get(run as usize)) {
        if !of.contains(&name.as_str()) {
            of.push(name);
        }
    }
    (!of.is_empty()).then(|| of.join(", "))
}
