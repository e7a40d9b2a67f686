//! Pages ahead: a thread that has the system clear pages before a column needs them.
//!
//! The system clears a page when somebody first touches it, which takes longer than to write a column there. Where a
//! run has more than one thread, another one does that ahead of the one who writes, and puts the pages in the pool.

use super::store::Store;
use crate::fs::before_thread;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::{Arc, Weak};
use std::thread;

/// The thread of a store. It ends with the store.
#[derive(Debug)]
pub(super) struct Ahead {
    orders: Sender<()>,
}

impl Ahead {
    /// Starts the thread; nothing if the system has none, for then columns get their pages themselves.
    pub fn start(store: &Arc<Store>) -> Option<Self> {
        // One order is enough: it is for all that the pool lacks.
        let (orders, received) = bounded(1);
        let store = Arc::downgrade(store);
        before_thread().ok()?;
        thread::Builder::new().name("pages".into()).spawn(move || serve(&received, &store)).ok()?;
        Some(Self { orders })
    }

    /// Orders what the pool lacks.
    pub fn order(&self) {
        // Where an order waits, it is for this, too.
        let _ = self.orders.try_send(());
    }
}

fn serve(orders: &Receiver<()>, store: &Weak<Store>) {
    while orders.recv().is_ok() {
        while store.upgrade().is_some_and(|store| store.stock()) {}
    }
}
