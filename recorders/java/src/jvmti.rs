//! JVMTI environments and JNI, with checked results.
//!
//! # Safety
//! The virtual machine passes the pointers to functions of [`crate::agent`], which make an [`Env`], [`Jni`] or [`Handle`] of
//! them during the call. Tables have the functions of JVMTI 11 ([`crate::ffi`]), which every environment of that version has.

use crate::ffi::{
    self, Callbacks, Capabilities, Event, Frame, Interface, Line, MethodId, Object, Status, ThreadInfo, number,
};
use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

/// A JVMTI environment. Its functions may be called by any thread of the virtual machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env(Interface);

// SAFETY: environments belong to no thread.
unsafe impl Send for Env {}
// SAFETY: their functions are thread-safe (JVMTI specification, "Function Calls").
unsafe impl Sync for Env {}

/// JNI of the current thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jni(Interface);

/// A local reference, valid during a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(Object);

/// The virtual machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vm(Interface);

/// Function `at` of a table, from 0.
fn entry(interface: Interface, at: usize) -> *const c_void {
    // SAFETY: see the module: the table exists and has the function.
    unsafe { *(*interface).add(at) }
}

/// Calls a function of an environment by its number: types of its parameters, then their values.
macro_rules! call {
    ($env:expr, $number:expr, ($($type:ty),*), ($($value:expr),*)) => {{
        // SAFETY: the function with this number has these parameters (`jvmti.h`).
        let function = unsafe { transmute::<*const c_void, unsafe extern "system" fn(Interface, $($type),*) -> Status>(entry($env.0, $number - 1)) };
        // SAFETY: pointers refer to values that outlive the call.
        unsafe { function($env.0, $($value),*) }
    }};
}

/// Turns a status into a result.
fn checked(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

/// Copies a text that the virtual machine passes to an entry point; empty for null.
///
/// # Safety
/// The pointer is null or a text that ends with 0.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises it.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Copies a text that a function has allocated, and frees it.
fn text_of(env: Env, text: *mut c_char) -> Vec<u8> {
    if text.is_null() {
        return Vec::new();
    }
    // SAFETY: the virtual machine returns texts that end with 0.
    let copy = unsafe { CStr::from_ptr(text) }.to_bytes().to_vec();
    env.deallocate(text.cast());
    copy
}

impl Vm {
    /// Takes the pointer that the virtual machine passes to an entry point.
    pub(crate) fn new(vm: Interface) -> Option<Self> {
        (!vm.is_null()).then_some(Self(vm))
    }

    /// Makes an environment; the status if the virtual machine has none of this version.
    pub(crate) fn env(self) -> Result<Env, Status> {
        let mut env = null_mut();
        // SAFETY: `GetEnv` has these parameters (`jni.h`).
        let function = unsafe {
            transmute::<*const c_void, unsafe extern "system" fn(Interface, *mut *mut c_void, c_int) -> c_int>(entry(
                self.0,
                ffi::GET_ENV,
            ))
        };
        // SAFETY: the result is written to `env`.
        checked(unsafe { function(self.0, &raw mut env, ffi::VERSION) })?;
        Ok(Env(env.cast()))
    }
}

impl Handle {
    /// Takes a reference that the virtual machine passes to a callback.
    pub(crate) fn new(object: Object) -> Self {
        Self(object)
    }
}

impl Jni {
    /// Takes the pointer that the virtual machine passes to a callback.
    pub(crate) fn new(jni: Interface) -> Option<Self> {
        (!jni.is_null()).then_some(Self(jni))
    }

    /// Whether a thread is virtual.
    pub(crate) fn is_virtual(self, thread: Handle) -> bool {
        // SAFETY: `GetVersion` has no further parameter.
        let version = unsafe {
            transmute::<*const c_void, unsafe extern "system" fn(Interface) -> c_int>(entry(self.0, ffi::GET_VERSION))
        };
        // SAFETY: as above.
        if unsafe { version(self.0) } < ffi::JNI_21 {
            return false;
        }
        // SAFETY: since version 21 the table has this function.
        let function = unsafe {
            transmute::<*const c_void, unsafe extern "system" fn(Interface, Object) -> c_uchar>(entry(
                self.0,
                ffi::IS_VIRTUAL_THREAD,
            ))
        };
        // SAFETY: the reference is valid during the callback.
        unsafe { function(self.0, thread.0) != 0 }
    }

    fn forget(self, object: Object) {
        if object.is_null() {
            return;
        }
        // SAFETY: `DeleteLocalRef` has these parameters.
        let function = unsafe {
            transmute::<*const c_void, unsafe extern "system" fn(Interface, Object)>(entry(
                self.0,
                ffi::DELETE_LOCAL_REF,
            ))
        };
        // SAFETY: a local reference that this thread was given.
        unsafe { function(self.0, object) }
    }
}

/// A method, as the virtual machine describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    pub(crate) class: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) file: Vec<u8>,
    /// Positions in its code and their lines, ascending.
    pub(crate) lines: Vec<(u32, u32)>,
}

/// Most lines of a method that are kept; of longer ones, only the first is.
const MOST_LINES: usize = 4096;

impl Env {
    /// Takes the pointer that the virtual machine passes to a callback.
    pub(crate) fn new(env: Interface) -> Option<Self> {
        (!env.is_null()).then_some(Self(env))
    }

    /// Adds the wanted capabilities, and those of the optional ones that the virtual machine has.
    pub(crate) fn add_capabilities(self, wanted: u64, optional: u64) -> Result<(), Status> {
        let mut there = Capabilities::default();
        checked(call!(self, number::GET_POTENTIAL_CAPABILITIES, (*mut Capabilities), (&raw mut there)))?;
        let add = Capabilities { low: wanted | optional & there.low, high: 0 };
        checked(call!(self, number::ADD_CAPABILITIES, (*const Capabilities), (&raw const add)))
    }

    /// Sets the callbacks.
    pub(crate) fn set_callbacks(self, callbacks: &[(Event, *const c_void)]) -> Result<(), Status> {
        let mut table = Callbacks([std::ptr::null(); 37]);
        for &(event, function) in callbacks {
            table.0[event as usize - ffi::FIRST_EVENT] = function;
        }
        let size = size_of::<Callbacks>() as c_int;
        checked(call!(self, number::SET_EVENT_CALLBACKS, (*const Callbacks, c_int), (&raw const table, size)))
    }

    /// Turns an event on or off, for all threads.
    pub(crate) fn notify(self, event: Event, on: bool) -> Result<(), Status> {
        let values = (c_int::from(on), event as c_int, null_mut());
        let number = number::SET_EVENT_NOTIFICATION_MODE;
        checked(call!(self, number, (c_int, c_int, Object), (values.0, values.1, values.2)))
    }

    /// Sets the mean number of bytes between two sampled allocations; 0 for each allocation.
    pub(crate) fn set_sampling_interval(self, bytes: c_int) -> Result<(), Status> {
        checked(call!(self, number::SET_HEAP_SAMPLING_INTERVAL, (c_int), (bytes)))
    }

    /// Runs a full collection.
    pub(crate) fn collect(self) -> Result<(), Status> {
        checked(call!(self, number::FORCE_GARBAGE_COLLECTION, (), ()))
    }

    /// Ends the environment.
    pub(crate) fn dispose(self) -> Result<(), Status> {
        checked(call!(self, number::DISPOSE_ENVIRONMENT, (), ()))
    }

    fn deallocate(self, memory: *mut c_uchar) {
        // Freeing memory that the virtual machine has just allocated does not fail.
        let _ = call!(self, number::DEALLOCATE, (*mut c_uchar), (memory));
    }

    /// The tag of an object; 0 for none.
    pub(crate) fn tag(self, object: Handle) -> i64 {
        let mut tag = 0;
        let _ = call!(self, number::GET_TAG, (Object, *mut i64), (object.0, &raw mut tag));
        tag
    }

    /// Tags an object.
    pub(crate) fn set_tag(self, object: Handle, tag: i64) -> Result<(), Status> {
        checked(call!(self, number::SET_TAG, (Object, i64), (object.0, tag)))
    }

    /// Fills `frames` with the innermost frames of the current thread; returns their number.
    pub(crate) fn stack(self, frames: &mut [Frame]) -> usize {
        let mut count = 0;
        let most = frames.len() as c_int;
        let status = call!(
            self,
            number::GET_STACK_TRACE,
            (Object, c_int, c_int, *mut Frame, *mut c_int),
            (null_mut(), 0, most, frames.as_mut_ptr(), &raw mut count)
        );
        if status == 0 { usize::try_from(count).unwrap_or(0).min(frames.len()) } else { 0 }
    }

    /// The name of a class as in descriptors; empty if it has none.
    pub(crate) fn signature(self, class: Handle) -> Vec<u8> {
        let mut text = null_mut();
        let types = call!(
            self,
            number::GET_CLASS_SIGNATURE,
            (Object, *mut *mut c_char, *mut *mut c_char),
            (class.0, &raw mut text, null_mut())
        );
        if types == 0 { text_of(self, text) } else { Vec::new() }
    }

    /// A property of the virtual machine; empty if unknown.
    pub(crate) fn property(self, name: &CStr) -> String {
        let mut text = null_mut();
        let status =
            call!(self, number::GET_SYSTEM_PROPERTY, (*const c_char, *mut *mut c_char), (name.as_ptr(), &raw mut text));
        if status == 0 { String::from_utf8_lossy(&text_of(self, text)).into_owned() } else { String::new() }
    }

    /// The name of a thread; empty if unknown.
    pub(crate) fn thread_name(self, jni: Jni, thread: Handle) -> Vec<u8> {
        let mut info =
            ThreadInfo { name: null_mut(), priority: 0, is_daemon: 0, group: null_mut(), loader: null_mut() };
        if call!(self, number::GET_THREAD_INFO, (Object, *mut ThreadInfo), (thread.0, &raw mut info)) != 0 {
            return Vec::new();
        }
        jni.forget(info.group);
        jni.forget(info.loader);
        text_of(self, info.name)
    }

    /// Describes a method; what is unknown is empty.
    pub(crate) fn describe(self, jni: Jni, method: MethodId) -> Described {
        let mut found = Described::default();
        let (mut name, mut signature) = (null_mut(), null_mut());
        let status = call!(
            self,
            number::GET_METHOD_NAME,
            (MethodId, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char),
            (method, &raw mut name, &raw mut signature, null_mut())
        );
        if status == 0 {
            (found.name, found.signature) = (text_of(self, name), text_of(self, signature));
        }
        let mut class = null_mut();
        if call!(self, number::GET_METHOD_DECLARING_CLASS, (MethodId, *mut Object), (method, &raw mut class)) == 0 {
            found.class = self.signature(Handle(class));
            let mut file = null_mut();
            if call!(self, number::GET_SOURCE_FILE_NAME, (Object, *mut *mut c_char), (class, &raw mut file)) == 0 {
                found.file = text_of(self, file);
            }
            jni.forget(class);
        }
        found.lines = self.lines(method);
        found
    }

    fn lines(self, method: MethodId) -> Vec<(u32, u32)> {
        let (mut count, mut table): (c_int, *mut Line) = (0, null_mut());
        let status = call!(
            self,
            number::GET_LINE_NUMBER_TABLE,
            (MethodId, *mut c_int, *mut *mut Line),
            (method, &raw mut count, &raw mut table)
        );
        if status != 0 || table.is_null() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the virtual machine has allocated `count` entries.
        let entries = unsafe { std::slice::from_raw_parts(table, count) };
        let number = |line: &Line| Some((u32::try_from(line.start).ok()?, u32::try_from(line.number).ok()?));
        let mut lines: Vec<_> = entries.iter().filter_map(number).collect();
        self.deallocate(table.cast());
        lines.sort_unstable();
        if lines.len() > MOST_LINES {
            lines.truncate(1);
        }
        lines
    }
}
