//! A filter as a tree over compiled tests, each with the stage in which it is read.

use super::ast::{Check, Compare, Filter, Test};
use super::check::Checker;
use super::logic::Tree;
use super::terms::{Origin, Stage, Term};
use heaplake_kit::StageError;
use std::collections::BTreeSet;

/// A compiled test.
pub(crate) enum Compiled<'a> {
    /// Of a column.
    Column(Term, Checker),
    /// Of neighbours, paths or fields.
    Related(&'a Test),
}

impl Compiled<'_> {
    /// Stage in which it is read.
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Self::Column(term, _) => term.described().stage,
            Self::Related(_) => Stage::Neighbours,
        }
    }

    /// Whether statistics of its column bound its values.
    pub(crate) fn has_bounds(&self) -> bool {
        matches!(self, Self::Column(term, _) if term.is_number() && term.described().from == Origin::Column)
    }
}

/// A compiled filter.
pub(crate) struct Plan<'a> {
    pub tree: Tree,
    pub tests: Vec<Compiled<'a>>,
}

impl<'a> Plan<'a> {
    /// Compiles a filter.
    pub(crate) fn of(filter: &'a Filter) -> Result<Self, StageError> {
        let mut tests = Vec::new();
        let tree = tree(filter, &mut tests)?;
        Ok(Self { tree, tests })
    }

    /// Columns of the tests of a stage.
    pub(crate) fn columns(&self, stage: Stage) -> BTreeSet<&'static str> {
        let of_stage = self.tests.iter().filter(|test| test.stage() == stage);
        of_stage
            .filter_map(|test| if let Compiled::Column(term, _) = test { Some(term.described().column) } else { None })
            .collect()
    }

    /// Terms of the tests, those of related objects left out.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> {
        self.tests.iter().filter_map(|test| if let Compiled::Column(term, _) = test { Some(*term) } else { None })
    }
}

/// Recursion is as deep as the parser allows.
fn tree<'a>(filter: &'a Filter, tests: &mut Vec<Compiled<'a>>) -> Result<Tree, StageError> {
    Ok(match filter {
        Filter::And(all) => Tree::All(all.iter().map(|one| tree(one, tests)).collect::<Result<_, _>>()?),
        Filter::Or(all) => Tree::Any(all.iter().map(|one| tree(one, tests)).collect::<Result<_, _>>()?),
        Filter::Not(inner) => Tree::Not(Box::new(tree(inner, tests)?)),
        Filter::Test(test) => {
            tests.push(match test {
                Test::Column(term, check) => Compiled::Column(*term, Checker::of(check)?),
                _ => Compiled::Related(test),
            });
            let leaf = Tree::Test(tests.len() - 1);
            // A path passes `!=` and `!~` if none of its steps passes `=` and `~`.
            match test {
                Test::Path(Check::MatchesNot(_) | Check::Compare(Compare::Unequal, _)) => Tree::Not(Box::new(leaf)),
                _ => leaf,
            }
        }
    })
}
