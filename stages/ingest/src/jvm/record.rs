//! What the records of a dump say.

/// Tag of the record of an instance.
pub const INSTANCE: u8 = 0x21;
/// Tag of the record of an array of references.
pub const OBJECT_ARRAY: u8 = 0x22;
/// Tag of the record of an array of primitive values.
pub const PRIMITIVE_ARRAY: u8 = 0x23;
/// Tag of the same from Android's runtime, which leaves the elements out.
pub const ARRAY_WITHOUT_ELEMENTS: u8 = 0xc3;

/// A record, its body not yet taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A text of so many bytes, which are the body.
    Text {
        /// Its id.
        id: u64,
        /// Bytes of the body.
        length: u64,
    },
    /// A class got loaded.
    LoadClass {
        /// Serial number, which frames refer to.
        serial: u32,
        /// Id of the class.
        class: u64,
        /// Id of the text of its name.
        name: u64,
    },
    /// A place in a method.
    Frame {
        /// Its id.
        id: u64,
        /// Id of the text of the method's name.
        method: u64,
        /// Id of the text of the source file's name.
        source: u64,
        /// Serial number of the class.
        class: u32,
        /// Line, or a negative number that says why there is none.
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
        /// Why, a position in [`ROOT_KINDS`](super::root_kinds::ROOT_KINDS).
        kind: u8,
        /// The object.
        object: u64,
        /// Serial number of the thread, where the kind has one.
        thread: u32,
        /// Frame of that thread, or its stack's serial number for a thread object.
        frame: u32,
    },
    /// A class; the body is its constant pool, static fields and instance fields.
    Class {
        /// Its id.
        id: u64,
        /// The class that it extends, 0 for none.
        superclass: u64,
        /// Its loader, 0 for the boot loader.
        loader: u64,
        /// Bytes of its instances.
        instance_bytes: u32,
    },
}

/// An array of primitive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimitiveArray {
    /// Its id.
    pub id: u64,
    /// Type of the elements, which has a width.
    pub element: u8,
    /// Number of elements.
    pub length: u32,
    /// Bytes of the body: none where Android's runtime left the elements out.
    pub bytes: u64,
}

/// A part of the body of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassPart {
    /// A static field.
    Static {
        /// Id of the text of its name.
        name: u64,
        /// Its type.
        kind: u8,
        /// What it refers to, where it is a reference.
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
