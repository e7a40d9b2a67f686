//! Rule `many-instances`: objects of one class that together retain a large part of the heap, whether or not one object
//! retains them all: sessions, requests, handles with their state.
//!
//! Classes with objects inside each other repeat the same bytes. Of such a group, the rule reports a class of the
//! program if it has at least half of the bytes of the outermost class, else the outermost class.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::packages::CodeOf;
use super::rule::{Detector, Rule, Tells, list_bytes, severity};
use super::{closure_caches, leak_suspects};
use heaplake_kit::StageError;
use heaplake_kit::text::size;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};

pub(super) const RULE: Rule = Rule {
    names: &[NAME, PLATFORM],
    candidates: list_bytes::<ClassRow>(CLASSES),
    tells: Tells::Mass,
    open: |_, _| Ok(Box::<ManyInstances>::default()),
    suppress,
    ..Rule::NEW
};

const NAME: &str = "many-instances";
/// [`NAME`] for classes of the platform, or of unknown origin.
const PLATFORM: &str = "many-platform-instances";
/// Minimum percent of the heap of a high, medium, low finding. High from half of the heap on: without a
/// holder, a smaller part may be normal.
const PERCENT: [u64; 3] = [50, 25, 12];
/// Minimum number of objects.
const MANY: u64 = 10;
/// Maximum number of classes.
const CLASSES: usize = 64;
/// Maximum number of dominators of an example.
const STEPS: usize = 1 << 10;

#[derive(Default)]
struct ManyInstances {
    rows: Vec<ClassRow>,
}

impl Detector for ManyInstances {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        let class = row.class_id;
        let is_common = heap.classes.has(class, role::COMMON) && !heap.classes.has(class, role::SHAPE);
        let registers = &heap.metadata.roles.register_classes;
        if self.rows.len() < CLASSES
            && row.count >= MANY
            && !is_common
            && severity(row.retained_bytes, heap.bytes, PERCENT).is_some()
            && !registers.fit(&heap.class_name(class))
        {
            self.rows.push(*row);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        // Position of the outermost class above an example of each class.
        let outermost: Vec<usize> = (0..self.rows.len()).map(|at| self.outermost(at, heap)).collect();
        let found = (0..self.rows.len()).filter(|&at| outermost[at] == at).filter_map(|top| {
            let group = || (0..self.rows.len()).filter(|&at| outermost[at] == top);
            let is_large = |&at: &usize| self.rows[at].retained_bytes >= self.rows[top].retained_bytes / 2;
            let of = |code| group().filter(is_large).find(|&at| self.code(at, heap) == Some(code));
            let speaker = of(CodeOf::Application).or_else(|| of(CodeOf::Package)).unwrap_or(top);
            let code = self.code(speaker, heap);
            let is_program = code.is_some_and(CodeOf::is_of_program);
            finding(&self.rows[speaker], is_program, heap)
        });
        Ok(found.collect())
    }
}

impl ManyInstances {
    fn code(&self, at: usize, heap: &Heap) -> Option<CodeOf> {
        heap.example(self.rows[at].class_id).map(|example| heap.code_of(example))
    }

    /// Returns the outermost class with objects that contain an example of this one.
    fn outermost(&self, at: usize, heap: &Heap) -> usize {
        let Some(example) = heap.example(self.rows[at].class_id) else { return at };
        let up = |&at: &u32| Some(heap.nodes.dominator.at(at as usize).0).filter(|_| at != heap.metadata.root.0);
        let above = std::iter::successors(Some(example), up).take(STEPS);
        let classes = above.map(|node| heap.nodes.class.at(node as usize).0);
        let known = classes.filter_map(|class| self.rows.iter().position(|row| row.class_id == class));
        known.last().unwrap_or(at)
    }
}

fn finding(row: &ClassRow, is_program: bool, heap: &Heap) -> Option<Finding> {
    let rule = if is_program { NAME } else { PLATFORM };
    let severity = severity(row.retained_bytes, heap.bytes, PERCENT)?;
    let found = Found { rule, severity, count: row.count, bytes: row.retained_bytes };
    let mut finding = found.about_class(row.class_id, None, heap);
    let (what, each) = (heap.objects(row.count, row.class_id, None), size(row.retained_bytes / row.count.max(1)));
    finding.message = format!("{what} retain {}, {each} each", heap.share(row.retained_bytes));
    finding.next_step = "See through which chains they are held, and whether so many are needed.".to_owned();
    Some(finding)
}

/// Drops findings that a leak suspect covers with more evidence. Ranks objects of the platform behind a suspect of at
/// least half their size: the suspect names the holder. If another rule has a finding of high severity, caps these at
/// medium: that finding may be their cause.
fn suppress(findings: &mut Vec<Finding>) {
    let names_of_size = [NAME, PLATFORM, leak_suspects::NAME];
    let is_of_other_rule = |finding: &Finding| !names_of_size.contains(&finding.rule.as_str());
    let most = match findings.iter().any(|finding| finding.severity == Severity::High && is_of_other_rule(finding)) {
        true => Severity::Medium,
        false => Severity::High,
    };
    let suspects: Vec<(Option<u32>, u64, Severity)> = findings
        .iter()
        .filter(|finding| finding.rule == leak_suspects::NAME || finding.rule == closure_caches::NAME)
        .map(|finding| (finding.class_id, finding.bytes, finding.severity))
        .collect();
    findings.retain_mut(|finding| {
        let (class, half) = (finding.class_id, finding.bytes / 2);
        if finding.rule == NAME || finding.rule == PLATFORM {
            finding.severity = finding.severity.max(most);
        }
        if finding.rule == PLATFORM
            && suspects.iter().any(|&(_, bytes, severity)| severity < Severity::Low && bytes >= half)
        {
            finding.severity = Severity::Low;
        }
        let is_said = suspects.iter().any(|&(of, bytes, _)| of == class && bytes >= half);
        (finding.rule != NAME && finding.rule != PLATFORM) || !is_said
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::findings::Scope;

    fn finding(rule: &str, severity: Severity, bytes: u64) -> Finding {
        Found { rule, severity, count: 1, bytes }.about(Scope::Class, "Session")
    }

    fn severities(others: &[Finding]) -> Vec<Severity> {
        let mut findings = vec![finding(NAME, Severity::High, 60)];
        findings[0].class_id = Some(7);
        findings.extend_from_slice(others);
        suppress(&mut findings);
        findings.iter().filter(|finding| finding.rule == NAME).map(|finding| finding.severity).collect()
    }

    #[test]
    fn another_finding_of_high_severity_caps_them() {
        assert_eq!(severities(&[]), [Severity::High]);
        assert_eq!(severities(&[finding(leak_suspects::NAME, Severity::High, 20)]), [Severity::High]);
        assert_eq!(severities(&[finding("class-loaders", Severity::Medium, 20)]), [Severity::High]);
        assert_eq!(severities(&[finding("class-loaders", Severity::High, 20)]), [Severity::Medium]);
    }

    #[test]
    fn a_suspect_of_the_class_replaces_them() {
        let suspect = |bytes| Finding { class_id: Some(7), ..finding(leak_suspects::NAME, Severity::High, bytes) };
        assert_eq!(severities(&[suspect(30)]), []);
        assert_eq!(severities(&[suspect(29)]), [Severity::High]);
    }
}
