//! Small, adversarial random dumps.
//!
//! A dump is drawn as a [`Draft`], a list of small numbers with a meaning for every value; [`Draft::build`] makes the
//! dump. So any part of a draft may be omitted or made smaller, which lets `proptest` shrink failures (see
//! [`crate::strategies`]).

mod build;
mod draft;
mod roots;

use self::build::Builder;
use super::model::Dump;

pub use draft::{BASE, BaseClass, ClassDraft, Draft, ObjectDraft, Options, RootDraft};

impl Draft {
    pub fn build(&self) -> Dump {
        let mut builder = Builder::new(self);
        builder.classes();
        builder.objects();
        builder.roots();
        builder.dump
    }
}
