//! Converts a plain heap to each format.

use super::model::{Heap, Object, Root};
use crate::dotnet;
use crate::jvm::{self, Dump, ObjectData, Primitive, PrimitiveValues, RootKind, Static, Value, truth};
use crate::model::Snapshot;
use crate::rng::SplitMix64;

/// Name of the class of arrays.
const ARRAY: &str = "java.lang.Object[]";

/// A heap in a format, and the id of each object there.
#[derive(Clone, Debug)]
pub struct Told<T> {
    pub heap: T,
    /// The column `id` of each object, by number.
    pub ids: Vec<u64>,
}

impl Heap {
    /// As a Java dump; the seed decides the order of the objects.
    pub fn to_java(&self, seed: u64) -> Told<Dump> {
        let mut dump = Dump::new(8);
        let base = dump.add_base_classes();
        let array = dump.add_class("[Ljava/lang/Object;", Some(base.object), &[]);
        let (number, reference) = (Value::Primitive(Primitive::Int, 0), Value::Object(0));
        let mut classes = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let numbers = (0..class.numbers).map(|at| (format!("n{at}"), number));
            let fields: Vec<_> = numbers.chain((0..class.references).map(|at| (format!("r{at}"), reference))).collect();
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            classes.push(dump.add_class(&format!("C{index}"), Some(base.object), &fields));
        }
        let first = dump.objects.len();
        let order = self.order(seed);
        let mut ids = vec![0; order.len()];
        for &object in &order {
            ids[object] = dump.add(ObjectData::ObjectArray(array, Vec::new()));
        }
        for (place, &object) in order.iter().enumerate() {
            dump.objects[first + place].data = match &self.objects[object] {
                Object::Instance(class, numbers, references) => {
                    let numbers = numbers.iter().map(|&bits| Value::Primitive(Primitive::Int, bits.into()));
                    let references = references.iter().map(|to| Value::Object(to.map_or(0, |to| ids[to])));
                    ObjectData::Instance(classes[*class], numbers.chain(references).collect())
                }
                Object::Array(elements) => ObjectData::ObjectArray(array, elements.iter().map(|&to| ids[to]).collect()),
                Object::Text(text) => {
                    let bytes = text.bytes().map(u64::from).collect();
                    ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Known(bytes))
                }
            };
        }
        for (at, root) in self.roots.iter().enumerate() {
            match *root {
                Root::Handle(object) => {
                    let kind = [RootKind::JniGlobal, RootKind::Monitor, RootKind::Unknown][at % 3];
                    dump.roots.push(jvm::Root { kind, object: ids[object] });
                }
                Root::Static(class, object) => {
                    let name = dump.intern(&format!("s{at}"));
                    let of = dump.classes.iter_mut().find(|known| known.address == classes[class]);
                    let statics = &mut of.expect("a class of the dump").statics;
                    statics.push(Static { name, value: Value::Object(ids[object]) });
                }
            }
        }
        Told { heap: dump, ids }
    }

    /// The size of each object in the dump.
    pub fn sizes(&self, told: &Told<Dump>) -> Vec<u64> {
        let nodes = truth(&told.heap, jvm::Referents::Hold).nodes;
        let size = |id: &u64| nodes.iter().find(|node| node.address == Some(*id)).map(|node| node.shallow);
        told.ids.iter().map(|id| size(id).expect("an object of the dump")).collect()
    }

    /// As a V8 snapshot with captured numbers.
    pub fn to_v8(&self, sizes: &[u64], seed: u64) -> Told<Snapshot> {
        let mut snapshot = Snapshot::new();
        let root = snapshot.add_node("synthetic", "", 0);
        let mut node = vec![0; sizes.len()];
        for object in self.order(seed) {
            let (kind, name) = match &self.objects[object] {
                Object::Instance(class, ..) => ("object", format!("C{class}")),
                Object::Array(_) => ("object", ARRAY.to_owned()),
                Object::Text(text) => ("string", text.clone()),
            };
            node[object] = snapshot.add_node(kind, name.as_str(), sizes[object]);
        }
        for (index, root_of) in self.roots.iter().enumerate() {
            snapshot.add_numbered_edge(root, "element", index as u64, node[root_of.object()]);
        }
        for (object, &from) in self.objects.iter().zip(&node) {
            match object {
                Object::Instance(_, numbers, references) => {
                    for (at, number) in numbers.iter().enumerate() {
                        let number = snapshot.add_node("number", number.to_string().as_str(), 0);
                        snapshot.add_edge(from, "property", format!("n{at}").as_str(), number);
                    }
                    for (at, to) in references.iter().enumerate() {
                        if let Some(to) = to {
                            snapshot.add_edge(from, "property", format!("r{at}").as_str(), node[*to]);
                        }
                    }
                }
                Object::Array(elements) => {
                    for (at, &to) in (0..).zip(elements) {
                        snapshot.add_numbered_edge(from, "element", at, node[to]);
                    }
                }
                Object::Text(_) => {}
            }
        }
        let ids = node.iter().map(|&node| snapshot.nodes[node].id).collect();
        Told { heap: snapshot, ids }
    }

    pub fn to_dotnet(&self, sizes: &[u64], seed: u64) -> Told<dotnet::Heap> {
        let (arrays, texts, first) = (0x500, 0x508, 0x510);
        let order = self.order(seed);
        let mut ids = vec![0; order.len()];
        for (&object, place) in order.iter().zip(0..) {
            ids[object] = 0x10_0000 + 0x1000 * place;
        }
        let of_type =
            |id, name: &str, array| dotnet::Type { id, name: name.to_owned(), array, ..dotnet::Type::default() };
        let mut types = vec![of_type(arrays, ARRAY, true), of_type(texts, "byte[]", true)];
        types.extend(
            (0..self.classes.len()).map(|class| of_type(first + 8 * class as u64, &format!("C{class}"), false)),
        );
        let object = |&object: &usize| dotnet::Object {
            address: ids[object],
            size: sizes[object],
            type_id: match &self.objects[object] {
                Object::Instance(class, ..) => first + 8 * *class as u64,
                Object::Array(_) => arrays,
                Object::Text(_) => texts,
            },
            references: self.objects[object].targets().into_iter().map(|to| ids[to]).collect(),
        };
        let mut walk = dotnet::Walk { objects: order.iter().map(object).collect(), ..dotnet::Walk::default() };
        for (at, root) in self.roots.iter().enumerate() {
            match *root {
                Root::Handle(object) => walk.roots.push(dotnet::Root { object: ids[object], kind: 2, flags: 0 }),
                Root::Static(class, object) => walk.statics.push(dotnet::Static {
                    object: ids[object],
                    type_id: first + 8 * class as u64,
                    field: format!("s{at}"),
                    thread: false,
                }),
            }
        }
        Told { heap: dotnet::Heap { types, modules: Vec::new(), walks: vec![walk] }, ids }
    }

    fn order(&self, seed: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.objects.len()).collect();
        SplitMix64::new(seed).shuffle(&mut order);
        order
    }
}
