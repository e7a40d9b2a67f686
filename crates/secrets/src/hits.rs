//! The secrets that were found, without their texts.
//!
//! Of a secret stay its length and a tag: a hash under a random key that is forgotten when the process ends. Equal
//! secrets have equal tags, so that different ones can be counted. A tag is never written anywhere: the numbers of
//! cards are few enough to try all, should a key be known.

use heaplake_kit::{Budget, BudgetVec, StageError};
use std::hash::{BuildHasher, RandomState};

/// A secret in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Number of the string in a file of V8, id of the array in a dump of Java, or node.
    pub object: u64,
    /// Number of the rule.
    pub rule: u16,
    /// Bytes of the secret.
    pub length: u32,
    /// Tag of the secret.
    pub tag: u64,
}

/// Makes tags.
#[derive(Clone, Debug, Default)]
pub struct Tagger(RandomState);

impl Tagger {
    /// The tag of a text.
    #[must_use]
    pub fn tag(&self, text: &[u8]) -> u64 {
        self.0.hash_one(text)
    }
}

/// Hits as they are found: 24 bytes each.
pub struct Hits<'t> {
    tagger: &'t Tagger,
    hits: BudgetVec<Hit>,
    failed: Option<StageError>,
}

impl<'t> Hits<'t> {
    /// No hits.
    #[must_use]
    pub fn new(tagger: &'t Tagger, budget: &Budget) -> Self {
        Self { tagger, hits: budget.growing("secrets"), failed: None }
    }

    /// Adds a secret, unless it is among the last ones of the object. [`Self::check`] returns errors.
    pub fn add(&mut self, object: u64, rule: u16, secret: &[u8]) {
        let length = u32::try_from(secret.len()).unwrap_or(u32::MAX);
        let hit = Hit { object, rule, length, tag: self.tagger.tag(secret) };
        let is_known = self.hits.iter().rev().take(16).any(|last| *last == hit);
        if !is_known && self.failed.is_none() {
            self.failed = self.hits.push(hit).err();
        }
    }

    /// Fails if memory did not suffice for a secret.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn check(&mut self) -> Result<(), StageError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// The hits, in the order in which they were found.
    #[must_use]
    pub fn finish(self) -> BudgetVec<Hit> {
        self.hits
    }
}
