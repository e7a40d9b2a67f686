//! The last night of a rollup, and what it changed in a cluster.
//!
//! The last night is the last calendar day of UTC on which a run of the rollup was captured. Runs without a capture time
//! are in no night and before none.

use heaplake_lake::moment;
use heaplake_schemas::rollup::{Cluster, Group, Night, RolledRun};
use std::collections::BTreeSet;

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

/// The last night of some groups; `None` if no run has a capture time.
pub(super) fn last(groups: &[Group]) -> Option<Night> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let begin = begin(groups)?;
    let of_night = || runs().filter(|run| is_in(run, begin));
    let day = moment::text(begin).chars().take_while(|&c| c != 'T').collect();
    Some(Night { day, runs: of_night().count(), hosts: hosts(of_night()).len() })
}

/// When the last night began, in microseconds since 1970.
pub(super) fn begin(groups: &[Group]) -> Option<i64> {
    let times = groups.iter().flat_map(|group| &group.runs).filter_map(|run| run.captured_at_us);
    times.max().map(|newest| newest.div_euclid(DAY) * DAY)
}

/// Describes what the night that began then changed in a cluster of some of the runs of a format.
pub(super) fn describe(cluster: &mut Cluster, members: &[&RolledRun], of_format: &[&RolledRun], begin: Option<i64>) {
    let Some(begin) = begin else { return };
    let is_before = |run: &RolledRun| run.captured_at_us.is_some_and(|at| at < begin);
    let now = of_night(members, begin);
    cluster.last_night_runs = now.len();
    if !of_format.iter().any(|run| is_before(run)) {
        return;
    }
    if members.iter().all(|run| run.captured_at_us.is_some()) {
        cluster.is_new = Some(now.len() == members.len());
    }
    let before = hosts(members.iter().copied().filter(|run| is_before(run)));
    let (now, seen) = (hosts(now.into_iter()), hosts(of_night(of_format, begin).into_iter()));
    let list = |hosts: &mut dyn Iterator<Item = &str>| hosts.map(str::to_owned).collect();
    cluster.hosts_come = list(&mut now.difference(&before).copied());
    cluster.hosts_gone = list(&mut before.difference(&now).copied().filter(|host| seen.contains(host)));
    cluster.hosts_unseen = list(&mut before.difference(&seen).copied());
}

fn of_night<'a>(runs: &[&'a RolledRun], begin: i64) -> Vec<&'a RolledRun> {
    runs.iter().copied().filter(|run| is_in(run, begin)).collect()
}

fn is_in(run: &RolledRun, begin: i64) -> bool {
    run.captured_at_us.is_some_and(|at| at >= begin)
}

fn hosts<'a>(runs: impl Iterator<Item = &'a RolledRun>) -> BTreeSet<&'a str> {
    runs.filter_map(|run| run.host.as_deref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(host: &str, hours: Option<i64>) -> RolledRun {
        let captured_at_us = hours.map(|hours| hours * DAY / 24);
        RolledRun { host: Some(host.to_owned()), captured_at_us, ..RolledRun::default() }
    }

    fn described(members: &[RolledRun], others: &[RolledRun]) -> Cluster {
        let runs: Vec<RolledRun> = [members, others].concat();
        let mut cluster = Cluster::default();
        let begin = begin(&[Group { runs: runs.clone(), ..Group::default() }]);
        describe(&mut cluster, &members.iter().collect::<Vec<_>>(), &runs.iter().collect::<Vec<_>>(), begin);
        cluster
    }

    #[test]
    fn the_last_night_is_the_day_of_the_newest_run() {
        let runs = vec![run("a", Some(23)), run("a", Some(24)), run("b", Some(47)), run("b", None)];
        let night = last(&[Group { runs, ..Group::default() }]).unwrap();
        assert_eq!((night.day.as_str(), night.runs, night.hosts), ("1970-01-02", 2, 2));
        assert_eq!(last(&[Group { runs: vec![run("a", None)], ..Group::default() }]), None);
    }

    #[test]
    fn a_cluster_is_new_if_all_its_runs_are_of_the_last_night() {
        let (old, new) = (run("a", Some(2)), run("a", Some(30)));
        assert_eq!(described(&[new.clone(), run("b", Some(30))], std::slice::from_ref(&old)).is_new, Some(true));
        assert_eq!(described(&[new.clone(), run("b", Some(2))], std::slice::from_ref(&old)).is_new, Some(false));
        assert_eq!(described(std::slice::from_ref(&new), &[run("b", Some(31))]).is_new, None, "no night before");
        assert_eq!(described(&[new, run("b", None)], &[old]).is_new, None, "one does not say when");
    }

    #[test]
    fn hosts_come_and_go() {
        let members = [run("old", Some(1)), run("both", Some(1)), run("both", Some(30)), run("new", Some(31))];
        let members = [&members[..], &[run("off", Some(1))]].concat();
        let cluster = described(&members, &[run("old", Some(30)), run("healthy", Some(30))]);
        assert_eq!((cluster.last_night_runs, cluster.is_new), (2, Some(false)));
        assert_eq!(cluster.hosts_come, ["new"]);
        assert_eq!(cluster.hosts_gone, ["old"]);
        assert_eq!(cluster.hosts_unseen, ["off"]);
        let first = described(&members[3..4], &[run("healthy", Some(30))]);
        assert!(first.hosts_come.is_empty(), "no night before");
    }
}
