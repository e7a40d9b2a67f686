//! The strings of a V8 heap snapshot.
//!
//! * Passes: the header; the whole file, for the strings; its nodes, for those that have a string with a secret.
//! * Resident memory: [`Window`]s, 24 bytes per secret and string, and per secret and node.
//! * Texts are as V8 writes them: current versions cut strings at 1,024 characters.

use crate::hits::{Hit, Hits};
use crate::matching::Matcher;
use crate::window::Window;
use heaplake_input::bytes::Bytes;
use heaplake_input::json::StringSink;
use heaplake_input::numbers::Sign;
use heaplake_kit::{BudgetVec, Context, StageError};
use heaplake_redact::Content;
use heaplake_redact::v8::{HINT, read_header, sections};

/// Searches all strings, whatever uses them. Hits have numbers of strings. Returns the number of strings.
///
/// # Errors
/// [`StageError::Input`] if the file is damaged, [`StageError::Refused`] if it changes meanwhile.
pub fn strings(
    content: &mut Content,
    matcher: &Matcher,
    hits: &mut Hits<'_>,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    context.progress.begin("strings", content.stored_bytes());
    let mut scanner = scanner(content, context)?;
    let mut strings = Strings { window: Window::new(matcher), hits, string: 0 };
    let mut has_strings = false;
    sections(&mut scanner, |key, scanner| {
        if key == b"strings" {
            has_strings = true;
            return scanner.string_array(&mut strings);
        }
        scanner.skip_value()
    })?;
    let count = strings.string;
    if !has_strings {
        return Err(scanner.unexpected("the key \"strings\""));
    }
    scanner.drain()?;
    content.same(scanner.identity())?;
    context.progress.end();
    Ok(count)
}

/// Replaces the numbers of strings by the nodes that have them as their names.
///
/// # Errors
/// As those of [`strings`].
pub fn nodes(content: &Content, hits: &mut [Hit], context: &Context<'_>) -> Result<BudgetVec<Hit>, StageError> {
    hits.sort_unstable();
    let mut found = context.budget.growing("nodes with secrets");
    let header = read_header(&mut scanner(content, context)?)?;
    let (width, _, name) = header.node;
    context.progress.begin("nodes", content.stored_bytes());
    let mut scanner = scanner(content, context)?;
    let (mut is_done, mut node) = (false, 0u64);
    let hits = &*hits;
    let result = sections(&mut scanner, |key, scanner| {
        if key != b"nodes" {
            return scanner.skip_value();
        }
        let has_hit = |string: u64| hits.binary_search_by_key(&string, |hit| hit.object).is_ok();
        scanner.number_columns(
            (width, Sign::Signed),
            |rows, _, chunk: &mut Chunk| {
                for (at, row) in (chunk.rows..).zip(rows.chunks_exact(width)) {
                    if has_hit(row[name]) {
                        chunk.named.push((at, row[name]));
                    }
                }
                chunk.rows += (rows.len() / width) as u64;
                Ok(())
            },
            |chunk| {
                for (at, string) in chunk.named.drain(..) {
                    let first = hits.partition_point(|hit| hit.object < string);
                    for hit in hits[first..].iter().take_while(|hit| hit.object == string) {
                        found.push(Hit { object: node + at, ..*hit })?;
                    }
                }
                node += std::mem::take(&mut chunk.rows);
                Ok(())
            },
        )?;
        is_done = true;
        // Nothing else of this pass matters.
        Err(StageError::Cancelled)
    });
    context.progress.end();
    if is_done { Ok(found) } else { result.and(Err(scanner.unexpected("the key \"nodes\""))) }
}

/// Nodes of a part of the file that have a string with a secret.
#[derive(Default)]
struct Chunk {
    rows: u64,
    /// Row in the part, and string.
    named: Vec<(u64, u64)>,
}

fn scanner<'a>(content: &Content, context: &'a Context<'a>) -> Result<Bytes<'a>, StageError> {
    Ok(Bytes::new(content.source(context)?, context).with_hint(HINT))
}

/// Searches the strings of the table.
struct Strings<'a, 't> {
    window: Window<'a>,
    hits: &'a mut Hits<'t>,
    string: u64,
}

impl StringSink for Strings<'_, '_> {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        let Self { window, hits, string } = self;
        let mut found = |rule: u16, secret: &[u8]| hits.add(*string, rule, secret);
        window.grow(|text| text.extend_from_slice(bytes), &mut found);
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        let Self { window, hits, string } = self;
        window.end(&mut |rule: u16, secret: &[u8]| hits.add(*string, rule, secret));
        self.string += 1;
        self.hits.check()
    }
}
