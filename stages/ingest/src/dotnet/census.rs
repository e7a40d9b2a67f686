//! Sizes of the walks in a trace, without recording them.

use super::document::FIRST;
use super::events::{Kind, Series, Walker};
use super::log;
use crate::format::Estimate;
use heaplake_input::bytes::Bytes;
use heaplake_input::nettrace::{self, Around, Cursor, Events, Stacks, Trace, payload};
use heaplake_input::profiler_log;
use heaplake_input::source::Source;
use heaplake_kit::{Context, StageError};

/// Estimates the size of the largest walk of a trace, which it reads to its end.
pub(crate) fn estimate(source: Source, context: &Context<'_>) -> Result<Estimate, StageError> {
    let mut bytes = Bytes::new(source, context);
    if bytes.peek()? == profiler_log::MAGIC.first().copied() {
        return log::estimate(&mut bytes);
    }
    let mut census = Census::default();
    nettrace::read(&mut bytes, &mut census, &context.budget)?;
    census.end();
    let (objects, edges) = census.most;
    Ok(Estimate { nodes: objects + u64::from(FIRST), edges, exact: true })
}

#[derive(Default)]
struct Census {
    nodes: u64,
    edges: u64,
    most: (u64, u64),
}

impl Census {
    fn end(&mut self) {
        self.most = self.most.max((std::mem::take(&mut self.nodes), std::mem::take(&mut self.edges)));
    }
}

impl Events for Census {
    type Kind = Kind;

    fn kind(provider: &str, event: u32, version: u32) -> Option<Kind> {
        <Walker<'_> as Events>::kind(provider, event, version)
    }

    fn trace(&mut self, _: &Trace) {}

    fn event(&mut self, kind: Kind, bytes: &[u8], _: Around, _: &mut Stacks<'_>) -> Result<bool, StageError> {
        let count = || payload::Bulk::read(&mut Cursor(bytes), true).map(|bulk| u64::from(bulk.count));
        match kind {
            Kind::Numbered(Series::Nodes) => self.nodes += count().unwrap_or(0),
            Kind::Numbered(Series::Edges | Series::Roots) => self.edges += count().unwrap_or(0),
            Kind::End => self.end(),
            _ => {}
        }
        Ok(true)
    }
}
