//! Entry points and callbacks: the functions that the virtual machine calls.
//!
//! At start, `Agent_OnLoad` creates the log and asks for events; the recording begins when the virtual machine is initialised.
//! `Agent_OnAttach` begins a recording at once, or stops one. A failure is one line on the error stream; at start the
//! virtual machine then exits, at attach it goes on without a recording.

use crate::current;
use crate::ffi::{Event, Interface, Object};
use crate::jvmti::{Env, Handle, Jni, Vm, text};
use crate::options::{self, Command, Recording};
use crate::session::{self, Envs, Failure, Session};
use std::ffi::{c_char, c_int, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest wait for callbacks in progress when a recording ends.
const CALLBACKS: Duration = Duration::from_secs(5);

/// Environments and options of the active recording; locked while one starts or stops.
static ACTIVE: Mutex<Option<Active>> = Mutex::new(None);

/// Whether a full collection precedes the recording that `VMInit` begins.
static COLLECTS: AtomicBool = AtomicBool::new(true);

#[derive(Clone, Copy)]
struct Active {
    envs: Envs,
    mode: options::Mode,
}

/// Runs a callback; no panic leaves it.
#[inline]
fn guarded(callback: impl FnOnce(&Session)) {
    let run = || {
        current::with(|session| {
            if catch_unwind(AssertUnwindSafe(|| callback(session))).is_err() {
                session.failed();
            }
        });
    };
    // Nothing else in it panics.
    let _ = catch_unwind(AssertUnwindSafe(run));
}

/// Runs an entry point: 0, or -1 after a message.
fn entered(run: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("an internal error".to_owned()));
    if let Err(failure) = &result {
        // Nobody reads a failure to write to the error stream.
        let _ = writeln!(std::io::stderr(), "heaplake: {failure}");
    }
    if result.is_ok() { 0 } else { -1 }
}

/// Called by the virtual machine at start, for `-agentpath:FILE=options`.
///
/// # Safety
/// Only the virtual machine calls it, with valid pointers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn Agent_OnLoad(vm: Interface, options: *const c_char, _: *mut c_void) -> c_int {
    // SAFETY: the virtual machine passes a text or null.
    let options = unsafe { text(options) };
    entered(|| match options::parse(&options).map_err(|bad| bad.to_string())? {
        Command::Stop => Err("option \"stop\": nothing is recorded at start".to_owned()),
        Command::Start(recording) => start(vm, &recording, false),
    })
}

/// Called by the virtual machine when the agent is loaded into a running process.
///
/// # Safety
/// Only the virtual machine calls it, with valid pointers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn Agent_OnAttach(vm: Interface, options: *const c_char, _: *mut c_void) -> c_int {
    // SAFETY: the virtual machine passes a text or null.
    let options = unsafe { text(options) };
    entered(|| match options::parse(&options).map_err(|bad| bad.to_string())? {
        Command::Stop => stop(true),
        Command::Start(recording) => start(vm, &recording, true),
    })
}

/// Starts a recording: at once if attached, else when the virtual machine is initialised.
fn start(vm: Interface, options: &Recording, attached: bool) -> Result<(), Failure> {
    let mut active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
    if active.is_some() {
        return Err("a recording is active already; end it first, with the option stop".to_owned());
    }
    let vm = Vm::new(vm).ok_or("no virtual machine")?;
    let envs = Envs::new(vm, options.mode)?;
    begin(envs, options, attached).inspect_err(|_| envs.dispose())?;
    *active = Some(Active { envs, mode: options.mode });
    Ok(())
}

fn begin(envs: Envs, options: &Recording, attached: bool) -> Result<(), Failure> {
    let refused = |status| format!("the virtual machine refuses an event (JVMTI error {status})");
    envs.objects.set_callbacks(&callbacks()).map_err(refused)?;
    envs.objects.notify(Event::VmDeath, true).map_err(refused)?;
    COLLECTS.store(options.collect.unwrap_or(!attached), Ordering::Relaxed);
    if !attached {
        envs.objects.notify(Event::VmInit, true).map_err(refused)?;
    }
    let session = Box::new(Session::new(envs, options, attached)?);
    current::install(session).map_err(|_| "a recording has not ended yet; try again".to_owned())?;
    if attached { listen() } else { Ok(()) }
}

/// Turns on the events of the session.
fn listen() -> Result<(), Failure> {
    let (mut result, mut objects) = (Ok(()), None);
    current::with(|session| {
        result = session.listen();
        objects = Some(session.envs.objects);
    });
    if let Some(objects) = objects.filter(|_| result.is_ok() && COLLECTS.load(Ordering::Relaxed)) {
        // Threads go on in their allocation buffers, of which nothing is reported, until a collection ends these. Where
        // there is no collection, such as with Epsilon, the first objects of each thread are not seen.
        let _ = objects.collect();
    }
    if result.is_err() {
        drop(current::retire(CALLBACKS));
    }
    result
}

/// Ends the recording and its log; after the death of the virtual machine its environments remain.
fn stop(lives: bool) -> Result<(), Failure> {
    let mut active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Active { envs, mode }) = active.take() else {
        return Err("option \"stop\": nothing is recorded".to_owned());
    };
    session::silence(envs, mode);
    let session = current::retire(CALLBACKS).ok_or("a callback does not end; the log is not complete")?;
    let result = session.finish();
    if lives {
        envs.dispose();
    }
    result
}

fn callbacks() -> [(Event, *const c_void); 6] {
    [
        (Event::VmInit, on_init as *const c_void),
        (Event::VmDeath, on_death as *const c_void),
        (Event::CollectionStart, on_collection_start as *const c_void),
        (Event::CollectionFinish, on_collection_finish as *const c_void),
        (Event::ObjectFree, on_free as *const c_void),
        (Event::SampledObjectAlloc, on_allocation as *const c_void),
    ]
}

extern "system" fn on_init(_: Interface, _: Interface, _: Object) {
    entered(listen);
}

extern "system" fn on_death(_: Interface, _: Interface) {
    entered(|| stop(false));
}

/// May take the lock of the queue, but calls nothing of the virtual machine.
extern "system" fn on_collection_start(_: Interface) {
    guarded(|session| session.collection(true));
}

extern "system" fn on_collection_finish(_: Interface) {
    guarded(|session| session.collection(false));
}

extern "system" fn on_free(_: Interface, tag: i64) {
    guarded(|session| session.died(tag));
}

extern "system" fn on_allocation(
    env: Interface,
    jni: Interface,
    thread: Object,
    object: Object,
    class: Object,
    size: i64,
) {
    let (Some(_), Some(jni), Ok(size)) = (Env::new(env), Jni::new(jni), u64::try_from(size)) else { return };
    guarded(|session| session.allocated(jni, Handle::new(thread), Handle::new(object), Handle::new(class), size));
}
