//! Masks of the texts of the heap, for runs that hold none. Readers of formats mask where they read texts, before
//! anything is written to scratch.

use glob::Pattern;
use heaplake_kit::{Job, StageError};
use heaplake_redact::{Choice, Key, Options, Texts};
use heaplake_schemas::options;

/// How the texts of a run are masked.
pub(crate) struct Masking {
    /// Options of the masks.
    pub options: Options,
    /// Names that stay.
    keep: Vec<Pattern>,
}

impl Masking {
    /// Returns the masks of a run; `None` if it holds the texts as they are.
    ///
    /// # Errors
    /// [`StageError::Refused`] without a key.
    pub(crate) fn of(job: &Job<'_>) -> Result<Option<Self>, StageError> {
        let choice = &job.analysis().texts;
        let texts = match choice.mode {
            options::Texts::Full => return Ok(None),
            options::Texts::Hash => Texts::Hash,
            options::Texts::None => Texts::None,
        };
        let key = choice.secret.0.as_deref().copied().map(Key::of_words).ok_or_else(|| StageError::Refused {
            problem: "the masks of texts have no key".to_owned(),
            advice: "give the key of the run with --texts-key".to_owned(),
        })?;
        let options = Options { texts, numbers: Choice::Mask, thread_names: Choice::Mask, key };
        // The command line has checked the patterns.
        let keep = choice.keep.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
        Ok(Some(Self { options, keep }))
    }

    /// Whether a name stays, although it looks like data.
    pub(crate) fn keeps(&self, name: &[u8]) -> bool {
        !self.keep.is_empty()
            && std::str::from_utf8(name).is_ok_and(|name| self.keep.iter().any(|pattern| pattern.matches(name)))
    }

    /// Remark about the run.
    pub(crate) fn remark(&self) -> String {
        match self.options.texts {
            Texts::Hash => "the texts of the heap are hashed (--texts hash): equal ones are equal, and say nothing else",
            Texts::None => {
                "the texts of the heap are absent (--texts none): only their lengths are there, and duplicates were not looked for"
            }
        }
        .to_owned()
    }
}
