//! Reads the columns of the answer, of the rows that it shows.

use super::ast::Shown;
use super::columns::{Cell, Column};
use super::neighbours::Neighbours;
use super::scan::{Nodes, Rows};
use super::terms::Term;
use crate::asked::Asked;
use crate::error::QueryError;
use crate::object;
use crate::why::path_texts;
use heaplake_kit::StageError;
use std::collections::{BTreeMap, BTreeSet};

/// Values of the columns `select` for nodes, in their order.
pub(crate) fn cells(
    asked: &Asked,
    table: &Nodes,
    neighbours: &Neighbours<'_>,
    select: &[Shown],
    nodes: &[u32],
) -> Result<Vec<Vec<Cell>>, QueryError> {
    let of_terms = terms(table, select, nodes)?;
    let mut columns: Vec<Vec<Cell>> = Vec::new();
    for shown in select {
        columns.push(match shown {
            Shown::Term(term) => nodes.iter().map(|node| of_terms[&(*node, *term)].clone()).collect(),
            Shown::Path => {
                let before = neighbours.before(shown)?;
                let texts = path_texts(asked, &neighbours.edges(shown)?, before, nodes)?;
                texts.into_iter().map(|text| text.map_or(Cell::Null, Cell::Text)).collect()
            }
            Shown::Field(name) => fields(asked, name, nodes)?,
            Shown::Count | Shown::Aggregate(..) => vec![Cell::Null; nodes.len()],
        });
    }
    Ok((0..nodes.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect())
}

fn terms(table: &Nodes, select: &[Shown], nodes: &[u32]) -> Result<BTreeMap<(u32, Term), Cell>, StageError> {
    let terms = select.iter().filter_map(|shown| if let Shown::Term(term) = shown { Some(*term) } else { None });
    let terms: BTreeSet<Term> = terms.collect();
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let columns: BTreeSet<&str> = terms.iter().map(|term| term.described().column).collect();
    let columns: Vec<&str> = columns.into_iter().collect();
    let mut found = BTreeMap::new();
    if sorted.is_empty() || columns.is_empty() {
        return Ok(found);
    }
    table.read(&columns, &Rows::Some(0..table.rows, sorted), |batch, picked| {
        for &term in &terms {
            let column = Column::of(batch, term)?;
            picked.each(|row, node| drop(found.insert((node, term), column.cell(row, node))));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Values of a field: its text, or the class and number of the object that it refers to.
fn fields(asked: &Asked, name: &str, nodes: &[u32]) -> Result<Vec<Cell>, QueryError> {
    let found = object::fields(asked, name, nodes)?;
    Ok(nodes.iter().map(|node| found.get(node).map_or(Cell::Null, |text| Cell::Text(text.clone()))).collect())
}
