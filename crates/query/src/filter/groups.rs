//! Groups of rows with equal terms, and their aggregates.

use super::ast::{Aggregate, Shown};
use super::columns::{Cell, Column};
use super::scan::Picked;
use super::terms::Term;
use crate::error::QueryError;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Batch, Texts};
use rustc_hash::FxHashMap;

/// Maximum number of groups.
const MOST_GROUPS: usize = 1_000_000;
/// Maximum bytes of texts of all groups.
const MOST_BYTES: usize = 256 << 20;

/// Code of null.
const NULL: i128 = i128::MIN;

/// What is counted for each group.
pub(crate) struct Wanted {
    /// Terms of the groups.
    pub terms: Vec<Term>,
    /// Aggregates, each once.
    pub aggregates: Vec<(Aggregate, Term)>,
}

impl Wanted {
    /// Value of a column of the answer in a group.
    pub(crate) fn cell(&self, shown: &Shown, keys: &[Cell], totals: &Totals) -> Cell {
        match shown {
            Shown::Count => Cell::Number(totals.count.into()),
            Shown::Term(term) => {
                let at = self.terms.iter().position(|other| other == term);
                at.map_or(Cell::Null, |at| keys[at].clone())
            }
            Shown::Aggregate(aggregate, term) => {
                let at = self.aggregates.iter().position(|other| *other == (*aggregate, *term));
                at.and_then(|at| totals.values[at]).map_or(Cell::Null, Cell::Number)
            }
            Shown::Path | Shown::Field(_) => Cell::Null,
        }
    }
}

/// Totals of a group. An aggregate of nulls only is null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub count: u64,
    pub values: Vec<Option<i128>>,
}

fn merged(aggregate: Aggregate, a: Option<i128>, b: Option<i128>) -> Option<i128> {
    let both = |a: i128, b: i128| match aggregate {
        Aggregate::Sum => a.saturating_add(b),
        Aggregate::Min => a.min(b),
        Aggregate::Max => a.max(b),
    };
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}

/// Groups of the whole run.
#[derive(Default)]
pub(crate) struct Groups {
    pub totals: FxHashMap<Vec<Cell>, Totals>,
    bytes: usize,
}

impl Groups {
    /// Adds the groups of a unit.
    ///
    /// # Errors
    /// [`QueryError`] if there are too many groups.
    pub(crate) fn add(&mut self, wanted: &Wanted, unit: UnitGroups) -> Result<(), QueryError> {
        for (keys, totals) in unit.into_groups() {
            if let Some(own) = self.totals.get_mut(&keys) {
                own.count += totals.count;
                for ((own, other), (aggregate, _)) in own.values.iter_mut().zip(totals.values).zip(&wanted.aggregates) {
                    *own = merged(*aggregate, *own, other);
                }
                continue;
            }
            self.bytes += keys.iter().map(|key| if let Cell::Text(text) = key { text.len() } else { 0 }).sum::<usize>();
            self.totals.insert(keys, totals);
            if self.totals.len() > MOST_GROUPS || self.bytes > MOST_BYTES {
                let cause = format!("group by: more than {MOST_GROUPS} groups, or {} MiB of names", MOST_BYTES >> 20);
                return Err(QueryError::usage(cause, "narrow the filter, group by another term, or use heaplake sql"));
            }
        }
        Ok(())
    }
}

/// Numbers of the distinct texts of a term.
#[derive(Default)]
struct Names {
    numbers: FxHashMap<String, i128>,
    texts: Vec<String>,
    /// The distinct texts of the last batch, and their numbers, [`NULL`] if unknown yet.
    known: Option<Texts>,
    places: Vec<i128>,
}

impl Names {
    fn number(&mut self, text: &str) -> i128 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as i128;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Groups of a unit: keys are numbers.
pub(crate) struct UnitGroups {
    names: Vec<Names>,
    is_flag: Vec<bool>,
    groups: FxHashMap<Box<[i128]>, usize>,
    totals: Vec<Totals>,
}

impl UnitGroups {
    pub(crate) fn new(wanted: &Wanted) -> Self {
        let names = wanted.terms.iter().map(|_| Names::default()).collect();
        Self { names, is_flag: vec![false; wanted.terms.len()], groups: FxHashMap::default(), totals: Vec::new() }
    }

    /// Adds rows of a batch.
    pub(crate) fn add(&mut self, wanted: &Wanted, batch: &Batch, picked: &Picked<'_>) -> Result<(), StageError> {
        let keys = wanted.terms.iter().map(|&term| Column::of(batch, term)).collect::<Result<Vec<_>, _>>()?;
        let of = wanted.aggregates.iter().map(|&(aggregate, term)| Ok((aggregate, Column::of(batch, term)?)));
        let values = of.collect::<Result<Vec<_>, StageError>>()?;
        self.prepare(&keys);
        let mut key = vec![NULL; keys.len()];
        picked.each(|row, node| {
            for (at, column) in keys.iter().enumerate() {
                key[at] = self.code(at, column, row, node);
            }
            let totals = self.of_key(&key, values.len());
            totals.count += 1;
            for (total, (aggregate, column)) in totals.values.iter_mut().zip(&values) {
                *total = merged(*aggregate, *total, column.number(row, node));
            }
        });
        Ok(())
    }

    fn prepare(&mut self, keys: &[Column<'_>]) {
        for ((column, names), is_flag) in keys.iter().zip(&mut self.names).zip(&mut self.is_flag) {
            *is_flag = matches!(column, Column::Flags(_) | Column::Codes(_));
            if let Column::Texts(texts) = column
                && !names.known.as_ref().is_some_and(|known| known.are_of(texts))
            {
                names.known = texts.texts();
                names.places = vec![NULL; names.known.as_ref().map_or(0, |known| known.iter().count())];
            }
        }
    }

    /// Number that stands for the value of a row.
    fn code(&mut self, at: usize, column: &Column<'_>, row: usize, node: u32) -> i128 {
        match column {
            Column::Flags(_) | Column::Codes(_) => column.flag(row).map_or(NULL, i128::from),
            Column::Texts(texts) => {
                let names = &mut self.names[at];
                let Some(place) = texts.place(row) else { return NULL };
                let known = names.places.get(place).copied().unwrap_or(NULL);
                if known != NULL {
                    return known;
                }
                let Some(text) = texts.text(row) else { return NULL };
                let number = names.number(text);
                if let Some(known) = names.places.get_mut(place) {
                    *known = number;
                }
                number
            }
            _ => column.number(row, node).unwrap_or(NULL),
        }
    }

    fn of_key(&mut self, key: &[i128], values: usize) -> &mut Totals {
        let at = match self.groups.get(key) {
            Some(&at) => at,
            None => {
                self.groups.insert(key.into(), self.totals.len());
                self.totals.push(Totals { count: 0, values: vec![None; values] });
                self.totals.len() - 1
            }
        };
        &mut self.totals[at]
    }

    fn into_groups(self) -> impl Iterator<Item = (Vec<Cell>, Totals)> {
        let Self { names, is_flag, groups, mut totals } = self;
        groups.into_iter().map(move |(key, at)| {
            let cells = key.iter().zip(&names).zip(&is_flag).map(|((&code, names), &is_flag)| match code {
                NULL => Cell::Null,
                code if is_flag => Cell::Flag(code == 1),
                code if names.texts.is_empty() => Cell::Number(code),
                code => Cell::Text(names.texts[code as usize].clone()),
            });
            (cells.collect(), std::mem::replace(&mut totals[at], Totals { count: 0, values: Vec::new() }))
        })
    }
}
