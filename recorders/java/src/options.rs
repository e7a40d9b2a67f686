//! Options of the agent: `name=value`, separated by commas.

use std::fmt;

/// Mean number of objects of a class for each one with size and stack, unless given.
pub const INTERVAL: u32 = 10;

/// Bytes of memory, unless given; the least and the most.
pub const MEMORY: u64 = 64 << 20;
const LEAST_MEMORY: u64 = 8 << 20;
const MOST_MEMORY: u64 = 1 << 30;

/// What is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Allocations and collections.
    #[default]
    Creation,
    /// Also deaths of the sampled objects.
    Lifetimes,
}

/// Options of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// File of the log; `%p` is the number of the process.
    pub out: String,
    /// Mean number of objects of a class for each one with size and stack.
    pub interval: u32,
    /// What is recorded.
    pub mode: Mode,
    /// Patterns of classes with sizes and stacks; all classes if empty.
    pub classes: Vec<String>,
    /// Bytes of memory.
    pub memory: u64,
    /// Whether a full collection precedes the recording; `None`: at start, not at attach.
    pub collect: Option<bool>,
    /// Seed of the choice of objects.
    pub seed: u64,
}

/// A command to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Start a recording.
    Start(Recording),
    /// End it.
    Stop,
}

/// An option that is wrong, with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOption {
    option: String,
    expected: &'static str,
}

impl fmt::Display for BadOption {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "option {:?}: expected {}", self.option, self.expected)
    }
}

/// Reads the options.
///
/// # Errors
/// For an unknown option, a value outside of its range, or without `out`.
pub fn parse(text: &str) -> Result<Command, BadOption> {
    if text.trim() == "stop" {
        return Ok(Command::Stop);
    }
    let mut found = Recording {
        out: String::new(),
        interval: INTERVAL,
        mode: Mode::Creation,
        classes: Vec::new(),
        memory: MEMORY,
        collect: None,
        seed: 0,
    };
    for option in text.split(',').filter(|option| !option.is_empty()) {
        set(&mut found, option).map_err(|expected| BadOption { option: option.to_owned(), expected })?;
    }
    if found.out.is_empty() {
        return Err(BadOption { option: text.to_owned(), expected: "out=FILE, the file of the log" });
    }
    Ok(Command::Start(found))
}

/// Sets one option; the expectation if it is wrong.
fn set(to: &mut Recording, option: &str) -> Result<(), &'static str> {
    const KNOWN: &str = "out=, interval=, mode=, classes=, memory=, gc=, seed=, or stop alone";
    let (name, value) = option.split_once('=').ok_or(KNOWN)?;
    match name.trim() {
        "out" => to.out = some(value, "out=FILE, the file of the log")?.to_owned(),
        "interval" => {
            const EXPECTED: &str = "interval=N, a whole number from 1 to 1000000";
            to.interval = value.parse().ok().filter(|interval| (1..=1_000_000).contains(interval)).ok_or(EXPECTED)?;
        }
        "mode" => {
            to.mode = match value {
                "creation" => Mode::Creation,
                "lifetimes" => Mode::Lifetimes,
                _ => return Err("mode=creation or mode=lifetimes"),
            };
        }
        "classes" => {
            for pattern in value.split(';') {
                let pattern = some(pattern.trim(), "classes=PATTERN;PATTERN, such as com.shop.*")?;
                to.classes.push(pattern.to_owned());
            }
        }
        "memory" => to.memory = bytes(value).ok_or("memory=N, from 8m to 1g, such as 64m")?,
        "gc" => {
            to.collect = Some(match value {
                "yes" => true,
                "no" => false,
                _ => return Err("gc=yes or gc=no: whether a full collection precedes the recording"),
            });
        }
        "seed" => to.seed = value.parse().map_err(|_| "seed=N, a whole number")?,
        _ => return Err(KNOWN),
    }
    Ok(())
}

fn some<'a>(value: &'a str, expected: &'static str) -> Result<&'a str, &'static str> {
    if value.is_empty() { Err(expected) } else { Ok(value) }
}

/// Reads a number of bytes: `64m`, `1g`, `8388608`.
fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let number = lower.trim_end_matches('b').trim_end_matches('i');
    let (digits, shift) = [('k', 10), ('m', 20), ('g', 30)]
        .iter()
        .find_map(|&(unit, shift)| Some((number.strip_suffix(unit)?, shift)))
        .unwrap_or((number, 0));
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (LEAST_MEMORY..=MOST_MEMORY).contains(&bytes).then_some(bytes)
}

/// Division of the memory. All of it is bounded from the start, and used as it fills:
///
/// * three eighths: two buffers of records and one for the compressed frame, at most 8 MiB each;
/// * one eighth: the table of stacks, which begins anew when it is full;
/// * one eighth: tags of tracked objects, 8 bytes each. Further objects are not tracked. The virtual machine has about 60 bytes
///   of its own per tracked object, which are not in this memory;
/// * one eighth: methods, 24 bytes each; further ones are unknown;
/// * the rest: up to 65,535 classes, 64 bytes and their name each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of a buffer of records.
    pub queue: usize,
    /// Stacks.
    pub stacks: usize,
    /// Tracked objects.
    pub tags: usize,
    /// Methods.
    pub methods: usize,
}

impl Memory {
    /// Divides a number of bytes.
    pub fn of(bytes: u64) -> Self {
        let eighth = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        // A hash table is up to half empty.
        Self { queue: eighth.min(8 << 20), stacks: eighth / 80, tags: eighth / 8, methods: eighth / 48 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(text: &str) -> Recording {
        match parse(text) {
            Ok(Command::Start(recording)) => recording,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn options_are_read() {
        let all = recording(
            "out=/tmp/a-%p.hle,interval=100,mode=lifetimes,classes=com.shop.*;*Order,classes=x,memory=16m,gc=no,seed=7",
        );
        assert_eq!((all.out.as_str(), all.interval, all.mode), ("/tmp/a-%p.hle", 100, Mode::Lifetimes));
        assert_eq!((all.classes.len(), all.memory, all.collect, all.seed), (3, 16 << 20, Some(false), 7));
        let least = recording("out=a");
        assert_eq!((least.interval, least.mode, least.memory, least.collect), (10, Mode::Creation, 64 << 20, None));
        assert_eq!(parse("stop"), Ok(Command::Stop));
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (text, named) in [
            ("", "out=FILE"),
            ("out=", "\"out=\""),
            ("out=a,interval=0", "\"interval=0\""),
            ("out=a,interval=x", "\"interval=x\""),
            ("out=a,mode=all", "\"mode=all\""),
            ("out=a,colour=red", "\"colour=red\""),
            ("out=a,verbose", "\"verbose\""),
            ("out=a,memory=1m", "\"memory=1m\""),
            ("out=a,memory=99999999999999999999g", "\"memory="),
            ("out=a,classes=a;;b", "\"classes=a;;b\""),
            ("out=a,gc=maybe", "\"gc=maybe\""),
        ] {
            let shown = parse(text).unwrap_err().to_string();
            assert!(shown.contains(named) && !shown.contains('\n'), "{text}: {shown}");
        }
    }

    #[test]
    fn memory_is_divided() {
        let memory = Memory::of(MEMORY);
        let held = 3 * memory.queue + 80 * memory.stacks + 8 * memory.tags + 48 * memory.methods;
        assert!(held as u64 <= MEMORY * 6 / 8, "{memory:?}");
    }
}
