//! The binary interface of JVMTI and JNI: the functions in use, by their positions in the tables of `jvmti.h` and `jni.h`.

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// A handle of an object, class or thread, valid during a callback.
pub(crate) type Object = *mut c_void;

/// Identifies a method; valid as long as its class is loaded, and never used for another one.
pub(crate) type MethodId = *mut c_void;

/// An interface: a pointer to a pointer to a table of functions.
pub(crate) type Interface = *mut *const *const c_void;

/// Result of a JVMTI function; 0 is success.
pub(crate) type Status = c_int;

/// JVMTI 11, the first version with sampled allocations.
pub(crate) const VERSION: c_int = 0x300B_0000;

/// Positions of functions of `JavaVM`, from 0.
pub(crate) const GET_ENV: usize = 6;

/// Position of a function of JNI, from 0, and the first version that has it.
pub(crate) const IS_VIRTUAL_THREAD: usize = 234;
pub(crate) const GET_VERSION: usize = 4;
pub(crate) const DELETE_LOCAL_REF: usize = 23;
pub(crate) const JNI_21: c_int = 0x0015_0000;

/// Numbers of JVMTI's functions, from 1, as in `jvmti.h`.
pub(crate) mod number {
    pub(crate) const SET_EVENT_NOTIFICATION_MODE: usize = 2;
    pub(crate) const GET_THREAD_INFO: usize = 9;
    pub(crate) const DEALLOCATE: usize = 47;
    pub(crate) const GET_CLASS_SIGNATURE: usize = 48;
    pub(crate) const GET_SOURCE_FILE_NAME: usize = 50;
    pub(crate) const GET_METHOD_NAME: usize = 64;
    pub(crate) const GET_METHOD_DECLARING_CLASS: usize = 65;
    pub(crate) const GET_LINE_NUMBER_TABLE: usize = 70;
    pub(crate) const GET_STACK_TRACE: usize = 104;
    pub(crate) const GET_TAG: usize = 106;
    pub(crate) const SET_TAG: usize = 107;
    pub(crate) const FORCE_GARBAGE_COLLECTION: usize = 108;
    pub(crate) const SET_EVENT_CALLBACKS: usize = 122;
    pub(crate) const DISPOSE_ENVIRONMENT: usize = 127;
    pub(crate) const GET_SYSTEM_PROPERTY: usize = 131;
    pub(crate) const GET_POTENTIAL_CAPABILITIES: usize = 140;
    pub(crate) const ADD_CAPABILITIES: usize = 142;
    pub(crate) const SET_HEAP_SAMPLING_INTERVAL: usize = 156;
}

/// Capabilities, as bits of `jvmtiCapabilities` in order.
pub(crate) mod capability {
    pub(crate) const TAG_OBJECTS: u64 = 1 << 0;
    pub(crate) const SOURCE_FILE_NAME: u64 = 1 << 11;
    pub(crate) const LINE_NUMBERS: u64 = 1 << 12;
    pub(crate) const GARBAGE_COLLECTION_EVENTS: u64 = 1 << 31;
    pub(crate) const OBJECT_FREE_EVENTS: u64 = 1 << 32;
    pub(crate) const SAMPLED_OBJECT_ALLOC_EVENTS: u64 = 1 << 43;
    pub(crate) const VIRTUAL_THREADS: u64 = 1 << 44;
}

/// Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Event {
    VmInit = 50,
    VmDeath = 51,
    CollectionStart = 81,
    CollectionFinish = 82,
    ObjectFree = 83,
    SampledObjectAlloc = 86,
}

/// First event of the table of callbacks.
pub(crate) const FIRST_EVENT: usize = 50;

/// `jvmtiCapabilities`: 128 bits.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Capabilities {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// `jvmtiEventCallbacks` up to the last event in use.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Callbacks(pub(crate) [*const c_void; 37]);

/// `jvmtiFrameInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Frame {
    pub(crate) method: MethodId,
    /// Position in its code; -1 in native code.
    pub(crate) location: i64,
}

impl Frame {
    pub(crate) const NONE: Self = Self { method: std::ptr::null_mut(), location: -1 };
}

/// `jvmtiLineNumberEntry`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Line {
    pub(crate) start: i64,
    pub(crate) number: c_int,
}

/// `jvmtiThreadInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ThreadInfo {
    pub(crate) name: *mut c_char,
    pub(crate) priority: c_int,
    pub(crate) is_daemon: c_uchar,
    pub(crate) group: Object,
    pub(crate) loader: Object,
}
