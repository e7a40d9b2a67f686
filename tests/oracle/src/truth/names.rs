//! Class names and class keys.

use super::interfaces;
use crate::model::{Location, Snapshot};
use crate::text::{OracleString, units};

/// The class of every node, from its type or its name (after detached nodes were renamed). Plain objects get the
/// matching interface, if there is one.
pub(super) fn class_names(snapshot: &Snapshot, names: &[OracleString]) -> Vec<OracleString> {
    let mut classes: Vec<OracleString> =
        (0..names.len()).map(|v| class_name(snapshot.node_type(v), &names[v])).collect();
    for (object, interface) in interfaces::assign(snapshot) {
        classes[object] = interface;
    }
    classes
}

/// The class is the name for objects and native nodes, and depends on the type for the others.
fn class_name(node_type: &str, name: &OracleString) -> OracleString {
    match node_type {
        "hidden" => "(system)".into(),
        "code" => "(compiled code)".into(),
        "closure" => "Function".into(),
        "regexp" => "RegExp".into(),
        "object" | "native" => without_attributes(name),
        other => OracleString::from(format!("({other})").as_str()),
    }
}

/// `<div id="a">` is a `<div>` and `Detached <div id="a">` a `Detached <div>`: such names end at their first blank, not
/// counting the one after `Detached`.
fn without_attributes(name: &OracleString) -> OracleString {
    let Some(tag) = ["<", "Detached <"].into_iter().find(|tag| name.starts_with(tag)) else {
        return name.clone();
    };
    let blank = units(" ")[0];
    let after = &name.units()[tag.len()..];
    let Some(end) = after.iter().position(|&unit| unit == blank) else { return name.clone() };
    let mut class = OracleString(name.units()[..tag.len() + end].to_vec());
    class.push_str(">");
    class
}

/// The displayed class name: V8 adds process-specific ids to the names of some of its parts.
pub(super) fn shown(class_name: &OracleString) -> OracleString {
    let name = class_name.to_string();
    match name.rsplit_once(" @") {
        Some((part, id))
            if part.starts_with("system / ") && !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()) =>
        {
            part.into()
        }
        _ => class_name.clone(),
    }
}

/// Keys of objects with a known constructor contain its location, since different classes often share a name. Locations
/// of other nodes are ignored; the last of several counts.
pub(super) fn class_keys(snapshot: &Snapshot, class_names: &[OracleString]) -> Vec<OracleString> {
    let place = |v| {
        let known = snapshot.locations.iter().rfind(|location| location.node == v);
        known.filter(|_| snapshot.node_type(v) == "object")
    };
    class_names.iter().enumerate().map(|(v, name)| class_key(place(v), name)).collect()
}

fn class_key(place: Option<&Location>, class_name: &OracleString) -> OracleString {
    let place = place.map(|p| format!("{},{},{}", p.script_id, p.line, p.column));
    let mut key = OracleString::from(place.unwrap_or_default().as_str());
    key.push_str(",");
    key.push(class_name);
    key
}
