//! Progress of a run: bars on a terminal, elsewhere a line per stage if the user wants it, nothing when quiet.

use crate::log;
use heaplake_kit::fs::before_thread;
use heaplake_kit::text::visible;
use heaplake_kit::threads::locked;
use heaplake_kit::{Progress, Stats};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// Form of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Bars on standard error.
    Bars,
    /// Lines on standard error: one for a run that goes on, and if the user wants it one per finished stage.
    Lines,
    /// One [JSON object](crate::log) per finished stage on standard error.
    Json,
    /// No progress.
    Quiet,
}

impl Mode {
    /// JSON if the user wants it; else bars on a terminal, and lines elsewhere.
    pub fn choose(quiet: bool) -> Self {
        match quiet {
            true => Self::Quiet,
            false if log::is_json() => Self::Json,
            false if std::io::stderr().is_terminal() => Self::Bars,
            false => Self::Lines,
        }
    }
}

/// Time of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// Elapsed time, seconds.
    pub seconds: f64,
    /// Part of it in code that threads share, measured in the stage's own thread; see [`heaplake_kit::divisible`].
    pub divisible_seconds: f64,
}

/// Display of the progress of one input.
pub struct Display {
    mode: Mode,
    input: String,
    /// The input in JSON: as the user named it.
    named: String,
    bar: Mutex<Option<ProgressBar>>,
}

impl Display {
    /// Display for the input of this name.
    pub fn new(mode: Mode, input: &str) -> Self {
        Self::named(mode, input, input)
    }

    /// Display for an input, with a short name for people.
    pub fn named(mode: Mode, short: &str, named: &str) -> Self {
        Self { mode, input: visible(short), named: visible(named), bar: Mutex::new(None) }
    }

    /// Reports the number of finished stages that an earlier run left.
    pub fn resuming(&self, stages: usize) {
        if stages > 0 && self.mode == Mode::Json {
            tracing::info!(event = "resumed", input = self.named, stages);
        } else if stages > 0 && self.mode != Mode::Quiet {
            let unit = if stages == 1 { "stage" } else { "stages" };
            tracing::info!("{}: going on after {stages} {unit} that an earlier run finished", self.input);
        }
    }

    /// Reports a finished stage, its bytes written, and its time.
    pub fn finished(&self, stage: &str, stats: Stats, bytes: u64, took: Took) {
        let Took { seconds, divisible_seconds } = took;
        let Stats { rows, spilled_bytes } = stats;
        match self.mode {
            Mode::Lines if log::is_verbose() => {
                tracing::info!("{}: {stage}: {rows} rows in {seconds:.2} s", self.input);
            }
            Mode::Json => {
                let input = &self.named;
                tracing::info!(event = "stage", input, stage, rows, bytes, seconds, divisible_seconds, spilled_bytes);
            }
            Mode::Bars | Mode::Lines | Mode::Quiet => {}
        }
    }

    fn with_bar(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        // A bar left by a thread that panicked is still good to draw.
        act(&mut locked(&self.bar));
    }
}

impl Progress for Display {
    fn begin(&self, stage: &'static str, total: u64) {
        if self.mode != Mode::Bars {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let template = if total == 0 { "{msg} {spinner}" } else { "{msg} {wide_bar} {percent:>3}% {eta:>4}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(format!("{}  {stage:<13}", self.input));
        // Where no thread can be started, the bar moves with the work alone.
        if before_thread().and_then(|()| thread::Builder::new().spawn(|| {})).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        self.with_bar(|current| *current = Some(bar));
    }

    fn advance(&self, units: u64) {
        if self.mode == Mode::Bars {
            self.with_bar(|bar| bar.iter().for_each(|bar| bar.inc(units)));
        }
    }

    fn end(&self) {
        self.with_bar(|bar| bar.take().iter().for_each(ProgressBar::finish_and_clear));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // A failed run leaves no bar behind.
        self.end();
    }
}
