//! What became of a row.

use super::class::{OfClass, Through};
use super::row::{BASE, Row, TARGET};
use super::table::{Compared, SIGNIFICANT};
use heaplake_schemas::diff::Status;

/// What became of a row, from its measures alone. Where there are statistics, the measure that rows are ranked by decides
/// whether it changed.
#[must_use]
pub fn of(compared: &Compared<'_>, number: u32, row: &Row) -> Status {
    let deltas = || row.measures.iter().map(|measure| measure.delta().unwrap_or(0));
    let significant = || compared.q(number, 0).is_some_and(|q| q < SIGNIFICANT);
    if compared.has_statistics() && !significant() {
        return if deltas().all(|delta| delta == 0) { Status::Same } else { Status::WithinNoise };
    }
    match row.runs_with {
        [0, _] => return Status::Appeared,
        [_, 0] => return Status::Vanished,
        _ => {}
    }
    let shift = row.measures[0].statistics.map(|of| of.shift);
    let mut changes = shift.into_iter().chain(deltas().map(|delta| delta as f64));
    match changes.find(|&change| change != 0.0) {
        None => Status::Same,
        Some(change) if change > 0.0 => Status::Grew,
        Some(_) => Status::Shrank,
    }
}

/// What became of a chain. `class` is what the base says of the class at its end.
#[must_use]
pub fn of_chain(compared: &Compared<'_>, number: u32, row: &Row, class: Option<&OfClass>) -> Status {
    let main = &row.measures[0];
    let (Some(base), Some(target)) = (main.sides[BASE].median, main.sides[TARGET].median) else {
        // The chains of a side are not known, because the class was not big. What is more than the whole class was has
        // grown all the same.
        let at_most = class.map_or(i64::MAX, |class| class.retained);
        return match main.sides[TARGET].median {
            Some(target) if target > at_most => Status::Grew,
            _ => Status::WithinNoise,
        };
    };
    match of(compared, number, row) {
        Status::Appeared if class.is_some_and(|class| class.in_base) && target > base => Status::NewPath,
        status => status,
    }
}

/// What became of a class. `through` is the chain through which it grew most.
#[must_use]
pub fn of_class(compared: &Compared<'_>, number: u32, row: &Row, through: Option<&Through>) -> Status {
    match of(compared, number, row) {
        Status::Grew if through.is_some_and(|through| through.new) => Status::NewPath,
        status => status,
    }
}
