//! `heaplake analyze`: snapshots into the lake.

use super::batch::Batch;
use super::choices::{Big, Chosen, DuplicateOptions, Naming, Placement, Resources, Telling, Trust, one_of};
use super::outputs;
use super::texts::Texting;
use crate::diagnostic::{Diagnostic, Done};
use crate::inputs::{self, Wanted};
use crate::log;
use crate::owner_rules;
use crate::symbol_files::SymbolFiles;
use clap::Args;
use heaplake_input::source::Input;
use heaplake_schemas::options::{AnalysisOptions, Options, Referents, SizeRule, TextOptions};
use std::path::PathBuf;

const ANALYZE_EXAMPLES: &str = "\
Examples:
  heaplake analyze Heap.heapsnapshot --out lake
  heaplake analyze nightly/ --out lake --release 2.4.1 --label host=web7
  heaplake analyze nightly/ --out lake --release '{folder}' --label 'host={stem}' --summary
  heaplake analyze 'snapshots/*.heapsnapshot.zst' --out lake --memory 2GiB
  heaplake analyze service.nettrace --out lake --walk 2
  zcat big.heapsnapshot.gz | heaplake analyze - --out lake --snapshot big
  heaplake analyze Heap.heapsnapshot --out lake --owners owners.toml
  heaplake analyze app.hprof --out lake --texts hash --texts-key texts.key

A file of rules for --owners. The first rule that matches counts; patterns are globs, and * is any text:
  [[owner]]
  name = \"payments\"
  package = [\"com.acme.pay*\", \"@acme/pay-*\"]
  [[owner]]
  name = \"checkout\"
  script = \"*/src/checkout/*\"
  class = \"Cart*\"

Exit codes:
  0  all inputs are in the lake
  1  some inputs failed; the others are in the lake
  2  the command line or the output folder cannot be used
  3  memory budget or disk space did not suffice
  130  interrupted";

/// Help heading of options that only some formats have.
const READING: &str = "Reading of some formats";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake analyze Heap.heapsnapshot --out lake --report\n\nMore examples: heaplake analyze --help", after_long_help = ANALYZE_EXAMPLES)]
pub(crate) struct Arguments {
    /// Snapshots: files, folders, glob patterns, or - for standard input
    ///
    /// Folders are searched for snapshots. Files that end in .gz or .zst are decompressed while read. URLs such as
    /// s3://bucket/incoming/ name objects of a store, if heaplake was built with the feature stores; --out may be a URL
    /// too.
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<String>,
    #[command(flatten)]
    placement: Placement,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    tables: Chosen,
    #[command(flatten)]
    big: Big,
    #[command(flatten)]
    duplicates: DuplicateOptions,
    /// Rules that assign owners to objects [default: packages]
    ///
    /// A TOML file with rules by class, script, package and class loader; see the example below.
    #[arg(long, value_name = "FILE", help_heading = "Owners")]
    owners: Option<PathBuf>,
    #[command(flatten)]
    naming: Naming,
    /// JavaScript: source maps of minified scripts; may be given again
    ///
    /// A file, or a folder with `.map` files or with scripts that link to their maps. Signatures then have the names
    /// and files that classes had before they were minified.
    #[arg(long, value_name = "PATH", help_heading = "Names")]
    source_maps: Vec<String>,
    #[command(flatten)]
    symbols: SymbolFiles,
    /// Java: whether weak, soft and phantom references hold
    ///
    /// With `hold` they keep their referents alive, as in Eclipse MAT; with `skip` they do not, as in VisualVM.
    #[arg(long, value_name = "POLICY", default_value = "hold", help_heading = READING, value_parser = one_of([Referents::Hold, Referents::Skip], Referents::name), hide_possible_values = true)]
    referents: Referents,
    /// Java: rule for shallow sizes: auto, jvm or mat
    ///
    /// `jvm`: as the virtual machine; `mat`: as Eclipse MAT; `auto`: as MAT unless object headers are compact, except
    /// for stacks of virtual threads.
    #[arg(long, value_name = "RULE", default_value = "auto", help_heading = READING, value_parser = one_of([SizeRule::Auto, SizeRule::Jvm, SizeRule::Mat], SizeRule::name), hide_possible_values = true)]
    sizes: SizeRule,
    /// V8, Java: analyse the readable part of a damaged input
    ///
    /// The run is marked as partial and reports its omissions.
    #[arg(long, help_heading = READING)]
    salvage: bool,
    /// .NET, Java: number of the heap walk or dump, from 1
    #[arg(long, value_name = "N|last", default_value = "last", value_parser = walk, help_heading = READING)]
    walk: WhichWalk,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    texts: Texting,
    #[command(flatten)]
    telling: Telling,
}

/// Number of a walk of a trace; `None` for the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WhichWalk(pub Option<u32>);

impl Arguments {
    /// Texts of the runs. Makes the file of their key if it is missing.
    ///
    /// # Errors
    /// A usage error for options that exclude each other, and for an unusable key.
    pub(super) fn texts(&self) -> Result<TextOptions, Diagnostic> {
        let texts = self.texts.options(&self.placement.out)?;
        if self.salvage && !texts.is_full() {
            let cause = "--salvage reads damaged inputs, whose texts cannot all be told from names and masked";
            return Err(Diagnostic::usage(cause, "leave --salvage or --texts out"));
        }
        Ok(texts)
    }
}

/// Analyses the inputs. Failures of single inputs are reported, not returned.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let texts = arguments.texts()?;
    let owners = arguments.owners.as_deref().map(owner_rules::read).transpose()?;
    let given = arguments.symbols.find(
        &arguments.source_maps,
        arguments.resources.effort.memory(),
        arguments.telling.ending.quiet,
    )?;
    let options = AnalysisOptions {
        referents: arguments.referents,
        sizes: arguments.sizes,
        salvage: arguments.salvage,
        walk: arguments.walk.0,
        big: arguments.big.options(),
        owners,
        names: arguments.naming.rules()?,
        source_maps: given.source_maps.clone(),
        symbols: given.symbols(),
        texts,
        ..arguments.duplicates.options()
    };
    let Arguments { placement, resources, trust, telling, .. } = arguments;
    let inputs = inputs::resolve(&arguments.inputs, Wanted::Snapshots);
    if !telling.ending.quiet {
        inputs::left_out(&arguments.inputs, Wanted::Snapshots, &placement.options())
            .iter()
            .for_each(|line| log::note(line));
    }
    let of = |input: &Input| {
        let tables = arguments.tables.of(input);
        Options::Analysis(AnalysisOptions { labels: placement.labels(input), tables, ..options.clone() })
    };
    let read = [
        outputs::of_option("--owners", &arguments.owners),
        outputs::of_option("--names", arguments.naming.file()),
        outputs::of_option("--source-maps", &arguments.source_maps),
        outputs::of_option("--symbols", &arguments.symbols.symbols),
        outputs::of_option("--texts-key", &arguments.texts.texts_key),
    ];
    Batch { inputs, placement, resources, trust: *trust, telling, read: read.concat() }.run(of)
}

fn walk(text: &str) -> Result<WhichWalk, String> {
    match text.parse() {
        _ if text == "last" => Ok(WhichWalk(None)),
        Ok(number) if number > 0 => Ok(WhichWalk(Some(number))),
        _ => Err("a number from 1 on, or last".to_owned()),
    }
}
