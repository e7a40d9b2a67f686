//! Kinds of GC roots.

/// A kind of root in HPROF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RootKind {
    /// Tag of the record.
    pub tag: u8,
    /// Display name.
    pub name: &'static str,
    /// Bytes after the object's id, except a JNI reference's.
    pub(super) extra: usize,
    /// Whether a thread's serial number follows.
    pub of_thread: bool,
    /// Whether the number of a frame of that thread follows.
    pub(super) has_frame: bool,
}

const fn root(tag: u8, name: &'static str, extra: usize, of_thread: bool, has_frame: bool) -> RootKind {
    RootKind { tag, name, extra, of_thread, has_frame }
}

/// Tag of the root record of a class that is never unloaded.
pub(crate) const STICKY_CLASS: u8 = 0x05;
/// Tag of the root record of a thread.
pub(crate) const THREAD_OBJECT: u8 = 0x08;
/// Tag of a reference from native code.
pub(super) const JNI_GLOBAL: u8 = 0x01;
/// Tag of objects that Android's runtime lists as roots though nothing keeps them alive.
pub(crate) const UNREACHABLE: u8 = 0x90;

/// All kinds of roots; those from 0x89 on are Android's.
pub(crate) const ROOT_KINDS: [RootKind; 16] = [
    root(0xff, "unknown", 0, false, false),
    root(JNI_GLOBAL, "JNI global", 0, false, false),
    root(0x02, "JNI local", 8, true, true),
    root(0x03, "Java frame", 8, true, true),
    root(0x04, "native stack", 4, true, false),
    root(STICKY_CLASS, "sticky class", 0, false, false),
    root(0x06, "thread block", 4, true, false),
    root(0x07, "monitor", 0, false, false),
    root(THREAD_OBJECT, "thread", 8, true, true),
    root(0x89, "interned string", 0, false, false),
    root(0x8a, "finalizing", 0, false, false),
    root(0x8b, "debugger", 0, false, false),
    root(0x8c, "reference cleanup", 0, false, false),
    root(0x8d, "VM internal", 0, false, false),
    root(0x8e, "JNI monitor", 8, false, false),
    root(UNREACHABLE, "unreachable", 0, false, false),
];
