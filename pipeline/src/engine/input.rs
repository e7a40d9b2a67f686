//! Opens an input and recognises its format.

use super::registry::{self, Entry};
use super::request::Request;
use crate::diagnostic::Diagnostic;
use crate::inputs::{Wanted, check};
use heaplake_ingest::{FORMATS, Format};
use heaplake_input::source::{Opened, Source};
use heaplake_kit::Context;
use heaplake_kit::Setting;
use heaplake_kit::stage::Handover;
use heaplake_schemas::options::Options;

/// The stages of an input, and the input for the first one.
pub struct Known {
    /// Format of a snapshot; `None` for a trace, which its reader recognises.
    pub format: Option<&'static dyn Format>,
    /// The opened input; empty if an earlier run has read it.
    pub input: Handover,
}

impl Known {
    /// Opens an input, unless `is_done` reports that its reader finished in an earlier run. Refuses an input that is
    /// unreadable, damaged at its beginning, or of an unknown format.
    pub fn open(request: &Request, context: &Context<'_>, is_done: impl Fn(&str) -> bool) -> Result<Self, Diagnostic> {
        let Request { input, options, .. } = request;
        let snapshot = options.analysis().is_some();
        let formats = FORMATS.into_iter().map(Some).filter(|_| snapshot).chain((!snapshot).then_some(None));
        let was_read = |format: &Option<&'static dyn Format>| {
            registry::entries(*format).first().is_some_and(|reader| is_done(reader.stage.name))
        };
        if let Some(format) = formats.into_iter().find(was_read) {
            return Ok(Self { format, input: Handover::nothing() });
        }
        let source = Source::open_with(input, context.threads, &context.budget)?;
        let mut source = source.allowing_bombs(request.allow_bomb);
        let beginning = source.peek(context)?;
        check(&input.name(), beginning, if snapshot { Wanted::Snapshots } else { Wanted::Traces })?;
        let format = snapshot.then(|| heaplake_ingest::of(beginning));
        if let Some(format) = format.filter(|format| !format.masks_texts()) {
            refuse_unmasked(&input.name(), format, options)?;
        }
        Ok(Self { format, input: Handover::of(Opened { input: input.clone(), source }) })
    }

    /// Stages of its format, in order.
    pub fn entries(&self) -> Vec<Entry> {
        registry::entries(self.format)
    }

    /// Setting of a run on it.
    pub fn setting<'a>(&self, options: &'a Options) -> Setting<'a> {
        setting(self.format, options)
    }
}

/// Refuses a format whose texts cannot be masked, if the run must not hold them.
fn refuse_unmasked(name: &str, format: &dyn Format, options: &Options) -> Result<(), Diagnostic> {
    if options.analysis_or_default().texts.is_full() {
        return Ok(());
    }
    let maskable: Vec<&str> =
        FORMATS.iter().filter(|format| format.masks_texts()).map(|format| format.name()).collect();
    let cause = format!("{name}: --texts cannot mask the texts of this format, {}", format.name());
    Err(Diagnostic::failed(
        cause,
        format!("leave --texts out if the lake may hold them; it masks: {}", maskable.join(", ")),
    ))
}

/// Setting of a run on a format, or of the replay of a trace.
pub fn setting<'a>(format: Option<&'static dyn Format>, options: &'a Options) -> Setting<'a> {
    Setting { options, follows_essential: format.is_some_and(Format::follows_essential) }
}
