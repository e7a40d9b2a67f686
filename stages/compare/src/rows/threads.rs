//! Ordered parallel map.

use std::thread;

/// Maps `work` over the items of each chunk, one thread per chunk.
pub fn on_threads<T: Sync, R: Send>(chunks: &[Vec<T>], work: &(impl Fn(&T) -> R + Sync)) -> Vec<Vec<R>> {
    let results = |chunk: &Vec<T>| chunk.iter().map(work).collect::<Vec<R>>();
    let Some((own, others)) = chunks.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        // If a thread cannot start, this one does its work.
        let started: Vec<_> = others
            .iter()
            .map(|chunk| (chunk, thread::Builder::new().spawn_scoped(scope, move || results(chunk)).ok()))
            .collect();
        let mut all = vec![results(own)];
        for (chunk, started) in started {
            let joined = started.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            all.push(joined.unwrap_or_else(|| results(chunk)));
        }
        all
    })
}
