//! How large the walks of a trace are, without taking them.

use super::events::{Kind, Series, Walker};
use crate::source::{Feed, Source};
use heaplake_kit::{Context, StageError};
use heaplake_nettrace::{Around, Bytes, Cursor, Events, Stacks, Trace, payload};

/// Nodes and edges of the largest walk of a trace; reads it to its end.
///
/// # Errors
/// [`StageError::Input`] where the trace is damaged; [`StageError::Io`], [`StageError::Budget`].
pub fn count(source: Source, context: &Context<'_>) -> Result<(u64, u64), StageError> {
    let mut feed = Feed::new(source, context);
    let mut census = Census::default();
    heaplake_nettrace::read(&mut Bytes::new(&mut feed), &mut census, &context.budget)?;
    census.end();
    Ok((census.most.0 + u64::from(super::FIRST), census.most.1))
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
