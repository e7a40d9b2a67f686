//! What a trace reports, whatever its format. Readers hand events to [`Replay`](crate::replay::Replay) in the order in
//! which they happened.

/// Addresses of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// 0, 1, 2, 3 for large objects, 4 for pinned ones.
    pub generation: u8,
    /// First address.
    pub start: u64,
    /// Bytes that are in use.
    pub used: u64,
    /// Bytes that the generation has there.
    pub reserved: u64,
}

/// An object is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Where.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The runtime's handle of its type.
    pub type_handle: u64,
    /// The reader's number of its stack; see [`Frames`](crate::stacks::Frames).
    pub stack: u32,
    /// How many allocations it represents; `bytes` is their total size.
    pub count: u64,
    /// When, in ticks of the trace.
    pub time: u64,
}

/// A collection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionStart {
    /// The runtime's number.
    pub number: u32,
    /// Bit `g` is set when generation `g` is condemned.
    pub condemned: u32,
    /// Why, as a code.
    pub reason: Reason,
    /// Whether it runs beside the program; other collections may then begin and end inside it.
    pub concurrent: bool,
    /// When, in ticks of the trace; 0 where it has no times.
    pub time: u64,
}

/// Why a collection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// As profilers are told: 1 for an induced one.
    Profiler(u32),
    /// As the runtime's events say.
    Runtime(u32),
}

/// What keeps objects alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootKind {
    /// A stack.
    Stack,
    /// The queue of objects to be finalized.
    Finalizer,
    /// A handle.
    Handle,
    /// Something else.
    Other,
}

/// A root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// What it refers to, as it lies after the collection; 0 for nothing.
    pub object: u64,
    /// What it is.
    pub kind: RootKind,
    /// As the runtime's profiling interface says.
    pub flags: u32,
    /// What the runtime says of it besides.
    pub id: u64,
}

/// How the times of a trace are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Ticks in a second; 0 where the trace has no times.
    pub frequency: f64,
    /// Microseconds since 1970 at the tick `origin`.
    pub origin_us: i64,
    /// See there.
    pub origin: u64,
}

impl Clock {
    /// Microseconds since 1970, where there are times.
    #[must_use]
    pub fn absolute_us(&self, time: u64) -> Option<i64> {
        (self.frequency > 0.0).then(|| {
            let seconds = (time as f64 - self.origin as f64) / self.frequency;
            self.origin_us.saturating_add((seconds * 1e6) as i64)
        })
    }

    /// Seconds between two ticks, where there are times.
    #[must_use]
    pub fn seconds(&self, from: u64, to: u64) -> Option<f64> {
        (self.frequency > 0.0).then(|| to.saturating_sub(from) as f64 / self.frequency)
    }
}
