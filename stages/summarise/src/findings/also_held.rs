//! Other retainers of the objects of a finding: evidence for all rules about many objects of one class.

use super::heap::Heap;
use heaplake_kit::text::count;
use heaplake_schemas::findings::{Finding, Scope};

/// Minimum number of objects of a finding about a holder.
const MANY: u64 = 20;

/// Adds to the message the other holders of a part of the objects, besides the subject of the finding.
pub(super) fn add(finding: &mut Finding, heap: &Heap) {
    let Some((trees, class)) = heap.trees.as_ref().zip(finding.class_id) else { return };
    let is_class = finding.scope == Scope::Class;
    if !is_class && (finding.scope != Scope::Node || finding.count < MANY) {
        return;
    }
    let shared = trees.shared(class);
    // The subject of the finding is one holder; the others are new.
    let known = finding.node.filter(|_| !is_class);
    let is_known = |at: usize| known.is_some_and(|node| trees.leads_through(at, node));
    let others: Vec<usize> = shared.iter().copied().filter(|&at| !is_known(at)).collect();
    let Some(&first) = others.first() else { return };
    let looked_at = trees.rows()[first].looked_at;
    let parts: Vec<String> = others
        .iter()
        .map(|&at| {
            let row = &trees.rows()[at];
            let percent = 100.0 * row.count as f64 / looked_at as f64;
            format!("{} ({percent:.0} %, {} by nothing else)", trees.long_text(at), count(row.exclusive_count))
        })
        .collect();
    let name = heap.shown_class(class);
    let how = if others.len() == shared.len() { "held" } else { "also held" };
    finding.message += &format!(". Of {} {name}, {how} by {}", count(looked_at), parts.join("; "));
}
