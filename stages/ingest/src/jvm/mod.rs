//! Dumps of Java heaps (`.hprof`): HotSpot, OpenJ9 and others that write this format, and Android's runtime.
//!
//! The stages of this folder, in this order:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`scan`] | the dump | names, type descriptors, roots, stacks; address and offset of every object |
//! | [`link`] | the dump again | classes, sizes, edges, in-degrees, distance seeds, threads, [`containers`] |
//! | [`texts`] | contents of strings | names of nodes |
//! | [`equality`] | the dump again | values and references from which duplicates are found |
//! | [`previews`] | objects in the dump | previews of the first members of sets of duplicates |
//! | [`values`] | the dump again | fields and elements, on request |
//!
//! All passes read records through [`records`]; [`index`](crate::index) maps an address to its object. The numbers
//! equal Eclipse MAT's, object for object; with compact object headers, which MAT does not support, sizes are those of
//! the virtual machine ([`sizes`]).

pub(crate) mod big_endian;
pub(crate) mod containers;
mod content;
pub(crate) mod direct_buffers;
pub(crate) mod dump;
pub(crate) mod equality;
mod fields;
mod fill;
pub(crate) mod header;
mod heap;
mod heaps;
mod hidden;
pub(crate) mod keys;
pub(crate) mod kinds;
pub(crate) mod labels;
pub(crate) mod layouts;
pub(crate) mod link;
mod located;
mod meanings;
pub(crate) mod names;
pub(crate) mod objects;
pub(crate) mod origins;
mod passed;
mod place;
pub(crate) mod previews;
mod recent;
pub(crate) mod record;
pub(crate) mod records;
mod references;
pub(crate) mod roles;
pub(crate) mod root_kinds;
pub(crate) mod roots;
pub(crate) mod sample;
pub(crate) mod scan;
pub(crate) mod sizes;
pub(crate) mod special;
pub(crate) mod spool;
pub(crate) mod stack_chunk;
pub(crate) mod stacks;
pub(crate) mod strings;
mod targets;
pub(crate) mod texts;
pub(crate) mod threads;
mod type_cache;
pub(crate) mod types;
pub(crate) mod value;
pub(crate) mod values;
pub(crate) mod variables;

use crate::format::{Estimate, Format, default_name};
use heaplake_input::source::Opened;
use heaplake_kit::{Context, Stage, StageError};
use heaplake_schemas::options::AnalysisOptions;
use heaplake_schemas::scratch::Metadata;

/// The format.
pub(crate) struct Jvm;

impl Format for Jvm {
    fn name(&self) -> &'static str {
        "Java heap dump"
    }

    fn recognises(&self, beginning: &[u8]) -> bool {
        beginning.starts_with(header::MAGIC)
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".hprof"]
    }

    fn follows_essential(&self) -> bool {
        true
    }

    fn masks_texts(&self) -> bool {
        true
    }

    fn stages(&self) -> &'static [&'static Stage] {
        &[&scan::STAGE, &link::STAGE, &texts::STAGE, &equality::STAGE, &previews::STAGE, &values::STAGE]
    }

    /// A file of several heaps can have a run for each.
    fn run_name(&self, stem: &str, metadata: &Metadata, options: &AnalysisOptions) -> String {
        let name = default_name(stem, metadata);
        options.walk.map_or(name.clone(), |walk| format!("{name}-walk{walk}"))
    }

    fn estimate(&self, opened: Opened, context: &Context<'_>) -> Result<Estimate, StageError> {
        sample::estimate(opened, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_input::source::{Input, Source};
    use heaplake_kit::access::Access;
    use heaplake_kit::stage::{Handover, Silent};
    use heaplake_kit::{Budget, Job, Scratch};
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use heaplake_schemas::scratch::Metadata;
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    /// Returns a dump with an array of one byte and a class at an address.
    fn dump(class: u64) -> Vec<u8> {
        let mut heap = [&[0x23][..], &0x1000u64.to_be_bytes(), &[0; 4], &1u32.to_be_bytes(), &[8, 42]].concat();
        heap.extend([&[0x20][..], &class.to_be_bytes(), &[0; 4 + 6 * 8 + 4 + 3 * 2]].concat());
        let head = [b"JAVA PROFILE 1.0.2\0", &8u32.to_be_bytes()[..], &[0; 8]].concat();
        [&head[..], &[0x1c, 0, 0, 0, 0], &(heap.len() as u32).to_be_bytes(), &heap, &[0x2c], &[0; 8]].concat()
    }

    /// Runs the stages up to the names of nodes, each with only the files that it declares.
    fn analyse(bytes: &[u8], options: AnalysisOptions) -> Result<Metadata, StageError> {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(64 << 20), threads: 1, progress: &Silent, cancel: &cancel };
        let options = Options::Analysis(options);
        let input = Handover::of(Opened { input: Input::Stdin, source: Source::of_bytes(bytes, 100) });
        let all = |stage: &&'static Stage| stage.accesses().flat_map(Access::all_files).map(|file| file.name);
        let every: BTreeSet<&str> = Jvm.stages().iter().flat_map(all).collect();
        for stage in &Jvm.stages()[..3] {
            let job = Job { input: &input, ..Job::on(&scratch, &context, &options) };
            let mine: BTreeSet<&str> =
                stage.accesses().flat_map(|access| access.files(&job.setting)).map(|file| file.name).collect();
            let view = scratch.view(stage.name, every.difference(&mine).copied().collect::<BTreeSet<_>>());
            (stage.run)(&Job { scratch: &view, ..job })?;
            for access in stage.writes.iter().filter(|access| !access.is_optional()) {
                access.files(&job.setting).for_each(|file| assert!(scratch.file(file.name).exists(), "{}", file.name));
            }
        }
        assert_eq!(context.budget.used(), 0);
        scratch.read_document(heaplake_schemas::scratch::documents::METADATA)
    }

    #[test]
    fn stages_declare_what_they_use() {
        let metadata = analyse(&dump(0x2000), AnalysisOptions::default()).unwrap();
        assert_eq!((metadata.node_count, metadata.partial), (4, None));
    }

    #[test]
    fn a_class_at_address_0_ends_a_damaged_dump() {
        let error = analyse(&dump(0), AnalysisOptions::default()).unwrap_err().to_string();
        assert!(error.ends_with("expected an object at some address, found one at 0 (after 1 objects)"), "{error}");
        let metadata = analyse(&dump(0), AnalysisOptions { salvage: true, ..AnalysisOptions::default() }).unwrap();
        assert_eq!((metadata.node_count, metadata.partial.is_some()), (3, true));
    }
}
