//! Small heaps that hold the corpus: a snapshot of V8 and a dump of Java.

use super::item::{Item, Place};
use heaplake_oracle::jvm;
use heaplake_oracle::jvm::model::{Dump, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Value};
use heaplake_oracle::{Layout, Snapshot};

/// A snapshot of V8: an object of a class of its own for each item.
pub fn v8(items: &[Item]) -> Vec<u8> {
    let mut heap = Snapshot::new();
    let root = heap.add_node("synthetic", "", 0);
    let global = heap.add_node("object", "global", 40);
    heap.add_edge(root, "property", "global", global);
    for (at, item) in items.iter().enumerate() {
        let holder = heap.add_node("object", item.holder.as_str(), 24);
        heap.add_edge(global, "property", format!("h{at}").as_str(), holder);
        let field = item.field.as_str();
        match item.place {
            Place::Field | Place::Chars | Place::Bytes => {
                let string = heap.add_node("string", item.text.as_str(), 32);
                heap.add_edge(holder, "property", field, string);
            }
            Place::Element => {
                let (array, string) =
                    (heap.add_node("object", "Array", 16), heap.add_node("string", item.text.as_str(), 32));
                heap.add_edge(holder, "property", field, array);
                heap.add_numbered_edge(array, "element", 3, string);
            }
            Place::Map => {
                let (map, table) = (heap.add_node("object", "Map", 16), heap.add_node("array", "", 64));
                let string = heap.add_node("string", item.text.as_str(), 32);
                heap.add_edge(holder, "property", field, map);
                heap.add_edge(map, "internal", "table", table);
                heap.add_edge(table, "internal", "7", string);
            }
            Place::Pieces => {
                let whole = heap.add_node("concatenated string", "(concatenated string)", 32);
                heap.add_edge(holder, "property", field, whole);
                let (first, second) = halves(&item.text);
                for (name, half) in [("first", first), ("second", second)] {
                    let string = heap.add_node("string", half, 24);
                    heap.add_edge(whole, "internal", name, string);
                }
            }
        }
    }
    heap.to_json(&Layout::default())
}

/// The halves of a text.
pub fn halves(text: &str) -> (&str, &str) {
    let middle = (text.len() / 2..).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text.split_at(middle)
}

/// A dump of Java: an object of a class of its own for each item.
pub fn java(items: &[Item], id_size: usize) -> Vec<u8> {
    let (mut dump, heap, object) = beginning(id_size);
    for item in items {
        let class = format!("app/{}", item.holder);
        let class = dump.add_class(&class, Some(object), &[(item.field.as_str(), Value::Object(0))]);
        let value = heap.value(&mut dump, item);
        let holder = dump.add_instance(class, &[Value::Object(value)]);
        dump.roots.push(Root { kind: RootKind::JniGlobal, object: holder });
    }
    dump.to_bytes(&jvm::Layout::default())
}

/// A dump with the classes of strings and maps; returns the class of objects, too.
fn beginning(id_size: usize) -> (Dump, Classes, u64) {
    let mut dump = Dump::new(id_size);
    let base = dump.add_base_classes();
    let (reference, int) = (Value::Object(0), Value::Primitive(Primitive::Int, 0));
    let byte = Value::Primitive(Primitive::Byte, 0);
    let fields = [("value", reference), ("hash", int), ("coder", byte)];
    let string = dump.add_class("java/lang/String", Some(base.object), &fields);
    let fields = [("hash", int), ("key", reference), ("value", reference), ("next", reference)];
    let entry = dump.add_class("java/util/HashMap$Node", Some(base.object), &fields);
    let map = dump.add_class("java/util/HashMap", Some(base.object), &[("table", reference)]);
    let array = dump.add_class("[Ljava/lang/Object;", Some(base.object), &[]);
    (dump, Classes { string, entry, map, array }, base.object)
}

struct Classes {
    string: u64,
    entry: u64,
    map: u64,
    array: u64,
}

impl Classes {
    fn value(&self, dump: &mut Dump, item: &Item) -> u64 {
        let primitive = |dump: &mut Dump, of: Primitive, values: Vec<u64>| {
            dump.add(ObjectData::PrimitiveArray(of, PrimitiveValues::Known(values)))
        };
        match item.place {
            Place::Field | Place::Pieces => self.string(dump, &item.text),
            Place::Chars => primitive(dump, Primitive::Char, item.text.encode_utf16().map(u64::from).collect()),
            Place::Bytes => primitive(dump, Primitive::Byte, item.text.bytes().map(u64::from).collect()),
            Place::Element => {
                let string = self.string(dump, &item.text);
                dump.add(ObjectData::ObjectArray(self.array, vec![0, string]))
            }
            Place::Map => {
                let (key, value) = (self.string(dump, "id"), self.string(dump, &item.text));
                self.map(dump, key, value)
            }
        }
    }

    /// A map of one entry.
    fn map(&self, dump: &mut Dump, key: u64, value: u64) -> u64 {
        let hash = Value::Primitive(Primitive::Int, 7);
        let fields = [hash, Value::Object(key), Value::Object(value), Value::Object(0)];
        let entry = dump.add_instance(self.entry, &fields);
        let table = dump.add(ObjectData::ObjectArray(self.array, vec![entry, 0]));
        dump.add_instance(self.map, &[Value::Object(table)])
    }

    /// A string, of one or two bytes per character.
    fn string(&self, dump: &mut Dump, text: &str) -> u64 {
        let is_latin = text.chars().all(|c| (c as u32) < 256);
        let bytes: Vec<u64> = if is_latin {
            text.chars().map(u64::from).collect()
        } else {
            text.encode_utf16().flat_map(u16::to_le_bytes).map(u64::from).collect()
        };
        let value = dump.add(ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Known(bytes)));
        let (hash, coder) =
            (Value::Primitive(Primitive::Int, 1), Value::Primitive(Primitive::Byte, (!is_latin).into()));
        dump.add_instance(self.string, &[Value::Object(value), hash, coder])
    }
}

/// A snapshot of V8 with a list of keys and values in turn, and a map of one key.
pub fn v8_keys(key: &str, value: &str) -> Vec<u8> {
    let mut heap = Snapshot::new();
    let root = heap.add_node("synthetic", "", 0);
    let (request, store) = (heap.add_node("object", "Request", 24), heap.add_node("object", "Store", 24));
    heap.add_edge(root, "property", "request", request);
    heap.add_edge(root, "property", "store", store);
    let headers = heap.add_node("object", "Array", 16);
    heap.add_edge(request, "property", "rawHeaders", headers);
    for (at, text) in [(0, "host"), (1, "shop.example"), (2, key), (3, value)] {
        let string = heap.add_node("string", text, 24);
        heap.add_numbered_edge(headers, "element", at, string);
    }
    let (map, table) = (heap.add_node("object", "Map", 16), heap.add_node("array", "", 64));
    heap.add_edge(store, "property", "settings", map);
    heap.add_edge(map, "internal", "table", table);
    for (at, text) in [("5", key), ("6", value)] {
        let string = heap.add_node("string", text, 24);
        heap.add_edge(table, "internal", at, string);
    }
    heap.to_json(&Layout::default())
}

/// A dump of Java with a map of one key.
pub fn java_key(key: &str, value: &str) -> Vec<u8> {
    let (mut dump, heap, object) = beginning(8);
    let class = dump.add_class("app/Settings", Some(object), &[("all", Value::Object(0))]);
    let (key, value) = (heap.string(&mut dump, key), heap.string(&mut dump, value));
    let map = heap.map(&mut dump, key, value);
    let settings = dump.add_instance(class, &[Value::Object(map)]);
    dump.roots.push(Root { kind: RootKind::JniGlobal, object: settings });
    dump.to_bytes(&jvm::Layout::default())
}
