//! Records of a dump.

/// Tag of the record of an instance.
pub(crate) const INSTANCE: u8 = 0x21;
/// Tag of the record of an array of references.
pub(crate) const OBJECT_ARRAY: u8 = 0x22;
/// Tag of the record of an array of primitive values.
pub(crate) const PRIMITIVE_ARRAY: u8 = 0x23;
/// Tag of a primitive array of Android's runtime, which omits the elements.
pub(crate) const ARRAY_WITHOUT_ELEMENTS: u8 = 0xc3;

/// A record whose body has not been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A text; the body is its bytes.
    Text {
        /// Its id.
        id: u64,
        /// Bytes of the body.
        length: u64,
    },
    /// A class is loaded.
    LoadClass {
        /// Serial number that frames use.
        serial: u32,
        /// Id of the class.
        class: u64,
        /// Id of the text of its name.
        name: u64,
    },
    /// A frame: a place in a method.
    Frame {
        /// Its id.
        id: u64,
        /// Id of the text of the method's name.
        method: u64,
        /// Id of the text of the source file's name.
        source: u64,
        /// Serial number of the class.
        class: u32,
        /// Line, or a negative code for its absence.
        line: i32,
    },
    /// A stack; the body is `frames` ids.
    Trace {
        /// Serial number.
        serial: u32,
        /// Number of ids.
        frames: u32,
    },
    /// An object is a root.
    Root {
        /// Kind of root, a position in [`ROOT_KINDS`](super::root_kinds::ROOT_KINDS).
        kind: u8,
        /// The object.
        object: u64,
        /// Serial number of the thread, if the kind has one.
        thread: u32,
        /// Frame number in the thread's stack; for a thread object, the serial number of its stack.
        frame: u32,
    },
    /// A class; the body is its constant pool, static fields and instance fields.
    Class {
        /// Its id.
        id: u64,
        /// Its superclass; 0 for none.
        superclass: u64,
        /// Its loader; 0 for the boot loader.
        loader: u64,
        /// Bytes of its instances.
        instance_bytes: u32,
    },
}

/// An array of primitive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrimitiveArray {
    /// Its id.
    pub id: u64,
    /// Type of the elements, which has a width.
    pub element: u8,
    /// Number of elements.
    pub length: u32,
    /// Bytes of the body: 0 if Android's runtime omitted the elements.
    pub bytes: u64,
}

/// A part of the body of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassPart {
    /// A static field.
    Static {
        /// Id of the text of its name.
        name: u64,
        /// Its type.
        kind: u8,
        /// Its target, if it is a reference.
        value: u64,
    },
    /// A field of the instances.
    Field {
        /// Id of the text of its name.
        name: u64,
        /// Its type.
        kind: u8,
    },
}
