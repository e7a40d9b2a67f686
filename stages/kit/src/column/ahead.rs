//! Background page clearing: a thread that has the system clear pages before a column needs them.
//!
//! The system clears a page on first touch, which takes longer than writing a column there. If a run has more than one
//! thread, this thread clears pages ahead of the writer and puts them into the pool.

use crate::fs::before_thread;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::thread;

/// Handle of the thread, which ends when the handle is dropped.
#[derive(Debug)]
pub(super) struct Ahead {
    orders: Sender<()>,
}

impl Ahead {
    /// Starts the thread, which calls `stock` to fill the pool until it returns false. `None` if the thread cannot be
    /// started; then columns clear their pages themselves.
    pub fn start(stock: impl Fn() -> bool + Send + 'static) -> Option<Self> {
        // One order suffices: it fills the whole pool.
        let (orders, received) = bounded(1);
        before_thread().ok()?;
        thread::Builder::new().name("pages".into()).spawn(move || serve(&received, stock)).ok()?;
        Some(Self { orders })
    }

    /// Requests a refill of the pool.
    pub fn order(&self) {
        // A pending order covers this one, too.
        let _ = self.orders.try_send(());
    }
}

fn serve(orders: &Receiver<()>, stock: impl Fn() -> bool) {
    while orders.recv().is_ok() {
        while stock() {}
    }
}
