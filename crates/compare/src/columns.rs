//! Builds the columns of long tables from rows: in diff, trend and rollup.

use crate::amounts::Amounts;
use crate::rows::{NO_ONE, OfSide};
use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use std::sync::Arc;

/// Columns in the order of a schema.
pub(crate) struct Columns<'a, R> {
    rows: &'a [R],
    /// Finished columns.
    pub arrays: Vec<ArrayRef>,
}

impl<'a, R> Columns<'a, R> {
    /// Starts with no column.
    pub(crate) fn of(rows: &'a [R]) -> Self {
        Self { rows, arrays: Vec::new() }
    }

    /// Appends a column of any type.
    pub(crate) fn array<T, A: Array + FromIterator<Option<T>> + 'static>(&mut self, of: impl Fn(&'a R) -> Option<T>) {
        self.arrays.push(Arc::new(self.rows.iter().map(of).collect::<A>()));
    }

    /// Appends a column of texts.
    pub(crate) fn text<T: AsRef<str>>(&mut self, of: impl Fn(&'a R) -> Option<T>) {
        self.array::<T, StringArray>(of);
    }

    /// Appends a column of counts or sizes.
    pub(crate) fn number(&mut self, of: impl Fn(&'a R) -> Option<i64>) {
        self.array::<i64, Int64Array>(of);
    }

    /// Appends a column of fingerprints.
    pub(crate) fn fingerprint(&mut self, of: impl Fn(&'a R) -> Option<u64>) {
        self.array::<u64, UInt64Array>(of);
    }

    /// Appends a column of percentages, which may be infinite.
    pub(crate) fn percent(&mut self, of: impl Fn(&'a R) -> Option<f64>) {
        self.array::<f64, Float64Array>(of);
    }

    /// Appends a column of statistics; null if not finite.
    pub(crate) fn statistic(&mut self, of: impl Fn(&'a R) -> Option<f64>) {
        self.percent(|row| of(row).filter(|number| number.is_finite()));
    }

    /// Appends a column of flags.
    pub(crate) fn flag(&mut self, of: impl Fn(&'a R) -> Option<bool>) {
        self.array::<bool, BooleanArray>(of);
    }

    /// Appends the columns of a measure over the runs of a side: runs and hosts, and amounts.
    pub(crate) fn amounts(&mut self, side: impl Fn(&R) -> OfSide, of: impl Fn(&'a R) -> &'a Amounts) {
        let hosts = |number: u32| Some(number.into()).filter(|_| number != NO_ONE);
        self.number(|row| Some(side(row).runs as i64));
        self.number(|row| Some(of(row).with[0].into()));
        self.number(|row| side(row).hosts.map(|hosts| hosts as i64));
        self.number(|row| hosts(of(row).with[1]));
        let amounts: [fn(&Amounts) -> i64; 5] = [|of| of.sum, |of| of.mean, |of| of.median, |of| of.p90, |of| of.max];
        for amount in amounts {
            self.number(|row| of(row).if_reported(amount(of(row))));
        }
    }
}
