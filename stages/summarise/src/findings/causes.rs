//! Merges findings with one cause. Findings about the same bytes become one finding with the others as evidence; so do
//! findings of one rule about objects with the same path.
//!
//! Two findings have one cause if the subject of one is, or is dominated by, that of the other, and
//!
//! - their bytes differ by no more than a tenth, or
//! - the lesser one only describes the composition of its bytes: their class, or that they are copies.
//!
//! Objects with paths of the same classes and fields count as one place: those of several threads, or closures.
//!
//! The finding that says most about the cause stays ([`Tells`]). A lesser finding about composition yields to the other
//! one, unless it is about a certain mistake.

use super::heap::Heap;
use super::leak_suspects;
use super::paths::{KEPT, Path};
use super::rule::{Rule, Tells};
use heaplake_kit::text::{count, size};
use heaplake_schemas::findings::{Finding, Scope};

/// Number of findings that a message names as evidence.
const NAMED: usize = 3;

/// A finding, with the other findings of its cause.
struct Cause {
    finding: Finding,
    tells: Tells,
    is_outside: bool,
    /// The subject of the finding, or an example.
    anchor: Option<u32>,
    /// Whether that object retains the bytes of the finding.
    holds: bool,
    /// Number of further findings of its rule with the same path.
    siblings: u64,
    evidence: Vec<Finding>,
}

/// Merges ranked findings.
pub(super) fn suppress(findings: Vec<Finding>, rules: &[Rule], heap: &Heap) -> Vec<Finding> {
    let mut grouped: Vec<Cause> = Vec::new();
    for finding in findings {
        let cause = Cause::of(finding, rules, heap);
        match grouped.iter_mut().find(|known| known.is_sibling(&cause, heap)) {
            Some(sibling) => sibling.add_sibling(&cause, heap),
            None => grouped.push(cause),
        }
    }
    let mut causes: Vec<Cause> = Vec::new();
    // Holders come before composition, so that the latter becomes evidence.
    grouped.sort_by_key(|cause| cause.tells.max(Tells::Place));
    for cause in grouped {
        if cause.is_sum_of(&causes, heap) {
            continue;
        }
        match causes.iter_mut().find(|known| known.is_same(&cause, heap)) {
            Some(known) => known.take(cause),
            None => causes.push(cause),
        }
    }
    causes.into_iter().map(Cause::into_finding).collect()
}

impl Cause {
    fn of(finding: Finding, rules: &[Rule], heap: &Heap) -> Self {
        let rule = rules.iter().find(|rule| rule.names.contains(&&*finding.rule));
        let (of_rule, is_outside) = rule.map_or((Tells::Mistake, false), |rule| (rule.tells, rule.is_outside));
        let tells = if finding.rule == leak_suspects::CONSTANT { Tells::Fact } else { of_rule };
        let example =
            || finding.class_id.filter(|_| finding.scope == Scope::Class).and_then(|class| heap.example(class));
        let anchor = finding.node.or_else(example).filter(|_| finding.scope != Scope::Snapshot);
        let holds = anchor.is_some_and(|node| heap.nodes.retained.at(node as usize) >= finding.bytes / 10 * 9);
        Self { finding, tells, is_outside, anchor, holds, siblings: 0, evidence: Vec::new() }
    }

    /// Whether both are of one rule, about objects of one class with the same path, and about the same code if the rule
    /// names code.
    fn is_sibling(&self, other: &Self, heap: &Heap) -> bool {
        let (Some(a), Some(b)) = (self.finding.node, other.finding.node) else { return false };
        self.finding.rule == other.finding.rule
            && self.finding.scope == Scope::Node
            && self.finding.class_id == other.finding.class_id
            && self.finding.place == other.finding.place
            && (Path::to(a, heap).stable(KEPT) == Path::to(b, heap).stable(KEPT))
    }

    fn add_sibling(&mut self, other: &Self, heap: &Heap) {
        let (Some(first), Some(next)) = (self.finding.node, other.finding.node) else { return };
        let finding = &mut self.finding;
        self.siblings += 1;
        if !heap.is_within(next, first) && !heap.is_within(first, next) {
            finding.bytes = finding.bytes.saturating_add(other.finding.bytes);
            finding.count = finding.count.saturating_add(other.finding.count);
        }
    }

    /// Whether their bytes differ by no more than a tenth and are both in the heap or both outside.
    fn is_alike(&self, other: &Self) -> bool {
        let (mine, its) = (self.finding.bytes, other.finding.bytes);
        self.is_outside == other.is_outside && mine.min(its) >= mine.max(its) / 10 * 9
    }

    /// Whether it only says that something retains much, and suspects below retain most of that.
    fn is_sum_of(&self, causes: &[Self], heap: &Heap) -> bool {
        let Some(above) = self.anchor.filter(|_| self.tells == Tells::Mass && self.finding.scope == Scope::Node) else {
            return false;
        };
        let is_below = |cause: &&Self| cause.anchor.is_some_and(|node| node != above && heap.is_within(node, above));
        let suspects: Vec<&Self> = causes.iter().filter(|cause| cause.tells <= Tells::Place).filter(is_below).collect();
        let bytes = suspects.iter().fold(0, |sum: u64, cause| sum.saturating_add(cause.finding.bytes));
        suspects.len() > 1 && bytes >= self.finding.bytes / 2
    }

    fn is_same(&self, other: &Self, heap: &Heap) -> bool {
        let (Some(a), Some(b)) = (self.anchor, other.anchor) else { return false };
        let (mine, its) = (self.finding.bytes, other.finding.bytes);
        let alike = self.is_alike(other) || (a == b && matches!(other.tells, Tells::Mass | Tells::Estimate));
        let below = heap.is_within(b, a);
        let (tells, class, scope) = (other.tells, other.finding.class_id, other.finding.scope);
        let is_like = || Path::to(a, heap).is_like(&Path::to(b, heap));
        // Two rules about one container.
        let both = a == b && self.tells <= Tells::Place && tells <= Tells::Place;
        if both && mine.min(its) >= mine.max(its) / 2 {
            return true;
        }
        if alike && (a == b || below || heap.is_within(a, b) || is_like()) {
            return true;
        }
        let same_class = scope == Scope::Class && self.tells == Tells::Place && self.finding.class_id == class;
        let within = mine >= its && ((self.holds && below && heap.is_mostly_within(&other.finding, a)) || is_like());
        match tells {
            // An object that dominates a suspect and little else says no more than the suspect.
            Tells::Mass | Tells::Estimate => within || ((same_class || heap.is_within(a, b)) && mine >= its / 2),
            Tells::Copies => within,
            Tells::Fact | Tells::Mistake | Tells::Place | Tells::Waste => false,
        }
    }

    /// Merges a finding about the same bytes; the more specific one stays on top.
    fn take(&mut self, mut other: Self) {
        let may = self.is_alike(&other) || other.tells <= Tells::Mistake;
        let better = may && other.tells < self.tells && other.finding.bytes >= self.finding.bytes / 2;
        if better {
            if self.tells != Tells::Copies && other.tells != Tells::Fact {
                other.finding.severity = other.finding.severity.min(self.finding.severity);
            }
            std::mem::swap(self, &mut other);
        }
        if other.tells != Tells::Estimate {
            self.evidence.push(other.finding);
        }
        self.evidence.append(&mut other.evidence);
    }

    fn into_finding(self) -> Finding {
        let Self { mut finding, siblings, evidence, .. } = self;
        if siblings > 0 {
            let (more, all) = (count(siblings), size(finding.bytes));
            let are = if siblings == 1 { "is" } else { "are" };
            finding.message += &format!(". There {are} {more} more like it, {all} in all");
        }
        if !evidence.is_empty() {
            let mut named: Vec<String> = Vec::new();
            for text in evidence.iter().map(in_brief) {
                if !named.contains(&text) {
                    named.push(text);
                }
            }
            let more = named.len().saturating_sub(NAMED);
            named.truncate(NAMED);
            finding.message += &format!(". Also seen as {}", named.join(", "));
            if more > 0 {
                finding.message += &format!(" and {more} more");
            }
        }
        finding
    }
}

/// Formats a finding as evidence of another.
fn in_brief(finding: &Finding) -> String {
    let bytes = size(finding.bytes);
    match finding.count {
        0 | 1 => format!("{} ({}, {bytes})", finding.rule, finding.subject),
        many => format!("{} ({} × {}, {bytes})", finding.rule, count(many), finding.subject),
    }
}
