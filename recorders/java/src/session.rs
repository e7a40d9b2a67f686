//! One recording: its start, its events, its stop.

use crate::ffi::{Event, Status, capability};
use crate::jvmti::{Env, Handle, Jni, Vm};
use crate::methods::Stack;
use crate::names;
use crate::options::{Memory, Mode, Recording};
use crate::queue::{self, Queue};
use crate::strata::Strata;
use crate::writer::{self, Shared};
use heaplake_eventlog::encode::MethodRecord;
use heaplake_eventlog::header::{Header, INTERVAL, MODE, RUNTIME, STARTED_US};
use heaplake_eventlog::record::Sample;
use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest wait for the last frame, while the virtual machine exits or an agent is stopped.
const LAST_FRAME: Duration = Duration::from_secs(10);

/// The thread number of all virtual threads.
const VIRTUAL: u32 = 1;

/// Bytes of the name of a thread; longer ones are cut.
const LONGEST_NAME: usize = 200;

thread_local! {
    /// Session and number of this thread.
    static THREAD: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Sessions so far.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// The environments of a session. One has the tags of objects and all events, the other the tags of classes, which are
/// looked up for every allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envs {
    pub(crate) objects: Env,
    classes: Env,
}

/// A recording.
pub(crate) struct Session {
    pub(crate) envs: Envs,
    number: u32,
    strata: Strata,
    pub(crate) mode: Mode,
    shared: Arc<Shared>,
    writer: Thread,
    threads: AtomicU32,
}

/// A failure, as text for the user.
pub(crate) type Failure = String;

fn refused(what: &'static str) -> impl Fn(Status) -> Failure {
    move |status| format!("the virtual machine refuses {what} (JVMTI error {status})")
}

impl Envs {
    /// Makes the environments with their capabilities; each allocation will be reported.
    pub(crate) fn new(vm: Vm, mode: Mode) -> Result<Self, Failure> {
        let new = || vm.env().map_err(|_| "this virtual machine is older than JDK 11".to_owned());
        let envs = Self { objects: new()?, classes: new()? };
        envs.prepare(mode).inspect_err(|_| envs.dispose())?;
        Ok(envs)
    }

    fn prepare(self, mode: Mode) -> Result<(), Failure> {
        const ALLOCATIONS: &str = "to report allocations; another agent of its kind is running";
        self.classes.add_capabilities(capability::TAG_OBJECTS, 0).map_err(refused("tags"))?;
        let deaths = capability::TAG_OBJECTS | capability::OBJECT_FREE_EVENTS;
        let wanted = capability::SAMPLED_OBJECT_ALLOC_EVENTS
            | capability::GARBAGE_COLLECTION_EVENTS
            | if mode == Mode::Lifetimes { deaths } else { 0 };
        let optional = capability::SOURCE_FILE_NAME | capability::LINE_NUMBERS | capability::VIRTUAL_THREADS;
        self.objects.add_capabilities(wanted, optional).map_err(refused(ALLOCATIONS))?;
        self.objects.set_sampling_interval(0).map_err(refused(ALLOCATIONS))
    }

    /// Ends both.
    pub(crate) fn dispose(self) {
        // Nothing can be done about a failure.
        let _ = (self.objects.dispose(), self.classes.dispose());
    }
}

/// The events of a session in a mode, in the order in which they are turned on.
fn events(mode: Mode) -> &'static [Event] {
    const ALL: [Event; 4] =
        [Event::CollectionStart, Event::CollectionFinish, Event::SampledObjectAlloc, Event::ObjectFree];
    if mode == Mode::Lifetimes { &ALL } else { &ALL[..3] }
}

impl Session {
    /// Creates the log and starts its writer.
    pub(crate) fn new(envs: Envs, options: &Recording, attached: bool) -> Result<Self, Failure> {
        let path = PathBuf::from(options.out.replace("%p", &std::process::id().to_string()));
        let failed = |error: std::io::Error| format!("option \"out={}\": {error}", path.display());
        let header = header(options, attached, envs);
        let log = writer::create(&path).and_then(|file| writer::begin(file, &header)).map_err(failed)?;
        let tracks = options.mode == Mode::Lifetimes;
        let shared = Arc::new(Shared::new(options.classes.clone(), Memory::of(options.memory), tracks));
        let queue = || shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue().define_thread(VIRTUAL, b"[virtual threads]");
        let of_writer = Arc::clone(&shared);
        let run = move || {
            if let Err(error) = writer::run(&of_writer, log) {
                // Nobody reads a failure to write to the error stream.
                let _ = writeln!(std::io::stderr(), "heaplake: {}: {error}; the recording has ended", path.display());
            }
        };
        let thread = thread::Builder::new().name("heaplake".to_owned()).spawn(run);
        let writer = thread.map_err(|error| format!("cannot start a thread: {error}"))?.thread().clone();
        let seed = if options.seed == 0 { started_us() } else { options.seed };
        Ok(Self {
            envs,
            number: SESSIONS.fetch_add(1, Ordering::Relaxed) + 1,
            strata: Strata::new(options.interval, seed),
            mode: options.mode,
            shared,
            writer,
            threads: AtomicU32::new(VIRTUAL),
        })
    }

    /// Turns the events on.
    pub(crate) fn listen(&self) -> Result<(), Failure> {
        let on = |&event: &Event| self.envs.objects.notify(event, true).map_err(refused("an event"));
        events(self.mode).iter().try_for_each(on)
    }

    /// Ends the log: waits for its last frame. Callbacks must have ended.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        if self.shared.finish(&self.writer, LAST_FRAME) { Ok(()) } else { Err("the log is not complete".to_owned()) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an internal error.
    pub(crate) fn failed(&self) {
        self.shared.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Handles an allocation.
    #[inline]
    pub(crate) fn allocated(&self, jni: Jni, thread: Handle, object: Handle, class: Handle, size: u64) {
        if self.shared.over.load(Ordering::Relaxed) {
            return;
        }
        let class = self.class(class);
        let slot = self.shared.classes.slot(class);
        let number = slot.add(size);
        if !slot.is_chosen() {
            return;
        }
        if let Some(weight) = self.strata.weight(class, number) {
            self.sample(jni, thread, object, Sample { class, size, weight, ..Sample::default() });
        }
    }

    #[inline]
    fn class(&self, class: Handle) -> u32 {
        match self.envs.classes.tag(class) {
            0 => self.new_class(class),
            tag => tag as u32,
        }
    }

    #[cold]
    fn new_class(&self, class: Handle) -> u32 {
        let number = self.shared.classes.number(&names::readable(&self.envs.classes.signature(class)));
        if number > 0 {
            // Without a tag the class is looked up by name again.
            let _ = self.envs.classes.set_tag(class, number.into());
        }
        number
    }

    fn sample(&self, jni: Jni, thread: Handle, object: Handle, sample: Sample) {
        if self.queue().refuses() {
            return;
        }
        let thread = self.thread(jni, thread);
        let stack = Stack::take(self.envs.objects);
        let hash = queue::hash(stack.frames());
        let mut queue = self.queue();
        if stack.frames().len() > 0 && queue.stack(hash).is_none() {
            let unknown: Vec<usize> =
                stack.frames().map(|(method, _)| method).filter(|&method| queue.method(method) == 0).collect();
            drop(queue);
            let described = stack.describe(self.envs.objects, jni, &unknown);
            queue = self.queue();
            for (key, of) in &described {
                let (class, name, signature) = (&of.class[..], &of.name[..], &of.signature[..]);
                let method = MethodRecord { id: 0, class, name, signature, file: &of.file, lines: &of.lines };
                queue.define_method(*key, &method);
            }
            queue.define_stack(hash, stack.is_cut(), stack.frames());
        }
        let number = queue.stack(hash).unwrap_or(0);
        let tag = queue.add(Sample { thread, stack: number, ..sample });
        let fills = queue.is_filling();
        drop(queue);
        if fills {
            self.writer.unpark();
        }
        if tag > 0 && self.envs.objects.set_tag(object, tag.into()).is_err() {
            self.queue().died(tag);
        }
    }

    /// The number of the current thread; 0 if its name does not fit.
    fn thread(&self, jni: Jni, thread: Handle) -> u32 {
        if jni.is_virtual(thread) {
            return VIRTUAL;
        }
        let (session, number) = THREAD.try_with(Cell::get).unwrap_or_default();
        if session == self.number {
            return number;
        }
        let mut name = self.envs.objects.thread_name(jni, thread);
        name.truncate(LONGEST_NAME);
        let number = self.threads.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.queue().define_thread(number, &name) {
            return 0;
        }
        let _ = THREAD.try_with(|own| own.set((self.number, number)));
        number
    }

    /// Handles the death of a tracked object.
    #[inline]
    pub(crate) fn died(&self, tag: i64) {
        self.queue().died(u32::try_from(tag).unwrap_or(0));
    }

    /// Handles the start or end of a collection.
    pub(crate) fn collection(&self, starts: bool) {
        let mut queue = self.queue();
        if starts { queue.collection_starts() } else { queue.collection_ends() }
    }
}

impl Drop for Session {
    /// Ends the writer of a session that never became the current one.
    fn drop(&mut self) {
        self.shared.end(&self.writer);
    }
}

/// Turns the events of a session off. Reports of deaths that the virtual machine still has come before it returns.
pub(crate) fn silence(envs: Envs, mode: Mode) {
    for &event in events(mode).iter().rev() {
        // An event that cannot be turned off finds no session.
        let _ = envs.objects.notify(event, false);
    }
}

fn started_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64)
}

fn header(options: &Recording, attached: bool, envs: Envs) -> Header {
    let mode = if options.mode == Mode::Lifetimes { "lifetimes" } else { "creation" };
    let vm = [c"java.vm.name", c"java.vm.version"].map(|name| envs.objects.property(name)).join(" ");
    Header::new([
        (RUNTIME, "java".to_owned()),
        ("vm", vm.trim().to_owned()),
        (MODE, mode.to_owned()),
        (INTERVAL, options.interval.to_string()),
        (STARTED_US, started_us().to_string()),
        ("pid", std::process::id().to_string()),
        ("recorder", env!("CARGO_PKG_VERSION").to_owned()),
        ("attached", if attached { "yes" } else { "no" }.to_owned()),
        ("classes", options.classes.join(";")),
    ])
}
