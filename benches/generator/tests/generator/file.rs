//! The file itself: repeatable, well-formed, and of the planned size.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::read_back::{Graph, generate, small};
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};

#[test]
fn the_seed_decides_every_byte() {
    let (first, again, other) = (small(3).1, small(3).1, small(4).1);
    assert!(first == again);
    assert!(first != other);
}

#[test]
fn counts_agree_with_the_arrays() {
    let shapes = [Shape::List { nodes: 1 }, Shape::List { nodes: 2000 }, Shape::DeepTrace { depth: 90 }];
    let files = shapes.into_iter().map(|shape| generate(1, shape, Target::Nodes(1)));
    for (plan, bytes) in files.chain((1..6).map(small)) {
        let graph = Graph::read(&bytes);
        let total = plan.total();
        assert_eq!(graph.header["node_count"], total.nodes);
        assert_eq!(graph.header["edge_count"], total.edges);
        assert_eq!(graph.nodes.len() as u64, total.nodes);
        assert_eq!(graph.edge_count as u64, total.edges);
        assert_eq!(graph.strings.len() as u64, total.strings);
        assert_eq!(graph.locations as u64, total.locations);
        let ids: HashSet<u64> = graph.nodes.iter().map(|node| node.id).collect();
        assert_eq!(ids.len(), graph.nodes.len());
        let strings: HashSet<&String> = graph.strings.iter().collect();
        assert_eq!(strings.len(), graph.strings.len());
        let bytes: u64 = graph.nodes.iter().map(|node| node.size).sum();
        assert_eq!(bytes, file::answers(&plan).total_bytes());
    }
}

#[test]
fn every_kind_is_in_the_smallest_file() {
    let answers: serde_json::Value = serde_json::from_str(&file::answers(&small(1).0).to_json()).unwrap();
    assert_eq!(answers["kinds"].as_object().unwrap().len(), 17);
    assert!(answers["checkpoints"].as_array().unwrap().len() > 100);
}

#[test]
fn the_size_is_about_what_was_asked_for() {
    for (megabytes, seed) in [(4, 1), (20, 2), (60, 3)] {
        let asked = megabytes * 1_000_000;
        let plan = file::plan(seed, Shape::Realistic, Target::Bytes(asked));
        let written = file::write(&plan, io::sink()).unwrap();
        let error = written.abs_diff(asked) as f64 / asked as f64;
        assert!(error < 0.15, "asked for {asked} bytes, got {written}");
    }
}

/// Records the largest piece written.
struct Pieces(usize);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_file_leaves_in_small_pieces() {
    let plan = file::plan(1, Shape::Realistic, Target::Bytes(30_000_000));
    let mut pieces = Pieces(0);
    file::write(&plan, &mut pieces).unwrap();
    assert!(pieces.0 < 2 << 20);
    let plan = file::plan(1, Shape::DeepTrace { depth: 1_000_000 }, Target::Nodes(1));
    file::write(&plan, &mut pieces).unwrap();
    assert!(pieces.0 < 2 << 20);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = file::write(&small(1).0, Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
