//! Reports each growth once.
//!
//! Bytes retained by a holder are also retained by all holders above it. So one leak grows every class along its chain,
//! and every chain to one of these classes, by nearly the same bytes. One of these subjects represents the growth: the
//! first from the root with more instances than before (they pile up), or else the last (it became larger). The others
//! are parts of it, and so are holders further up whose growth is the sum of several representatives.

use rustc_hash::FxHashMap;

/// Maximum number of subjects considered, by growth.
pub(crate) const MOST: usize = 200;
/// Two growths are nearly the same if the smaller is at least this fraction of the larger.
const NEARLY: f64 = 0.8;
/// Instances pile up if at least this many are new per host where the subject grew.
const PILED: f64 = 1.5;

/// A subject that grew.
#[derive(Clone, Debug)]
pub(crate) struct Grown {
    /// Fingerprint.
    pub fingerprint: u64,
    /// Fingerprint of the class at the end of the path.
    pub class: u64,
    /// Path from the root: the text of a chain.
    pub path: String,
    /// Whether the path consists of references (else of dominators).
    pub by_reference: bool,
    /// Growth in bytes.
    pub delta: f64,
    /// New instances per host where the subject grew.
    pub instances: f64,
}

impl Grown {
    /// Whether its path is a prefix of, or equal to, the other's.
    fn leads_to(&self, other: &Self) -> bool {
        let rest = other.path.strip_prefix(self.path.as_str());
        !self.path.is_empty() && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    }

    fn is_near(&self, other: &Self) -> bool {
        self.delta.min(other.delta) >= NEARLY * self.delta.max(other.delta)
    }
}

/// Folds subjects that grew, given by rank. Returns the representative of each, by fingerprint, and the order in which
/// parts follow their representative.
pub(crate) fn fold(grown: &[Grown]) -> (FxHashMap<u64, u64>, Vec<usize>) {
    let mut teller: Vec<Option<usize>> = vec![None; grown.len()];
    let mut tellers = Vec::new();
    for first in 0..grown.len() {
        if teller[first].is_some() {
            continue;
        }
        let mut same = vec![first];
        let mut looked_at = 0;
        while let Some(&of) = same.get(looked_at) {
            looked_at += 1;
            let more = |at: &usize| {
                let (one, other) = (&grown[of], &grown[*at]);
                let related =
                    one.leads_to(other) || other.leads_to(one) || (one.class != 0 && one.class == other.class);
                teller[*at].is_none() && !same.contains(at) && related && grown[first].is_near(other)
            };
            let more: Vec<usize> = (first..grown.len()).filter(more).collect();
            same.extend(more);
        }
        let members = same.clone();
        same.sort_by_key(|&at| (!grown[at].by_reference, grown[at].path.len(), at));
        let piles = same.iter().find(|&&at| grown[at].instances >= PILED);
        let deepest = same.iter().rfind(|&&at| grown[at].by_reference);
        let tells = piles.or(deepest).or(same.last()).copied().unwrap_or(first);
        members.iter().for_each(|&at| teller[at] = Some(tells));
        tellers.push(tells);
    }
    explain_holders(grown, &tellers, &mut teller);
    let is_teller = |at: usize| teller[at] == Some(at);
    let parts_of = |of: usize| {
        (0..grown.len()).filter(move |&at| at != of).filter(|&at| root(&teller, at) == of).collect::<Vec<_>>()
    };
    let mut order = Vec::with_capacity(grown.len());
    for &at in tellers.iter().filter(|&&at| is_teller(at)) {
        order.push(at);
        order.extend(parts_of(at));
    }
    let parts = (0..grown.len()).filter(|&at| !is_teller(at));
    let parts = parts.map(|at| (grown[at].fingerprint, grown[root(&teller, at)].fingerprint)).collect();
    (parts, order)
}

/// Follows a chain of representatives to its end.
fn root(teller: &[Option<usize>], mut at: usize) -> usize {
    while let Some(next) = teller[at].filter(|&next| next != at) {
        at = next;
    }
    at
}

/// Makes holders parts of the largest of several representatives below them, if their growth is the sum of these.
fn explain_holders(grown: &[Grown], tellers: &[usize], teller: &mut [Option<usize>]) {
    // Longest paths first, so that subjects below are settled first.
    let mut deepest: Vec<usize> = tellers.to_vec();
    deepest.sort_by_key(|&at| (std::cmp::Reverse(grown[at].path.len()), at));
    for &holder in &deepest {
        let is_below = |at: &usize| {
            *at != holder && grown[holder].leads_to(&grown[*at]) && grown[*at].path.len() > grown[holder].path.len()
        };
        let below: Vec<usize> = tellers.iter().copied().filter(is_below).filter(|&at| teller[at] == Some(at)).collect();
        // Among nested subjects only the topmost counts; of one class, only the chain that grew most.
        let mut classes: FxHashMap<u64, f64> = FxHashMap::default();
        for &at in &below {
            if !below.iter().any(|&other| other != at && grown[other].leads_to(&grown[at])) {
                let largest = classes.entry(grown[at].class).or_default();
                *largest = largest.max(grown[at].delta);
            }
        }
        let together: f64 = classes.values().sum();
        let largest = below.iter().copied().max_by(|&a, &b| grown[a].delta.total_cmp(&grown[b].delta).then(b.cmp(&a)));
        if let Some(largest) = largest.filter(|_| together >= NEARLY * grown[holder].delta) {
            teller[holder] = Some(largest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Grown, fold};

    fn grown(fingerprint: u64, path: &str, delta: f64, instances: f64) -> Grown {
        Grown { fingerprint, class: fingerprint, path: path.to_owned(), by_reference: true, delta, instances }
    }

    #[test]
    fn what_piles_up_tells_of_the_growth() {
        let (parts, order) = fold(&[
            grown(1, "root.cache → Map", 100.0, 0.0),
            grown(2, "root", 100.0, 0.0),
            grown(3, "root.cache → Map → Entry", 99.0, 500.0),
            grown(4, "root.cache → Map → Entry.name → string", 90.0, 900.0),
            grown(5, "root.cache → Map2", 60.0, 0.0),
            grown(6, "root.cache → Map → Small", 1.0, 9.0),
        ]);
        assert_eq!(order, [2, 0, 1, 3, 4, 5]);
        let mut parts: Vec<(u64, u64)> = parts.into_iter().collect();
        parts.sort_unstable();
        assert_eq!(parts, [(1, 3), (2, 3), (4, 3)]);
    }

    #[test]
    fn what_became_larger_tells_where_nothing_piles_up() {
        let (parts, order) = fold(&[grown(1, "root", 50.0, 0.0), grown(2, "root.buffer → Buffer", 50.0, 0.0)]);
        assert_eq!((parts.get(&1), order), (Some(&2), vec![1, 0]));
    }

    #[test]
    fn what_has_no_path_is_no_part() {
        let (parts, order) = fold(&[grown(0, "", 50.0, 0.0), grown(0, "", 50.0, 0.0)]);
        assert_eq!((parts.len(), order), (0, vec![0, 1]));
    }

    #[test]
    fn the_holder_of_two_growths_is_a_part_of_them() {
        let (parts, order) = fold(&[
            grown(1, "root", 100.0, 0.0),
            grown(2, "root.a → A", 60.0, 10.0),
            grown(3, "root.b → B", 38.0, 10.0),
        ]);
        assert_eq!((parts.get(&1), parts.len(), order), (Some(&2), 1, vec![1, 0, 2]));
    }
}
