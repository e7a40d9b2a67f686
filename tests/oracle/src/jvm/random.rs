//! Random dumps that are small and adversarial.
//!
//! A dump is drawn as a [`Draft`], a list of small numbers that always means something, whatever they are;
//! [`Draft::build`] makes the dump from it. So any part of a draft may be left out or made smaller, which is how
//! `proptest` shrinks failures (see [`crate::strategies`]).

use super::model::{
    Class, Dump, Frame, LoadedClass, Object, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Static, Trace,
    Type, Value,
};
use crate::rng::SplitMix64;

/// The plan of a dump. All numbers are taken modulo what there is to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The classes but those of [`BASE`], which are always there.
    pub classes: Vec<ClassDraft>,
    /// The objects.
    pub objects: Vec<ObjectDraft>,
    /// The roots.
    pub roots: Vec<RootDraft>,
    /// Properties of the whole dump.
    pub options: Options,
}

/// The plan of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassDraft {
    /// Name.
    pub name: u16,
    /// Superclass: one of those before it, or none.
    pub parent: u16,
    /// Loader: 0 the boot loader.
    pub loader: u16,
    /// Static fields.
    pub statics: Vec<(u16, u16)>,
    /// Types of instance fields.
    pub fields: Vec<u16>,
    /// What holds nothing: signers, protection domain, a constant.
    pub unused: u16,
}

/// The plan of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectDraft {
    /// Instance, array of references, array of primitives, the same without data.
    pub kind: u16,
    /// Class or element type.
    pub class: u16,
    /// Values of fields, over and over again, or elements.
    pub values: Vec<u16>,
}

/// The plan of a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RootDraft {
    /// Kind.
    pub kind: u16,
    /// Object or class.
    pub object: u16,
    /// Thread, or frames of a thread.
    pub thread: u16,
}

/// The plan for the dump as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Ids of four bytes.
    pub narrow: bool,
    /// Where ids have eight bytes, objects lie as close as references of eight bytes make them.
    pub wide_references: bool,
    /// Strings have characters, as on old machines and on Android.
    pub old_strings: bool,
    /// No sticky classes.
    pub no_sticky: bool,
    /// Arrays of primitives have no classes.
    pub no_array_classes: bool,
    /// What addresses are multiples of.
    pub alignment: u16,
    /// Where the heap begins.
    pub start: u16,
    /// Changes the order of addresses.
    pub address_order: u16,
}

/// Name, superclass among those before it, and fields: `L` for a reference, `B`, `I`, `J`.
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

/// Names of further classes.
const NAMES: [&str; 5] = ["app/Node", "app/Order$Item", "app/\u{fc}ml\u{e4}ut", "[Lapp/Node;", "[[I"];
/// Names of fields: the first is that of references' referents, which only counts where Reference declares it.
const FIELDS: [&str; 4] = ["referent", "value", "next", "count"];
/// An address at which there is nothing: not even divisible.
const DANGLING: u64 = 0x0bad_0bad;
/// The class of strings in [`BASE`].
const STRING: usize = 3;
/// The class of threads there.
const THREAD: usize = 4;

impl Draft {
    /// A draft that is decided by the seed.
    #[must_use]
    pub fn random(seed: u64, max_objects: usize) -> Self {
        let rng = &mut SplitMix64::new(seed);
        let any = |rng: &mut SplitMix64| rng.next_u64() as u16;
        let list = |rng: &mut SplitMix64, most: usize| (0..rng.below(most + 1)).map(|_| any(rng)).collect::<Vec<_>>();
        let classes = (0..rng.below(8)).map(|_| ClassDraft {
            name: any(rng),
            parent: any(rng),
            loader: if rng.one_in(3) { any(rng) } else { 0 },
            statics: (0..rng.below(4)).map(|_| (any(rng), any(rng))).collect(),
            fields: list(rng, 5),
            unused: any(rng),
        });
        let classes = classes.collect();
        let objects = (0..rng.below(max_objects + 1))
            .map(|_| ObjectDraft { kind: any(rng), class: any(rng), values: list(rng, 6) })
            .collect();
        let most = [3, 12][rng.below(2)];
        let roots = (0..rng.below(most)).map(|_| RootDraft { kind: any(rng), object: any(rng), thread: any(rng) });
        let roots = roots.collect();
        let options = Options {
            narrow: rng.one_in(4),
            wide_references: rng.one_in(3),
            old_strings: rng.one_in(4),
            no_sticky: rng.one_in(4),
            no_array_classes: rng.one_in(6),
            alignment: if rng.one_in(3) { any(rng) } else { 0 },
            start: any(rng),
            address_order: any(rng),
        };
        Self { classes, objects, roots, options }
    }

    /// The dump that the draft means.
    #[must_use]
    pub fn build(&self) -> Dump {
        let mut builder = Builder::new(self);
        builder.classes();
        builder.objects();
        builder.roots();
        builder.dump
    }
}

struct Builder<'a> {
    draft: &'a Draft,
    dump: Dump,
    /// Names and superclasses of all classes: those of [`BASE`], then those of the draft.
    names: Vec<String>,
    parents: Vec<Option<usize>>,
    /// Field types of all classes.
    fields: Vec<Vec<(String, Type)>>,
    class_addresses: Vec<u64>,
    object_addresses: Vec<u64>,
}

impl<'a> Builder<'a> {
    fn new(draft: &'a Draft) -> Self {
        let options = &draft.options;
        let mut builder = Self {
            draft,
            dump: Dump::new(if options.narrow { 4 } else { 8 }),
            names: Vec::new(),
            parents: Vec::new(),
            fields: Vec::new(),
            class_addresses: Vec::new(),
            object_addresses: Vec::new(),
        };
        let base = BASE.len() - usize::from(options.no_array_classes);
        for &(name, parent, fields) in &BASE[..base] {
            builder.names.push(name.to_owned());
            builder.parents.push(parent);
            builder.fields.push(fields.iter().map(|&(name, kind)| (name.to_owned(), base_type(kind))).collect());
        }
        for (i, class) in draft.classes.iter().enumerate() {
            builder.names.push(NAMES[usize::from(class.name) % NAMES.len()].to_owned());
            let parent = usize::from(class.parent) % (base + i + 1);
            builder.parents.push((parent < base + i).then_some(parent));
            let types = class.fields.iter().enumerate();
            builder
                .fields
                .push(types.map(|(at, &kind)| (FIELDS[at % FIELDS.len()].to_owned(), field_type(kind))).collect());
        }
        builder.place();
        builder.tell_apart(base);
        builder
    }

    /// A loader has one class of a name only.
    fn tell_apart(&mut self, base: usize) {
        let loader = |at: usize| self.reference(self.draft.classes[at - base].loader);
        let repeats =
            |&at: &usize| (base..at).any(|other| self.names[other] == self.names[at] && loader(other) == loader(at));
        let repeated: Vec<usize> = (base..self.names.len()).filter(repeats).collect();
        for at in repeated {
            self.names[at] = format!("app/Other{at}");
        }
    }

    /// Gives everything an address.
    fn place(&mut self) {
        let options = self.draft.options;
        let unit = if options.narrow { [4, 8, 16, 32] } else { [8, 16, 64, 512] }[usize::from(options.alignment) % 4];
        let starts = if options.narrow {
            [0x1000, 0x10_0000, 0xf000_0000]
        } else {
            [0x1000, 0x7_0000_0000, 0xffff_8000_0000_0000]
        };
        let classes = self.names.len();
        let mut order: Vec<usize> = (0..classes + self.draft.objects.len()).collect();
        if options.address_order > 0 {
            SplitMix64::new(options.address_order.into()).shuffle(&mut order);
        }
        let mut addresses = vec![0; order.len()];
        let mut next: u64 = starts[usize::from(options.start) % starts.len()];
        for &at in &order {
            addresses[at] = next;
            let bytes = if at < classes { 8 } else { self.bytes(&self.draft.objects[at - classes]) };
            next = (next + bytes).next_multiple_of(unit);
        }
        self.object_addresses = addresses.split_off(classes);
        self.class_addresses = addresses;
    }

    /// Bytes that an object takes up in the heap.
    fn bytes(&self, object: &ObjectDraft) -> u64 {
        let reference = if self.draft.options.wide_references { 8 } else { 4 };
        let length = object.values.len() as u64;
        match object.kind % 4 {
            0 => 16 + 8 * length,
            1 => 16 + reference * length,
            _ => 16 + self.primitive(object).size() * length,
        }
    }

    fn primitive(&self, object: &ObjectDraft) -> Primitive {
        // Bytes are frequent, for strings are made of them.
        let strings = if self.draft.options.old_strings { Primitive::Char } else { Primitive::Byte };
        if object.class.is_multiple_of(2) { strings } else { Primitive::ALL[usize::from(object.class / 2) % 8] }
    }

    /// An object or class; for 0 null.
    fn reference(&self, number: u16) -> u64 {
        let (kind, which) = (number % 16, usize::from(number / 16));
        let any = |addresses: &[u64]| if addresses.is_empty() { 0 } else { addresses[which % addresses.len()] };
        match kind {
            0 => 0,
            1 => DANGLING,
            2 => any(&self.class_addresses),
            _ => any(&self.object_addresses),
        }
    }

    fn value(&self, kind: Type, number: u16) -> Value {
        match kind {
            Type::Object => Value::Object(self.reference(number)),
            Type::Primitive(primitive) => Value::Primitive(primitive, bits(primitive, number)),
        }
    }

    fn classes(&mut self) {
        let base = self.names.len() - self.draft.classes.len();
        for at in 0..self.names.len() {
            let (address, name) = (self.class_addresses[at], self.names[at].clone());
            let name = self.dump.intern(&name);
            self.dump.loaded.push(LoadedClass { serial: at as u32 + 1, class: address, name });
            let fields = self.fields[at].clone();
            let fields = fields.iter().map(|(name, kind)| (self.dump.intern(name), *kind)).collect();
            let draft = at.checked_sub(base).map(|at| &self.draft.classes[at]);
            let statics = draft.map_or(&[][..], |draft| &draft.statics);
            let statics = statics.iter().map(|&(kind, value)| Static {
                name: self.dump.intern(FIELDS[usize::from(kind) % FIELDS.len()]),
                value: self.value(field_type(kind), value),
            });
            let statics = statics.collect();
            let unused = draft.map_or(0, |draft| draft.unused);
            self.dump.classes.push(Class {
                address,
                parent: self.parents[at].map_or(0, |parent| self.class_addresses[parent]),
                loader: draft.map_or(0, |draft| self.reference(draft.loader)),
                unused: [self.reference(unused), self.reference(unused.rotate_left(8))],
                constants: (0..unused % 3).map(|i| self.value(field_type(i), unused)).collect(),
                statics,
                fields,
            });
        }
    }

    fn objects(&mut self) {
        for (at, draft) in self.draft.objects.iter().enumerate() {
            let data = match draft.kind % 4 {
                0 => self.instance(draft),
                1 => {
                    let class = self.class_addresses[usize::from(draft.class) % self.class_addresses.len()];
                    ObjectData::ObjectArray(class, draft.values.iter().map(|&value| self.reference(value)).collect())
                }
                2 => {
                    let kind = self.primitive(draft);
                    let values = draft.values.iter().map(|&value| bits(kind, value)).collect();
                    ObjectData::PrimitiveArray(kind, PrimitiveValues::Known(values))
                }
                _ => {
                    let length = draft.values.len() as u32;
                    ObjectData::PrimitiveArray(self.primitive(draft), PrimitiveValues::Unknown(length))
                }
            };
            self.dump.objects.push(Object { address: self.object_addresses[at], data });
        }
    }

    /// The class of an instance. Strings and threads are frequent.
    fn class_of(&self, draft: &ObjectDraft) -> usize {
        let instantiable: Vec<usize> =
            (0..self.names.len()).filter(|&class| !self.names[class].starts_with('[')).collect();
        match draft.class % 8 {
            6 => STRING,
            7 => THREAD,
            _ => instantiable[usize::from(draft.class / 8) % instantiable.len()],
        }
    }

    /// Mostly an object of a class, but nothing forbids something else.
    fn instance_of(&self, class: usize, number: u16) -> u64 {
        let is_one = |object: &ObjectDraft| object.kind.is_multiple_of(4) && self.class_of(object) == class;
        self.one_of(is_one, number)
    }

    /// Mostly an object for which something holds.
    fn one_of(&self, is: impl Fn(&ObjectDraft) -> bool, number: u16) -> u64 {
        let objects = self.draft.objects.iter().zip(&self.object_addresses);
        let fit: Vec<u64> = objects.filter(|(object, _)| is(object)).map(|(_, &address)| address).collect();
        if fit.is_empty() || number.is_multiple_of(8) {
            return self.reference(number);
        }
        fit[usize::from(number) % fit.len()]
    }

    fn instance(&self, draft: &ObjectDraft) -> ObjectData {
        let class = self.class_of(draft);
        let mut values = Vec::new();
        let mut level = Some(class);
        while let Some(class) = level {
            for (name, kind) in &self.fields[class] {
                let number = *draft.values.get(values.len() % draft.values.len().max(1)).unwrap_or(&0);
                values.push(match (class, name.as_str()) {
                    (STRING, "value") => {
                        let is_text = |object: &ObjectDraft| object.kind % 4 == 2 && object.class.is_multiple_of(2);
                        Value::Object(self.one_of(is_text, number))
                    }
                    (THREAD, "name") => Value::Object(self.instance_of(STRING, number)),
                    (STRING, "coder") => Value::Primitive(Primitive::Byte, u64::from(number % 2)),
                    _ => self.value(*kind, number),
                });
            }
            level = self.parents[class];
        }
        ObjectData::Instance(self.class_addresses[class], values)
    }

    fn roots(&mut self) {
        if !self.draft.options.no_sticky {
            self.dump.roots.push(Root { kind: RootKind::StickyClass, object: self.class_addresses[0] });
        }
        let mut threads = 0;
        for root in &self.draft.roots {
            let object = match root.kind % 16 {
                2 => self.instance_of(THREAD, root.object),
                _ => self.reference(root.object),
            };
            let frame = i32::from(root.thread / 8 % 4) - 1;
            let thread = [0, 1, 1, 1, 1, 2, 2, 3][usize::from(root.thread % 8)];
            let kind = match root.kind % 16 {
                0 => RootKind::JniGlobal,
                1 if self.draft.options.no_sticky => RootKind::Unknown,
                1 => {
                    let class = self.class_addresses[usize::from(root.object) % self.class_addresses.len()];
                    self.dump.roots.push(Root { kind: RootKind::StickyClass, object: class });
                    continue;
                }
                2 | 3 if self.is_new_thread(object) => {
                    threads += 1;
                    self.trace(threads, root.thread);
                    RootKind::Thread(threads, threads + 10)
                }
                2..=5 => RootKind::JavaFrame(thread, frame),
                6 => RootKind::JniLocal(thread, frame),
                7 => RootKind::NativeStack(thread),
                8 => RootKind::ThreadBlock(thread),
                9 => RootKind::Monitor,
                10 => RootKind::JniMonitor(thread, frame),
                11..=14 => RootKind::Android(0x89 + (root.kind % 16 - 11) as u8),
                _ => RootKind::Unknown,
            };
            self.dump.roots.push(Root { kind, object });
        }
    }

    /// Whether this is an object, and of no thread yet.
    fn is_new_thread(&self, object: u64) -> bool {
        let known =
            self.dump.roots.iter().any(|root| matches!(root.kind, RootKind::Thread(..)) && root.object == object);
        self.object_addresses.contains(&object) && !known
    }

    /// Gives a thread a stack.
    fn trace(&mut self, thread: u32, number: u16) {
        let mut frames = Vec::new();
        for at in 0..number % 4 {
            let bits = number.rotate_right(3 * u32::from(at)) / 4;
            let id = 0x5000 + u64::from(thread) * 16 + u64::from(at);
            let method = self.dump.intern(["run", "<init>", "lambda$main$0"][usize::from(bits) % 3]);
            let signature = self.dump.intern("()V");
            let source = if bits.is_multiple_of(3) { 0 } else { self.dump.intern("App.java") };
            let class_serial = u32::from(bits) % self.names.len() as u32 + 1;
            let line = [17, 0, -1, -2, -3][usize::from(bits / 4) % 5];
            self.dump.frames.push(Frame { id, method, signature, source, class_serial, line });
            frames.push(id);
        }
        self.dump.traces.push(Trace { serial: thread + 10, thread, frames });
    }
}

fn base_type(letter: char) -> Type {
    match letter {
        'L' => Type::Object,
        'B' => Type::Primitive(Primitive::Byte),
        'J' => Type::Primitive(Primitive::Long),
        _ => Type::Primitive(Primitive::Int),
    }
}

/// Every other field is a reference.
fn field_type(number: u16) -> Type {
    if number.is_multiple_of(2) { Type::Object } else { Type::Primitive(Primitive::ALL[usize::from(number / 2) % 8]) }
}

/// Bits for a value, all of the type's in use.
fn bits(kind: Primitive, number: u16) -> u64 {
    let bits = u64::from(number).wrapping_mul(0x0001_0001_0001_0001);
    match kind {
        Primitive::Boolean => bits % 2,
        Primitive::Byte => bits & 0xff,
        Primitive::Char | Primitive::Short => bits & 0xffff,
        Primitive::Int | Primitive::Float => bits & 0xffff_ffff,
        Primitive::Long | Primitive::Double => bits,
    }
}
