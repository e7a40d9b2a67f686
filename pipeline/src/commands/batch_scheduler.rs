//! The inputs of a batch as jobs: small ones run concurrently, large ones alone with all memory and threads. Outcomes
//! are reported in input order.

use crate::diagnostic::{Diagnostic, Exit, Kind};
use crate::engine::admission::Wish;
use crate::engine::request::{Outcome, Request};
use crate::engine::scheduler::{self, Grant, Jobs};
use crate::inputs;
use heaplake_kit::{Budget, give_back_freed, threads};
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
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
const LEAST_MEMORY: u64 = 96 << 20;
const TIMES: u64 = 2;

/// Input size, bytes, from which freed memory is returned to the system; after smaller inputs it is reused.
const TRIMMED: u64 = 4 << 20;

/// Maximum inputs that run ahead of the last reported one.
const AHEAD: usize = 64;

/// Memory and threads of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concurrency {
    /// Memory, bytes.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Whether inputs may run concurrently.
    pub is_wanted: bool,
}

impl Concurrency {
    /// Inputs run concurrently if some are small and there is memory and a thread for two.
    pub(super) fn of(memory: u64, threads: usize, requests: &[Requested]) -> Self {
        let sizes = requests.iter().filter_map(|requested| requested.request.as_ref().ok()?.bytes());
        let is_wanted = threads > 1 && memory >= 2 * LEAST_MEMORY && sizes.filter(|&bytes| bytes <= SMALL).count() > 1;
        Self { memory, threads, is_wanted }
    }
}

/// Inputs with an equal value may become the same run, so the second waits for the first.
type Kin = (String, Option<u64>);

/// An input that waits or runs.
struct Item {
    name: String,
    request: Request,
    kin: Kin,
}

/// Executes requests and reports each outcome in order; returns the number of requests not started because of an
/// interrupt.
pub(super) fn work(
    requests: &mut impl ExactSizeIterator<Item = Requested>,
    concurrency: Concurrency,
    make: impl Fn(&Request) -> Result<Outcome, Diagnostic> + Sync,
    tell: impl FnMut(String, Result<Outcome, Diagnostic>),
) -> u64 {
    let Concurrency { memory, threads, is_wanted } = concurrency;
    let is_concurrent = is_wanted && threads::start().is_ok();
    let most_ready = if is_concurrent { threads } else { 1 };
    let (waiting, running, ended) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (taken, told, stopped) = (0, 0, false);
    let make = &make;
    let mut inputs = Inputs { requests, make, tell, most_ready, waiting, running, ended, taken, told, stopped };
    let budget = Budget::new(memory);
    if is_concurrent {
        threads::scope(|scope| scheduler::run(&mut inputs, &budget, threads, Some(scope)));
    } else {
        scheduler::run(&mut inputs, &budget, threads, None);
    }
    (inputs.requests.len() + inputs.waiting.len()) as u64
}

struct Inputs<'a, I, M, T> {
    requests: &'a mut I,
    make: &'a M,
    tell: T,
    /// Number of ready inputs to look for: requests are taken as late as possible.
    most_ready: usize,
    waiting: BTreeMap<usize, Item>,
    running: BTreeMap<usize, Item>,
    ended: BTreeMap<usize, (String, Result<Outcome, Diagnostic>)>,
    taken: usize,
    told: usize,
    stopped: bool,
}

impl<'a, I, M, T> Jobs<'a> for Inputs<'a, I, M, T>
where
    I: ExactSizeIterator<Item = Requested>,
    M: Fn(&Request) -> Result<Outcome, Diagnostic> + Sync,
    T: FnMut(String, Result<Outcome, Diagnostic>),
{
    type Outcome = thread::Result<Result<Outcome, Diagnostic>>;

    const WHOLE_IS_INLINE: bool = true;

    fn ready(&mut self) -> Vec<usize> {
        let mut ready = self.apart();
        while !self.stopped && ready.len() < self.most_ready && self.take() {
            ready = self.apart();
        }
        self.tell();
        if self.stopped { Vec::new() } else { ready }
    }

    fn wish(&self, job: usize) -> Wish {
        let size = self.waiting.get(&job).and_then(|item| item.kin.1).filter(|&bytes| bytes <= SMALL);
        let wanted = size.map_or(u64::MAX, |bytes| LEAST_MEMORY + TIMES * bytes);
        Wish { who: "an input", wanted, least: wanted, shares: false, most_threads: usize::MAX }
    }

    fn start(&mut self, job: usize, grant: Grant) -> Box<dyn FnOnce() -> Self::Outcome + Send + 'a> {
        let item = self.waiting.remove(&job).unwrap_or_else(|| unreachable!("ready jobs wait"));
        let (make, threads, memory) = (self.make, grant.threads, grant.budget.limit());
        let request = Request { memory, threads, ..item.request.clone() };
        self.running.insert(job, item);
        Box::new(move || {
            let _held = grant;
            // The waiting thread resumes a panic.
            panic::catch_unwind(AssertUnwindSafe(|| make(&request)))
        })
    }

    /// The whole memory may suffice.
    fn lacks_memory(outcome: &Self::Outcome) -> bool {
        matches!(outcome, Ok(Err(diagnostic)) if diagnostic.kind() == Kind::Memory)
    }

    fn take_back(&mut self, job: usize) {
        self.waiting.extend(self.running.remove_entry(&job));
    }

    fn end(&mut self, job: usize, outcome: Self::Outcome) {
        let outcome = outcome.unwrap_or_else(|payload| panic::resume_unwind(payload));
        let Some(Item { name, kin, .. }) = self.running.remove(&job) else { return };
        if kin.1.is_none_or(|bytes| bytes >= TRIMMED) {
            give_back_freed();
        }
        self.stopped |= outcome.as_ref().is_err_and(|diagnostic| diagnostic.exit == Exit::Interrupted);
        self.ended.insert(job, (name, outcome));
        self.tell();
    }
}

impl<I: ExactSizeIterator<Item = Requested>, M, T: FnMut(String, Result<Outcome, Diagnostic>)> Inputs<'_, I, M, T> {
    /// Waiting inputs that can become no run of an earlier one that waits or runs.
    fn apart(&self) -> Vec<usize> {
        let waiting = self.waiting.iter().take_while(|&(&job, _)| job < self.told + AHEAD);
        let is_apart = |&(&job, item): &(&usize, &Item)| {
            let mut earlier = self.waiting.range(..job).map(|(_, item)| item).chain(self.running.values());
            earlier.all(|other| other.kin != item.kin)
        };
        waiting.filter(is_apart).map(|(&job, _)| job).collect()
    }

    /// Takes the next request; false if it must wait for outcomes.
    fn take(&mut self) -> bool {
        if self.taken >= self.told + AHEAD {
            return false;
        }
        let Some(Requested { name, request }) = self.requests.next() else { return false };
        let job = self.taken;
        self.taken += 1;
        match request {
            Ok(request) => {
                let kin = (inputs::stem(&request.input), request.bytes());
                self.waiting.insert(job, Item { name, request, kin });
            }
            Err(diagnostic) => {
                self.ended.insert(job, (name, Err(diagnostic)));
                self.tell();
            }
        }
        true
    }

    /// Reports the outcomes that no earlier running input precedes; all of them when none follows.
    fn tell(&mut self) {
        while let Some(first) = self.ended.first_entry() {
            if *first.key() > self.told && !(self.stopped && self.running.is_empty()) {
                return;
            }
            let (job, (name, outcome)) = first.remove_entry();
            self.told = job + 1;
            (self.tell)(name, outcome);
        }
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
        let (concurrency, running) = (Concurrency::of(WHOLE, 4, &requests), Mutex::new((Vec::new(), 0)));
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
        let memory = |request: &Request| if request.memory == WHOLE { "whole" } else { "part" };
        let (told, not_started, most) =
            failing(requests(folder.path()), &AtomicUsize::new(0), |it| Diagnostic::failed(memory(it), ""));
        assert!((2..=4).contains(&most), "{most}");
        assert_eq!((told.len(), not_started), (200, 0));
        for (nth, (told, cause)) in (0..).zip(told) {
            let expected = match nth {
                50 | 51 => "whole",
                60 => "60",
                // Near the end, an input may run alone.
                190.. if cause == "whole" => "whole",
                _ => "part",
            };
            assert_eq!((told, &*cause), (name(nth), expected));
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
        assert!(["3.hprof", "13.hprof"].iter().all(|name| whole.iter().any(|it| it == name)), "{whole:?}");
        // Near the end, an input may run alone.
        let late: Vec<_> = (16..20).map(|nth| format!("{nth}.hprof")).collect();
        let others = whole.iter().filter(|name| !["3.hprof", "13.hprof"].contains(&name.as_str()));
        assert!(others.clone().all(|name| late.contains(name)), "{whole:?}");
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
    fn inputs_run_concurrently_if_there_are_memory_and_threads_for_two() {
        let folder = tempfile::tempdir().unwrap();
        let requests: Vec<_> = (0..3).map(|nth| requested(folder.path(), &format!("{nth}.hprof"), nth)).collect();
        assert!(Concurrency::of(2 * LEAST_MEMORY, 2, &requests).is_wanted);
        for (memory, threads, count) in [(2 * LEAST_MEMORY - 1, 2, 3), (WHOLE, 1, 3), (WHOLE, 4, 1)] {
            assert!(!Concurrency::of(memory, threads, &requests[..count]).is_wanted, "{memory} {threads} {count}");
        }
    }
}
