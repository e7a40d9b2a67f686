//! Random dumps that are small and adversarial.
//!
//! A dump is drawn as a [`Draft`], a list of small numbers that always means something, whatever they are;
//! [`Draft::build`] makes the dump from it. So any part of a draft may be left out or made smaller, which is how
//! `proptest` shrinks failures (see [`crate::strategies`]).

mod build;
mod draft;
mod roots;

use self::build::Builder;
use super::model::Dump;

pub use draft::{BASE, BaseClass, ClassDraft, Draft, ObjectDraft, Options, RootDraft};

impl Draft {
    /// The dump that the draft means.
    #[must_use]
    pub fn build(&self) -> Dump {
        let mut builder = Builder::new(self);
        builder.classes();
        builder.objects();
        builder.roots();
        builder.dump
    }
}
