//! Names, interfaces and class rows: small snapshots with answers worked out by hand.

use heaplake_oracle::{Location, OracleString, Snapshot, Truth, truth};

fn class_of(kind: &str, name: &str) -> String {
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    snapshot.add_node(kind, name, 1);
    truth(&snapshot).nodes[1].class_name.to_string()
}

#[test]
fn classes_come_from_types_or_names() {
    assert_eq!(class_of("hidden", "system / Map"), "(system)");
    assert_eq!(class_of("code", "x"), "(compiled code)");
    assert_eq!(class_of("closure", "x"), "Function");
    assert_eq!(class_of("regexp", "x"), "RegExp");
    assert_eq!(class_of("concatenated string", "x"), "(concatenated string)");
    assert_eq!(class_of("object shape", "x"), "(object shape)");
    assert_eq!(class_of("object", "Widget"), "Widget");
    assert_eq!(class_of("native", "<div id=\"a\">"), "<div>");
    assert_eq!(class_of("native", "<div>"), "<div>");
    assert_eq!(class_of("object", "<div"), "<div");
    assert_eq!(class_of("native", "< div>"), "<>");
    assert_eq!(class_of("native", "Detached <a b c>"), "Detached <a>");
    assert_eq!(class_of("native", "Detached Detached <a b>"), "Detached Detached <a b>");
}

#[test]
fn detachedness_spreads_over_native_nodes() {
    // attached 1 -> unknown 2 -> unknown 3; detached 4 -> 2 (too late) and -> 5 -> object 6 -> 7.
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    for _ in 1..=5 {
        snapshot.add_node("native", "<p id=1>", 1);
    }
    snapshot.add_node("object", "Wrapper", 1);
    snapshot.add_node("native", "<p>", 1);
    snapshot.nodes[1].detachedness = 1;
    snapshot.nodes[4].detachedness = 2;
    for (from, to) in [(1, 2), (2, 3), (4, 2), (4, 5), (5, 6), (6, 7)] {
        snapshot.add_edge(from, "internal", "next", to);
    }
    snapshot.add_numbered_edge(5, "hidden", 1, 7);
    let truth = truth(&snapshot);
    let states: Vec<u8> = truth.nodes.iter().map(|node| node.detachedness).collect();
    assert_eq!(states, [0, 1, 1, 1, 2, 2, 0, 0]);
    assert_eq!(truth.nodes[5].name, "Detached <p id=1>");
    assert_eq!(truth.nodes[5].class_name, "Detached <p>");
    assert_eq!(truth.nodes[3].class_name, "<p>");
}

#[test]
fn old_files_tell_detachedness_by_name() {
    let mut snapshot = Snapshot::new();
    snapshot.fields.detachedness = false;
    snapshot.add_node("synthetic", "", 0);
    let detached = snapshot.add_node("native", "Detached Window", 1);
    let child = snapshot.add_node("native", "Child", 1);
    snapshot.add_node("object", "Detached Object", 1);
    snapshot.add_edge(detached, "internal", "p", child);
    let states: Vec<u8> = truth(&snapshot).nodes.iter().map(|node| node.detachedness).collect();
    assert_eq!(states, [0, 2, 0, 0]);
}

/// Class names of plain objects with these property lists.
fn interfaces(objects: &[&[&str]]) -> Vec<String> {
    let mut snapshot = Snapshot::new();
    let root = snapshot.add_node("synthetic", "", 0);
    for properties in objects {
        let object = snapshot.add_node("object", "Object", 1);
        for property in *properties {
            snapshot.add_edge(object, "property", *property, root);
        }
    }
    truth(&snapshot).nodes[1..].iter().map(|node| node.class_name.to_string()).collect()
}

#[test]
fn interfaces_need_two_objects() {
    assert_eq!(interfaces(&[&["a"], &["b"], &["b"], &[], &[]]), ["Object", "{b}", "{b}", "Object", "Object"]);
}

#[test]
fn interfaces_need_a_thousandth_of_the_objects() {
    // Of 2001 objects two are too few, three are enough.
    let mut objects: Vec<&[&str]> = vec![&[]; 1996];
    objects.extend([&["two"][..], &["two"], &["three"], &["three"], &["three"]]);
    let found = interfaces(&objects);
    assert_eq!(found[1996..], ["Object", "Object", "{three}", "{three}", "{three}"]);
    // Of 2000, two are enough.
    assert_eq!(interfaces(&objects[1..])[1995], "{two}");
}

#[test]
fn objects_take_the_interface_with_most_properties() {
    // The last object alone proposes {a, b, c}, but has all of {a, b}; extra properties do no harm.
    let found = interfaces(&[&["a"], &["a"], &["a"], &["a", "b"], &["a", "b"], &["c", "b", "a"]]);
    assert_eq!(found[5], "{a, b}");
}

#[test]
fn of_equally_long_interfaces_the_most_popular_counts() {
    let (ab, bc, both): (&[&str], &[&str], &[&str]) = (&["a", "b"], &["b", "c"], &["a", "b", "c"]);
    assert_eq!(interfaces(&[ab, ab, bc, bc, bc, both])[5], "{b, c}");
    assert_eq!(interfaces(&[ab, ab, bc, bc, both])[4], "{a, b}", "or the first");
    // The same properties in another order are an interface of their own, unless less popular.
    let ba: &[&str] = &["b", "a"];
    assert_eq!(interfaces(&[ab, ab, ba, ba, ba]), ["{b, a}"; 5]);
}

#[test]
fn properties_count_as_often_as_they_occur() {
    let twice: &[&str] = &["a", "a"];
    assert_eq!(interfaces(&[twice, twice, &["a"], &["a"]]), ["{a, a}", "{a, a}", "{a}", "{a}"]);
}

#[test]
fn prototypes_are_no_properties() {
    let object: &[&str] = &["__proto__", "a"];
    assert_eq!(interfaces(&[object, object]), ["{a}", "{a}"]);
    let object: &[&str] = &["__proto__"];
    assert_eq!(interfaces(&[object, object]), ["Object", "Object"]);
}

#[test]
fn odd_names_are_quoted() {
    let object: &[&str] = &["a b", "c,d", "\"\u{1}\n"];
    assert_eq!(interfaces(&[object, object])[0], r#"{a b, "c,d", "\"\u0001\n"}"#);
}

#[test]
fn long_names_are_cut_after_the_first() {
    let long = "x".repeat(200);
    let first: &[&str] = &[&long, "b"];
    assert_eq!(interfaces(&[first, first])[0], format!("{{{long}}}"));
    // The list ends at the first property that does not fit, even if later ones would: the brace, 59 units and 60 more
    // make 120, which just fits.
    let (head, fits) = ("h".repeat(59), "f".repeat(60));
    let exact: &[&str] = &[&head, &fits, "z"];
    assert_eq!(interfaces(&[exact, exact])[0], format!("{{{head}, {fits}}}"));
    let more: &[&str] = &["h", &head, &fits, "z"];
    assert_eq!(interfaces(&[more, more])[0], format!("{{h, {head}}}"));
}

#[test]
fn nameless_properties_hide_in_names() {
    // Both propose "{a}". The first object defines it, so the others lack a property.
    let found = interfaces(&[&["", "a"], &["a"], &["a"]]);
    assert_eq!(found, ["{a}", "Object", "Object"]);
}

#[test]
fn objects_with_locations_have_them_in_their_keys() {
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    let object = snapshot.add_node("object", "Widget", 1);
    let function = snapshot.add_node("closure", "f", 1);
    for (node, line) in [(object, 7), (object, 8), (function, 9)] {
        snapshot.locations.push(Location { node, script_id: 5, line, column: 3 });
    }
    let truth = truth(&snapshot);
    assert_eq!(truth.nodes[object].class_key, "5,8,3,Widget", "the last location counts");
    assert_eq!(truth.nodes[function].class_key, ",Function");
}

/// A chain of objects under the root.
fn chain(names_and_sizes: &[(&str, u64)]) -> Truth {
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    for (above, (name, size)) in names_and_sizes.iter().enumerate() {
        let node = snapshot.add_node("object", *name, *size);
        snapshot.add_edge(above, "property", "p", node);
    }
    truth(&snapshot)
}

#[test]
fn class_rows_count_nothing_twice() {
    let truth = chain(&[("A", 1), ("B", 2), ("A", 4), ("A", 8)]);
    let row = &truth.classes[&OracleString::from(",A")];
    assert_eq!((row.count, row.shallow, row.retained, row.max_retained), (3, 13, 15, 15));
    assert_eq!(row.distance, Some(1));
    let row = &truth.classes[&OracleString::from(",B")];
    assert_eq!((row.count, row.shallow, row.retained), (1, 2, 14));
}

#[test]
fn class_rows_know_no_empty_nodes() {
    // The first A is empty: it is not in the row and hides no other A.
    let truth = chain(&[("A", 0), ("A", 4), ("Empty", 0), ("A", 8)]);
    let row = &truth.classes[&OracleString::from(",A")];
    assert_eq!((row.count, row.shallow, row.retained, row.distance), (2, 12, 12, Some(2)));
    assert_eq!(truth.classes.len(), 1);
}

#[test]
fn class_rows_with_an_unreached_member_have_no_distance() {
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    let first = snapshot.add_node("object", "A", 1);
    let second = snapshot.add_node("object", "A", 1);
    snapshot.add_edge(0, "property", "p", first);
    snapshot.add_edge(first, "weak", "w", second);
    let truth = truth(&snapshot);
    assert_eq!(truth.nodes[second].distance, None);
    assert_eq!(truth.classes[&OracleString::from(",A")].distance, None);
}

#[test]
fn equal_strings_are_one_class_wherever_they_stand() {
    let mut snapshot = Snapshot::new();
    snapshot.add_node("synthetic", "", 0);
    snapshot.add_node("object", "A", 1);
    let second = snapshot.add_node("object", "A", 2);
    snapshot.strings.push("A".into());
    snapshot.nodes[second].name = snapshot.strings.len() - 1;
    let truth = truth(&snapshot);
    assert_eq!(truth.classes[&OracleString::from(",A")].count, 2);
}
