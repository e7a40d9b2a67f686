//! What became of a subject.

use super::class::{OfClass, Through};
use super::row::{Measure, Row};
use super::sides::{BASE, TARGET};
use super::table::{Compared, SIGNIFICANT};
use crate::amounts::Amounts;
use heaplake_schemas::diff::{Evidence, Status};

/// What became of a subject, and by what that is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What became of it.
    pub status: Status,
    /// By what that is decided.
    pub evidence: Evidence,
}

/// What became of a subject, from its measures alone. Where a side has several runs, the measure that subjects are ranked
/// by decides whether it changed.
#[must_use]
pub fn of(compared: &Compared<'_>, number: u32, row: &Row) -> Verdict {
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

/// Whether nothing differs.
fn is_same(compared: &Compared<'_>, row: &Row) -> bool {
    let same = |measure: &Measure| {
        let [base, target] = measure.sides;
        let numbers = |of: &Amounts| [of.mean, of.median, of.p90, of.max];
        base.is_told() == target.is_told() && numbers(&base) == numbers(&target)
    };
    let [base, target] = [BASE, TARGET].map(|side| row.head.runs_with[side] as usize * compared.runs[1 - side]);
    base == target && row.measures.iter().all(same)
}

/// What became of a subject that changed.
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

/// What became of a chain. `class` is what the base says of the class at its end.
#[must_use]
pub fn of_chain(compared: &Compared<'_>, number: u32, row: &Row, class: Option<&OfClass>) -> Verdict {
    let [base, target] = row.measures[0].sides;
    if !base.is_told() || !target.is_told() {
        // The chains of a side are not known, because the class was not big. What is more than the whole class was has
        // grown all the same.
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

/// What became of a class. `through` is the chain through which it grew most.
#[must_use]
pub fn of_class(compared: &Compared<'_>, number: u32, row: &Row, through: Option<&Through>) -> Verdict {
    match of(compared, number, row) {
        Verdict { status: Status::Grew, evidence } if through.is_some_and(|through| through.new) => {
            Verdict { status: Status::NewPath, evidence }
        }
        verdict => verdict,
    }
}
