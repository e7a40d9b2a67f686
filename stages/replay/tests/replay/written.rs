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

/// A class: its id, name and fields. A field is `name:Class`, `name:*Class` if it has the key of a constant, or
/// `name:[Class]` if it is a list.
pub(crate) type Class = (u64, &'static str, &'static str);

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
        number(&mut tree, fields.split_whitespace().count() as u64);
        for (name, class) in fields.split_whitespace().map(|field| field.split_once(':').unwrap()) {
            let id = id_in(classes, class.trim_matches(['*', '[', ']']));
            let mut attributes = vec![("name", name.to_owned()), ("class", id.to_string())];
            attributes.extend(class.starts_with('*').then(|| ("constantPool", "true".to_owned())));
            attributes.extend(class.starts_with('[').then(|| ("dimension", "1".to_owned())));
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

/// Classes of all events that are read.
pub(crate) const CLASSES: &[Class] = &[
    (9, "boolean", ""),
    (10, "int", ""),
    (11, "long", ""),
    (20, "java.lang.String", ""),
    (21, "java.lang.Class", "name:*Symbol"),
    (22, "jdk.types.Symbol", "string:String"),
    (23, "jdk.types.StackTrace", "truncated:boolean frames:[StackFrame]"),
    (24, "jdk.types.StackFrame", "method:*Method lineNumber:int"),
    (25, "jdk.types.Method", "type:*Class name:*Symbol descriptor:*Symbol"),
    (26, "jdk.types.GCName", "name:String"),
    (29, "jdk.types.VirtualSpace", "committedSize:long"),
    (30, "jdk.types.OldObject", "address:long type:*Class description:String referrer:*Reference"),
    (31, "jdk.types.Reference", "array:*OldObjectArray field:*OldObjectField object:*OldObject skip:int"),
    (32, "jdk.types.OldObjectArray", "size:int index:int"),
    (33, "jdk.types.OldObjectField", "name:String modifiers:int"),
    (34, "jdk.types.OldObjectGcRoot", "description:String system:*GCName type:*GCName"),
    (35, "java.lang.Thread", "osName:String javaName:String"),
    (100, "jdk.ObjectAllocationSample", "startTime:long stackTrace:*StackTrace objectClass:*Class weight:long"),
    (
        101,
        "jdk.GarbageCollection",
        "startTime:long duration:long gcId:int name:*GCName cause:*GCName sumOfPauses:long longestPause:long",
    ),
    (102, "jdk.GCHeapSummary", "gcId:int when:*GCName heapSpace:VirtualSpace heapUsed:long"),
    (103, "jdk.ObjectCount", "startTime:long gcId:int objectClass:*Class count:long totalSize:long"),
    (
        104,
        "jdk.OldObjectSample",
        "allocationTime:long object:*OldObject arrayElements:int root:*OldObjectGcRoot eventThread:*Thread \
         stackTrace:*StackTrace",
    ),
];

/// The id of the class of a name, whose package may be left out.
fn id_in(classes: &[Class], name: &str) -> u64 {
    let is_it = |(_, whole, _): &&Class| *whole == name || whole.ends_with(&format!(".{name}"));
    classes.iter().find(is_it).unwrap().0
}

/// Constants of all classes: two classes, two methods, stacks of one and two frames, chains.
pub(crate) fn pools() -> Vec<Pool> {
    let id = |name| id_in(CLASSES, name);
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
            id("Symbol"),
            vec![symbol(1, "app/Row"), symbol(2, "[Lapp/Row;"), symbol(3, "make"), symbol(4, "run"), symbol(5, "()V")],
        ),
        (id("Class"), vec![(1, numbers(&[1])), (2, numbers(&[2])), (3, numbers(&[99]))]),
        (id("Method"), vec![(1, numbers(&[1, 3, 5])), (2, numbers(&[1, 4, 5]))]),
        (id("StackTrace"), vec![(1, frames(&[1, 2])), (2, frames(&[2]))]),
        (
            id("GCName"),
            ["G1New", "System.gc()", "Before GC", "After GC", "Class Loader"]
                .map(text)
                .into_iter()
                .zip(1..)
                .map(|(text, key)| (key, text))
                .collect(),
        ),
        (
            id("OldObject"),
            vec![
                (1, object(4096, 1, "", 1)),
                (2, object(8192, 2, "", 2)),
                (3, object(16384, 1, "Class Name: app.Row", 0)),
            ],
        ),
        (id("Reference"), vec![(1, numbers(&[1, 0, 2, 0])), (2, numbers(&[0, 1, 3, 4]))]),
        (id("OldObjectArray"), vec![(1, numbers(&[10, 3]))]),
        (id("OldObjectField"), vec![(1, [text("ALL"), numbers(&[9])].concat())]),
        (id("OldObjectGcRoot"), vec![(1, [vec![0], numbers(&[5, 5])].concat())]),
        (id("Thread"), vec![(1, [text("os"), text("main")].concat())]),
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
