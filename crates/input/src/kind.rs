//! Recognizes files by the beginning of their content, including the many that no command reads.
//!
//! Readers recognize their own formats. This list serves messages about other formats, and about formats given to the
//! wrong command: the name of the format, and advice. A new kind is one line of [`BINARY`] or of [`json`].

use crate::json::BYTE_ORDER_MARK;
use crate::magic::is_compressed;

/// A kind of file, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name with article.
    pub is: &'static str,
    /// The command that reads it, or other advice.
    pub advice: &'static str,
}

/// Snapshots of V8, which have no magic.
pub const V8: Kind = Kind { is: "a heap snapshot of V8", advice: ANALYZE };

/// A profiler log. It also contains a heap if the profiler wrote walks.
pub const LOG: Kind = Kind { is: "a profiler log", advice: WALKS };

/// A recording of Java's Flight Recorder.
pub const JFR: Kind = Kind {
    is: "a recording of Java's Flight Recorder (.jfr)",
    advice: "heaplake replay reads it; of a whole heap, jcmd PID GC.heap_dump FILE.hprof takes a dump for heaplake analyze",
};

const ANALYZE: &str = "heaplake analyze reads it";
const REPLAY: &str = "heaplake replay reads it";
const WALKS: &str = "heaplake replay reads it; heaplake analyze does where it has walks of the heap";
const UNPACK: &str = "unpack it first";
const NOT_READ: &str = "no command of heaplake reads it";
const NOT_A_HEAP: &str = "no command of heaplake reads it: it has nothing of a heap";
const DUMP: &str = "no command of heaplake reads it: take a heap snapshot of the program while it runs; of a Java process, \
                    jhsdb jmap --binaryheap makes an .hprof from a core dump";
const PPROF: &str = "no command of heaplake reads it: go tool pprof does; heaplake replay --pprof writes such files";

const OLD_JFR: Kind = Kind {
    is: "a recording of the Flight Recorder of Oracle's JDK 7 or 8 (.jfr, version 0)",
    advice: "no command of heaplake reads it: JDK Mission Control does; record with JDK 9 or newer, or OpenJDK 8u262 or newer",
};

const UTF_16: Kind = Kind {
    is: "a text in UTF-16, as > in Windows PowerShell writes it",
    advice: "write the file without PowerShell's >, or convert it to UTF-8 first",
};

/// Magic of PerfView's serialisation, followed by the name of the content.
const FAST_SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization";

/// Files of that serialisation other than heap dumps.
const SERIALIZED: &[(&[u8], Kind)] = &[
    (
        b"Trace",
        Kind {
            is: "an event trace of .NET Core 2.0 or 2.1 (.netperf)",
            advice: "no command of heaplake reads it: PerfView does; .NET Core 3.0 and newer write .nettrace, which heaplake reads",
        },
    ),
    (
        b"TraceLog",
        Kind {
            is: "an event trace that PerfView converted (.etlx)",
            advice: "give heaplake the .nettrace that it was made of",
        },
    ),
];

/// Compressed content inside a compressed file.
const TWICE: Kind = Kind { is: "a file that was compressed twice", advice: UNPACK };

/// Kinds with a magic.
const BINARY: &[(&[u8], Kind)] = &[
    (b"JAVA PROFILE 1.0.", Kind { is: "a heap dump of Java (.hprof)", advice: ANALYZE }),
    (FAST_SERIALIZATION, Kind { is: "a heap dump of .NET (.gcdump)", advice: ANALYZE }),
    (b"Nettrace", Kind { is: "an event trace of .NET (.nettrace)", advice: WALKS }),
    (b"# clrprof ", LOG),
    (b"FLR\0\0\0", OLD_JFR),
    (b"FLR\0", JFR),
    (b"go1.", Kind { is: "a heap dump of Go", advice: NOT_READ }),
    (b"dartheap", Kind { is: "a heap snapshot of Dart", advice: NOT_READ }),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"MDMP", Kind { is: "a minidump of Windows (.dmp)", advice: DUMP }),
    (b"PAGEDU", Kind { is: "a crash dump of Windows (.dmp)", advice: DUMP }),
    (b"PK\x03\x04", Kind { is: "a zip archive", advice: UNPACK }),
    (b"BZh", Kind { is: "a file compressed with bzip2", advice: UNPACK }),
    (b"\xfd7zXZ", Kind { is: "a file compressed with xz", advice: UNPACK }),
    (b"7z\xbc\xaf", Kind { is: "a 7z archive", advice: UNPACK }),
    (b"PERFILE2", Kind { is: "a recording of perf", advice: NOT_A_HEAP }),
    (
        b"PAR1",
        Kind { is: "a Parquet table", advice: "the folder that it lies in may be a run: heaplake show takes that" },
    ),
    (b"SQLite format 3", Kind { is: "a database of SQLite", advice: NOT_A_HEAP }),
    (b"%PDF", Kind { is: "a PDF", advice: NOT_A_HEAP }),
    (b"\x89PNG", Kind { is: "a picture", advice: NOT_A_HEAP }),
];

/// Strips byte order mark and white space from the beginning of a text.
pub fn text(beginning: &[u8]) -> &[u8] {
    beginning.strip_prefix(&BYTE_ORDER_MARK).unwrap_or(beginning).trim_ascii_start()
}

/// Returns the kind of a content by its beginning, if known.
pub fn of(beginning: &[u8]) -> Option<Kind> {
    if is_compressed(beginning) {
        return Some(TWICE);
    }
    if let Some(kind) = serialized(beginning) {
        return Some(kind);
    }
    let magic = BINARY.iter().find(|(magic, _)| beginning.starts_with(magic)).map(|&(_, kind)| kind);
    magic.or_else(|| program(beginning)).or_else(|| portable(beginning)).or_else(|| pprof(beginning)).or_else(|| {
        let text = text(beginning);
        match text.first() {
            Some(b'{') => json(&Keys::of(text)),
            Some(b'[') => {
                let event = Keys::of(text[1..].trim_ascii_start());
                (event.has("ph") && event.has("pid")).then_some(CHROME_TRACE)
            }
            _ => None,
        }
    })
}

/// Recognizes PerfView's serialisation of other content than a heap dump.
pub fn serialized(beginning: &[u8]) -> Option<Kind> {
    /// Position of the name, preceded by its 32-bit length.
    const NAME: usize = 35;
    let rest = beginning.get(NAME..).filter(|_| beginning.starts_with(FAST_SERIALIZATION))?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let name = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    SERIALIZED.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
}

/// Recognizes ELF and Mach-O files: core dumps and programs.
fn program(beginning: &[u8]) -> Option<Kind> {
    /// `ET_CORE` of ELF and `MH_CORE` of Mach-O.
    const CORE: u32 = 4;
    let at = |place: usize, bytes: usize| beginning.get(place..place + bytes);
    let little = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
    let kind = if beginning.starts_with(b"\x7fELF") {
        let file_type = at(16, 2).map(|bytes| {
            let big_endian = beginning[5] == 2;
            if big_endian { little(&[bytes[1], bytes[0]]) } else { little(bytes) }
        });
        (file_type, Kind { is: "a core dump of Linux (ELF)", advice: DUMP })
    } else if beginning.starts_with(&[0xcf, 0xfa, 0xed, 0xfe]) {
        (at(12, 4).map(little), Kind { is: "a core dump of macOS (Mach-O)", advice: DUMP })
    } else {
        return None;
    };
    let (file_type, core) = kind;
    Some(if file_type == Some(CORE) { core } else { Kind { is: "a program", advice: NOT_A_HEAP } })
}

/// Recognizes OpenJ9's own heap dump format: a length-prefixed text.
fn portable(beginning: &[u8]) -> Option<Kind> {
    let advice = "no command of heaplake reads it: take the dump as HPROF, with jcmd PID Dump.heap or MAT's export";
    let portable = Kind { is: "a portable heap dump of OpenJ9 (.phd)", advice };
    beginning.get(2..).is_some_and(|text| text.starts_with(b"portable heap dump")).then_some(portable)
}

/// Recognizes a pprof profile, which begins with its sample type: a message of one or two short numbers.
fn pprof(beginning: &[u8]) -> Option<Kind> {
    /// Field `sample_type` of a profile, and the two fields of a value type.
    const SAMPLE_TYPE: u8 = 0x0a;
    const TYPE_AND_UNIT: [u8; 2] = [0x08, 0x10];
    /// Maximum bytes of a value type.
    const MOST: u8 = 8;
    let (&[SAMPLE_TYPE, length], rest) = beginning.split_first_chunk::<2>()? else { return None };
    let (value, rest) = rest.split_at_checked(usize::from(length)).filter(|_| (2..=MOST).contains(&length))?;
    let is_field = |byte: &u8| byte & 7 <= 2 && (1..=14).contains(&(byte >> 3));
    (TYPE_AND_UNIT.contains(&value[0]) && rest.first().is_some_and(is_field))
        .then_some(Kind { is: "a profile of pprof", advice: PPROF })
}

const CHROME_TRACE: Kind = Kind {
    is: "a trace of Chrome (trace events)",
    advice: "no command of heaplake reads it: take a heap snapshot or an allocation profile in the Memory panel of DevTools",
};

const CPU_PROFILE: Kind = Kind {
    is: "a CPU profile of V8 (.cpuprofile)",
    advice: "no command of heaplake reads it: node --heap-prof writes a .heapprofile, which heaplake replay reads",
};

const RUBY: Kind = Kind {
    is: "a heap dump of Ruby (ObjectSpace.dump_all)",
    advice: "no command of heaplake reads it: heapy, sheap and harb do",
};

const JAVASCRIPT_CORE: Kind = Kind {
    is: "a heap snapshot of JavaScriptCore (Bun, Safari)",
    advice: "no command of heaplake reads it: take it in V8's format, with Bun.generateHeapSnapshot(\"v8\") or \
             writeHeapSnapshot of node:v8",
};

/// Returns the kind of an object with these keys.
fn json(keys: &Keys<'_>) -> Option<Kind> {
    let has = |key| keys.has(key);
    let within = |key, inner| keys.value(key).is_some_and(|value| Keys::of(value).has(inner));
    let begins = |key, with: &[u8]| keys.value(key).is_some_and(|value| value.starts_with(with));
    let debugging = begins("type", b"\"Inspector\"") || begins("type", b"\"GCDebugging\"");
    Some(if has("snapshot") {
        V8
    } else if has("nodeClassNames") || (debugging && has("version")) {
        JAVASCRIPT_CORE
    } else if has("traceEvents") {
        CHROME_TRACE
    } else if keys.value("nodes").is_some_and(of_objects) || has("timeDeltas") || within("head", "functionName") {
        CPU_PROFILE
    } else if within("head", "callFrame") {
        Kind { is: "an allocation profile of V8 (.heapprofile)", advice: REPLAY }
    } else if (begins("type", b"\"ROOT\"") && has("root")) || (begins("address", b"\"0x") && has("type")) {
        RUBY
    } else if has("shared") && has("profiles") {
        Kind { is: "a profile of speedscope", advice: NOT_A_HEAP }
    } else if has("meta") && has("libs") {
        Kind { is: "a profile of Firefox", advice: NOT_A_HEAP }
    } else if within("header", "reportVersion") {
        let advice = "no command of heaplake reads it: node --heapsnapshot-signal=SIGUSR2 takes snapshots";
        Kind { is: "a diagnostic report of Node.js", advice }
    } else if within("log", "entries") || within("log", "creator") {
        Kind { is: "a recording of network traffic (.har)", advice: NOT_A_HEAP }
    } else if has("mappings") && has("sources") {
        Kind { is: "a source map", advice: "heaplake analyze takes it with --source-maps, beside a snapshot" }
    } else {
        return None;
    })
}

/// True if a value begins as an array of objects.
fn of_objects(value: &[u8]) -> bool {
    value.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
}

/// Top-level keys of a JSON object within its beginning, each with the text after its colon.
struct Keys<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Keys<'a> {
    /// More keys than any kind needs.
    const MOST: usize = 64;

    /// Collects the keys of an object; empty for other texts.
    fn of(text: &'a [u8]) -> Self {
        let mut keys = Vec::new();
        let mut rest = text.strip_prefix(b"{");
        while let Some(begin) = rest.filter(|_| keys.len() < Self::MOST) {
            let Some((key, after)) = begin.trim_ascii_start().strip_prefix(b"\"").and_then(string) else { break };
            let Some(value) = after.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start) else { break };
            keys.push((key, value));
            rest = behind(value);
        }
        Self(keys)
    }

    fn value(&self, key: &str) -> Option<&'a [u8]> {
        self.0.iter().find(|(name, _)| *name == key.as_bytes()).map(|&(_, value)| value)
    }

    fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }
}

/// Splits a string, after its opening quote, at its closing quote.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((&text[..at], &text[at + 1..]));
        }
        at += 2;
    }
}

/// Returns the text after the comma behind a value; `None` if the object or the text ends before.
fn behind(value: &[u8]) -> Option<&[u8]> {
    let mut rest = value;
    let mut depth = 0u32;
    loop {
        let (&first, after) = rest.split_first()?;
        rest = match first {
            b'"' => string(after)?.1,
            _ => after,
        };
        match first {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => return Some(rest),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(beginning: &[u8]) -> Option<&'static str> {
        of(beginning).map(|kind| kind.is)
    }

    #[test]
    fn binary_files_are_named() {
        let mut core = b"\x7fELF\x02\x01\x01".to_vec();
        core.resize(16, 0);
        let elf = |bytes: [u8; 2]| is(&[&core[..], &bytes].concat());
        assert_eq!((elf([4, 0]), elf([3, 0])), (Some("a core dump of Linux (ELF)"), Some("a program")));
        core[5] = 2;
        assert_eq!(is(&[&core[..], &[0, 4]].concat()), Some("a core dump of Linux (ELF)"));
        assert_eq!(is(b"\x7fELF"), Some("a program"));
        let mach = |kind: u8| is(&[0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1, 3, 0, 0, 0, kind, 0, 0, 0]);
        assert_eq!((mach(4), mach(2)), (Some("a core dump of macOS (Mach-O)"), Some("a program")));
        assert_eq!(is(b"MDMP\x93\xa7"), Some("a minidump of Windows (.dmp)"));
        assert_eq!(is(b"FLR\0\0\x02\0\x01"), Some(JFR.is));
        assert_eq!(is(b"FLR\0\0\x01\0\0"), Some(JFR.is));
        assert_eq!(is(b"FLR\0\0\0\0\x09"), Some(OLD_JFR.is));
        assert_eq!(is(b"\xff\xfe{\0"), Some(UTF_16.is));
        let serialized = |name: &str| {
            let length = (name.len() as u32).to_le_bytes();
            let head = [FAST_SERIALIZATION, b".1", b"\x04\x04\x01\x03\0\0\0\0\0\0\0"].concat();
            is(&[&head[..], &length, name.as_bytes(), b"\x06"].concat())
        };
        assert!(serialized("Trace").unwrap().ends_with("(.netperf)"));
        assert!(serialized("TraceLog").unwrap().ends_with("(.etlx)"));
        for name in ["GCHeapDump", "Tracer", ""] {
            assert_eq!(serialized(name), Some("a heap dump of .NET (.gcdump)"));
        }
        assert_eq!(is(b"\0\x12portable heap dump\0\0\0\x05"), Some("a portable heap dump of OpenJ9 (.phd)"));
        // As written by Go, with two sample types, and with one without a unit.
        assert_eq!(is(b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04"), Some("a profile of pprof"));
        assert_eq!(is(b"\x0a\x02\x08\x01\x12\x07\x0a\x01"), Some("a profile of pprof"));
        for text in [&b"\n\n"[..], b"\nabc", b"\x0a\x04\x09\x01\x10\x02\x0a", b"\x0a\x04\x08\x01", b"hello", b""] {
            assert_eq!(is(text), None, "{text:?}");
        }
    }

    #[test]
    fn json_is_named_by_its_keys() {
        for (text, name) in [
            (r#" {"snapshot" : {"meta":{}}"#, Some(V8.is)),
            (r#"{"nodes":[1,2],"snapshot":{}}"#, Some(V8.is)),
            (r#"{"version":3,"type":"Inspector","nodes":[0,0"#, Some(JAVASCRIPT_CORE.is)),
            (r#"{"version":2,"nodes":[0,0],"nodeClassNames":["#, Some(JAVASCRIPT_CORE.is)),
            (r#"{"metadata":{"a":"}\",\"{"},"traceEvents":[{"args""#, Some(CHROME_TRACE.is)),
            ("[\n{\"args\":{},\"pid\":7,\"ph\":\"M\"},", Some(CHROME_TRACE.is)),
            (r#"{"nodes":[{"id":1,"callFrame":{"#, Some(CPU_PROFILE.is)),
            (r#"{"head":{"functionName":"(root)""#, Some(CPU_PROFILE.is)),
            (r#"{"head":{"callFrame":{"functionName":"#, Some("an allocation profile of V8 (.heapprofile)")),
            (r#"{"header":{"reportVersion":3"#, Some("a diagnostic report of Node.js")),
            (r#"{"log":{"version":"1.2","creator":{}"#, Some("a recording of network traffic (.har)")),
            (r#"{"version":3,"sources":["a.js"],"mappings":"AAAA"}"#, Some("a source map")),
            ("\u{feff}{\"snapshot\":{", Some(V8.is)),
            ("{\"type\":\"ROOT\", \"root\":\"vm\", \"references\":[\"0x7f\"]}\n{\"address\":", Some(RUBY.is)),
            (r#"{"address":"0x7f8b1a80", "type":"STRING", "shape_id":0"#, Some(RUBY.is)),
            (r#"{"address":"1 Main St", "type":"home"}"#, None),
            (r#"{"nodes":[1,2,3],"edges":[1,"#, None),
            (r#"{"a":"\"snapshot\":"}"#, None),
            ("{}", None),
            ("{\"a", None),
            ("[1]", None),
            ("{\"a\":1,,\"traceEvents\":[]}", None),
        ] {
            assert_eq!(is(text.as_bytes()), name, "{text}");
        }
    }
}
