//! `heaplake-generate`: writes a heap snapshot of a given size and its planted answers.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, ValueEnum};
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};
use heaplake_generator::shapes::{self, SHAPES};

/// Write a .heapsnapshot of any size with known answers.
///
/// The same options give the same bytes. Memory use is a few megabytes, whatever the size.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  heaplake-generate --size 500MB --seed 1 --out big.heapsnapshot --answers big.json
  heaplake-generate --size 10GB --seed 2 --out - | zstd -o huge.heapsnapshot.zst
  heaplake-generate --shape list --nodes 10000000 --out list.heapsnapshot
  heaplake-generate --shape deep-trace --nodes 1000000 --out deep.heapsnapshot
  heaplake-generate --extreme bipartite --nodes 1000000 --out bipartite.heapsnapshot"
)]
struct Options {
    /// Size of the file, within a few percent: a number with kB, MB, GB (powers of 1000) or KiB, MiB, GiB
    #[arg(long, value_parser = parse_size, required_unless_present = "nodes", conflicts_with = "nodes")]
    size: Option<u64>,

    /// Number of nodes instead of a size: all nodes (roughly), the list's nodes, or the trace tree's levels
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,

    /// Another seed gives another file
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Where to write the file; - is standard output
    #[arg(long, short)]
    out: PathBuf,

    /// Where to write the planted answers (JSON)
    #[arg(long)]
    answers: Option<PathBuf>,

    /// Kind of heap
    #[arg(long, value_enum, default_value_t = Form::Realistic)]
    shape: Form,

    /// An extreme shape instead, of about --nodes nodes; its answers are not planted
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(SHAPES.iter().map(|shape| PossibleValue::new(shape.name).help(shape.says))),
        requires = "nodes",
        conflicts_with_all = ["shape", "answers", "seed"]
    )]
    extreme: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// A mixture like that of a real application
    Realistic,
    /// One linked list
    List,
    /// A deeply nested allocation trace tree
    DeepTrace,
}

/// File bytes per list node and per level of the trace tree, to convert a size into a count.
const LIST_NODE_BYTES: u64 = 72;
const TRACE_LEVEL_BYTES: u64 = 17;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heaplake-generate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    if let Some(shape) = options.extreme.as_deref().and_then(|name| shapes::find(SHAPES, name)) {
        return extreme(shape, options);
    }
    let start = Instant::now();
    let count = |bytes_each: u64| options.nodes.or(options.size.map(|size| size / bytes_each)).unwrap_or(1).max(1);
    let shape = match options.shape {
        Form::Realistic => Shape::Realistic,
        Form::List => Shape::List { nodes: count(LIST_NODE_BYTES) },
        Form::DeepTrace => Shape::DeepTrace { depth: count(TRACE_LEVEL_BYTES) },
    };
    let target = options.nodes.map(Target::Nodes).or(options.size.map(Target::Bytes)).unwrap_or(Target::Nodes(1));
    let plan = file::plan(options.seed, shape, target);
    if let Some(path) = &options.answers {
        fs::write(path, file::answers(&plan).to_json()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let bytes = if options.out.as_os_str() == "-" {
        file::write(&plan, io::stdout().lock())
    } else {
        File::create(&options.out).and_then(|to| file::write(&plan, to))
    };
    let bytes = bytes.map_err(|error| format!("{}: {error}", options.out.display()))?;
    let (total, seconds) = (plan.total(), start.elapsed().as_secs_f64());
    writeln!(
        io::stderr(),
        "{bytes} bytes, {} nodes ({:.1} bytes each), {} edges ({:.2} per node), {} strings, {seconds:.2} s, {:.0} MB/s",
        total.nodes,
        bytes as f64 / total.nodes as f64,
        total.edges,
        total.edges as f64 / total.nodes as f64,
        total.strings,
        bytes as f64 / 1e6 / seconds,
    )?;
    Ok(())
}

fn extreme(shape: &shapes::Shape, options: &Options) -> Result<(), Box<dyn Error>> {
    let nodes = options.nodes.unwrap_or(0);
    let write = |to: &mut dyn Write| {
        let mut to = BufWriter::with_capacity(1 << 20, to);
        shape.write(nodes, &mut to).and_then(|()| to.flush())
    };
    let written = if options.out.as_os_str() == "-" {
        write(&mut io::stdout().lock())
    } else {
        File::create(&options.out).and_then(|mut to| write(&mut to))
    };
    Ok(written.map_err(|error| format!("{}: {error}", options.out.display()))?)
}

/// Reads "500MB", "1.5 GiB" or a plain number of bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 9] = [
        ("kib", 1024.0),
        ("mib", 1_048_576.0),
        ("gib", 1_073_741_824.0),
        ("tib", 1_099_511_627_776.0),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("tb", 1e12),
        ("b", 1.0),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let found = UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, *factor)));
    let (number, factor) = found.unwrap_or((&lower, 1.0));
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value * factor >= 1.0 => Ok((value * factor) as u64),
        _ => Err("expected a size such as 500MB or 1.5GiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("500MB"), Ok(500_000_000));
        assert_eq!(parse_size("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(parse_size("12"), Ok(12));
        assert!(parse_size("-3MB").is_err());
        assert!(parse_size("many").is_err());
    }

    #[test]
    fn options_are_consistent() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }
}
