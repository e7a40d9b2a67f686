//! Rule `wasm-memory`: memories of WebAssembly. They grow and never shrink; a single large one is the working memory of
//! a compiler or a codec, several are often the same program loaded again and again.

use super::heap::Found;
use super::resources::{BASE, Group, Judge, Key, Words};
use super::rule::{Rule, severity};
use heaplake_kit::text::{count, size};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::resources::{NONE, kind};

pub(super) const RULE: Rule = Rule { names: &[NAME], open: |_, _| Ok(Box::new(JUDGE)), ..BASE };

const NAME: &str = "wasm-memory";
/// Minimum percent of the heap of a high, medium, low finding (101: never): of several memories, and of a few.
const SEVERAL: [u64; 3] = [40, 20, 5];
const FEW: [u64; 3] = [101, 101, 20];
/// Minimum number of several memories.
const MANY: usize = 4;
/// Minimum bytes of a few.
const FEW_FLOOR: u64 = 32 << 20;

const JUDGE: Judge = Judge {
    kinds: &[kind::MEMORY],
    least: 1,
    claims: 1,
    key: |row| [row.holder, NONE],
    findings: |groups, words| finding(groups, words).into_iter().collect(),
};

fn finding(memories: &[(Key, Group)], words: &Words<'_>) -> Option<Finding> {
    let heap = words.heap;
    let data = |node: u32| heap.nodes.shallow.at(node as usize);
    let bytes: u64 = memories.iter().map(|([holder, _], _)| data(*holder)).sum();
    let percent = if memories.len() >= MANY { SEVERAL } else { FEW };
    let severity = severity(bytes, heap.bytes, percent).filter(|_| memories.len() >= MANY || bytes >= FEW_FLOOR)?;
    let ([largest, _], group) =
        memories.iter().max_by_key(|([holder, _], _)| (data(*holder), std::cmp::Reverse(*holder)))?;
    let found = Found { rule: NAME, severity, count: memories.len() as u64, bytes };
    let mut finding = found.about_node(group.largest.node, heap);
    let plural = if memories.len() == 1 { "memory of WebAssembly takes" } else { "memories of WebAssembly take" };
    finding.message = format!(
        "{} {plural} {}; the largest has {}: {}",
        count(finding.count),
        heap.share(bytes),
        size(data(*largest)),
        words.heap.chain(group.largest.node),
    );
    finding.next_step = heap.metadata.roles.resources.memory_advice.clone();
    Some(finding)
}
