//! The roots of a drafted dump, and the stacks of its threads.

use super::build::{Builder, THREAD};
use super::draft::RootDraft;
use crate::jvm::model::{Frame, Root, RootKind, Trace};

impl Builder<'_> {
    pub(super) fn roots(&mut self) {
        let sticky = self.class_addresses[0];
        if !self.draft.options.no_sticky {
            self.dump.roots.push(Root { kind: RootKind::StickyClass, object: sticky });
        }
        let mut threads = 0;
        for root in &self.draft.roots {
            let root = self.root(*root, &mut threads);
            self.dump.roots.push(root);
        }
    }

    fn root(&mut self, root: RootDraft, threads: &mut u32) -> Root {
        let object = match root.kind % 16 {
            2 => self.instance_of(THREAD, root.object),
            _ => self.reference(root.object),
        };
        let frame = i32::from(root.thread / 8 % 4) - 1;
        let thread = [0, 1, 1, 1, 1, 2, 2, 3][usize::from(root.thread % 8)];
        let kind = match root.kind % 16 {
            0 => RootKind::JniGlobal,
            1 if self.draft.options.no_sticky => RootKind::Unknown,
            1 => {
                let class = self.class_addresses[usize::from(root.object) % self.class_addresses.len()];
                return Root { kind: RootKind::StickyClass, object: class };
            }
            2 | 3 if self.is_new_thread(object) => {
                *threads += 1;
                self.trace(*threads, root.thread);
                RootKind::Thread(*threads, *threads + 10)
            }
            2..=5 => RootKind::JavaFrame(thread, frame),
            6 => RootKind::JniLocal(thread, frame),
            7 => RootKind::NativeStack(thread),
            8 => RootKind::ThreadBlock(thread),
            9 => RootKind::Monitor,
            10 => RootKind::JniMonitor(thread, frame),
            11..=14 => RootKind::Android(0x89 + (root.kind % 16 - 11) as u8),
            _ => RootKind::Unknown,
        };
        Root { kind, object }
    }

    /// Whether this is an object, and not yet a thread's.
    fn is_new_thread(&self, object: u64) -> bool {
        let known =
            self.dump.roots.iter().any(|root| matches!(root.kind, RootKind::Thread(..)) && root.object == object);
        self.object_addresses.contains(&object) && !known
    }

    /// Gives a thread a stack.
    fn trace(&mut self, thread: u32, number: u16) {
        let mut frames = Vec::new();
        for at in 0..number % 4 {
            let bits = number.rotate_right(3 * u32::from(at)) / 4;
            let id = 0x5000 + u64::from(thread) * 16 + u64::from(at);
            let method = self.dump.intern(["run", "<init>", "lambda$main$0"][usize::from(bits) % 3]);
            let signature = self.dump.intern("()V");
            let source = if bits.is_multiple_of(3) { 0 } else { self.dump.intern("App.java") };
            let class_serial = u32::from(bits) % self.names.len() as u32 + 1;
            let line = [17, 0, -1, -2, -3][usize::from(bits / 4) % 5];
            self.dump.frames.push(Frame { id, method, signature, source, class_serial, line });
            frames.push(id);
        }
        self.dump.traces.push(Trace { serial: thread + 10, thread, frames });
    }
}
