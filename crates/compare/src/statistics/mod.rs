//! Statistics of two sides with several runs each, and of series of sides: is a difference real, how large is it, which
//! would have gone unnoticed.
//!
//! A value is a measure of one row in one run, such as the retained size of a class: a whole number. Values of runs are
//! skewed, heavy-tailed and full of ties, so nearly all methods use ranks and counts:
//!
//! | question | answer | function |
//! |---|---|---|
//! | how much more? | Hodges-Lehmann shift with its interval | [`shift()`] |
//! | do all runs have more? | Mann-Whitney test | [`rank_sum()`] |
//! | do more runs have it at all? | Fisher's exact test | [`fisher()`] |
//! | do some runs have far more? | Fisher's exact test of the upper tail | [`tail()`] |
//! | do the same hosts have more? | signed-rank and sign test | [`paired()`] |
//! | is it real, by all of these tests? | Cauchy combination | [`weighted()`] |
//! | how much more on all hosts together? | interval of the means | [`interval`] |
//! | is it real, in a table of many rows? | Benjamini-Hochberg q | [`corrected`] |
//! | which growth would go unnoticed? | least shift with a power of 80 % | [`smallest_effect`] |
//! | how much more at each step? | Theil-Sen slope with its interval | [`slope()`] |
//! | which value is usual? | median and quantiles | [`median`], [`quantile`] |
//!
//! The functions are pure and deterministic across machines. None builds the matrix of all differences: they select
//! from it in O((n + m) log (n + m)), see `differences.rs`.

mod combined;
mod counting;
mod differences;
mod false_discovery;
mod fisher;
pub mod interval;
mod normal;
mod null;
mod paired;
mod power;
mod quantiles;
mod rank_sum;
mod shift;
#[cfg(test)]
#[path = "tests/simulated.rs"]
pub(crate) mod simulated;
#[cfg(test)]
#[path = "tests/simulation.rs"]
mod simulation;
mod slope;
mod tail;

pub use combined::weighted;
pub use false_discovery::corrected;
pub use fisher::{Counts, fisher};
pub use paired::{Paired, paired};
pub use power::{Effects, smallest_effect, smallest_effects};
pub use quantiles::{median, quantile};
pub use rank_sum::rank_sum;
pub use shift::{Shift, shift, shift_from_constant};
pub use slope::{Slope, slope};
pub use tail::{Tail, tail};
