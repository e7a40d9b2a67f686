//! The agent in real virtual machines: programs that know their own allocations, under all collectors of all JDKs.
//!
//! JDKs are those of `/usr/lib/jvm`, `JAVA_HOME`, and the folders in `HEAPLAKE_JDKS`, separated by colons. Without one
//! the tests say so and pass.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod attach;
mod exact;
mod killed;
mod lifetimes;
mod log;
mod machine;
mod options;
mod samples;
