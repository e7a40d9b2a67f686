//! Finds the edges that steps follow, from the nodes of branches to their retainers.

use super::level::Level;
use super::order;
use super::walk::{Dominates, Holders, Place, Retainer};
use heaplake_kit::StageError;

/// Nodes at this distance or nearer have no retainer but the root.
const BEGINNING: i32 = 1;

/// A node whose retainers are requested.
#[derive(Clone, Copy)]
struct Held {
    level: u32,
    node: u32,
}

/// Condition for following a retainer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Always,
    UnlessDominated,
    Never,
}

/// Finds the edges that these steps follow, `together` retainers at a time.
pub(super) fn find(heap: &mut impl Holders, levels: &mut [Level<'_>], together: usize) -> Result<(), StageError> {
    find_places(heap, levels)?;
    let most = levels.iter().map(|level| level.places.len()).sum::<usize>().min(together);
    let (mut held, mut places, mut count) = (Vec::with_capacity(most), Vec::with_capacity(most), 0);
    for at in 0..levels.len() {
        for nth in 0..levels[at].places.len() {
            let place = levels[at].places[nth];
            if count + place.count as usize > together && count > 0 {
                follow(heap, levels, &held, &places)?;
                held.clear();
                places.clear();
                count = 0;
            }
            if levels[at].is_full {
                break;
            }
            held.push(Held { level: at as u32, node: levels[at].from.nodes[nth] });
            places.push(place);
            count += place.count as usize;
        }
    }
    follow(heap, levels, &held, &places)?;
    for level in levels {
        level.places = Vec::new();
        level.is_full = false;
        order::edges(&mut level.edges);
    }
    Ok(())
}

/// Locates the retainers of all nodes.
fn find_places(heap: &mut impl Holders, levels: &mut [Level<'_>]) -> Result<(), StageError> {
    if let [level] = levels {
        heap.places(&level.from.nodes, &mut level.places)?;
    } else {
        find_places_of_all(heap, levels)?;
    }
    for level in levels {
        let most = u32::try_from(level.limits.retainers).unwrap_or(u32::MAX);
        for place in &mut level.places {
            level.is_cut |= place.count > most;
            place.count = place.count.min(most);
        }
    }
    Ok(())
}

/// Locates the retainers of the nodes of all levels, in node order.
fn find_places_of_all(heap: &mut impl Holders, levels: &mut [Level<'_>]) -> Result<(), StageError> {
    let of = |(at, level): (usize, &Level<'_>)| {
        level.from.nodes.iter().map(|&node| u64::from(node) << 32 | at as u64).collect::<Vec<_>>()
    };
    let mut asked: Vec<u64> = levels.iter().enumerate().flat_map(of).collect();
    asked.sort_unstable();
    let nodes: Vec<u32> = asked.iter().map(|asked| (asked >> 32) as u32).collect();
    let mut places = Vec::with_capacity(nodes.len());
    heap.places(&nodes, &mut places)?;
    for (asked, place) in asked.iter().zip(places) {
        levels[*asked as u32 as usize].places.push(place);
    }
    Ok(())
}

/// Adds the edges from the retainers of `held`.
fn follow(
    heap: &mut impl Holders,
    levels: &mut [Level<'_>],
    held: &[Held],
    places: &[Place],
) -> Result<(), StageError> {
    let most = places.iter().map(|place| place.count as usize).sum();
    let (mut retainers, mut follows) = (Vec::with_capacity(most), Vec::with_capacity(most));
    let (mut asked, mut answers) = (Vec::new(), Vec::new());
    heap.retainers(places, &mut retainers)?;
    let root = heap.root();
    for retainer in &retainers {
        let at = retainer.asked as usize;
        let way = way(&levels[held[at].level as usize], places[at].distance, retainer, root);
        if way == Follows::UnlessDominated {
            asked.push(Dominates { above: places[at].position, node: retainer.position });
        }
        follows.push(way);
    }
    heap.dominates(&asked, &mut answers)?;
    let mut answers = answers.into_iter();
    let mut first = 0;
    for (at, (held, place)) in held.iter().zip(places).enumerate() {
        let all = &retainers[first..];
        let count = all.iter().take_while(|retainer| retainer.asked as usize == at).count();
        let (all, ways) = (&all[..count], &follows[first..first + count]);
        first += count;
        let level = &mut levels[held.level as usize];
        if !level.is_full {
            level.cost += u64::from(place.count) + 1;
        }
        for (retainer, way) in all.iter().zip(ways) {
            let is_followed = match way {
                Follows::Always => true,
                Follows::UnlessDominated => answers.next() == Some(false),
                Follows::Never => false,
            };
            if is_followed && !level.is_full && !says_again(retainer, held.node, all) {
                level.edges.push((retainer.node, held.node));
            }
        }
        if level.edges.len() > level.limits.pairs {
            level.edges.truncate(level.limits.pairs);
            (level.is_cut, level.is_full) = (true, true);
        }
    }
    Ok(())
}

/// True if a retainer is a part of another retainer in `all`, which reports the same reference.
fn says_again(retainer: &Retainer, held: u32, all: &[Retainer]) -> bool {
    let owner = retainer.owner;
    owner != u32::MAX && owner != held && all.binary_search_by_key(&owner, |retainer| retainer.node).is_ok()
}

/// Decides whether the walk goes from a node at distance `far` to this retainer.
fn way(level: &Level<'_>, far: i32, retainer: &Retainer, root: u32) -> Follows {
    let from = &level.from;
    let follows = if retainer.node == root {
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
    // Checked last: the slowest test.
    let is_passed = || from.passed.as_ref().is_some_and(|passed| passed.contains(retainer.node));
    if follows != Follows::Never && is_passed() { Follows::Never } else { follows }
}
