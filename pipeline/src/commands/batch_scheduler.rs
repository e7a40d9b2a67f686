//! Batch scheduler: small inputs run concurrently, each with a part of the memory and threads; large ones run alone
//! with all. Outcomes are reported in input order.

use crate::diagnostic::{Diagnostic, Exit, Kind};
use crate::engine::request::{Outcome, Request};
use crate::inputs;
use heaplake_kit::threads::Tasks;
use heaplake_kit::{give_back_freed, threads};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Name of an input, and its request.
pub(super) struct Requested {
    /// Name of the input.
    pub name: String,
    /// The request, or the reason why there is none.
    pub request: Result<Request, Diagnostic>,
}

/// Maximum size of a small input, bytes: the stages of a larger one are long enough to keep all threads busy.
const SMALL: u64 = 64 << 20;

/// Memory of a concurrent input: at least this, plus its size times `TIMES`, bytes.
const LEAST_SHARE: u64 = 96 << 20;
const TIMES: u64 = 2;

/// Input size, bytes, from which freed memory is returned to the system; after smaller inputs it is reused.
const TRIMMED: u64 = 4 << 20;

/// Maximum inputs that run ahead of the last reported one.
const AHEAD: usize = 64;

/// Number of concurrent inputs, and the memory and threads of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Concurrency {
    number: usize,
    memory: u64,
    threads: usize,
}

impl Concurrency {
    /// One input after the other.
    pub(super) const ONE: Self = Self { number: 1, memory: 0, threads: 0 };

    /// As many lanes as threads and memory allow for these requests.
    pub(super) fn of(requests: &[Requested]) -> Self {
        let requests: Vec<&Request> = requests.iter().filter_map(|requested| requested.request.as_ref().ok()).collect();
        let Some(first) = requests.first() else { return Self::ONE };
        let small = requests.iter().filter(|request| request.bytes().is_some_and(|bytes| bytes <= SMALL)).count();
        Self::share(first.memory, first.threads, small)
    }

    fn share(memory: u64, threads: usize, inputs: usize) -> Self {
        let number = threads.min(inputs).min(usize::try_from(memory / LEAST_SHARE).unwrap_or(usize::MAX));
        if number < 2 {
            return Self::ONE;
        }
        Self { number, memory: memory / number as u64, threads: threads / number }
    }

    /// Whether there is more than one lane.
    pub(super) fn are_several(&self) -> bool {
        self.number > 1
    }

    /// Whether an input of this size runs concurrently.
    fn take(&self, bytes: Option<u64>) -> bool {
        let fits = |bytes: u64| bytes <= SMALL && LEAST_SHARE + TIMES * bytes <= self.memory;
        self.are_several() && bytes.is_some_and(fits)
    }
}

/// Inputs with an equal value may become the same run, so the second waits for the first.
type Kin = (String, Option<u64>);

/// An input in the queue.
struct Item {
    position: usize,
    name: String,
    request: Request,
    kin: Kin,
    /// Whether it runs concurrently.
    shares: bool,
}

/// Executes requests and reports each outcome in order; returns the number of requests not started because of an
/// interrupt.
pub(super) fn work(
    requests: &mut impl ExactSizeIterator<Item = Requested>,
    concurrency: Concurrency,
    make: impl Fn(&Request) -> Result<Outcome, Diagnostic> + Sync,
    mut tell: impl FnMut(String, Result<Outcome, Diagnostic>),
) -> u64 {
    let mut scheduler = Scheduler::new(requests, concurrency);
    if concurrency.are_several() && threads::start().is_ok() {
        threads::scope(|scope| schedule(&mut scheduler, Some(scope), &make, &mut tell));
    } else {
        schedule(&mut scheduler, None, &make, &mut tell);
    }
    scheduler.not_started()
}

/// Works on all requests, on those that share memory as tasks of the scope.
fn schedule<'scope>(
    scheduler: &mut Scheduler<'_, impl ExactSizeIterator<Item = Requested>>,
    scope: Option<&Tasks<'scope>>,
    make: &'scope (impl Fn(&Request) -> Result<Outcome, Diagnostic> + Sync),
    tell: &mut impl FnMut(String, Result<Outcome, Diagnostic>),
) {
    let (ended, ends) = channel();
    loop {
        while let Some(item) = scheduler.next() {
            match scope {
                Some(scope) if item.shares => start(item, scheduler, scope, make, &ended),
                _ => {
                    let outcome = make(&item.request);
                    scheduler.end(item, outcome);
                }
            }
            scheduler.told(tell);
        }
        scheduler.told(tell);
        if scheduler.running.is_empty() {
            return;
        }
        let (item, outcome) = wait(&ends);
        scheduler.running.remove(&item.position);
        scheduler.end(item, outcome);
    }
}

type End = (Item, thread::Result<Result<Outcome, Diagnostic>>);

/// Starts an input concurrently.
fn start<'scope>(
    item: Item,
    scheduler: &mut Scheduler<'_, impl ExactSizeIterator<Item = Requested>>,
    scope: &Tasks<'scope>,
    make: &'scope (impl Fn(&Request) -> Result<Outcome, Diagnostic> + Sync),
    ended: &Sender<End>,
) {
    let Concurrency { memory, threads, .. } = scheduler.concurrency;
    let request = Request { memory, threads, ..item.request.clone() };
    scheduler.running.insert(item.position, item.kin.clone());
    let ended = ended.clone();
    scope.spawn(move || {
        // The waiting thread resumes a panic.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| make(&request)));
        let _ = ended.send((item, outcome));
    });
}

/// Waits for a concurrent input.
fn wait(ends: &Receiver<End>) -> (Item, Result<Outcome, Diagnostic>) {
    let (item, outcome) = ends.recv().unwrap_or_else(|_| unreachable!("the caller holds a sender"));
    (item, outcome.unwrap_or_else(|payload| panic::resume_unwind(payload)))
}

/// Scheduler state.
struct Scheduler<'a, I> {
    requests: &'a mut I,
    concurrency: Concurrency,
    /// The next input of the requests, if it had to wait.
    waiting: Option<Item>,
    /// Inputs to run again with the whole memory.
    again: VecDeque<Item>,
    running: BTreeMap<usize, Kin>,
    ended: BTreeMap<usize, (String, Result<Outcome, Diagnostic>)>,
    taken: usize,
    told: usize,
    stopped: bool,
}

impl<'a, I: ExactSizeIterator<Item = Requested>> Scheduler<'a, I> {
    fn new(requests: &'a mut I, concurrency: Concurrency) -> Self {
        let (running, ended) = (BTreeMap::new(), BTreeMap::new());
        let (waiting, again) = (None, VecDeque::new());
        Self { requests, concurrency, waiting, again, running, ended, taken: 0, told: 0, stopped: false }
    }

    /// Returns the next input that can start now.
    fn next(&mut self) -> Option<Item> {
        if self.stopped {
            return None;
        }
        if let Some(item) = self.again.pop_front() {
            return self.if_free(item, |scheduler, item| scheduler.again.push_front(item));
        }
        let item = self.waiting.take().or_else(|| self.take())?;
        self.if_free(item, |scheduler, item| scheduler.waiting = Some(item))
    }

    /// Returns an input if it can start now, else puts it back.
    fn if_free(&mut self, item: Item, put_back: impl FnOnce(&mut Self, Item)) -> Option<Item> {
        let free = if item.shares {
            let apart = self.running.values().all(|kin| *kin != item.kin);
            apart && self.running.len() < self.concurrency.number && item.position < self.told + AHEAD
        } else {
            self.running.is_empty()
        };
        if free {
            return Some(item);
        }
        put_back(self, item);
        None
    }

    /// Returns the next valid request.
    fn take(&mut self) -> Option<Item> {
        loop {
            let Requested { name, request } = self.requests.next()?;
            let position = self.taken;
            self.taken += 1;
            match request {
                Err(diagnostic) => {
                    self.ended.insert(position, (name, Err(diagnostic)));
                }
                Ok(request) => {
                    let size = request.bytes();
                    let (kin, shares) = ((inputs::stem(&request.input), size), self.concurrency.take(size));
                    return Some(Item { position, name, request, kin, shares });
                }
            }
        }
    }

    /// Records the outcome of an input.
    fn end(&mut self, item: Item, outcome: Result<Outcome, Diagnostic>) {
        if item.request.bytes().is_none_or(|bytes| bytes >= TRIMMED) {
            give_back_freed();
        }
        match outcome {
            // Its part of the memory did not suffice; the whole may.
            Err(diagnostic) if item.shares && diagnostic.kind() == Kind::Memory => {
                self.again.push_back(Item { shares: false, ..item });
            }
            outcome => {
                self.stopped |= outcome.as_ref().is_err_and(|diagnostic| diagnostic.exit == Exit::Interrupted);
                self.ended.insert(item.position, (item.name, outcome));
            }
        }
    }

    /// Reports the outcomes that no earlier running input precedes; all of them when none follows.
    fn told(&mut self, tell: &mut impl FnMut(String, Result<Outcome, Diagnostic>)) {
        while let Some((&position, _)) = self.ended.first_key_value() {
            if position > self.told && !(self.stopped && self.running.is_empty()) {
                return;
            }
            let Some((name, outcome)) = self.ended.remove(&position) else { return };
            self.told = position + 1;
            tell(name, outcome);
        }
    }

    fn not_started(&self) -> u64 {
        (self.requests.len() + usize::from(self.waiting.is_some()) + self.again.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::request::Resume;
    use heaplake_input::source::Input;
    use heaplake_kit::StageError;
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use std::fs;
    use std::path::Path;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    const WHOLE: u64 = 1 << 30;

    fn requested(folder: &Path, name: &str, bytes: u64) -> Requested {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A sparse file, which takes no disk.
        fs::File::create(&path).unwrap().set_len(bytes).unwrap();
        let request = Request {
            input: Input::File(path),
            lake: folder.to_owned(),
            release: "none".to_owned(),
            snapshot: None,
            hash: None,
            options: Options::Analysis(AnalysisOptions::default()),
            memory: WHOLE,
            threads: 4,
            scratch: None,
            resume: Resume::Auto,
            force: false,
            allow_bomb: false,
        };
        Requested { name: name.to_owned(), request: Ok(request) }
    }

    /// Executes requests that all fail: returns the reports, the number not started, and the maximum concurrency.
    /// `count` counts the reports so far.
    fn failing(
        requests: Vec<Requested>,
        count: &AtomicUsize,
        fail: impl Fn(&Request) -> Diagnostic + Sync,
    ) -> (Vec<(String, String)>, u64, usize) {
        let (concurrency, running) = (Concurrency::of(&requests), Mutex::new((Vec::new(), 0)));
        let make = |request: &Request| {
            let kin = (inputs::stem(&request.input), request.bytes());
            {
                let mut running = running.lock().unwrap();
                assert!(!running.0.contains(&kin), "{kin:?}");
                assert!(request.memory < WHOLE || running.0.is_empty(), "the whole memory is for one");
                running.0.push(kin.clone());
                running.1 = running.0.len().max(running.1);
            }
            std::thread::sleep(Duration::from_millis(kin.1.unwrap() % 7));
            running.lock().unwrap().0.retain(|other| *other != kin);
            Err(fail(request))
        };
        let mut told = Vec::new();
        let not_started = work(&mut requests.into_iter(), concurrency, make, |name, outcome| {
            told.push((name, outcome.unwrap_err().cause));
            count.store(told.len(), Ordering::Relaxed);
        });
        let most = running.into_inner().unwrap().1;
        (told, not_started, most)
    }

    #[test]
    fn what_becomes_of_inputs_is_told_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let name = |nth: u64| format!("{}/{}.heapsnapshot", nth % 3, nth / 2);
        // Some may become the same run, two are large, some cannot be used.
        let requests = |folder: &Path| -> Vec<Requested> {
            (0..200)
                .map(|nth| match nth {
                    50 | 51 => requested(folder, &name(nth), SMALL + 1),
                    60 => Requested { name: name(nth), request: Err(Diagnostic::failed("60", "")) },
                    _ => requested(folder, &name(nth), 1000 + nth / 3),
                })
                .collect()
        };
        let memory = |request: &Request| request.memory.to_string();
        let (told, not_started, most) =
            failing(requests(folder.path()), &AtomicUsize::new(0), |it| Diagnostic::failed(memory(it), ""));
        assert!((2..=4).contains(&most), "{most}");
        assert_eq!((told.len(), not_started), (200, 0));
        for (nth, (told, cause)) in (0..).zip(told) {
            let expected = match nth {
                50 | 51 => WHOLE.to_string(),
                60 => "60".to_owned(),
                _ => (WHOLE / 4).to_string(),
            };
            assert_eq!((told, cause), (name(nth), expected));
        }
    }

    #[test]
    fn an_input_for_which_a_part_of_the_memory_does_not_suffice_gets_all() {
        let folder = tempfile::tempdir().unwrap();
        let requests = (0..20).map(|nth| requested(folder.path(), &format!("{nth}.hprof"), nth)).collect();
        let (told, ..) = failing(requests, &AtomicUsize::new(0), |request| {
            if request.memory < WHOLE && inputs::stem(&request.input).ends_with('3') {
                return StageError::Plan { stage: "it", limit: request.memory, suffices: WHOLE }.into();
            }
            Diagnostic::failed(request.memory.to_string(), "")
        });
        let whole: Vec<_> =
            told.iter().filter(|(_, cause)| *cause == WHOLE.to_string()).map(|(name, _)| name).collect();
        assert_eq!(whole, ["3.hprof", "13.hprof"]);
        assert!(told.iter().zip(0..).all(|((name, _), nth)| *name == format!("{nth}.hprof")), "{told:?}");
    }

    #[test]
    fn nothing_is_started_after_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let requests = (0..100).map(|nth| requested(folder.path(), &format!("{nth}.hprof"), nth)).collect();
        let count = AtomicUsize::new(0);
        let (told, not_started, _) = failing(requests, &count, |request| match inputs::stem(&request.input).parse() {
            Ok(20) => StageError::Cancelled.into(),
            // The three beside it end after its report.
            Ok(21..) => {
                while count.load(Ordering::Relaxed) < 21 {
                    std::thread::yield_now();
                }
                Diagnostic::failed("", "")
            }
            _ => Diagnostic::failed("", ""),
        });
        assert!((21..21 + 4).contains(&told.len()), "{}", told.len());
        assert_eq!(told.len() as u64 + not_started, 100);
    }

    #[test]
    fn lanes_have_the_memory_and_threads_that_there_are() {
        assert_eq!(Concurrency::share(WHOLE, 4, 100), Concurrency { number: 4, memory: WHOLE / 4, threads: 1 });
        assert_eq!(Concurrency::share(WHOLE, 16, 3), Concurrency { number: 3, memory: WHOLE / 3, threads: 5 });
        assert_eq!(Concurrency::share(2 * LEAST_SHARE, 16, 100).number, 2);
        for alone in
            [Concurrency::share(WHOLE, 1, 100), Concurrency::share(WHOLE, 4, 1), Concurrency::share(LEAST_SHARE, 4, 9)]
        {
            assert_eq!(alone, Concurrency::ONE);
        }
    }
}
