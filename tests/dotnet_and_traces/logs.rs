//! Walks in profiler logs, and tracks of objects in real logs: against the oracle, and against an obviously correct
//! naive replay.

use super::check::check;
use super::walks::{analyzed, bytes};
use heaplake::engine::admission::smallest_budget;
use heaplake_oracle::dotnet::{Heap, random, truth};
use heaplake_support::cases::cases;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, fast_folder, heaplake};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The part of a heap that a log can express: no modules, static fields, dependent handles or rare kinds of roots.
fn tellable(mut heap: Heap) -> Heap {
    heap.modules.clear();
    for of in &mut heap.types {
        (of.module, of.token) = (0, 0);
        of.parameters.clear();
        of.array = of.name.ends_with("[]");
    }
    for walk in &mut heap.walks {
        walk.statics.clear();
        walk.dependents.clear();
        for root in &mut walk.roots {
            // The runtime's kinds beyond handles become one.
            root.kind = if root.kind > 2 { 9 } else { root.kind };
        }
    }
    heap
}

/// Its log: the objects of a walk are allocated elsewhere, and the walking garbage collection moves them to their
/// places.
fn log_of(heap: &Heap) -> String {
    let mut log = "# clrprof 1\n".to_owned();
    for of in &heap.types {
        writeln!(log, "T {} {}", of.id, of.name).unwrap();
    }
    for (walk, number) in heap.walks.iter().zip(1..) {
        let before = |at: usize| 0x1000_0000_0000_u64 + 0x1_0000 * at as u64;
        for (at, object) in walk.objects.iter().enumerate() {
            writeln!(log, "A 1 {:x} {} {} 0", before(at), object.type_id, object.size).unwrap();
        }
        // The objects of earlier walks are condemned, too, and dead.
        writeln!(log, "G {number} 11111 1\nB 2 1 fffffffffffffff fffffffffffffff").unwrap();
        for (at, object) in walk.objects.iter().enumerate() {
            writeln!(log, "M {:x} {:x} {:x}", before(at), object.address, object.size.max(1)).unwrap();
        }
        for root in &walk.roots {
            let kind = [1, 2, 3].get(usize::from(root.kind)).unwrap_or(&0);
            writeln!(log, "R {:x} {kind} {} 0", root.object, root.flags).unwrap();
        }
        for object in &walk.objects {
            write!(log, "O {:x} {}", object.address, object.type_id).unwrap();
            for reference in &object.references {
                write!(log, " {reference:x}").unwrap();
            }
            log.push('\n');
        }
        writeln!(log, "E {number}").unwrap();
    }
    log + "# end\n"
}

#[test]
fn walks_in_logs_equal_the_oracle() {
    for seed in 0..u64::from(cases(300)) {
        let folder = fast_folder();
        let heap = tellable(random::heap(seed, 24));
        let walk = seed as usize % heap.walks.len();
        let wanted = (walk + 1 < heap.walks.len()).then_some(walk as u32 + 1);
        let outcome = analyzed(folder.path(), log_of(&heap).as_bytes(), wanted, 2, 96 << 20);
        let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        check(&truth(&heap, walk), &outcome.place);
        assert_eq!(outcome.run.summary.format, "profiler-log-walk");
    }
}

#[test]
fn neither_threads_nor_budget_change_a_walk_of_a_log() {
    for seed in 0..u64::from(cases(60)) {
        let folder = fast_folder();
        let log = log_of(&tellable(random::heap(seed, 40)));
        let run =
            |threads, memory| bytes(&analyzed(folder.path(), log.as_bytes(), None, threads, memory).unwrap().place);
        let expected = run(1, 256 << 20);
        assert!(run(3, smallest_budget()) == expected, "seed {seed}");
    }
}

/// The first walk of the log equals that of the same process's trace, whose sizes come from the runtime.
#[test]
fn walk_of_a_real_log_is_that_of_its_trace() {
    let (one, other) = (fast_folder(), fast_folder());
    let log = analyzed(one.path(), &fixtures::content("dotnet/both.log"), Some(1), 2, 96 << 20).unwrap();
    let trace = analyzed(other.path(), &fixtures::content("dotnet/both.nettrace"), None, 2, 96 << 20).unwrap();
    // The empty string was allocated with 24 bytes; the runtime counts 22.
    let sizes = [&log, &trace].map(|outcome| (outcome.run.summary.node_count - 1, outcome.run.summary.shallow_bytes));
    assert_eq!(sizes, [(232, 61_114), (232, 61_112)]);
    let nodes = |run: &Path| -> BTreeMap<Option<u64>, (Option<u64>, Option<u64>)> {
        let table = Table::read(run, "nodes.parquet");
        let rows =
            table.u64s("id").into_iter().zip(table.u64s("shallow_bytes").into_iter().zip(table.u64s("edge_count")));
        rows.zip(table.texts("kind")).filter(|(_, kind)| kind.as_deref() != Some("root")).map(|(row, _)| row).collect()
    };
    let (logged, traced) = (nodes(&log.place), nodes(&trace.place));
    let different: Vec<_> = logged.iter().filter(|(id, node)| traced.get(*id) != Some(*node)).collect();
    assert_eq!(different, [(&Some(0x7fc0_4bff_f360), &(Some(24), Some(0)))]);
    // Both have the same roots; the trace also has static fields, which profilers do not get.
    let roots = |run: &Path| -> Vec<String> {
        let table = Table::read(run, "edges.parquet");
        let rows = table.texts("kind").into_iter().zip(table.texts("name"));
        let mut names: Vec<String> =
            rows.filter(|(kind, _)| kind.as_deref() == Some("root")).filter_map(|(_, name)| name).collect();
        names.sort_unstable();
        names
    };
    let (logged, mut traced) = (roots(&log.place), roots(&trace.place));
    traced.retain(|name| !name.starts_with("static "));
    assert_eq!((logged.len(), &logged), (18, &traced));
}

#[test]
fn why_an_object_of_a_log_is_alive() {
    let (_lake, run) = Lake::of(fixtures::path("dotnet/net8_exact.log.zst"), &["--tables", "nodes,edges,classes"]);
    assert!(run.file_name().unwrap().to_string_lossy().ends_with("-walk"), "{run:?}");
    let table = Table::read(&run, "nodes.parquet");
    assert_eq!(table.u64s("id").len(), 5234);
    let classes = table.texts("class");
    let node = classes.iter().position(|class| class.as_deref() == Some("Order")).unwrap();
    let id = table.u64s("id")[node].unwrap();
    let said = heaplake().arg("why").arg(&run).arg(format!("@{id}")).assert().success();
    let said = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
    assert!(said.contains("Order") && said.contains("handle"), "{said}");
}

#[test]
fn logs_without_the_walk_are_refused() {
    let folder = fast_folder();
    let refusal = |log: &str, walk| analyzed(folder.path(), log.as_bytes(), walk, 1, 96 << 20).map(drop).unwrap_err();
    let none = refusal("# clrprof 1\nT 1 X\nG 1 1 0\nE 1\n# end\n", None);
    assert!(none.contains("expected a walk of the heap in the log, found none"), "{none}");
    let log = "# clrprof 1\nT 1 X\nG 1 1 0\nO 18 1\nE 1\n";
    let other = refusal(&format!("{log}# end\n"), Some(2));
    assert!(other.contains("expected walk 2 of the heap, found 1 in the log"), "{other}");
    let cut = refusal("# clrprof 1\nT 1 X\nG 1 1 0\nO 18 1\n", None);
    assert!(cut.contains("the end of the collection with the walk"), "{cut}");
    let bad = refusal("# clrprof 1\nG 1 1 0\nO 18 1 xyz\nE 1\n", None);
    assert!(bad.contains("O address type reference..."), "{bad}");
}

/// State of an object at the end.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    address: u64,
    generation: Option<u8>,
}

/// Follows each object of a log by visiting all objects in each garbage collection; returns those alive at the end, by
/// number.
fn naive(log: &str) -> BTreeMap<u64, Fate> {
    let mut alive: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut allocations, mut condemned) = (0, String::new());
    let (mut begin, mut survivors) = (Vec::new(), Vec::new());
    // Generation, first address, reserved bytes of the last report.
    let (mut last, mut starts) = (Vec::new(), Vec::new());
    for line in log.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let hex = |at: usize| u64::from_str_radix(fields[at], 16).unwrap();
        match fields[0] {
            "A" => {
                alive.insert(hex(2), allocations);
                allocations += 1;
            }
            "G" => {
                condemned = fields[2].to_owned();
                (begin, survivors, last, starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            }
            "B" => {
                let generation: u8 = fields[1].parse().unwrap();
                // The second report shows the generations after the garbage collection.
                if starts.contains(&hex(2)) || !survivors.is_empty() {
                    last.push((generation, hex(2), hex(4)));
                } else {
                    begin.push((generation, hex(2), hex(3)));
                }
                starts.push(hex(2));
            }
            "M" => survivors.push((hex(1), hex(3), hex(2))),
            "V" => survivors.push((hex(1), hex(2), hex(1))),
            "E" => {
                let mut after = BTreeMap::new();
                for (&address, &number) in &alive {
                    let within = |&&(_, start, used): &&(u8, u64, u64)| (start..start + used).contains(&address);
                    let place = begin.iter().find(within);
                    let is_condemned =
                        |generation: u8| condemned.as_bytes().get(usize::from(generation)) == Some(&b'1');
                    if !place.is_some_and(|&(generation, ..)| is_condemned(generation)) {
                        after.insert(address, number);
                    } else if let Some((from, _, to)) =
                        survivors.iter().find(|(from, length, _)| (*from..*from + *length).contains(&address))
                    {
                        after.insert(to + (address - from), number);
                    }
                }
                alive = after;
            }
            _ => {}
        }
    }
    let generation = |address: u64| {
        let place = last.iter().find(|(_, start, reserved)| (*start..*start + *reserved).contains(&address));
        place.map(|&(generation, ..)| generation)
    };
    alive.into_iter().map(|(address, number)| (number, Fate { address, generation: generation(address) })).collect()
}

#[test]
fn tracks_of_real_logs_are_those_of_a_naive_replay() {
    for name in ["both", "net8_exact"] {
        let lake = Lake::new();
        replay(&lake, fixtures::path(&format!("dotnet/{name}.log.zst"))).arg("--tracks").assert().success();
        let log = fixtures::text(&format!("dotnet/{name}.log"));
        let run = lake.run();
        let tracks = Table::read(&run, "object_tracks.parquet");
        let (objects, last) = (ids(&tracks, "object"), tracks.u64s("last_address"));
        let (died, generation) = (ids(&tracks, "died_at_gc"), tracks.texts("generation"));
        let names = ["0", "1", "2", "large", "pinned"];
        let found: BTreeMap<u64, Fate> = (0..objects.len())
            .filter(|&row| died[row].is_none())
            .map(|row| {
                let generation = generation[row].as_deref();
                let generation = generation.map(|name| names.iter().position(|known| *known == name).unwrap() as u8);
                (objects[row].unwrap(), Fate { address: last[row].unwrap(), generation })
            })
            .collect();
        let expected = naive(&log);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (object, fate) in &expected {
            assert_eq!(found.get(object), Some(fate), "{name} {object}");
        }
        histories(&run, &tracks);
        reports(&run, &log);
    }
}

/// A column of numbers of objects or garbage collections.
fn ids(table: &Table, name: &str) -> Vec<Option<u64>> {
    table.u32s(name).into_iter().map(|id| id.map(u64::from)).collect()
}

/// The rows of an object tile its life.
fn histories(run: &Path, tracks: &Table) {
    let rows = Table::read(run, "object_generations.parquet");
    let (objects, names) = (ids(&rows, "object"), rows.texts("generation"));
    let (since, until) = (ids(&rows, "since_gc"), ids(&rows, "until_gc"));
    let (born, died) = (ids(tracks, "allocated_at_gc"), ids(tracks, "died_at_gc"));
    let (end, now) = (tracks.texts("died_in_generation"), tracks.texts("generation"));
    let mut at = 0;
    for object in 0..born.len() {
        let from = at;
        while at < objects.len() && objects[at] == Some(object as u64) {
            if at > from {
                assert_eq!(since[at], until[at - 1], "object {object}");
                assert_ne!(names[at], names[at - 1], "object {object}");
            }
            at += 1;
        }
        if from == at {
            // In no range: it lives for ever.
            assert!(died[object].is_none() && now[object].is_none(), "object {object}");
            continue;
        }
        assert_eq!((since[from], until[at - 1]), (born[object], died[object]), "object {object}");
        let last = if died[object].is_some() { &end[object] } else { &now[object] };
        assert_eq!(&names[at - 1], last, "object {object}");
    }
    assert_eq!(at, objects.len());
}

/// The tables have all ranges and roots of the log, and roots refer to live objects.
fn reports(run: &Path, log: &str) {
    let lines = |letter: char| log.lines().filter(|line| line.starts_with(letter)).count();
    let bounds = Table::read(run, "generation_bounds.parquet");
    assert_eq!(bounds.u64s("start").len(), lines('B'));
    let (moved, surviving) = (bounds.u64s("moved_ranges"), bounds.u64s("surviving_ranges"));
    let sum = |column: &[Option<u64>]| column.iter().flatten().sum::<u64>();
    assert_eq!((sum(&moved), sum(&surviving)), (lines('M') as u64, lines('V') as u64));
    assert!(moved.iter().zip(&surviving).all(|(moved, surviving)| moved.unwrap_or(0) == 0 || *surviving == Some(0)));
    let roots = Table::read(run, "collection_roots.parquet");
    assert_eq!(sum(&roots.u64s("count")), lines('R') as u64);
    let (addresses, objects) = (roots.u64s("address"), ids(&roots, "object"));
    let unknown = addresses.iter().zip(&objects).filter(|(address, object)| **address != Some(0) && object.is_none());
    assert_eq!(unknown.count(), 0);
}
