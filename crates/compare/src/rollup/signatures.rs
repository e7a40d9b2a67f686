//! Signatures of the rows of a group: reused from the earlier table; only new ones are read from the tables of runs.

use crate::rows::labels::{self, LabelFile};
use crate::rows::{Gathered, Group};
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::{Batch, Batches, Reader};
use std::path::Path;

/// Signatures of the rows of a table.
pub(super) struct Signatures {
    earlier: Earlier,
    /// Fingerprints that the earlier table lacks, ascending.
    new: Vec<u64>,
    /// Index of the next new fingerprint.
    next: usize,
    labels: LabelFile,
}

impl Signatures {
    /// Finds signatures in the earlier table `before`, or else in the tables of the runs.
    pub(super) fn find(
        gathered: &Gathered<'_>,
        before: Option<&Path>,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let mut earlier = Earlier::open(before, false)?;
        let (mut new, mut examples) = (Vec::new(), Vec::new());
        let first = |group: &Group<'_>| *group.head();
        gathered.each(context, first, |head| {
            if !earlier.has(head.fingerprint)? {
                new.push(head.fingerprint);
                examples.push([head.run, head.row]);
            }
            Ok(())
        })?;
        let labels = labels::read(gathered, &examples, context)?;
        Ok(Self { earlier: Earlier::open(before, true)?, new, next: 0, labels })
    }

    /// Returns the signature of a fingerprint; fingerprints must ascend between calls.
    pub(super) fn of(&mut self, print: u64) -> Result<String, StageError> {
        if self.new.get(self.next) != Some(&print) {
            return Ok(self.earlier.signature(print)?.unwrap_or_default());
        }
        self.next += 1;
        Ok(self.labels.of(self.next - 1)?.signature)
    }
}

/// Rows of an earlier table by fingerprint.
struct Earlier {
    batches: Option<Batches>,
    batch: Option<Batch>,
    row: usize,
}

impl Earlier {
    /// Opens a table, with or without signatures; empty if there is none.
    fn open(path: Option<&Path>, signatures: bool) -> Result<Self, StageError> {
        let columns: &[&str] = if signatures { &["fingerprint", "signature"] } else { &["fingerprint"] };
        let reader = path.map(Reader::open_if_present).transpose()?.flatten();
        let batches = reader.map(|reader| reader.columns(columns)).transpose()?;
        Ok(Self { batches, batch: None, row: 0 })
    }

    /// Whether the table has a fingerprint; fingerprints must ascend between calls.
    fn has(&mut self, print: u64) -> Result<bool, StageError> {
        loop {
            if let Some(batch) = &self.batch {
                let prints = batch.u64s("fingerprint")?;
                while self.row < prints.len() && prints.value(self.row) < print {
                    self.row += 1;
                }
                if self.row < prints.len() {
                    return Ok(prints.value(self.row) == print);
                }
            }
            let Some(batches) = &mut self.batches else { return Ok(false) };
            self.batch = batches.batch()?;
            self.row = 0;
            if self.batch.is_none() {
                self.batches = None;
            }
        }
    }

    /// Returns the signature of a fingerprint; fingerprints must not descend between calls.
    fn signature(&mut self, print: u64) -> Result<Option<String>, StageError> {
        if !self.has(print)? {
            return Ok(None);
        }
        let Some(batch) = &self.batch else { return Ok(None) };
        Ok(Some(batch.texts("signature")?.value(self.row).to_owned()))
    }
}
