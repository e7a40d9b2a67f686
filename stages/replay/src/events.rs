//! Events of a trace, whatever its format. Readers pass them to [`Replay`](crate::replay::Replay) in order of time.

/// A range of addresses of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// 0, 1, 2, 3 for large objects, 4 for pinned ones.
    pub generation: u8,
    /// First address.
    pub start: u64,
    /// Bytes in use.
    pub used: u64,
    /// Bytes reserved.
    pub reserved: u64,
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of the object.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The runtime's handle of its type.
    pub type_handle: u64,
    /// The reader's number of its stack; see [`Frames`](crate::stacks::Frames).
    pub stack: u32,
    /// Number of allocations that it represents; `bytes` is their total size.
    pub count: u64,
    /// Time in ticks of the trace.
    pub time: u64,
}

/// The start of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionStart {
    /// The runtime's number.
    pub number: u32,
    /// Bit `g` is set if generation `g` is condemned.
    pub condemned: u32,
    /// Its reason.
    pub reason: Reason,
    /// Whether it runs concurrently with the program; other collections may then start and end inside it.
    pub concurrent: bool,
    /// Time in ticks of the trace; 0 without times.
    pub time: u64,
}

/// Reason of a collection, as a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// As profilers get it: 1 for an induced one.
    Profiler(u32),
    /// As in the runtime's events.
    Runtime(u32),
}

/// Kind of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootKind {
    /// A stack.
    Stack,
    /// The finalizer queue.
    Finalizer,
    /// A handle.
    Handle,
    /// Any other.
    Other,
}

/// A root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// The referenced object, at its address after the collection; 0 for none.
    pub object: u64,
    /// Its kind.
    pub kind: RootKind,
    /// Flags of the runtime's profiling interface.
    pub flags: u32,
    /// The runtime's id of the root.
    pub id: u64,
}

/// Converts ticks of a trace to times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Ticks per second; 0 without times.
    pub frequency: f64,
    /// Microseconds since 1970 at the tick `origin`.
    pub origin_us: i64,
    /// The tick of `origin_us`.
    pub origin: u64,
}

impl Clock {
    /// Microseconds since 1970, if the trace has times.
    pub fn absolute_us(&self, time: u64) -> Option<i64> {
        (self.frequency > 0.0).then(|| {
            let seconds = (time as f64 - self.origin as f64) / self.frequency;
            self.origin_us.saturating_add((seconds * 1e6) as i64)
        })
    }

    /// Seconds between two ticks, if the trace has times.
    pub fn seconds(&self, from: u64, to: u64) -> Option<f64> {
        (self.frequency > 0.0).then(|| to.saturating_sub(from) as f64 / self.frequency)
    }
}
