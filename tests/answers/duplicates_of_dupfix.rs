//! The groups that DupFixture.java plants in a Java heap, under the strict definition.

use super::duplicate_sets::{Set, sets};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::collections::BTreeMap;

/// The program's heap and its sets.
struct Heap {
    sets: Vec<Set>,
    by_node: Vec<Option<u32>>,
    nodes: Table,
    /// Targets of each node, with the field's name or the index.
    edges: BTreeMap<u32, Vec<(String, u32)>>,
}

impl Heap {
    fn read() -> Self {
        let lake = Lake::new();
        let input = fixtures::path("jvm/dupfix.hprof.zst");
        lake.analyze(input).args(["--duplicates", "all", "--edges"]).assert().success();
        let run = lake.run();
        let nodes = Table::read(&run, "nodes.parquet");
        let edge = Table::read(&run, "edges.parquet");
        let mut edges: BTreeMap<u32, Vec<(String, u32)>> = BTreeMap::new();
        let (from, to) = (edge.u32s("from"), edge.u32s("to"));
        let (names, indices) = (edge.texts("name"), edge.u32s("index"));
        for i in 0..edge.rows() {
            let label = names[i].clone().unwrap_or_else(|| indices[i].unwrap_or_default().to_string());
            edges.entry(from[i].unwrap()).or_default().push((label, to[i].unwrap()));
        }
        Self { sets: sets(&run), by_node: nodes.u32s("duplicate_set"), nodes, edges }
    }

    fn target(&self, node: u32, label: &str) -> u32 {
        let edges = &self.edges[&node];
        let found = edges.iter().find(|(name, _)| name == label);
        found.unwrap_or_else(|| panic!("no {label} in {edges:?}")).1
    }

    /// Target of a static field of DupFixture.
    fn fixture(&self, field: &str) -> u32 {
        let (names, kinds) = (self.nodes.texts("name"), self.nodes.texts("kind"));
        let is = |&i: &usize| kinds[i].as_deref() == Some("class") && names[i].as_deref() == Some("DupFixture");
        self.target((0..names.len()).find(is).unwrap() as u32, field)
    }

    fn elements(&self, array: u32) -> Vec<u32> {
        let edges = &self.edges[&array];
        edges.iter().filter(|(name, _)| name.parse::<u32>().is_ok()).map(|&(_, to)| to).collect()
    }

    /// Elements of the array in a static field of DupFixture.
    fn elements_of(&self, field: &str) -> Vec<u32> {
        self.elements(self.fixture(field))
    }

    /// Elements of each element of that array.
    fn rows_of(&self, field: &str) -> Vec<Vec<u32>> {
        self.elements_of(field).into_iter().map(|row| self.elements(row)).collect()
    }

    /// Target of a field of each node.
    fn targets(&self, nodes: &[u32], label: &str) -> Vec<u32> {
        nodes.iter().map(|&node| self.target(node, label)).collect()
    }

    fn set(&self, node: u32) -> Option<&Set> {
        self.by_node[node as usize].map(|set| &self.sets[set as usize])
    }

    fn one_set(&self, nodes: &[u32], members: usize) {
        let set = self.by_node[nodes[0] as usize];
        assert!(nodes.iter().all(|&node| self.by_node[node as usize] == set), "{nodes:?}");
        let set = self.set(nodes[0]).unwrap_or_else(|| panic!("{nodes:?} are in no set"));
        assert_eq!((set.members.len(), set.status.as_str(), set.additional_exact), (members, "exact", true));
    }

    /// All nodes are in one set with at least `members` members: the platform has equal objects of its own.
    fn at_least(&self, nodes: &[u32], members: usize) {
        assert!(nodes.iter().all(|&node| self.by_node[node as usize] == self.by_node[nodes[0] as usize]));
        assert!(self.set(nodes[0]).unwrap().members.len() >= members);
    }

    /// The node has no duplicate.
    fn unique(&self, node: u32) {
        assert!(self.set(node).is_none(), "{node}");
    }

    /// Both have duplicates, but not each other.
    fn in_different_sets(&self, one: u32, other: u32) {
        assert_ne!(self.by_node[one as usize], self.by_node[other as usize]);
    }
}

#[test]
fn sets_have_previews() {
    let heap = Heap::read();
    let preview = |node: u32| heap.set(node).unwrap_or_else(|| panic!("{node} is in no set")).preview.clone().unwrap();
    let expected = [
        ("S", 0, "\"dup-value\""),
        ("AR", 0, "int[3]{1, 2, 3}"),
        ("AR", 100, "short[3]{1, 2, 3}"),
        ("AR", 300, "int[0]{}"),
        ("AL", 0, "ArrayList{size: 3, elementData: Object[10], modCount: 3}"),
        ("CY", 0, "DupFixture$Ring{next: DupFixture$Ring, label: 0}"),
        ("DE", 0, "DupFixture$Deep{next: DupFixture$Deep, v: 0}"),
        ("ID1", 0, "DupFixture$A1{x: 1}"),
        ("NUL", 0, "DupFixture$Pair{b: null, a: null}"),
        ("NUL", 50, "DupFixture$Pair{b: null, a: DupFixture$Box}"),
        ("HC", 0, "Object{}"),
    ];
    // Fields are in the order of the dump.
    let found: Vec<_> = expected.iter().map(|&(field, at, _)| preview(heap.elements_of(field)[at])).collect();
    assert_eq!(found, expected.map(|(_, _, preview)| preview));
    // The fields of a class precede those of its superclasses.
    let of_rows = |field: &str| heap.rows_of(field).iter().map(|row| preview(row[0])).collect::<Vec<_>>();
    let subs = of_rows("SUB");
    assert_eq!(subs, ["DupFixture$Sub{x: 2, x: 1}", "DupFixture$Sub{x: 1, x: 2}"]);
    let numbers = of_rows("FL");
    let num = |value: &str| format!("DupFixture$Num{{d: {value}}}");
    assert_eq!(numbers, ["NaN", "NaN", "0.0", "-0.0"].map(num));
    assert!(heap.sets.iter().any(|set| set.preview.as_deref() == Some("byte[9]\"dup-value\"")), "bytes of texts");
}

#[test]
fn groups_are_those_of_the_header() {
    let heap = Heap::read();
    strings(&heap);
    lists(&heap);
    rings(&heap);
    chains(&heap);
    parents_and_children(&heap);
    numbers_and_classes(&heap);
    arrays(&heap);
    plain_objects_and_nulls(&heap);
}

fn strings(heap: &Heap) {
    // S: strings with their own arrays. One more string is the constant that they were copied from, and one array
    // belongs to the program itself.
    let strings = heap.elements_of("S");
    heap.one_set(&strings, 1001);
    heap.one_set(&heap.targets(&strings, "value"), 1002);
    // SH: strings that share one array. The set has two more members: the string that they were copied from, and the
    // constant, which has its own array. A string with its own array is a duplicate of any other, whatever else refers
    // to that array.
    let shared = heap.elements_of("SH");
    heap.one_set(&shared, 502);
    let array = heap.target(shared[0], "value");
    assert!(shared.iter().all(|&string| heap.target(string, "value") == array));
    heap.one_set(&[array], 2);
}

/// AL: lists with their own arrays and boxes. ALN differs in its last box; its other two boxes are duplicates.
fn lists(heap: &Heap) {
    let lists = heap.elements_of("AL");
    heap.one_set(&lists, 200);
    let arrays = heap.targets(&lists, "elementData");
    heap.one_set(&arrays, 200);
    assert_eq!(heap.set(arrays[0]).unwrap().held_by, heap.by_node[lists[0] as usize]);
    let odd = heap.fixture("ALN");
    heap.unique(odd);
    heap.unique(heap.target(odd, "elementData"));
    for (index, members) in [("0", 201), ("1", 201), ("2", 200)] {
        heap.one_set(&heap.targets(&arrays, index), members);
    }
}

fn rings(heap: &Heap) {
    // CY: rings of five, each position a set; CYN differs in one position.
    let mut rings = heap.elements_of("CY");
    for _ in 0..5 {
        heap.one_set(&rings, 100);
        rings = heap.targets(&rings, "next");
    }
    heap.unique(heap.fixture("CYN"));
    // CY2: self-loops. CY3: rings of two equal nodes, which are duplicates of each other, but not of self-loops.
    let loops = heap.elements_of("CY2");
    heap.one_set(&loops, 50);
    let pairs = heap.elements_of("CY3");
    heap.one_set(&pairs, 20);
    heap.in_different_sets(loops[0], pairs[0]);
}

/// DE: chains of a thousand nodes; DEN differs at its very end.
fn chains(heap: &Heap) {
    let mut chain = heap.elements_of("DE");
    let mut odd = heap.fixture("DEN");
    for depth in 0..1000 {
        heap.one_set(&chain, 64);
        heap.unique(odd);
        if depth < 999 {
            (chain, odd) = (heap.targets(&chain, "next"), heap.target(odd, "next"));
        }
    }
}

/// OW: two parents share a child that refers to only one of them. OWP: each has its own.
fn parents_and_children(heap: &Heap) {
    let owners = heap.rows_of("OW");
    let [first, second]: [Vec<u32>; 2] = [0, 1].map(|i| owners.iter().map(|pair| pair[i]).collect());
    heap.one_set(&first, 10);
    heap.one_set(&second, 10);
    heap.in_different_sets(first[0], second[0]);
    let parents = heap.rows_of("OWP").concat();
    heap.one_set(&parents, 20);
    heap.one_set(&heap.targets(&parents, "child"), 20);
}

fn numbers_and_classes(heap: &Heap) {
    // FL: the bits of numbers count. The virtual machine writes one bit pattern for all NaNs.
    let numbers = heap.rows_of("FL");
    heap.one_set(&[&numbers[0][..], &numbers[1][..]].concat(), 200);
    heap.one_set(&numbers[2], 100);
    heap.one_set(&numbers[3], 100);
    // ID: the class counts. SUB: so does which class declares which field.
    heap.one_set(&heap.elements_of("ID1"), 100);
    heap.one_set(&heap.elements_of("ID2"), 100);
    for list in heap.rows_of("SUB") {
        heap.one_set(&list, 100);
    }
}

/// AR: type and length of arrays.
fn arrays(heap: &Heap) {
    let arrays = heap.elements_of("AR");
    for part in 0..3 {
        heap.one_set(&arrays[part * 100..(part + 1) * 100], 100);
    }
    heap.at_least(&arrays[300..], 100);
}

fn plain_objects_and_nulls(heap: &Heap) {
    // HC: the header of an object is not in the dump.
    heap.at_least(&heap.elements_of("HC"), 200);
    // NUL: which reference is null.
    let pairs = heap.elements_of("NUL");
    for part in 0..3 {
        heap.one_set(&pairs[part * 50..(part + 1) * 50], 50);
    }
}
