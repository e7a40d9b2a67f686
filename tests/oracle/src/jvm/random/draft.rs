//! Drafts of dumps.

use crate::rng::SplitMix64;

/// Draft of a dump. All numbers are taken modulo the number of choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The classes without those of [`BASE`], which are always there.
    pub classes: Vec<ClassDraft>,
    pub objects: Vec<ObjectDraft>,
    pub roots: Vec<RootDraft>,
    /// Properties of the whole dump.
    pub options: Options,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassDraft {
    pub name: u16,
    /// Superclass: an earlier one, or none.
    pub parent: u16,
    /// Loader: 0 the boot loader.
    pub loader: u16,
    pub statics: Vec<(u16, u16)>,
    pub fields: Vec<u16>,
    /// Non-retaining parts: signers, protection domain, a constant.
    pub unused: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectDraft {
    /// Instance, array of references, array of primitives, the same without data.
    pub kind: u16,
    pub class: u16,
    /// Values of fields, repeated as needed, or elements.
    pub values: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RootDraft {
    pub kind: u16,
    pub object: u16,
    /// Thread, or frames of a thread.
    pub thread: u16,
}

/// Draft of the dump as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub narrow: bool,
    /// With ids of eight bytes: objects are as dense as references of eight bytes allow.
    pub wide_references: bool,
    /// With ids of eight bytes: arrays of primitives are as dense as compact headers allow.
    pub compact: bool,
    /// Strings have characters, as on old machines and on Android.
    pub old_strings: bool,
    pub no_sticky: bool,
    /// Arrays of primitives have no classes.
    pub no_array_classes: bool,
    pub alignment: u16,
    pub start: u16,
    /// Changes the order of addresses.
    pub address_order: u16,
}

/// Name, superclass among the earlier ones, and fields: `L` for a reference, `B`, `I`, `J`.
pub type BaseClass = (&'static str, Option<usize>, &'static [(&'static str, char)]);

/// The classes of every dump.
pub const BASE: [BaseClass; 12] = [
    ("java/lang/Object", None, &[]),
    ("java/lang/Class", Some(0), &[]),
    ("java/lang/ClassLoader", Some(0), &[("parent", 'L'), ("flag", 'B'), ("parallel", 'L')]),
    ("java/lang/String", Some(0), &[("value", 'L'), ("hash", 'I'), ("coder", 'B')]),
    ("java/lang/Thread", Some(0), &[("name", 'L'), ("eetop", 'J'), ("daemon", 'B'), ("target", 'L')]),
    ("java/lang/ref/Reference", Some(0), &[("queue", 'L'), ("referent", 'L'), ("discovered", 'L')]),
    ("java/lang/ref/WeakReference", Some(5), &[]),
    ("java/lang/ref/SoftReference", Some(5), &[("timestamp", 'J')]),
    ("java/lang/ref/PhantomReference", Some(5), &[]),
    ("java/lang/ref/FinalReference", Some(5), &[]),
    ("[Ljava/lang/Object;", Some(0), &[]),
    ("[B", Some(0), &[]),
];

impl Draft {
    /// A draft from a seed.
    pub fn random(seed: u64, max_objects: usize) -> Self {
        let rng = &mut SplitMix64::new(seed);
        let classes = (0..rng.below(8)).map(|_| ClassDraft::random(rng)).collect();
        let objects = (0..rng.below(max_objects + 1))
            .map(|_| ObjectDraft { kind: any(rng), class: any(rng), values: list(rng, 6) })
            .collect();
        let most = [3, 12][rng.below(2)];
        let roots =
            (0..rng.below(most)).map(|_| RootDraft { kind: any(rng), object: any(rng), thread: any(rng) }).collect();
        Self { classes, objects, roots, options: Options::random(rng) }
    }
}

fn any(rng: &mut SplitMix64) -> u16 {
    rng.next_u64() as u16
}

fn list(rng: &mut SplitMix64, most: usize) -> Vec<u16> {
    (0..rng.below(most + 1)).map(|_| any(rng)).collect()
}

impl ClassDraft {
    fn random(rng: &mut SplitMix64) -> Self {
        Self {
            name: any(rng),
            parent: any(rng),
            loader: if rng.one_in(3) { any(rng) } else { 0 },
            statics: (0..rng.below(4)).map(|_| (any(rng), any(rng))).collect(),
            fields: list(rng, 5),
            unused: any(rng),
        }
    }
}

impl Options {
    fn random(rng: &mut SplitMix64) -> Self {
        Self {
            narrow: rng.one_in(4),
            wide_references: rng.one_in(3),
            old_strings: rng.one_in(4),
            no_sticky: rng.one_in(4),
            no_array_classes: rng.one_in(6),
            alignment: if rng.one_in(3) { any(rng) } else { 0 },
            start: any(rng),
            address_order: any(rng),
            compact: rng.one_in(4),
        }
    }
}
