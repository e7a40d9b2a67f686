//! Random filters and queries.

use crate::filter::ast::{Aggregate, Check, Compare, Filter, Key, Literal, Query, Relation, Shown, Test};
use crate::filter::terms::{Kind, Term};
use heaplake_oracle::SplitMix64;

/// Texts of filters and tables: few, so that they are often equal.
pub(super) const TEXTS: [&str; 9] =
    ["", "a", "ab", "Cache", "com.shop.Cache", "java.lang.String", "ü\u{1f600}b", "say \"a\\b\"", "b\ta'"];
const PATTERNS: [&str; 7] = ["", "^a", "b$", "a|^com\\.shop", "(?i)CACHE", "[\\\\\"]", "^.{2,3}$"];

pub(super) fn one<'a, T>(rng: &mut SplitMix64, all: &'a [T]) -> &'a T {
    &all[rng.below(all.len())]
}

fn text(rng: &mut SplitMix64) -> String {
    (*one(rng, &TEXTS)).to_owned()
}

/// A number: small ones are in tables too.
pub(super) fn number(rng: &mut SplitMix64) -> i128 {
    match rng.below(8) {
        0 => u64::MAX.into(),
        1 => -(rng.below(3) as i128),
        2 => rng.below(1 << 40) as i128,
        _ => rng.below(6) as i128,
    }
}

fn literal(rng: &mut SplitMix64, kind: Kind) -> Literal {
    match kind {
        Kind::Number | Kind::Bytes => Literal::Number(number(rng)),
        Kind::Text => Literal::Text(text(rng)),
        Kind::Flag => Literal::Flag(rng.one_in(2)),
    }
}

fn check(rng: &mut SplitMix64, kind: Kind) -> Check {
    if rng.one_in(8) {
        return Check::IsNull;
    }
    if rng.one_in(5) {
        let count = 1 + rng.below(4);
        return Check::In((0..count).map(|_| literal(rng, kind)).collect());
    }
    match (kind, rng.below(8)) {
        (Kind::Flag, 0..4) => Check::IsTrue,
        (Kind::Flag, _) => {
            let compare = if rng.one_in(2) { Compare::Equal } else { Compare::Unequal };
            Check::Compare(compare, literal(rng, kind))
        }
        (Kind::Text, 0) => Check::Matches((*one(rng, &PATTERNS)).to_owned()),
        (Kind::Text, 1) => Check::MatchesNot((*one(rng, &PATTERNS)).to_owned()),
        (Kind::Text, 2) => Check::Contains(text(rng)),
        (Kind::Text, 3) => Check::StartsWith(text(rng)),
        (Kind::Text, 4) => Check::EndsWith(text(rng)),
        _ => Check::Compare(*one(rng, &Compare::ALL), literal(rng, kind)),
    }
}

pub(super) fn term(rng: &mut SplitMix64) -> Term {
    let all: Vec<Term> = Term::all().collect();
    *one(rng, &all)
}

fn test(rng: &mut SplitMix64, depth: usize) -> Test {
    const RELATIONS: [Relation; 6] = [
        Relation::Dominator,
        Relation::DominatedBy,
        Relation::Dominates,
        Relation::DominatorOf,
        Relation::References,
        Relation::ReferencedBy,
    ];
    match rng.below(16) {
        0 => Test::Path(check(rng, Kind::Text)),
        1 => {
            let kind = *one(rng, &[Kind::Number, Kind::Text, Kind::Flag]);
            let check = match check(rng, kind) {
                // A field has no type that would make it a flag.
                Check::IsTrue => Check::IsNull,
                check => check,
            };
            Test::Field(text(rng), check)
        }
        2 => Test::FieldOf(text(rng), Box::new(filter(rng, depth))),
        3 => Test::Related(*one(rng, &RELATIONS), Box::new(filter(rng, depth))),
        4 => Test::InstanceOf(text(rng)),
        5 => Test::InField(text(rng), Box::new(filter(rng, depth))),
        _ => {
            let term = term(rng);
            Test::Column(term, check(rng, term.described().kind))
        }
    }
}

/// A filter of at most this depth.
pub(super) fn filter(rng: &mut SplitMix64, depth: usize) -> Filter {
    let depth = depth.saturating_sub(1);
    if depth == 0 {
        return Filter::Test(test(rng, 0));
    }
    let several = |rng: &mut SplitMix64| (0..2 + rng.below(2)).map(|_| filter(rng, depth)).collect();
    match rng.below(8) {
        0..3 => Filter::And(several(rng)),
        3..5 => Filter::Or(several(rng)),
        5 => Filter::Not(Box::new(filter(rng, depth))),
        _ => Filter::Test(test(rng, depth)),
    }
}

fn aggregate(rng: &mut SplitMix64) -> Shown {
    if rng.one_in(3) {
        return Shown::Count;
    }
    let numbers: Vec<Term> = Term::all().filter(|term| term.is_number()).collect();
    Shown::Aggregate(*one(rng, &[Aggregate::Sum, Aggregate::Min, Aggregate::Max]), *one(rng, &numbers))
}

fn key(by: Shown, rng: &mut SplitMix64) -> Key {
    Key { by, descending: rng.one_in(2) }
}

/// A query.
pub(super) fn query(rng: &mut SplitMix64) -> Query {
    let filter = if rng.one_in(8) { Filter::ALL } else { filter(rng, 4) };
    let limit = rng.one_in(2).then(|| 1 + rng.below(40) as u32);
    let groups: Vec<Term> = Term::all().filter(|term| term.described().kind != Kind::Bytes).collect();
    let mut query = Query { filter, select: Vec::new(), group_by: Vec::new(), order_by: Vec::new(), limit };
    if rng.one_in(2) {
        query.group_by = (0..1 + rng.below(2)).map(|_| *one(rng, &groups)).collect();
        let shown = |rng: &mut SplitMix64| match rng.one_in(3) {
            true => Shown::Term(query.group_by[0]),
            false => aggregate(rng),
        };
        query.select = (0..rng.below(4)).map(|_| shown(rng)).collect();
        query.order_by = (0..rng.below(3)).map(|_| key(shown(rng), rng)).collect();
    } else {
        let shown = |rng: &mut SplitMix64| match rng.below(6) {
            0 => Shown::Path,
            1 => Shown::Field(text(rng)),
            _ => Shown::Term(term(rng)),
        };
        query.select = (0..rng.below(4)).map(|_| shown(rng)).collect();
        query.order_by = (0..rng.below(3)).map(|_| key(Shown::Term(term(rng)), rng)).collect();
    }
    query
}
