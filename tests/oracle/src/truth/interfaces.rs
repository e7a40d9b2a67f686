//! The interfaces that DevTools infers for plain objects, such as `{x, y}`.

use crate::model::Snapshot;
use crate::text::{OracleString, units};

/// Maximum length of an interface's name in units, its first property not counted.
const LONGEST_NAME: usize = 120;

/// A property list of objects.
struct Interface {
    name: OracleString,
    properties: Vec<OracleString>,
    /// Objects with exactly this list, in this order.
    count: usize,
}

/// The plain objects with an interface, and its name.
pub(super) fn assign(snapshot: &Snapshot) -> Vec<(usize, OracleString)> {
    let objects = plain_objects(snapshot);
    let interfaces = infer(snapshot, &objects);
    let mut assigned = Vec::new();
    for object in objects {
        if let Some(interface) = best_match(snapshot, &interfaces, object) {
            assigned.push((object, interface.name.clone()));
        }
    }
    assigned
}

/// Nodes of type `object` named `Object`. DevTools begins with the root: where the root is the last node, only it can
/// have an interface.
fn plain_objects(snapshot: &Snapshot) -> Vec<usize> {
    let is_plain = |&v: &usize| snapshot.node_type(v) == "object" && *snapshot.node_name(v) == "Object";
    (snapshot.root()..snapshot.nodes.len()).filter(is_plain).collect()
}

/// The interfaces, most popular first, in order of occurrence among equals.
///
/// Each object proposes one. An interface needs at least two proposals, and one from a thousandth of all plain objects.
fn infer(snapshot: &Snapshot, objects: &[usize]) -> Vec<Interface> {
    let mut found: Vec<Interface> = Vec::new();
    for &object in objects {
        let (name, properties) = proposal(snapshot, object);
        if properties.is_empty() {
            continue;
        }
        // Known by name: with nameless properties two lists may share one, and the first stays.
        match found.iter_mut().find(|interface| interface.name == name) {
            Some(interface) => interface.count += 1,
            None => found.push(Interface { name, properties, count: 1 }),
        }
    }
    found.retain(|interface| interface.count >= 2 && interface.count * 1000 >= objects.len());
    found.sort_by_key(|interface| std::cmp::Reverse(interface.count)); // stable
    found
}

/// The interface that an object proposes: its properties in order, without `__proto__`, up to the first that would make
/// the name too long.
fn proposal(snapshot: &Snapshot, object: usize) -> (OracleString, Vec<OracleString>) {
    let mut name = OracleString::from("{");
    let mut properties = Vec::new();
    for property in properties_of(snapshot, object).filter(|name| **name != "__proto__") {
        let shown = quoted_if_odd(property);
        let is_first = name.units().len() == 1;
        if !is_first && name.units().len() + shown.units().len() > LONGEST_NAME {
            break;
        }
        if !is_first {
            name.push_str(", ");
        }
        name.push(&shown);
        properties.push(property.clone());
    }
    name.push_str("}");
    (name, properties)
}

/// The interface with the most properties among those that the object matches: it has all their properties (as often as
/// listed, in any order). Ties go to the first, which is the most popular.
fn best_match<'a>(snapshot: &Snapshot, interfaces: &'a [Interface], object: usize) -> Option<&'a Interface> {
    let properties: Vec<&OracleString> = properties_of(snapshot, object).collect();
    let mut best: Option<&Interface> = None;
    for interface in interfaces.iter().filter(|i| has_all(&properties, &i.properties)) {
        if best.is_none_or(|best| interface.properties.len() > best.properties.len()) {
            best = Some(interface);
        }
    }
    best
}

/// Whether the first list contains the second, both taken as multisets.
fn has_all(properties: &[&OracleString], wanted: &[OracleString]) -> bool {
    let mut left = properties.to_vec();
    wanted.iter().all(|wanted| {
        let place = left.iter().position(|property| *property == wanted);
        place.map(|place| left.swap_remove(place)).is_some()
    })
}

fn properties_of(snapshot: &Snapshot, object: usize) -> impl Iterator<Item = &OracleString> {
    let edges = snapshot.nodes[object].edges.iter();
    let properties = edges.filter(|edge| snapshot.edge_type(edge) == "property");
    properties.map(|edge| snapshot.edge_name(edge).expect("property edges have names"))
}

/// Writes names with commas, quotation marks or braces, which would be ambiguous, as JSON.
fn quoted_if_odd(name: &OracleString) -> OracleString {
    let odd = units(",'\"{}");
    match name.units().iter().any(|unit| odd.contains(unit)) {
        true => format!("\"{}\"", name.escaped()).as_str().into(),
        false => name.clone(),
    }
}
