//! Runs the crate v8-heap-parser on a V8 heap snapshot and prints its cost as one JSON line.
//!
//! peer-v8-heap-parser FILE
//!
//! Computes everything that the crate offers for retained sizes: one per node, and the class groups with theirs.

use std::{env, fs, process, time::Instant};

fn main() {
    let Some(path) = env::args().nth(1) else {
        eprintln!("usage: peer-v8-heap-parser FILE");
        process::exit(2);
    };
    let start = Instant::now();
    // From memory: the crate's reader interface is slower, and peak memory occurs after the file has been read.
    let bytes = fs::read(&path).unwrap_or_else(|e| fail(&path, &e));
    let graph = v8_heap_parser::decode_slice(&bytes).unwrap_or_else(|e| fail(&path, &e));
    drop(bytes);
    let nodes = graph.nodes().len();
    // A sum prevents dead-code elimination and lets two runs be compared.
    let retained_sum: u64 = (0..nodes).map(|n| graph.retained_size(n)).sum();
    let classes = graph.get_class_groups(false).len();
    let wall = start.elapsed().as_secs_f64();

    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    println!(
        "{{\"peer\":\"v8-heap-parser\",\"nodes\":{nodes},\"classes\":{classes},\"total_size\":{},\"retained_sum\":{retained_sum},\
         \"cpu_seconds\":{:.3},\"wall_seconds\":{wall:.3},\"max_rss_bytes\":{}}}",
        graph.retained_size(graph.root_index),
        seconds(usage.ru_utime) + seconds(usage.ru_stime),
        usage.ru_maxrss * 1024,
    );
}

fn fail(path: &str, error: &dyn std::fmt::Display) -> ! {
    eprintln!("{path}: {error}");
    process::exit(1);
}
