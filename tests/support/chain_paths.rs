//! Paths of a run's chains.

use crate::table::Table;
use arrow::array::{Array, AsArray};

/// The column `path` of the chains: each element's edge, class, and whether it repeats.
pub fn paths(table: &Table) -> Vec<Vec<(Option<String>, String, bool)>> {
    let column = table.0.column_by_name("path").unwrap().as_list::<i32>();
    let paths = (0..column.len()).map(|row| {
        let path = column.value(row);
        let path = path.as_struct();
        let (edges, classes) = (path.column(0).as_string::<i32>(), path.column(1).as_string::<i32>());
        let edge = |at: usize| edges.is_valid(at).then(|| edges.value(at).to_owned());
        (0..path.len())
            .map(|at| (edge(at), classes.value(at).to_owned(), path.column(2).as_boolean().value(at)))
            .collect()
    });
    paths.collect()
}
