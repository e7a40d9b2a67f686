//! Pages ahead: a thread that has the system clear pages before a column needs them.
//!
//! The system clears a page when somebody first touches it, which takes longer than to write a column there. Where a
//! run has more than one thread, another one does that ahead of the one who writes, and puts the pages in the pool.

use crate::fs::before_thread;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::thread;

/// The thread. It ends when this goes.
#[derive(Debug)]
pub(super) struct Ahead {
    orders: Sender<()>,
}

impl Ahead {
    /// Starts the thread, which puts pages in the pool by `stock` until that says that there are enough; nothing if the
    /// system has no thread, for then columns get their pages themselves.
    pub fn start(stock: impl Fn() -> bool + Send + 'static) -> Option<Self> {
        // One order is enough: it is for all that the pool lacks.
        let (orders, received) = bounded(1);
        before_thread().ok()?;
        thread::Builder::new().name("pages".into()).spawn(move || serve(&received, stock)).ok()?;
        Some(Self { orders })
    }

    /// Orders what the pool lacks.
    pub fn order(&self) {
        // Where an order waits, it is for this, too.
        let _ = self.orders.try_send(());
    }
}

fn serve(orders: &Receiver<()>, stock: impl Fn() -> bool) {
    while orders.recv().is_ok() {
        while stock() {}
    }
}
