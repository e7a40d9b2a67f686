//! Reusable threads: starting a thread takes longer than many a job on a small input.

use heaplake_kit::fs::before_thread;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

type Job<'scope> = Box<dyn FnOnce() + Send + 'scope>;

/// Threads that live until this is dropped.
pub struct Workers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    jobs: Sender<Job<'scope>>,
    queue: Arc<Mutex<Receiver<Job<'scope>>>>,
    started: usize,
}

impl<'scope, 'env> Workers<'scope, 'env> {
    /// Creates the pool; no thread is started yet.
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        let (jobs, queue) = channel();
        Self { scope, jobs, queue: Arc::new(Mutex::new(queue)), started: 0 }
    }

    /// Runs a job on an idle thread, or on a new one if `busy` jobs occupy all. Fails if the system refuses a thread.
    pub fn work(&mut self, busy: usize, job: impl FnOnce() + Send + 'scope) -> io::Result<()> {
        if busy >= self.started {
            before_thread()?;
            let queue = Arc::clone(&self.queue);
            thread::Builder::new().spawn_scoped(self.scope, move || {
                while let Some(job) = next(&queue) {
                    job();
                }
            })?;
            self.started += 1;
        }
        // This value holds the receiver, so a job is never lost.
        let _ = self.jobs.send(Box::new(job));
        Ok(())
    }
}

/// Next job; `None` after the sender is dropped.
fn next<'scope>(queue: &Mutex<Receiver<Job<'scope>>>) -> Option<Job<'scope>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Barrier;

    #[test]
    fn threads_are_used_again_and_as_many_as_needed() {
        let (threads, done) = channel();
        thread::scope(|scope| {
            let mut workers = Workers::new(scope);
            let mut here = BTreeSet::new();
            for _ in 0..20 {
                let threads = threads.clone();
                workers.work(0, move || threads.send(thread::current().id()).unwrap()).unwrap();
                here.insert(format!("{:?}", done.recv().unwrap()));
            }
            assert_eq!(here.len(), 1);
            // Three jobs at a time meet.
            let meeting = Arc::new(Barrier::new(3));
            for busy in 0..3 {
                let (threads, meeting) = (threads.clone(), Arc::clone(&meeting));
                let job = move || {
                    meeting.wait();
                    threads.send(thread::current().id()).unwrap();
                };
                workers.work(busy, job).unwrap();
            }
            here.extend((0..3).map(|_| format!("{:?}", done.recv().unwrap())));
            assert_eq!(here.len(), 3);
        });
    }
}
