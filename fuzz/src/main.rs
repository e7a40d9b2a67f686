//! `heaplake-fuzz SECONDS [TARGET...]`: mutates inputs and runs targets on them, in turns, until the time is over.
//!
//! `FUZZ_SEED` is the first seed, `FUZZ_FINDINGS` the folder of findings (`fuzz/findings`). `--once TARGET FILE` runs
//! one input; `--list` names the targets; `--seeds TARGET FOLDER` writes the seed inputs.

use cap::Cap;
use heaplake::engine::admission::smallest_budget;
use heaplake_fuzz::driver::{Driver, Tally};
use heaplake_fuzz::subject::Target;
use heaplake_fuzz::targets;
use heaplake_fuzz::worker::{self, Bounds};
use std::alloc::System;
use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, exit};
use std::time::{Duration, Instant};

/// Refuses memory past its limit, which ends the process.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that a target may allocate beyond the smallest budget.
const BEYOND: usize = 48 << 20;

/// Time of one target's turn.
const SLICE: Duration = Duration::from_secs(20);

/// Exit code of a worker that panicked.
const PANICKED: i32 = 101;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--worker", name, seed, milliseconds, inputs, folder] => {
            let number = |text: &str| text.parse().unwrap_or(0);
            let bounds = Bounds { time: Duration::from_millis(number(milliseconds)), inputs: number(inputs) };
            guarded(|| {
                let _ = worker::run(known(name), number(seed), bounds, Path::new(folder));
            })
        }
        ["--once", name, file] => guarded(|| {
            let input = std::fs::read(file).unwrap_or_else(|error| refuse(&format!("{file}: {error}")));
            say(&(known(name).run)(&input));
        }),
        ["--seeds", name, folder] => {
            for (number, seed) in (known(name).seeds)().iter().enumerate() {
                let path = Path::new(folder).join(format!("seed-{number:02}"));
                std::fs::write(&path, seed).unwrap_or_else(|error| refuse(&format!("{}: {error}", path.display())));
            }
            ExitCode::SUCCESS
        }
        ["--list"] => {
            targets::ALL.iter().for_each(|target| say(target.name));
            ExitCode::SUCCESS
        }
        [seconds, ref names @ ..] => match seconds.parse() {
            Ok(seconds) => drive(seconds, names),
            Err(_) => refuse("the first argument is a number of seconds"),
        },
        [] => refuse("heaplake-fuzz SECONDS [TARGET...]"),
    }
}

/// Runs with the memory limit; a panic of any thread ends the process.
fn guarded(work: impl FnOnce()) -> ExitCode {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        report(info);
        exit(PANICKED);
    }));
    let limit = ALLOCATOR.allocated() + smallest_budget() as usize + BEYOND;
    if ALLOCATOR.set_limit(limit).is_err() {
        refuse("the limit on memory is below what is in use");
    }
    work();
    ExitCode::SUCCESS
}

/// Runs the targets in turns.
fn drive(seconds: u64, names: &[&str]) -> ExitCode {
    let chosen: Vec<&Target> =
        if names.is_empty() { targets::ALL.iter().collect() } else { names.iter().map(|name| known(name)).collect() };
    let time = Duration::from_secs(seconds);
    let slice = SLICE.min(time / chosen.len() as u32).max(Duration::from_secs(1));
    let findings = env::var_os("FUZZ_FINDINGS").map_or_else(|| PathBuf::from("fuzz/findings"), PathBuf::from);
    let program = env::current_exe().unwrap_or_else(|error| refuse(&error.to_string()));
    let driver = Driver { program, findings };
    let seed: u64 = env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (started, mut tallies, mut round) = (Instant::now(), BTreeMap::<&str, Tally>::new(), 0);
    while started.elapsed() < time {
        for target in &chosen {
            let tally = tallies.entry(target.name).or_default();
            for finding in driver.run(target, seed + round, slice, u64::MAX, tally) {
                say(&format!("{}: {}\n  {}", target.name, finding.what, finding.input.display()));
            }
            if started.elapsed() >= time {
                break;
            }
        }
        round += 1;
        say(&format!("after {} s:", started.elapsed().as_secs()));
        tell(&tallies);
    }
    let found = tallies.values().any(|tally| !tally.findings.is_empty());
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn tell(tallies: &BTreeMap<&str, Tally>) {
    for (name, Tally { inputs, seconds, findings }) in tallies {
        let each = *inputs as f64 / seconds.max(1e-3);
        say(&format!("  {name:<20} {inputs:>9} inputs {each:>7.0}/s {:>3} findings", findings.len()));
    }
}

fn known(name: &str) -> &'static Target {
    targets::named(name).unwrap_or_else(|| refuse(&format!("there is no target {name}; --list names them")))
}

fn say(line: &str) {
    // Standard output is closed.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn refuse(line: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "heaplake-fuzz: {line}");
    exit(2)
}
