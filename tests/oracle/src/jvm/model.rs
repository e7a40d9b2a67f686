//! A heap dump of a Java virtual machine in memory.
//!
//! It mirrors the file, dangling references, missing classes and repeated roots included. Addresses are the file's: 0
//! is null.

/// Content of a heap dump, nothing derived.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// Bytes of an id: 4 or 8.
    pub id_size: usize,
    /// Time of capture, milliseconds since 1970.
    pub captured_ms: u64,
    /// Texts by their ids, in modified UTF-8.
    pub strings: Vec<(u64, Vec<u8>)>,
    pub loaded: Vec<LoadedClass>,
    pub frames: Vec<Frame>,
    pub traces: Vec<Trace>,
    pub classes: Vec<Class>,
    /// Everything else in the heap.
    pub objects: Vec<Object>,
    /// Roots; one object may have several.
    pub roots: Vec<Root>,
}

/// A `LOAD CLASS` record, which names a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedClass {
    pub serial: u32,
    pub class: u64,
    /// Id of its name, with slashes between packages.
    pub name: u64,
}

/// A `FRAME` record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub id: u64,
    /// Id of the method's name.
    pub method: u64,
    pub signature: u64,
    /// Id of the source file; 0 for none.
    pub source: u64,
    pub class_serial: u32,
    /// Line: above 0 a real one, 0 none, -1 unknown, -2 compiled, -3 native.
    pub line: i32,
}

/// A `TRACE` record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub serial: u32,
    pub thread: u32,
    /// Ids of its frames, innermost first.
    pub frames: Vec<u64>,
}

/// A `CLASS DUMP` record.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub address: u64,
    /// Superclass; 0 for none.
    pub parent: u64,
    /// Class loader; 0 for the boot loader.
    pub loader: u64,
    /// Signers and protection domain, which retain nothing.
    pub unused: [u64; 2],
    /// Values in the constant pool, which retain nothing.
    pub constants: Vec<Value>,
    pub statics: Vec<Static>,
    /// Own instance fields: id of the name, and type.
    pub fields: Vec<(u64, Type)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Static {
    pub name: u64,
    pub value: Value,
}

/// Type of a field or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    Object,
    Primitive(Primitive),
}

/// The primitive types, with their numbers in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Primitive {
    Boolean = 4,
    Char = 5,
    Float = 6,
    Double = 7,
    Byte = 8,
    Short = 9,
    Int = 10,
    Long = 11,
}

/// A reference, or the bits of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A reference; 0 for null.
    Object(u64),
    /// A primitive's bits, in the lowest bits.
    Primitive(Primitive, u64),
}

/// An object that is not a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub address: u64,
    pub data: ObjectData,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ObjectData {
    /// An instance: its class, and the values of the class's own fields, then of its superclass's, and so on.
    Instance(u64, Vec<Value>),
    /// An array of references: its class and its elements.
    ObjectArray(u64, Vec<u64>),
    PrimitiveArray(Primitive, PrimitiveValues),
}

/// Elements of a primitive array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrimitiveValues {
    Known(Vec<u64>),
    /// Only their number (Android's arrays without data).
    Unknown(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    pub kind: RootKind,
    pub object: u64,
}

/// Kinds of roots, with numbers of threads, traces and frames where the file has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// `ff`.
    Unknown,
    /// `01`.
    JniGlobal,
    /// `02`: thread, frame in its stack.
    JniLocal(u32, i32),
    /// `03`: thread, frame in its stack.
    JavaFrame(u32, i32),
    /// `04`: thread.
    NativeStack(u32),
    /// `05`.
    StickyClass,
    /// `06`: thread.
    ThreadBlock(u32),
    /// `07`.
    Monitor,
    /// `08`: thread, its stack trace.
    Thread(u32, u32),
    /// Android: `89` interned string, `8a` being finalised, `8b` debugger, `8c` reference cleanup, `8d` of the machine.
    Android(u8),
    /// `8e`: thread, frame in its stack.
    JniMonitor(u32, i32),
}

/// Classes that every virtual machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub object: u64,
    pub class: u64,
    pub loader: u64,
}

impl Primitive {
    pub const ALL: [Self; 8] =
        [Self::Boolean, Self::Char, Self::Float, Self::Double, Self::Byte, Self::Short, Self::Int, Self::Long];

    #[must_use]
    pub fn size(self) -> u64 {
        self.spelling().1
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.spelling().0
    }

    /// Letter in the names of array classes.
    #[must_use]
    pub fn letter(self) -> char {
        self.spelling().2
    }

    /// Name in Java, bytes, and letter.
    fn spelling(self) -> (&'static str, u64, char) {
        match self {
            Self::Boolean => ("boolean", 1, 'Z'),
            Self::Char => ("char", 2, 'C'),
            Self::Float => ("float", 4, 'F'),
            Self::Double => ("double", 8, 'D'),
            Self::Byte => ("byte", 1, 'B'),
            Self::Short => ("short", 2, 'S'),
            Self::Int => ("int", 4, 'I'),
            Self::Long => ("long", 8, 'J'),
        }
    }
}

impl RootKind {
    /// Tag of its records.
    #[must_use]
    pub fn tag(self) -> u8 {
        match self {
            Self::Unknown => 0xff,
            Self::JniGlobal => 0x01,
            Self::JniLocal(..) => 0x02,
            Self::JavaFrame(..) => 0x03,
            Self::NativeStack(_) => 0x04,
            Self::StickyClass => 0x05,
            Self::ThreadBlock(_) => 0x06,
            Self::Monitor => 0x07,
            Self::Thread(..) => 0x08,
            Self::Android(tag) => tag,
            Self::JniMonitor(..) => 0x8e,
        }
    }
}

impl Value {
    #[must_use]
    pub fn type_of(self) -> Type {
        match self {
            Self::Object(_) => Type::Object,
            Self::Primitive(primitive, _) => Type::Primitive(primitive),
        }
    }
}

impl PrimitiveValues {
    pub fn len(&self) -> u64 {
        match self {
            Self::Known(values) => values.len() as u64,
            Self::Unknown(length) => u64::from(*length),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Dump {
    pub fn new(id_size: usize) -> Self {
        Self {
            id_size,
            captured_ms: 1_700_000_000_123,
            strings: Vec::new(),
            loaded: Vec::new(),
            frames: Vec::new(),
            traces: Vec::new(),
            classes: Vec::new(),
            objects: Vec::new(),
            roots: Vec::new(),
        }
    }

    /// Adds `java.lang.Object`, `java.lang.Class` and `java.lang.ClassLoader`, the first two without fields.
    pub fn add_base_classes(&mut self) -> Base {
        let object = self.add_class("java/lang/Object", None, &[]);
        let class = self.add_class("java/lang/Class", Some(object), &[]);
        let loader = self.add_class("java/lang/ClassLoader", Some(object), &[("parent", Value::Object(0))]);
        Base { object, class, loader }
    }

    /// Adds a class of the boot loader at the end and returns its address. Only the types of the fields' values count.
    pub fn add_class(&mut self, name: &str, parent: Option<u64>, fields: &[(&str, Value)]) -> u64 {
        let address = self.free_address();
        let fields = fields.iter().map(|&(name, value)| (self.intern(name), value.type_of())).collect();
        let name = self.intern(name);
        self.loaded.push(LoadedClass { serial: self.loaded.len() as u32 + 1, class: address, name });
        self.classes.push(Class {
            address,
            parent: parent.unwrap_or(0),
            loader: 0,
            unused: [0; 2],
            constants: Vec::new(),
            statics: Vec::new(),
            fields,
        });
        address
    }

    /// Adds an instance at the end and returns its address.
    pub fn add_instance(&mut self, class: u64, values: &[Value]) -> u64 {
        self.add(ObjectData::Instance(class, values.to_vec()))
    }

    /// Adds an object at the end and returns its address.
    pub fn add(&mut self, data: ObjectData) -> u64 {
        let address = self.free_address();
        self.objects.push(Object { address, data });
        address
    }

    /// The id of a text, added if it is new.
    pub fn intern(&mut self, text: &str) -> u64 {
        let known = self.strings.iter().find(|(_, known)| known == text.as_bytes());
        known.map(|(id, _)| *id).unwrap_or_else(|| {
            let id = 0x7000 + 16 * self.strings.len() as u64;
            self.strings.push((id, text.as_bytes().to_vec()));
            id
        })
    }

    pub fn text(&self, id: u64) -> Option<&[u8]> {
        self.strings.iter().find(|(known, _)| *known == id).map(|(_, text)| text.as_slice())
    }

    pub fn class(&self, address: u64) -> Option<&Class> {
        self.classes.iter().find(|class| class.address == address)
    }

    /// An address behind all objects: a page further for each, so that their sizes do not matter, and 8 more, so that
    /// addresses are multiples of 8 only.
    fn free_address(&self) -> u64 {
        let objects = (self.classes.len() + self.objects.len()) as u64;
        0x10_0008 + 0x1000 * objects
    }
}
