//! An agent of the Java virtual machine that records allocations.
//!
//! The virtual machine calls it for every allocation ([`agent`] has its entry points and callbacks). It counts the
//! objects of each class ([`classes`]), and takes size and stack of about one in `interval` ([`strata`]). Samples,
//! [`methods`] and stacks go to a bounded [`queue`], from which a thread of its own ([`writer`]) writes the event log
//! (`docs/event-log.md`). [`session`] is one recording, from its start to its stop; [`options`] are those of the command line,
//! [`names`] converts class names. [`jvmti`] and [`ffi`] are the interface of the virtual machine.
//!
//! Invariants:
//!
//! * Counts are never dropped. If the writer cannot keep up, samples are, and the log says how many.
//! * Threads of the program never wait for input or output: only for a lock that is held for a few hundred nanoseconds,
//!   in which nothing of the virtual machine is called. So a collection, which may take the lock, cannot wait for a thread that
//!   waits for the collection.
//! * No panic leaves the agent.
//! * Memory is bounded by the option `memory`; see [`options::Memory`].

#[expect(unsafe_code, reason = "the virtual machine finds and calls these functions by name and by pointer")]
mod agent;
pub mod classes;
#[expect(unsafe_code, reason = "callbacks read the current session without a lock")]
mod current;
mod ffi;
#[expect(unsafe_code, reason = "calls through the function tables of the virtual machine")]
mod jvmti;
mod methods;
pub mod names;
pub mod options;
pub mod queue;
mod session;
pub mod strata;
mod writer;
