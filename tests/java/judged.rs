//! Results on Java heaps: retainers, findings, duplicates, sizes.

use super::dumps::{accepted, bytes, chain};
use heaplake_oracle::jvm::model::{Base, Dump, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Static, Value};
use heaplake_support::lake::{Lake, answer, heaplake, read_json};
use heaplake_support::table::Table;
use serde_json::Value as Json;
use std::path::Path;

const NULL: Value = Value::Object(0);
const INT: Value = Value::Primitive(Primitive::Int, 0);
const LONG: Value = Value::Primitive(Primitive::Long, 0);

fn heap() -> (Dump, Base) {
    let mut dump = Dump::new(8);
    let base = dump.add_base_classes();
    dump.roots.push(Root { kind: RootKind::StickyClass, object: base.object });
    (dump, base)
}

/// Adds a class with a static field that refers to an object and is a root.
fn hold(dump: &mut Dump, base: &Base, class: &str, field: &str, object: u64) {
    let address = dump.add_class(class, Some(base.object), &[]);
    let name = dump.intern(field);
    let class = dump.classes.iter_mut().find(|class| class.address == address).unwrap();
    class.statics.push(Static { name, value: Value::Object(object) });
    dump.roots.push(Root { kind: RootKind::StickyClass, object: address });
}

fn array(dump: &mut Dump, class: u64, elements: &[u64]) -> u64 {
    dump.add(ObjectData::ObjectArray(class, elements.to_vec()))
}

fn plain(dump: &mut Dump, kind: Primitive, length: usize) -> u64 {
    dump.add(ObjectData::PrimitiveArray(kind, PrimitiveValues::Known(vec![0; length])))
}

/// The findings of a run: rule, severity, message.
fn findings(run: &Path) -> Vec<(String, String, String)> {
    let table = Table::read(run, "findings.parquet");
    let texts = |name| table.texts(name).into_iter().map(Option::unwrap).collect::<Vec<String>>();
    let (rules, severities, messages) = (texts("rule"), texts("severity"), texts("message"));
    rules.into_iter().zip(severities).zip(messages).map(|((a, b), c)| (a, b, c)).collect()
}

fn summary(run: &Path) -> Json {
    let json: Json = read_json(run.join("run.json"));
    json["summary"].clone()
}

/// A field and an array of one object retain the same object: neither retains it alone.
#[test]
fn an_array_is_a_holder_beside_the_field_of_its_object() {
    let (mut dump, base) = heap();
    let payload = dump.add_class("app/Payload", Some(base.object), &[("number", LONG)]);
    let payloads = dump.add_class("[Lapp/Payload;", Some(base.object), &[]);
    let holder = dump.add_class("app/Holder", Some(base.object), &[("first", NULL), ("all", NULL)]);
    for _ in 0..50 {
        let both = dump.add_instance(payload, &[LONG]);
        let one = dump.add_instance(payload, &[LONG]);
        let all = array(&mut dump, payloads, &[both, one]);
        let object = dump.add_instance(holder, &[Value::Object(both), Value::Object(all)]);
        dump.roots.push(Root { kind: RootKind::JniGlobal, object });
    }
    let lake = Lake::new();
    let input = lake.input("heap.hprof", &bytes(&dump));
    lake.analyze(&input).args(["--min-count", "1", "--edges"]).assert().success();
    let table = Table::read(&lake.run(), "retainer_trees.parquet");
    let (class, level, text) = (table.texts("class"), table.u32s("level"), table.texts("text"));
    let (count, alone) = (table.u64s("count"), table.u64s("exclusive_count"));
    let is_direct = |&row: &usize| class[row].as_deref() == Some("app.Payload") && level[row] == Some(1);
    let rows: Vec<(String, u64, u64)> = (0..table.rows())
        .filter(is_direct)
        .map(|row| (text[row].clone().unwrap(), count[row].unwrap(), alone[row].unwrap()))
        .collect();
    let expected =
        [("app.Payload[][] → app.Payload".to_owned(), 100, 50), ("app.Holder.first → app.Payload".to_owned(), 50, 0)];
    assert_eq!(rows, expected);
    // The same for one object, from the table of edges.
    let both = Table::read(&lake.run(), "nodes.parquet");
    let classes = both.texts("class");
    let node = classes.iter().position(|class| class.as_deref() == Some("app.Payload")).unwrap();
    let answer = answer(heaplake().arg("why").arg(lake.run()).arg(node.to_string()).args(["--all", "--json"]));
    let direct: Vec<&Json> =
        answer["holders"].as_array().unwrap().iter().filter(|holder| holder["level"] == 1).collect();
    assert_eq!(direct.len(), 2, "{answer}");
    assert!(direct.iter().all(|holder| holder["alone"] == false), "{answer}");
}

/// A dump with pieces of stacks of these lengths in words.
fn stacks(words: &[u64]) -> Dump {
    let (mut dump, base) = heap();
    let fields = [("parent", NULL), ("size", INT), ("sp", INT), ("bottom", INT)];
    let class = dump.add_class("jdk/internal/vm/StackChunk", Some(base.object), &fields);
    for &words in words {
        let size = Value::Primitive(Primitive::Int, words);
        let object = dump.add_instance(class, &[NULL, size, INT, INT]);
        dump.roots.push(Root { kind: RootKind::JniGlobal, object });
    }
    dump
}

#[test]
fn stacks_of_virtual_threads_are_never_exact_duplicates() {
    let (_lake, run) = accepted(&bytes(&stacks(&[10, 10, 10, 20])));
    let sets = Table::read(&run, "duplicate_sets.parquet");
    assert_eq!(sets.texts("class"), [Some("jdk.internal.vm.StackChunk".to_owned())]);
    assert_eq!((sets.u64s("members"), sets.texts("status")), (vec![Some(3)], vec![Some("possible".to_owned())]));
    let reason = "the words of the stack of a virtual thread are not in the file";
    assert_eq!(sets.texts("reason"), [Some(reason.to_owned())]);
}

/// Lengths are the virtual machine's, unless MAT's rule is chosen: words, and a bit for each position of a reference.
#[test]
fn stacks_of_virtual_threads_have_their_true_sizes() {
    let sizes = |options: &[&str]| {
        let lake = Lake::new();
        let input = lake.input("heap.hprof", &bytes(&stacks(&[0, 1, 64, 100])));
        lake.analyze(&input).args(options).assert().success();
        let nodes = Table::read(&lake.run(), "nodes.parquet");
        let (classes, sizes) = (nodes.texts("class"), nodes.u64s("shallow_bytes"));
        let is_stack = |&row: &usize| classes[row].as_deref() == Some("jdk.internal.vm.StackChunk");
        let found: Vec<u64> = (0..nodes.rows()).filter(is_stack).map(|row| sizes[row].unwrap()).collect();
        (found, summary(&lake.run())["remarks"].to_string())
    };
    // No compressed references: a header of 12 bytes, `parent`, `cont` and `pc` of 8, four numbers of 4, two of 1.
    let (auto, remarks) = sizes(&[]);
    assert_eq!(auto, [56, 56 + 8 + 8, 56 + 512 + 8, 56 + 800 + 16]);
    assert!(remarks.contains("the stacks of its virtual threads count with the sizes"), "{remarks}");
    assert_eq!(sizes(&["--sizes", "jvm"]).0, auto);
    let (mat, remarks) = sizes(&["--sizes", "mat"]);
    assert_eq!((mat, remarks.contains("virtual threads")), (vec![40; 4], false));
}

/// The class of direct buffers with all its superclasses.
fn buffer_class(dump: &mut Dump, base: &Base) -> u64 {
    let fields = [("mark", INT), ("position", INT), ("limit", INT), ("capacity", INT), ("address", LONG)];
    let buffer = dump.add_class("java/nio/Buffer", Some(base.object), &fields);
    let bytes = dump.add_class("java/nio/ByteBuffer", Some(buffer), &[("hb", NULL), ("offset", INT)]);
    let mapped = dump.add_class("java/nio/MappedByteBuffer", Some(bytes), &[("fd", NULL)]);
    dump.add_class("java/nio/DirectByteBuffer", Some(mapped), &[("att", NULL), ("cleaner", NULL)])
}

/// A buffer of `capacity` bytes; `of` are the buffer that it is a view of, its cleaner, and its file.
fn buffer(dump: &mut Dump, class: u64, of: [u64; 3], capacity: u64) -> u64 {
    buffer_at(dump, class, of, [capacity, 0])
}

fn buffer_at(dump: &mut Dump, class: u64, [shown, cleaner, file]: [u64; 3], [capacity, address]: [u64; 2]) -> u64 {
    let (capacity, address) = (Value::Primitive(Primitive::Int, capacity), Value::Primitive(Primitive::Long, address));
    let own = [Value::Object(shown), Value::Object(cleaner), Value::Object(file), NULL, INT];
    dump.add_instance(class, &[&own[..], &[INT, INT, INT, capacity, address]].concat())
}

/// A library may free its buffers itself. Several buffers of the same memory count once.
#[test]
fn direct_buffers_without_cleaners_count_once() {
    let (mut dump, base) = heap();
    let class = buffer_class(&mut dump, &base);
    let objects = dump.add_class("[Ljava/lang/Object;", Some(base.object), &[]);
    let mut all = Vec::new();
    for at in 1..=60 {
        let begin = at << 24;
        all.push(buffer_at(&mut dump, class, [0, 0, 0], [1 << 20, begin]));
        all.push(buffer_at(&mut dump, class, [0, 0, 0], [1 << 10, begin]));
        all.push(buffer_at(&mut dump, class, [0, 0, 0], [1 << 10, begin + (1 << 19)]));
    }
    let all = array(&mut dump, objects, &all);
    hold(&mut dump, &base, "app/Arena", "chunks", all);
    let (_lake, run) = accepted(&bytes(&dump));
    let found = findings(&run);
    let message = &found.iter().find(|finding| finding.0 == "direct-buffers").unwrap().2;
    assert!(
        message.starts_with("60 direct buffers keep 60.0 MiB") && message.contains("app.Arena.chunks"),
        "{message}"
    );
}

#[test]
fn direct_buffers_are_told_by_what_holds_them() {
    let (mut dump, base) = heap();
    let class = buffer_class(&mut dump, &base);
    let read_only = dump.add_class("java/nio/DirectByteBufferR", Some(class), &[]);
    let upload = dump.add_class("app/Upload", Some(base.object), &[("buf", NULL)]);
    let objects = dump.add_class("[Ljava/lang/Object;", Some(base.object), &[]);
    let list = dump.add_class("java/util/ArrayList", Some(base.object), &[("elementData", NULL), ("size", INT)]);
    let cleaner = dump.add_instance(base.object, &[]);
    let mut uploads = Vec::new();
    for at in 0..100 {
        let buf = buffer(&mut dump, class, [0, cleaner, 0], 1 << 20);
        uploads.push(dump.add_instance(upload, &[Value::Object(buf)]));
        // A view of another buffer, a buffer without an address, or of a file owns nothing.
        let of = [[buf, 0, 0], [0, 0, 0], [0, cleaner, base.object]][at % 3];
        let other = if at % 2 == 0 { class } else { read_only };
        let other = buffer(&mut dump, other, of, 1 << 30);
        uploads.push(dump.add_instance(upload, &[Value::Object(other)]));
    }
    let store = array(&mut dump, objects, &uploads);
    let list = dump.add_instance(list, &[Value::Object(store), Value::Primitive(Primitive::Int, 200)]);
    hold(&mut dump, &base, "app/UploadStore", "uploads", list);
    let (_lake, run) = accepted(&bytes(&dump));
    let found = findings(&run);
    let of_buffers: Vec<_> = found.iter().filter(|finding| finding.0 == "direct-buffers").collect();
    let [(_, severity, message)] = &of_buffers[..] else { panic!("{found:?}") };
    assert_eq!(severity, "high");
    assert!(message.starts_with("100 direct buffers keep 100.0 MiB outside the heap, beside "), "{message}");
    assert!(message.contains(" in it, below app.UploadStore.uploads (java.util.ArrayList @"), "{message}");
    let table = Table::read(&run, "findings.parquet");
    let row = table.texts("rule").iter().position(|rule| rule.as_deref() == Some("direct-buffers")).unwrap();
    assert_eq!((table.u64s("count")[row], table.u64s("bytes")[row]), (Some(100), Some(100 << 20)));
}

#[test]
fn few_direct_buffers_and_those_of_several_places() {
    let (mut dump, base) = heap();
    let class = buffer_class(&mut dump, &base);
    let node = dump.add_class("app/Link", Some(base.object), &[("next", NULL), ("buf", NULL)]);
    let cleaner = dump.add_instance(base.object, &[]);
    // A list of the program's own, a single buffer, and one too small to report.
    let mut next = 0;
    for _ in 0..60 {
        let buf = buffer(&mut dump, class, [0, cleaner, 0], 1 << 20);
        next = dump.add_instance(node, &[Value::Object(next), Value::Object(buf)]);
    }
    hold(&mut dump, &base, "app/Queue", "head", next);
    let one = buffer(&mut dump, class, [0, cleaner, 0], 50 << 20);
    hold(&mut dump, &base, "app/Pool", "buffer", one);
    let little = buffer(&mut dump, class, [0, cleaner, 0], 1 << 19);
    hold(&mut dump, &base, "app/Small", "buffer", little);
    let (_lake, run) = accepted(&bytes(&dump));
    let found = findings(&run);
    let of_buffers: Vec<_> = found.iter().filter(|finding| finding.0 == "direct-buffers").collect();
    let [queue, pool] = &of_buffers[..] else { panic!("{found:?}") };
    assert_eq!((&*queue.1, &*pool.1), ("high", "medium"), "{found:?}");
    assert!(queue.2.starts_with("60 direct buffers keep 60.0 MiB") && queue.2.contains("app.Queue.head"), "{queue:?}");
    assert!(pool.2.starts_with("1 direct buffer keeps 50.0 MiB") && pool.2.contains("app.Pool.buffer"), "{pool:?}");
}

/// If many objects of one class each retain a few buffers, the finding names the class.
#[test]
fn direct_buffers_in_many_places_are_told_by_the_class_that_holds_them() {
    let (mut dump, base) = heap();
    let class = buffer_class(&mut dump, &base);
    let buffers = dump.add_class("[Ljava/nio/ByteBuffer;", Some(base.object), &[]);
    let cache = dump.add_class("app/Cache", Some(base.object), &[("buffers", NULL)]);
    let cleaner = dump.add_instance(base.object, &[]);
    for _ in 0..60 {
        let buffer = buffer(&mut dump, class, [0, cleaner, 0], 1 << 20);
        let all = array(&mut dump, buffers, &[buffer]);
        let object = dump.add_instance(cache, &[Value::Object(all)]);
        dump.roots.push(Root { kind: RootKind::JniGlobal, object });
    }
    let (_lake, run) = accepted(&bytes(&dump));
    let found = findings(&run);
    let message = &found.iter().find(|finding| finding.0 == "direct-buffers").unwrap().2;
    let expected = "held in many places: 60 of them by objects of app.Cache, such as ";
    assert!(message.contains(expected), "{message}");
}

/// Unreachable objects are outside the heap: only the finding about garbage reports them.
#[test]
fn garbage_is_told_as_garbage_only() {
    let mut dump = chain(1000);
    plain(&mut dump, Primitive::Byte, 64 << 20);
    let class = dump.add_class("[Ljava/lang/Object;", Some(dump.classes[0].address), &[]);
    array(&mut dump, class, &vec![0; 2 << 20]);
    let (_lake, run) = accepted(&bytes(&dump));
    let found = findings(&run);
    let about: Vec<&str> =
        found.iter().map(|finding| &*finding.0).filter(|rule| !rule.contains("duplicates")).collect();
    assert_eq!(about, ["unreachable"], "{found:?}");
    assert!(found.iter().all(|finding| !finding.2.contains("% of the heap")), "{found:?}");
    let largest = summary(&run)["largest"].to_string();
    assert!(!largest.contains("byte[]"), "{largest}");
}

/// Fillers of gaps between objects.
#[test]
fn fillers_are_no_finding() {
    let mut dump = chain(1000);
    let object = dump.classes[0].address;
    let filler = dump.add_class("jdk/internal/vm/FillerObject", Some(object), &[]);
    (0..1000).for_each(|_| _ = dump.add_instance(filler, &[]));
    for name in ["[Ljdk/internal/vm/FillerElement;", "jdk/internal/vm/FillerArray"] {
        let class = dump.add_class(name, Some(object), &[]);
        array(&mut dump, class, &vec![0; 1 << 20]);
    }
    plain(&mut dump, Primitive::Int, 4 << 20);
    let (_lake, run) = accepted(&bytes(&dump));
    let found = findings(&run);
    assert!(found.iter().all(|finding| finding.0.contains("possible-duplicates")), "{found:?}");
}

/// Contents overwritten by a tool make no duplicates.
#[test]
fn duplicates_of_sanitized_texts_are_not_told() {
    let texts = |value: &dyn Fn(usize) -> u64| {
        let (mut dump, base) = heap();
        let class = dump.add_class("[[B", Some(base.object), &[]);
        let all: Vec<u64> = (0..3000)
            .map(|at| {
                let values = PrimitiveValues::Known(vec![value(at); 1000]);
                dump.add(ObjectData::PrimitiveArray(Primitive::Byte, values))
            })
            .collect();
        let all = array(&mut dump, class, &all);
        hold(&mut dump, &base, "app/Texts", "all", all);
        let (_lake, run) = accepted(&bytes(&dump));
        let sets = Table::read(&run, "duplicate_sets.parquet");
        let duplicates = |text: &str| text.contains("duplicate-");
        let told = findings(&run).iter().any(|found| duplicates(&found.0) || duplicates(&found.2));
        (sets.texts("status"), told, summary(&run)["remarks"].to_string())
    };
    let (statuses, told, remarks) = texts(&|_| 42);
    assert_eq!((statuses, told), (vec![Some("possible".to_owned())], false));
    assert!(remarks.contains("the dump was sanitized"), "{remarks}");
    let (statuses, told, remarks) = texts(&|at| (at % 2) as u64);
    assert_eq!((statuses, told), (vec![Some("exact".to_owned()); 2], true));
    assert!(!remarks.contains("sanitized"), "{remarks}");
}

/// Variables of Clojure have their symbols as names, and paths begin with them.
#[test]
fn variables_of_clojure_have_their_names() {
    let (mut dump, base) = heap();
    let byte = Value::Primitive(Primitive::Byte, 0);
    let string = dump.add_class("java/lang/String", Some(base.object), &[("value", NULL), ("coder", byte)]);
    let symbol = dump.add_class("clojure/lang/Symbol", Some(base.object), &[("ns", NULL), ("name", NULL)]);
    let namespace = dump.add_class("clojure/lang/Namespace", Some(base.object), &[("name", NULL), ("mappings", NULL)]);
    let fields = [("root", NULL), ("ns", NULL), ("sym", NULL)];
    let variable = dump.add_class("clojure/lang/Var", Some(base.object), &fields);
    let objects = dump.add_class("[Ljava/lang/Object;", Some(base.object), &[]);
    let named = |dump: &mut Dump, text: &str| {
        let text = PrimitiveValues::Known(text.bytes().map(u64::from).collect());
        let text = dump.add(ObjectData::PrimitiveArray(Primitive::Byte, text));
        let text = dump.add_instance(string, &[Value::Object(text), byte]);
        dump.add_instance(symbol, &[NULL, Value::Object(text)])
    };
    let [of_namespace, of_variable] = ["shop.report", "price-of"].map(|text| named(&mut dump, text));
    let payloads: Vec<u64> = (0..400).map(|_| plain(&mut dump, Primitive::Byte, 10_000)).collect();
    let payloads = array(&mut dump, objects, &payloads);
    let space = dump.add_instance(namespace, &[Value::Object(of_namespace), NULL]);
    let variables: Vec<u64> = [(payloads, of_variable), (0, 0)]
        .map(|(root, symbol)| {
            dump.add_instance(variable, &[Value::Object(root), Value::Object(space), Value::Object(symbol)])
        })
        .to_vec();
    let mappings = array(&mut dump, objects, &variables);
    hold(&mut dump, &base, "app/Registry", "mappings", mappings);
    let (_lake, run) = accepted(&bytes(&dump));
    let nodes = Table::read(&run, "nodes.parquet");
    let classes = nodes.texts("class").into_iter().zip(nodes.texts("name"));
    let names: Vec<_> = classes.filter(|(class, _)| class.as_deref() == Some("clojure.lang.Var")).collect();
    assert_eq!(names[0].1.as_deref(), Some("shop.report/price-of"));
    assert_eq!(names[1].1, None);
    let found = findings(&run);
    assert!(found[0].2.contains("clojure.lang.Var \"shop.report/price-of\""), "{found:?}");
    assert!(found.iter().all(|finding| !finding.2.contains("Registry.mappings")), "{found:?}");
}
