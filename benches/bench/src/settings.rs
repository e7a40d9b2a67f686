//! The engine's settings, which are also row names in the reports, and the options of all measurements.

use crate::machine;
use crate::report::Section;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Options of measurements that report medians.
#[derive(Args)]
pub(crate) struct Measuring {
    /// How often each setting runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) runs: u16,
    #[command(flatten)]
    pub(crate) engine: Engine,
}

impl Measuring {
    /// Begins the section of the report.
    pub(crate) fn section(&self, name: &'static str) -> Result<Section> {
        let mut section = self.engine.section(name)?;
        section.say(&format!("Medians of {} interleaved runs.", self.runs));
        Ok(section)
    }
}

/// The measured binary and the destination of the result.
#[derive(Args)]
pub(crate) struct Engine {
    /// The engine's binary
    #[arg(long, value_name = "PATH", default_value = "target/release/heaplake")]
    pub(crate) heaplake: PathBuf,
    /// Put the result into benches/RESULTS.md
    #[arg(long)]
    pub(crate) save: bool,
}

impl Engine {
    /// Begins the section of the report.
    pub(crate) fn section(&self, name: &'static str) -> Result<Section> {
        Ok(Section::new(name, &machine::describe(&self.heaplake)?))
    }
}

/// Row name: reading the file only.
pub(crate) const FLOOR: &str = "reading the file";
/// Row name: the baseline of all ratios.
pub(crate) const ONE_THREAD: &str = "heaplake --threads 1";
/// Row name: two threads.
pub(crate) const TWO_THREADS: &str = "heaplake --threads 2";
/// Row name: little memory.
pub(crate) const SMALL_MEMORY: &str = "heaplake --memory 256MiB";
/// Row name: only the results that other programs compute too, sizes and classes.
pub(crate) const SIZES_ONLY: &str = "heaplake --threads 1 --duplicates none --tables nodes,classes,snapshot";
