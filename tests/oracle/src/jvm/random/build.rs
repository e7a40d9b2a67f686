//! Builds a dump from a draft.

use super::draft::{BASE, ClassDraft, Draft, ObjectDraft};
use crate::jvm::model::{
    Class, Dump, LoadedClass, Object, ObjectData, Primitive, PrimitiveValues, Static, Type, Value,
};
use crate::rng::SplitMix64;

/// Names of further classes.
const NAMES: [&str; 5] = ["app/Node", "app/Order$Item", "app/\u{fc}ml\u{e4}ut", "[Lapp/Node;", "[[I"];
/// Names of fields: the first is that of a reference's referent, which only counts if Reference declares it.
const FIELDS: [&str; 4] = ["referent", "value", "next", "count"];
/// An address without an object: not even divisible.
const DANGLING: u64 = 0x0bad_0bad;
/// The class of strings in [`BASE`].
const STRING: usize = 3;
/// The class of threads there.
pub(super) const THREAD: usize = 4;

pub(super) struct Builder<'a> {
    pub(super) draft: &'a Draft,
    pub(super) dump: Dump,
    /// Names and superclasses of all classes: those of [`BASE`], then those of the draft.
    pub(super) names: Vec<String>,
    parents: Vec<Option<usize>>,
    /// Field types of all classes.
    fields: Vec<Vec<(String, Type)>>,
    pub(super) class_addresses: Vec<u64>,
    pub(super) object_addresses: Vec<u64>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
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

    /// A loader has only one class of a name.
    fn tell_apart(&mut self, base: usize) {
        let loader = |at: usize| self.reference(self.draft.classes[at - base].loader);
        let repeats =
            |&at: &usize| (base..at).any(|other| self.names[other] == self.names[at] && loader(other) == loader(at));
        let repeated: Vec<usize> = (base..self.names.len()).filter(repeats).collect();
        for at in repeated {
            self.names[at] = format!("app/Other{at}");
        }
    }

    /// Assigns all addresses.
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

    /// Bytes of an object in the heap.
    fn bytes(&self, object: &ObjectDraft) -> u64 {
        let reference = if self.draft.options.wide_references { 8 } else { 4 };
        let length = object.values.len() as u64;
        match object.kind % 4 {
            0 => 16 + 8 * length,
            1 => 16 + reference * length,
            _ => self.array_header() + self.primitive(object).size() * length,
        }
    }

    fn array_header(&self) -> u64 {
        if self.draft.options.compact && !self.draft.options.narrow { 12 } else { 16 }
    }

    fn primitive(&self, object: &ObjectDraft) -> Primitive {
        // Bytes are frequent, since strings consist of them.
        let strings = if self.draft.options.old_strings { Primitive::Char } else { Primitive::Byte };
        if object.class.is_multiple_of(2) { strings } else { Primitive::ALL[usize::from(object.class / 2) % 8] }
    }

    /// An object or class; null for 0.
    pub(super) fn reference(&self, number: u16) -> u64 {
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

    pub(super) fn classes(&mut self) {
        let drafts: &'a [ClassDraft] = &self.draft.classes;
        let base = self.names.len() - drafts.len();
        for at in 0..self.names.len() {
            let (address, name) = (self.class_addresses[at], self.names[at].clone());
            let name = self.dump.intern(&name);
            self.dump.loaded.push(LoadedClass { serial: at as u32 + 1, class: address, name });
            let fields = self.fields[at].clone();
            let fields = fields.iter().map(|(name, kind)| (self.dump.intern(name), *kind)).collect();
            let draft = at.checked_sub(base).map(|at| &drafts[at]);
            let statics = self.statics(draft.map_or(&[][..], |draft| &draft.statics));
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

    fn statics(&mut self, drafts: &[(u16, u16)]) -> Vec<Static> {
        let of = |&(kind, value): &(u16, u16)| Static {
            name: self.dump.intern(FIELDS[usize::from(kind) % FIELDS.len()]),
            value: self.value(field_type(kind), value),
        };
        drafts.iter().map(of).collect()
    }

    pub(super) fn objects(&mut self) {
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

    /// Mostly an object of a class, sometimes any other.
    pub(super) fn instance_of(&self, class: usize, number: u16) -> u64 {
        let is_one = |object: &ObjectDraft| object.kind.is_multiple_of(4) && self.class_of(object) == class;
        self.one_of(is_one, number)
    }

    /// Mostly an object that satisfies `is`.
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
