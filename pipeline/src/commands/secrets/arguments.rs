//! Arguments of `heaplake secrets`.

use crate::commands::choices::{Effort, Trust, one_of, run_named};
use clap::Args;
use heaplake_schemas::findings::Severity;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  heaplake secrets Heap.heapsnapshot
  heaplake secrets app.hprof.gz --fail-on high --sarif secrets.sarif
  heaplake secrets lake/web1 --input Heap.heapsnapshot
  heaplake secrets app.hprof --rules gitleaks.toml --no-default-rules
  heaplake secrets app.hprof --json > known.json
  heaplake secrets app.hprof --baseline known.json --fail-on low

FILE is a .heapsnapshot of V8 or a .hprof of Java, also compressed; all strings, and arrays of bytes and characters, are \
 searched. Of a RUN, the texts are those of its tables, of which long ones are cut; with --input they are those of the \
 snapshot. The answer has rules, lengths, holders and paths, never a secret, nor a digest of one. docs/privacy.md has \
 the rules and their limits. No finding is no proof.
Exit codes: 0, or 4 if --fail-on finds one; others as those of analyze.";

/// Severities, for the command line.
const SEVERITIES: [Severity; 3] = [Severity::Low, Severity::Medium, Severity::High];

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake secrets Heap.heapsnapshot\n\nMore examples: heaplake secrets --help",
    after_long_help = EXAMPLES
)]
pub(crate) struct Arguments {
    /// A heap snapshot, the folder of a run, or LAKE/NAME
    #[arg(value_name = "RUN|FILE", value_parser = run_named())]
    pub target: PathBuf,
    /// Of a run: the snapshot that it was made from
    ///
    /// Its texts are searched in place of those of the run, which are cut.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// File of rules in the format of gitleaks; may be given again
    ///
    /// These rules come before those of heaplake; one of them replaces a rule of heaplake with the same id.
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub rules: Vec<PathBuf>,
    /// Leave out the rules that heaplake brings
    #[arg(long, requires = "rules", help_heading = "Rules")]
    pub no_default_rules: bool,
    /// Leave out the rule of this id; may be given again
    #[arg(long, value_name = "ID", help_heading = "Rules")]
    pub without: Vec<String>,
    /// End with 4 at a finding of low, medium or high
    ///
    /// Findings of higher severities count, too; those of the baseline do not.
    #[arg(long, value_name = "SEVERITY", value_parser = one_of(SEVERITIES, Severity::name), hide_possible_values = true, help_heading = "Gate")]
    pub fail_on: Option<Severity>,
    /// Output of --json of an earlier search, whose findings are known
    ///
    /// A finding is known if its rule and holder are.
    #[arg(long, value_name = "FILE", help_heading = "Gate")]
    pub baseline: Option<PathBuf>,
    /// Write the findings to a file of SARIF 2.1.0
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Folder for intermediate files [default: the system's]
    ///
    /// The graph of a file is analysed there, texts included. It is removed when the command ends, unless the process is
    /// killed.
    #[arg(long, value_name = "FOLDER", help_heading = "Resources")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub effort: Effort,
    #[command(flatten)]
    pub trust: Trust,
}
