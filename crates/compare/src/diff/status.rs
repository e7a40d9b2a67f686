//! Decides the status of a subject: grown, shrunk, same, and so on.

use super::class::{OfClass, Through};
use super::row::{Measure, Row};
use super::sides::{BASE, TARGET};
use super::table::{Compared, SIGNIFICANT};
use crate::amounts::Amounts;
use heaplake_schemas::diff::{Evidence, Status};

/// Status of a subject, and the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Status.
    pub status: Status,
    /// Evidence.
    pub evidence: Evidence,
}

/// Status of a subject from its measures alone. If a side has several runs, the ranking measure decides whether it
/// changed.
pub(super) fn of(compared: &Compared<'_>, number: u32, row: &Row) -> Verdict {
    let main = &row.measures[0];
    let q = compared.q(number, 0, row);
    let evidence = match () {
        () if !compared.has_statistics() => Evidence::Difference,
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
fn is_same(compared: &Compared<'_>, row: &Row) -> bool {
    let same = |measure: &Measure| {
        let [base, target] = measure.sides;
        let numbers = |of: &Amounts| [of.mean, of.median, of.p90, of.max];
        base.is_told() == target.is_told() && numbers(&base) == numbers(&target)
    };
    let [base, target] = [BASE, TARGET].map(|side| row.head.runs_with[side] as usize * compared.runs[1 - side]);
    base == target && row.measures.iter().all(same)
}

/// Status of a subject that changed.
fn changed(row: &Row) -> Status {
    let main = &row.measures[0].tests;
    let on_some = main.on_some();
    match row.head.runs_with {
        [0, _] => return if on_some { Status::AppearedOn } else { Status::Appeared },
        [_, 0] => return Status::Vanished,
        _ => {}
    }
    match row.measures.iter().find_map(|measure| measure.tests.changed()) {
        Some(true) if on_some => Status::GrewOnSome,
        Some(true) => Status::Grew,
        Some(false) if on_some => Status::ShrankOnSome,
        Some(false) => Status::Shrank,
        None => Status::WithinNoise,
    }
}

/// Status of a chain. `class` is the class at its end, in the base.
pub(super) fn of_chain(compared: &Compared<'_>, number: u32, row: &Row, class: Option<&OfClass>) -> Verdict {
    let [base, target] = row.measures[0].sides;
    if !base.is_told() || !target.is_told() {
        // A side has no chains because the class was not big there. More than the class retained in all is growth
        // nevertheless.
        let at_most = class.map_or(i64::MAX, |class| class.retained);
        let grew = target.is_told() && target.mean > at_most;
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
pub(super) fn of_class(compared: &Compared<'_>, number: u32, row: &Row, through: Option<&Through>) -> Verdict {
    match of(compared, number, row) {
        Verdict { status: Status::Grew, evidence } if through.is_some_and(|through| through.new) => {
            Verdict { status: Status::NewPath, evidence }
        }
        verdict => verdict,
    }
}
