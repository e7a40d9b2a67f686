//! Stacks as the virtual machine has them, and the description of their methods.

use crate::ffi::Frame;
use crate::jvmti::{Described, Env, Jni};
use crate::names;

/// Most frames of a stack; outer ones are left out.
pub(crate) const DEPTH: usize = 128;

/// A stack of the current thread.
pub(crate) struct Stack {
    frames: [Frame; DEPTH + 1],
    count: usize,
}

impl Stack {
    /// Takes the stack of the current thread.
    #[inline]
    pub(crate) fn take(env: Env) -> Self {
        let mut stack = Self { frames: [Frame::NONE; DEPTH + 1], count: 0 };
        stack.count = env.stack(&mut stack.frames);
        stack
    }

    /// Whether outer frames are left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.count > DEPTH
    }

    /// Its frames, innermost first: method, and position in its code.
    pub(crate) fn frames(&self) -> impl ExactSizeIterator<Item = (usize, Option<u32>)> + Clone {
        self.frames[..self.count.min(DEPTH)]
            .iter()
            .map(|frame| (frame.method as usize, u32::try_from(frame.location).ok()))
    }

    /// Describes those of its methods that are in a list.
    pub(crate) fn describe(&self, env: Env, jni: Jni, wanted: &[usize]) -> Vec<(usize, Described)> {
        let frames = &self.frames[..self.count.min(DEPTH)];
        let mut described: Vec<(usize, Described)> = Vec::with_capacity(wanted.len());
        for frame in frames {
            let key = frame.method as usize;
            if !wanted.contains(&key) || described.iter().any(|(known, _)| *known == key) {
                continue;
            }
            let mut method = env.describe(jni, frame.method);
            method.class = names::readable(&method.class);
            described.push((key, method));
        }
        described
    }
}
