//! The edges that steps follow: from the holders of branches to theirs.

use super::growing::Passed;
use super::level::Level;
use super::walk::{Dominates, Holders, Limits, Place, Retainer};
use crate::StageError;
use std::rc::Rc;

/// Nodes at this distance or nearer have no holder but the root.
const BEGINNING: i32 = 1;

/// A holder whose retainers are asked for: its step, and its place among the holders there.
#[derive(Clone, Copy)]
struct Held {
    level: u32,
    nth: u32,
}

/// Whether a walk goes to a retainer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Always,
    UnlessDominated,
    Never,
}

/// What is looked at together. Steps are many and most are small, so that its memory is kept from one to the next.
#[derive(Default)]
pub(super) struct Work {
    held: Vec<Held>,
    places: Vec<Place>,
    retainers: Vec<Retainer>,
    follows: Vec<Follows>,
    asked: Vec<Dominates>,
    answers: Vec<bool>,
}

/// Finds the edges that these steps follow. So many retainers are looked at together.
///
/// # Errors
/// Those of the heap.
pub(super) fn find(
    heap: &mut impl Holders,
    levels: &mut [Level<'_>],
    together: usize,
    work: &mut Work,
) -> Result<(), StageError> {
    find_places(heap, levels)?;
    let mut count = 0;
    for at in 0..levels.len() {
        let nearest = levels[at].places.iter().map(|place| place.distance).min();
        levels[at].nearest = levels[at].from.nearest.min(nearest.unwrap_or(i32::MAX));
        for nth in 0..levels[at].places.len() {
            let place = levels[at].places[nth];
            if count + place.count as usize > together && count > 0 {
                work.follow(heap, levels)?;
                count = 0;
            }
            if levels[at].is_full {
                break;
            }
            work.held.push(Held { level: at as u32, nth: nth as u32 });
            work.places.push(place);
            count += place.count as usize;
        }
    }
    work.follow(heap, levels)?;
    for level in levels {
        level.places = Vec::new();
        level.is_full = false;
        level.edges.sort_unstable();
    }
    Ok(())
}

/// Where the retainers of all holders are.
fn find_places(heap: &mut impl Holders, levels: &mut [Level<'_>]) -> Result<(), StageError> {
    if let [Level { from, limits, places, is_cut, .. }] = levels {
        places.reserve_exact(from.nodes.len());
        heap.places(&from.nodes, places)?;
        places.iter_mut().for_each(|place| *is_cut |= limit(place, limits));
        return Ok(());
    }
    let of = |(at, level): (usize, &Level<'_>)| {
        level.from.nodes.iter().map(|&node| u64::from(node) << 32 | at as u64).collect::<Vec<_>>()
    };
    let mut asked: Vec<u64> = levels.iter().enumerate().flat_map(of).collect();
    asked.sort_unstable();
    let nodes: Vec<u32> = asked.iter().map(|asked| (asked >> 32) as u32).collect();
    let mut places = Vec::with_capacity(nodes.len());
    heap.places(&nodes, &mut places)?;
    for (asked, mut place) in asked.iter().zip(places) {
        let level = &mut levels[*asked as u32 as usize];
        level.is_cut |= limit(&mut place, level.limits);
        level.places.push(place);
    }
    Ok(())
}

/// Bounds the retainers that are looked at. Whether there are more.
fn limit(place: &mut Place, limits: &Limits) -> bool {
    let (most, all) = (u32::try_from(limits.retainers).unwrap_or(u32::MAX), place.count);
    place.count = all.min(most);
    all > most
}

impl Work {
    /// Adds the edges from retainers of what is held, and forgets what is held.
    fn follow(&mut self, heap: &mut impl Holders, levels: &mut [Level<'_>]) -> Result<(), StageError> {
        let Self { held, places, retainers, follows, asked, answers } = self;
        heap.retainers(places, retainers)?;
        let root = heap.root();
        for retainer in &*retainers {
            let at = retainer.asked as usize;
            let way = way(&levels[held[at].level as usize], places[at].distance, retainer, root);
            if way == Follows::UnlessDominated {
                asked.push(Dominates { above: places[at].position, node: retainer.position });
            }
            follows.push(way);
        }
        heap.dominates(asked, answers)?;
        let mut answers = answers.drain(..);
        let mut first = 0;
        for (at, (held, place)) in held.iter().zip(&*places).enumerate() {
            let all = &retainers[first..];
            let count = all.iter().take_while(|retainer| retainer.asked as usize == at).count();
            let (all, ways) = (&all[..count], &follows[first..first + count]);
            first += count;
            let level = &mut levels[held.level as usize];
            if !level.is_full {
                level.cost += u64::from(place.count) + 1;
            }
            let node = level.from.nodes[held.nth as usize];
            for (retainer, way) in all.iter().zip(ways) {
                let is_followed = match way {
                    Follows::Always => true,
                    Follows::UnlessDominated => answers.next() == Some(false),
                    Follows::Never => false,
                };
                if is_followed && !level.is_full && !says_again(retainer, node, all) {
                    level.edges.push(u64::from(retainer.node) << 32 | u64::from(held.nth));
                }
            }
            if level.edges.len() > level.limits.pairs {
                level.edges.truncate(level.limits.pairs);
                (level.is_cut, level.is_full) = (true, true);
            }
        }
        held.clear();
        places.clear();
        retainers.clear();
        follows.clear();
        asked.clear();
        Ok(())
    }
}

/// Whether a retainer is a part of another one, which is no more than what it holds.
fn says_again(retainer: &Retainer, held: u32, all: &[Retainer]) -> bool {
    let owner = retainer.owner;
    owner != u32::MAX && owner != held && all.binary_search_by_key(&owner, |retainer| retainer.node).is_ok()
}

/// Whether a walk goes from a node at this distance to this retainer.
fn way(level: &Level<'_>, far: i32, retainer: &Retainer, root: u32) -> Follows {
    let from = &level.from;
    let way = if retainer.node == root {
        Follows::Always
    } else if from.level > 0 && far <= BEGINNING {
        Follows::Never
    } else if retainer.distance < far {
        Follows::Always
    } else if from.level < level.limits.any_level {
        Follows::UnlessDominated
    } else {
        Follows::Never
    };
    // Most are nearer to the root than all that was passed.
    let may_return = way != Follows::Never && retainer.distance >= level.nearest;
    let has_passed = |passed: &Rc<Passed>| passed.contains(retainer.node);
    if may_return && from.passed.as_ref().is_some_and(has_passed) { Follows::Never } else { way }
}
