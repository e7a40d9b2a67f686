//! Decides the status of a subject: grown, shrunk, same, and so on.

use super::class::{OfClass, Through};
use super::row::Measure;
use super::sides::{BASE, TARGET};
use super::table::{Compared, SIGNIFICANT};
use crate::amounts::Amounts;
use crate::ranked::row::Row;
use heaplake_schemas::diff::{Evidence, Status};

/// Status of a subject, and the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Status.
    pub status: Status,
    /// Evidence.
    pub evidence: Evidence,
}

/// Decision about a subject.
pub(super) struct Decision {
    /// Status.
    pub verdict: Verdict,
    /// q per measure.
    pub q: Vec<Option<f64>>,
    /// For a class that grew: the chain through which it grew most.
    pub through: Option<Through>,
    /// For a chain: its share in the growth of its class.
    pub share: Option<f64>,
}

impl Decision {
    /// Whether it changed.
    pub(super) fn is_change(&self) -> bool {
        !matches!(self.verdict.status, Status::Same | Status::WithinNoise)
    }
}

/// Status of a subject from its measures alone. If a side has several runs, the ranking measure decides whether it
/// changed.
pub(super) fn of(compared: &Compared, number: u32, row: &Row<Measure>) -> Verdict {
    let main = &row.values[0];
    let q = compared.q(number, 0, row);
    let evidence = match () {
        () if !compared.has_statistics => Evidence::Difference,
        () if q.is_some_and(|q| q < SIGNIFICANT) => Evidence::Tests,
        () if main.tests.too_few() && main.tests.is_separate() => Evidence::Separation,
        () => Evidence::None,
    };
    let status = match evidence {
        _ if is_same(compared, row) => Status::Same,
        Evidence::None => Status::WithinNoise,
        _ => changed(row),
    };
    let undecided = matches!(status, Status::Same | Status::WithinNoise);
    Verdict { status, evidence: if undecided { Evidence::None } else { evidence } }
}

/// Whether both sides are equal in all measures.
fn is_same(compared: &Compared, row: &Row<Measure>) -> bool {
    let same = |measure: &Measure| {
        let [base, target] = measure.sides;
        let numbers = |of: &Amounts| [of.mean, of.median, of.p90, of.max];
        base.is_reported() == target.is_reported() && numbers(&base) == numbers(&target)
    };
    let [base, target] =
        [BASE, TARGET].map(|side| runs_with(row)[side] as usize * compared.ranked.sides[1 - side].runs);
    base == target && row.values.iter().all(same)
}

/// Number of runs with the subject, per side.
fn runs_with(row: &Row<Measure>) -> [u32; 2] {
    row.values[0].sides.map(|side| side.with[0])
}

/// Status of a subject that changed.
fn changed(row: &Row<Measure>) -> Status {
    let main = &row.values[0].tests;
    let on_some = main.on_some();
    match runs_with(row) {
        [0, _] => return if on_some { Status::AppearedOn } else { Status::Appeared },
        [_, 0] => return Status::Vanished,
        _ => {}
    }
    match row.values.iter().find_map(|measure| measure.tests.changed()) {
        Some(true) if on_some => Status::GrewOnSome,
        Some(true) => Status::Grew,
        Some(false) if on_some => Status::ShrankOnSome,
        Some(false) => Status::Shrank,
        None => Status::WithinNoise,
    }
}

/// Status of a chain. `class` is the class at its end, in the base.
pub(super) fn of_chain(compared: &Compared, number: u32, row: &Row<Measure>, class: Option<&OfClass>) -> Verdict {
    let [base, target] = row.values[0].sides;
    if !base.is_reported() || !target.is_reported() {
        // A side has no chains because the class was not big there. More than the class retained in all is growth
        // nevertheless.
        let at_most = class.map_or(i64::MAX, |class| class.retained);
        let grew = target.is_reported() && target.mean > at_most;
        let status = if grew { Status::Grew } else { Status::WithinNoise };
        return Verdict { status, evidence: if grew { Evidence::Difference } else { Evidence::None } };
    }
    match of(compared, number, row) {
        Verdict { status: Status::Appeared | Status::AppearedOn, evidence }
            if class.is_some_and(|class| class.in_base) && target.mean > base.mean =>
        {
            Verdict { status: Status::NewPath, evidence }
        }
        verdict => verdict,
    }
}

/// Status of a class. `through` is the chain through which it grew most.
pub(super) fn of_class(compared: &Compared, number: u32, row: &Row<Measure>, through: Option<&Through>) -> Verdict {
    match of(compared, number, row) {
        Verdict { status: Status::Grew, evidence } if through.is_some_and(|through| through.new) => {
            Verdict { status: Status::NewPath, evidence }
        }
        verdict => verdict,
    }
}
