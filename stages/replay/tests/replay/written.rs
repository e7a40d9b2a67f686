//! Recordings of Java written by hand, as the virtual machine writes them.

/// Appends a number, seven bits a byte.
pub(crate) fn number(to: &mut Vec<u8>, mut value: u64) {
    for _ in 0..8 {
        if value < 0x80 {
            break;
        }
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Some numbers.
pub(crate) fn numbers(values: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|&value| number(&mut bytes, value));
    bytes
}

/// A text in UTF-8.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut bytes = vec![3];
    number(&mut bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// An event, with a size of four bytes as the virtual machine keeps room for.
pub(crate) fn event(class: u64, payload: &[u8]) -> Vec<u8> {
    let mut rest = numbers(&[class]);
    rest.extend_from_slice(payload);
    let size = rest.len() as u32 + 4;
    let mut bytes: Vec<u8> = (0..4).map(|at| (size >> (7 * at)) as u8 & 0x7f | if at < 3 { 0x80 } else { 0 }).collect();
    bytes.extend_from_slice(&rest);
    bytes
}

/// A field: name, class, whether it is the key of a constant, whether it is a list.
pub(crate) type Field = (&'static str, u64, bool, bool);

/// A class: its id, name and fields.
pub(crate) type Class = (u64, &'static str, &'static [Field]);

/// Classes from this id on are events.
const FIRST_EVENT: u64 = 100;

/// The description of classes.
pub(crate) fn metadata(classes: &[Class]) -> Vec<u8> {
    let mut texts: Vec<String> = Vec::new();
    let mut tree = Vec::new();
    let mut put = |tree: &mut Vec<u8>, text: &str| {
        let at = texts.iter().position(|known| known == text).unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        });
        number(tree, at as u64);
    };
    for (name, children) in [("root", 2), ("region", 0), ("metadata", classes.len() as u64)] {
        put(&mut tree, name);
        number(&mut tree, 0);
        number(&mut tree, children);
    }
    for (id, name, fields) in classes {
        put(&mut tree, "class");
        let mut attributes = vec![("name", (*name).to_owned()), ("id", id.to_string())];
        attributes.extend((*id >= FIRST_EVENT).then(|| ("superType", "jdk.jfr.Event".to_owned())));
        number(&mut tree, attributes.len() as u64);
        for (key, value) in attributes {
            put(&mut tree, key);
            put(&mut tree, &value);
        }
        number(&mut tree, fields.len() as u64);
        for (name, class, constant, list) in *fields {
            let mut attributes = vec![("name", (*name).to_owned()), ("class", class.to_string())];
            attributes.extend(constant.then(|| ("constantPool", "true".to_owned())));
            attributes.extend(list.then(|| ("dimension", "1".to_owned())));
            put(&mut tree, "field");
            number(&mut tree, attributes.len() as u64);
            for (key, value) in attributes {
                put(&mut tree, key);
                put(&mut tree, &value);
            }
            number(&mut tree, 0);
        }
    }
    // Start, duration, number of the description.
    let mut payload = numbers(&[0, 0, 1, texts.len() as u64]);
    texts.iter().for_each(|known| payload.extend(text(known)));
    payload.extend(tree);
    event(0, &payload)
}

/// Constants of a class: keys and contents.
pub(crate) type Pool = (u64, Vec<(u64, Vec<u8>)>);

/// An event of constants.
pub(crate) fn constants(pools: &[Pool]) -> Vec<u8> {
    let mut payload = numbers(&[0, 0, 0]);
    payload.push(0);
    number(&mut payload, pools.len() as u64);
    for (class, constants) in pools {
        payload.extend(numbers(&[*class, constants.len() as u64]));
        for (key, content) in constants {
            number(&mut payload, *key);
            payload.extend_from_slice(content);
        }
    }
    event(1, &payload)
}

/// A chunk: events, then constants, then metadata, as the virtual machine puts them.
pub(crate) fn chunk(events: &[Vec<u8>], constants: &[u8], metadata: &[u8]) -> Vec<u8> {
    let body = events.concat();
    let at = 68 + body.len() as u64;
    let (size, described) = (at + (constants.len() + metadata.len()) as u64, at + constants.len() as u64);
    let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
    for value in [size, at, described, 1_700_000_000_000_000_000, 1_000_000_000, 500, 1_000_000_000] {
        bytes.extend_from_slice(&u64::to_be_bytes(value));
    }
    bytes.extend_from_slice(&[0, 0, 0, 3]);
    [&bytes[..], &body, constants, metadata].concat()
}

const BOOLEAN: u64 = 9;
const INT: u64 = 10;
const LONG: u64 = 11;
const STRING: u64 = 20;
const CLASS: u64 = 21;
const SYMBOL: u64 = 22;
const TRACE: u64 = 23;
const FRAME: u64 = 24;
const METHOD: u64 = 25;
const NAME: u64 = 26;
const SPACE: u64 = 29;
const OBJECT: u64 = 30;
const REFERENCE: u64 = 31;
const ARRAY: u64 = 32;
const FIELD: u64 = 33;
const ROOT: u64 = 34;
const THREAD: u64 = 35;

/// Classes of all events that are read.
pub(crate) const CLASSES: &[Class] = &[
    (BOOLEAN, "boolean", &[]),
    (INT, "int", &[]),
    (LONG, "long", &[]),
    (STRING, "java.lang.String", &[]),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, true, false)]),
    (SYMBOL, "jdk.types.Symbol", &[("string", STRING, false, false)]),
    (TRACE, "jdk.types.StackTrace", &[("truncated", BOOLEAN, false, false), ("frames", FRAME, false, true)]),
    (FRAME, "jdk.types.StackFrame", &[("method", METHOD, true, false), ("lineNumber", INT, false, false)]),
    (
        METHOD,
        "jdk.types.Method",
        &[("type", CLASS, true, false), ("name", SYMBOL, true, false), ("descriptor", SYMBOL, true, false)],
    ),
    (NAME, "jdk.types.GCName", &[("name", STRING, false, false)]),
    (SPACE, "jdk.types.VirtualSpace", &[("committedSize", LONG, false, false)]),
    (
        OBJECT,
        "jdk.types.OldObject",
        &[
            ("address", LONG, false, false),
            ("type", CLASS, true, false),
            ("description", STRING, false, false),
            ("referrer", REFERENCE, true, false),
        ],
    ),
    (
        REFERENCE,
        "jdk.types.Reference",
        &[
            ("array", ARRAY, true, false),
            ("field", FIELD, true, false),
            ("object", OBJECT, true, false),
            ("skip", INT, false, false),
        ],
    ),
    (ARRAY, "jdk.types.OldObjectArray", &[("size", INT, false, false), ("index", INT, false, false)]),
    (FIELD, "jdk.types.OldObjectField", &[("name", STRING, false, false), ("modifiers", INT, false, false)]),
    (
        ROOT,
        "jdk.types.OldObjectGcRoot",
        &[("description", STRING, false, false), ("system", NAME, true, false), ("type", NAME, true, false)],
    ),
    (THREAD, "java.lang.Thread", &[("osName", STRING, false, false), ("javaName", STRING, false, false)]),
    (
        100,
        "jdk.ObjectAllocationSample",
        &[
            ("startTime", LONG, false, false),
            ("stackTrace", TRACE, true, false),
            ("objectClass", CLASS, true, false),
            ("weight", LONG, false, false),
        ],
    ),
    (
        101,
        "jdk.GarbageCollection",
        &[
            ("startTime", LONG, false, false),
            ("duration", LONG, false, false),
            ("gcId", INT, false, false),
            ("name", NAME, true, false),
            ("cause", NAME, true, false),
            ("sumOfPauses", LONG, false, false),
            ("longestPause", LONG, false, false),
        ],
    ),
    (
        102,
        "jdk.GCHeapSummary",
        &[
            ("gcId", INT, false, false),
            ("when", NAME, true, false),
            ("heapSpace", SPACE, false, false),
            ("heapUsed", LONG, false, false),
        ],
    ),
    (
        103,
        "jdk.ObjectCount",
        &[
            ("startTime", LONG, false, false),
            ("gcId", INT, false, false),
            ("objectClass", CLASS, true, false),
            ("count", LONG, false, false),
            ("totalSize", LONG, false, false),
        ],
    ),
    (
        104,
        "jdk.OldObjectSample",
        &[
            ("allocationTime", LONG, false, false),
            ("object", OBJECT, true, false),
            ("arrayElements", INT, false, false),
            ("root", ROOT, true, false),
            ("eventThread", THREAD, true, false),
            ("stackTrace", TRACE, true, false),
        ],
    ),
];

/// Constants of all classes: two classes, two methods, stacks of one and two frames, chains.
pub(crate) fn pools() -> Vec<Pool> {
    let symbol = |key, name| (key, text(name));
    let frames = |methods: &[u64]| {
        let mut bytes = vec![0];
        number(&mut bytes, methods.len() as u64);
        methods.iter().for_each(|&method| bytes.extend(numbers(&[method, 7])));
        bytes
    };
    let object = |address, class, description: &str, referrer| {
        [numbers(&[address, class]), text(description), numbers(&[referrer])].concat()
    };
    vec![
        (
            SYMBOL,
            vec![symbol(1, "app/Row"), symbol(2, "[Lapp/Row;"), symbol(3, "make"), symbol(4, "run"), symbol(5, "()V")],
        ),
        (CLASS, vec![(1, numbers(&[1])), (2, numbers(&[2])), (3, numbers(&[99]))]),
        (METHOD, vec![(1, numbers(&[1, 3, 5])), (2, numbers(&[1, 4, 5]))]),
        (TRACE, vec![(1, frames(&[1, 2])), (2, frames(&[2]))]),
        (
            NAME,
            ["G1New", "System.gc()", "Before GC", "After GC", "Class Loader"]
                .map(text)
                .into_iter()
                .zip(1..)
                .map(|(text, key)| (key, text))
                .collect(),
        ),
        (
            OBJECT,
            vec![
                (1, object(4096, 1, "", 1)),
                (2, object(8192, 2, "", 2)),
                (3, object(16384, 1, "Class Name: app.Row", 0)),
            ],
        ),
        (REFERENCE, vec![(1, numbers(&[1, 0, 2, 0])), (2, numbers(&[0, 1, 3, 4]))]),
        (ARRAY, vec![(1, numbers(&[10, 3]))]),
        (FIELD, vec![(1, [text("ALL"), numbers(&[9])].concat())]),
        (ROOT, vec![(1, [vec![0], numbers(&[5, 5])].concat())]),
        (THREAD, vec![(1, [text("os"), text("main")].concat())]),
    ]
}

/// Events of all kinds.
pub(crate) fn events() -> Vec<Vec<u8>> {
    vec![
        event(100, &numbers(&[1_000, 1, 1, 5_000])),
        event(100, &numbers(&[1_100, 2, 2, 70_000])),
        event(100, &numbers(&[1_200, 1, 1, 3_000])),
        event(102, &numbers(&[1, 3, 1 << 20, 900_000])),
        event(102, &numbers(&[1, 4, 2 << 20, 300_000])),
        event(101, &numbers(&[2_000, 400, 1, 1, 2, 400, 300])),
        event(103, &numbers(&[2_100, 1, 1, 12, 288])),
        event(104, &numbers(&[1_500, 1, 0, 1, 1, 1])),
    ]
}

/// A whole recording of a kilobyte or two.
pub(crate) fn recording() -> Vec<u8> {
    chunk(&events(), &constants(&pools()), &metadata(CLASSES))
}
