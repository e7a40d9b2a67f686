//! The search of a heap: its texts, the fields whose names tell, strings of several pieces; then who holds them.

use super::held::Holders;
use crate::diagnostic::Diagnostic;
use heaplake_kit::{BudgetVec, Context, StageError};
use heaplake_names::Runtime;
use heaplake_query::Asked;
use heaplake_query::shortest::Paths;
use heaplake_redact::{self as redact, Content, Format};
use heaplake_schemas::{edges, nodes};
use heaplake_secrets::java::{self, Texts};
use heaplake_secrets::report::{self, Mask, Report, Searched};
use heaplake_secrets::tables::{self, Candidates, Held, Nodes, Row, Tables};
use heaplake_secrets::{Hit, Hits, Matcher, Tagger, v8};
use std::path::{Path, PathBuf};

/// Bytes of a row, with the steps above it that no other row has.
const HELD: u64 = 400;

/// Formats of files, for messages.
const FORMATS: &str = "name a .heapsnapshot of V8 or a .hprof of Java";

/// The secrets of a heap, and what was searched.
struct Found {
    rows: Vec<Row>,
    labels: Vec<String>,
    searched: Searched,
}

/// Searches a heap: the graph of a run, and the texts of a file, or of the run without one. `target` is its name.
pub(super) fn search(
    asked: &Asked,
    target: &Path,
    mut content: Option<&mut Content>,
    matcher: &Matcher,
    context: &Context<'_>,
) -> Result<Report, Diagnostic> {
    let tagger = Tagger::default();
    let paths: (PathBuf, Option<PathBuf>) = (asked.need(&nodes::TABLE)?, asked.need(&edges::TABLE).ok());
    let is_v8 = Runtime::of_format(&asked.run().summary.format) == Runtime::V8;
    let tables = Tables { nodes: &paths.0, edges: paths.1.as_deref(), is_v8, matcher };
    let mut found = found(&tables, content.as_deref_mut(), &tagger, context)?;
    // The graph and the texts must be those of one file.
    if let Some(identity) = content.as_ref().and_then(|content| content.identity())
        && identity.hash != asked.run().input_hash
    {
        return Err(StageError::changed(&target.display().to_string()).into());
    }
    // Predecessors of all nodes, and rows with the steps above them.
    let _paths = context.budget.reserve("paths", 9 * asked.run().summary.node_count)?;
    let _rows = context.budget.reserve("holders", HELD * found.rows.len() as u64)?;
    let mut mask = Mask::new(matcher, &tagger, &found.rows, is_v8);
    let paths_up = Paths::read(asked)?;
    let holders = Holders::read(&paths_up, &found.rows, is_v8)?;
    holders.settle(&mut found.rows, |row| matcher.rule(row.rule).severity);
    let mut findings = report::findings(&found.rows, matcher, |row| {
        holders.holder(row, &found.labels, &mut |name: &str| mask.name(name))
    });
    holders.add_paths(&mut findings, &mut |name: &str| mask.name(name))?;
    if paths.1.is_none() {
        found.searched.notes.push(
            "the run has no table of edges: fields by their names and pieces of strings were not looked at, and paths are \
             dominators"
                .to_owned(),
        );
    }
    if asked.run().summary.partial.is_some() {
        found.searched.notes.push("the run covers its input only in part".to_owned());
    }
    found.searched.notes.extend(matcher.remarks().iter().map(|remark| format!("rules: {remark}")));
    Ok(Report {
        input: target.display().to_string(),
        format: asked.run().summary.format.clone(),
        rules: matcher.rules().len(),
        searched: found.searched,
        findings,
    })
}

/// Finds the secrets.
fn found(
    tables: &Tables<'_>,
    content: Option<&mut Content>,
    tagger: &Tagger,
    context: &Context<'_>,
) -> Result<Found, StageError> {
    let budget = &context.budget;
    let mut own = Hits::new(tagger, budget);
    let mut keys = Hits::new(tagger, budget);
    let is_own = content.is_none();
    let nodes = tables::nodes(tables, is_own.then_some(&mut own), context)?;
    let (nodes, mut candidates) = tables::edges(tables, nodes, &mut keys, context)?;
    candidates.pieces.read(tables.nodes, context)?;
    candidates.pieces.search(tables.matcher, &mut own, context)?;
    let mut arrays = Texts::default();
    let mut searched = Searched { whole: !is_own, ..Searched::default() };
    let texts = match content {
        Some(content) => {
            let (hits, count) = of_content(tables, content, (&nodes, &candidates, &mut arrays), tagger, context)?;
            searched.texts = count;
            Some(hits)
        }
        None => {
            searched.texts = nodes.texts();
            None
        }
    };
    searched.notes = notes(tables, is_own, candidates.pieces.is_cut);
    let values = tables::values(tables, &candidates, &arrays, tagger, budget)?;
    let of = |hits: &[Hit], held| hits.iter().filter_map(|hit| Row::of(hit, held)).collect::<Vec<_>>();
    let texts = texts.map_or_else(Vec::new, |hits| of(&hits, Held::Text));
    let mut rows = [of(&own.finish(), Held::Text), texts, of(&keys.finish(), Held::Key), values.to_vec()].concat();
    rows.sort_unstable();
    rows.dedup();
    Ok(Found { rows, labels: candidates.labels, searched })
}

/// Searches the texts of a file; returns the nodes that have secrets, and the number of texts.
fn of_content(
    tables: &Tables<'_>,
    content: &mut Content,
    (nodes, candidates, arrays): (&Nodes, &Candidates, &mut Texts),
    tagger: &Tagger,
    context: &Context<'_>,
) -> Result<(BudgetVec<Hit>, u64), StageError> {
    let mut hits = Hits::new(tagger, &context.budget);
    match redact::format(content, FORMATS, context)? {
        Format::V8 => {
            let count = v8::strings(content, tables.matcher, &mut hits, context)?;
            Ok((v8::nodes(content, &mut hits.finish(), context)?, count))
        }
        Format::Java => {
            *arrays = tables::arrays(tables, nodes, candidates)?;
            let count = java::arrays(content, tables.matcher, &mut hits, arrays, context)?;
            Ok((tables::by_ids(tables, &mut hits.finish(), &context.budget)?, count))
        }
    }
}

/// The limits of a search.
fn notes(tables: &Tables<'_>, is_own: bool, is_cut: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match (is_own, tables.is_v8) {
        (true, true) => notes.push("texts are those of the run: V8's, cut at 1 MiB".to_owned()),
        (true, false) => notes.push(
            "texts are those of the run: strings, cut at 256 characters; arrays of bytes and characters have none"
                .to_owned(),
        ),
        (false, _) => {}
    }
    if tables.is_v8 {
        notes.push("V8 cuts strings at 1,024 characters when it writes a snapshot".to_owned());
    }
    if is_cut {
        notes
            .push("strings of several pieces were looked at only in part: they are too many for the memory".to_owned());
    }
    notes
}
