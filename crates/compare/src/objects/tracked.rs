//! Identifies the objects in walks of a .NET heap by the replay of their trace.

use super::join::Node;
use super::node_rows::Columns;
use super::side::{Side, refused};
use heaplake_kit::sorter::{Sorted, Sorter};
use heaplake_kit::{Context, Scratch, StageError};
use heaplake_lake::reader::{Batch, Batches, Reader, damaged, value};
use heaplake_lake::selection::{self, OpenRun};
use heaplake_schemas::walk_objects;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const REPLAY: &str = "replay the trace with heaplake replay TRACE --tracks, and give its run with --tracks";

/// Run of a replay, with the objects of each walk.
pub(super) struct Tracks {
    found: OpenRun,
    /// Garbage collections that ended with a heap walk, ascending.
    walks: Vec<u32>,
}

impl Tracks {
    /// Opens the run.
    pub(super) fn open(folder: &Path) -> Result<Self, StageError> {
        let found = selection::hold(folder)?.filter(|found| found.run.replay.is_some());
        let found = found.ok_or_else(|| refused(folder, "there is no run of a replay", REPLAY))?;
        let mut tracks = Self { found, walks: Vec::new() };
        let mut walks = BTreeSet::new();
        let mut batches = tracks.reader()?.columns(&["gc"])?;
        while let Some(batch) = batches.batch()? {
            walks.extend(batch.u32s("gc")?.values().chunk_by(|a, b| a == b).map(|group| group[0]));
        }
        tracks.walks = walks.into_iter().collect();
        Ok(tracks)
    }

    fn reader(&self) -> Result<Reader, StageError> {
        let reader = Reader::open_if_present(&self.found.place().join(walk_objects::TABLE.file))?;
        reader.ok_or_else(|| {
            refused(self.found.place(), "the run has no table walk_objects, by which objects are identified", REPLAY)
        })
    }

    /// Returns the garbage collection that ended with the run's walk.
    pub(super) fn walk_of(&self, side: &Side) -> Result<u32, StageError> {
        if side.found.run.input_hash != self.found.run.input_hash {
            let problem = format!("it is no walk of the trace that was replayed into {}", self.found.place().display());
            return Err(refused(side.found.place(), &problem, REPLAY));
        }
        let wanted = side.found.run.options.analysis_or_default().walk;
        let found = match wanted {
            Some(number) => (number as usize).checked_sub(1).and_then(|at| self.walks.get(at)),
            None => self.walks.last(),
        };
        found.copied().ok_or_else(|| {
            let problem = format!("{} walks of the heap are in the replay, and not this one", self.walks.len());
            refused(side.found.place(), &problem, "replay and analyse the trace again, with --force")
        })
    }
}

/// Replaces addresses by object numbers and sorts again. Also returns how many objects have no number.
pub(super) fn identify<'a>(
    mut nodes: Sorted<'a, Node>,
    tracks: &Tracks,
    gc: u32,
    columns: Columns,
    context: &'a Context<'a>,
    scratch: &'a Scratch,
) -> Result<(Sorted<'a, Node>, u64), StageError> {
    let most = usize::try_from(nodes.count()).unwrap_or(usize::MAX);
    let mut sorter = Sorter::new("nodes by object", most, columns, &context.budget, scratch)?;
    let mut walk = Walk::of(tracks, gc)?;
    let mut unknown = 0;
    while let Some(node) = nodes.pop()? {
        match walk.object(node.id)? {
            Some(object) => sorter.push(Node { id: u64::from(object), ..node })?,
            // The root and the kinds of roots have no address.
            None => unknown += u64::from(node.id != 0 && node.hidden == 0),
        }
    }
    Ok((sorter.finish()?, unknown))
}

/// Objects of one walk, by ascending address.
struct Walk {
    path: PathBuf,
    batches: Batches,
    batch: Option<Batch>,
    row: usize,
    gc: u32,
    last: u64,
}

impl Walk {
    fn of(tracks: &Tracks, gc: u32) -> Result<Self, StageError> {
        let mut batches = tracks.reader()?.columns(&["gc", "address", "object"])?;
        let batch = batches.batch()?;
        let path = tracks.found.place().join(walk_objects::TABLE.file);
        Ok(Self { path, batches, batch, row: 0, gc, last: 0 })
    }

    /// Returns the object at an address, if known; addresses must ascend between calls.
    fn object(&mut self, address: u64) -> Result<Option<u32>, StageError> {
        while let Some(batch) = &self.batch {
            let (gcs, addresses) = (batch.u32s("gc")?, batch.u64s("address")?);
            while self.row < batch.len() {
                let (gc, at) = (gcs.value(self.row), addresses.value(self.row));
                if gc > self.gc || gc == self.gc && at > address {
                    return Ok(None);
                }
                if gc == self.gc {
                    if at < self.last {
                        return Err(damaged(&self.path, format!("address {at} comes after {}", self.last)));
                    }
                    self.last = at;
                    if at == address {
                        return Ok(value(batch.u32s("object")?, self.row));
                    }
                }
                self.row += 1;
            }
            (self.batch, self.row) = (self.batches.batch()?, 0);
        }
        Ok(None)
    }
}
