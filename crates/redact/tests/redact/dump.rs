//! Small dumps of Java.

/// A dump under construction, with ids of 4 or 8 bytes.
pub(crate) struct Dump {
    id: usize,
    head: Vec<u8>,
    heap: Vec<u8>,
    /// Whether the heap is one record (0x0c) or a segment (0x1c) with an end.
    is_whole: bool,
    next_text: u64,
}

/// Type codes.
pub(crate) const OBJECT: u8 = 2;
pub(crate) const BOOLEAN: u8 = 4;
pub(crate) const CHAR: u8 = 5;
pub(crate) const BYTE: u8 = 8;
pub(crate) const INT: u8 = 10;
pub(crate) const LONG: u8 = 11;

impl Dump {
    pub(crate) fn new(id: usize, is_whole: bool) -> Self {
        let mut head = b"JAVA PROFILE 1.0.2\0".to_vec();
        head.extend((id as u32).to_be_bytes());
        head.extend(1_700_000_000_000u64.to_be_bytes());
        Self { id, head, heap: Vec::new(), is_whole, next_text: 1 }
    }

    fn id(&self, id: u64) -> Vec<u8> {
        id.to_be_bytes()[8 - self.id..].to_vec()
    }

    /// Adds a record outside of the heap.
    pub(crate) fn record(&mut self, tag: u8, body: &[u8]) {
        self.head.push(tag);
        self.head.extend([0; 4]);
        self.head.extend((body.len() as u32).to_be_bytes());
        self.head.extend(body);
    }

    /// Adds a text; returns its id.
    pub(crate) fn text(&mut self, text: &str) -> u64 {
        let id = self.next_text;
        self.next_text += 1;
        self.record(0x01, &[self.id(id), text.as_bytes().to_vec()].concat());
        id
    }

    /// Adds a class with instance fields and static fields, and its name.
    pub(crate) fn class(&mut self, class: u64, name: &str, fields: &[(&str, u8)], statics: &[(&str, u8, &[u8])]) {
        self.subclass(class, 0, name, fields, statics);
    }

    pub(crate) fn subclass(
        &mut self,
        class: u64,
        superclass: u64,
        name: &str,
        fields: &[(&str, u8)],
        statics: &[(&str, u8, &[u8])],
    ) {
        let name = self.text(name);
        self.record(0x02, &[vec![0, 0, 0, 1], self.id(class), vec![0; 4], self.id(name)].concat());
        let fields: Vec<(u64, u8)> = fields.iter().map(|(name, kind)| (self.text(name), *kind)).collect();
        let statics: Vec<_> = statics.iter().map(|(name, kind, value)| (self.text(name), *kind, *value)).collect();
        self.heap.push(0x20);
        self.heap.extend(self.id(class));
        self.heap.extend([0; 4]);
        self.heap.extend(self.id(superclass));
        self.heap.extend(vec![0; 5 * self.id + 4]);
        self.heap.extend([0, 0]);
        self.heap.extend((statics.len() as u16).to_be_bytes());
        for (name, kind, value) in statics {
            self.heap.extend(self.id(name));
            self.heap.push(kind);
            self.heap.extend(value);
        }
        self.heap.extend((fields.len() as u16).to_be_bytes());
        for (name, kind) in fields {
            self.heap.extend(self.id(name));
            self.heap.push(kind);
        }
    }

    /// Adds an instance.
    pub(crate) fn instance(&mut self, object: u64, class: u64, fields: &[u8]) {
        self.heap.push(0x21);
        self.heap.extend(self.id(object));
        self.heap.extend([0; 4]);
        self.heap.extend(self.id(class));
        self.heap.extend((fields.len() as u32).to_be_bytes());
        self.heap.extend(fields);
    }

    /// A reference, as a field has it.
    pub(crate) fn reference(&self, object: u64) -> Vec<u8> {
        self.id(object)
    }

    /// Adds an array of primitive values.
    pub(crate) fn array(&mut self, object: u64, element: u8, width: usize, bytes: &[u8]) {
        self.heap.push(0x23);
        self.heap.extend(self.id(object));
        self.heap.extend([0; 4]);
        self.heap.extend(((bytes.len() / width) as u32).to_be_bytes());
        self.heap.push(element);
        self.heap.extend(bytes);
    }

    /// Adds an array of Android's runtime without its elements.
    pub(crate) fn array_without_elements(&mut self, object: u64, element: u8, length: u32) {
        self.heap.push(0xc3);
        self.heap.extend(self.id(object));
        self.heap.extend([0; 4]);
        self.heap.extend(length.to_be_bytes());
        self.heap.push(element);
    }

    /// Adds an array of references.
    pub(crate) fn objects(&mut self, object: u64, class: u64, elements: &[u64]) {
        self.heap.push(0x22);
        self.heap.extend(self.id(object));
        self.heap.extend([0; 4]);
        self.heap.extend((elements.len() as u32).to_be_bytes());
        self.heap.extend(self.id(class));
        for &element in elements {
            let element = self.id(element);
            self.heap.extend(element);
        }
    }

    /// Makes an object a thread's root.
    pub(crate) fn thread(&mut self, object: u64) {
        self.heap.push(0x08);
        self.heap.extend(self.id(object));
        self.heap.extend([0; 8]);
    }

    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut file = self.head.clone();
        file.push(if self.is_whole { 0x0c } else { 0x1c });
        file.extend([0; 4]);
        file.extend((self.heap.len() as u32).to_be_bytes());
        file.extend(&self.heap);
        if !self.is_whole {
            file.extend([0x2c, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        file
    }
}

/// A dump with a string, a box, a thread, a container, arrays of all types, and a static field.
pub(crate) fn sample(id: usize, is_whole: bool) -> Dump {
    let mut dump = Dump::new(id, is_whole);
    dump.text("literal-hunter2");
    dump.class(90, "java/lang/Object", &[], &[]);
    let string = [("value", OBJECT), ("hash", INT), ("coder", BYTE)];
    dump.subclass(100, 90, "java/lang/String", &string, &[]);
    dump.subclass(101, 90, "java/lang/Number", &[], &[]);
    dump.subclass(
        102,
        101,
        "java/lang/Integer",
        &[("value", INT)],
        &[("cached", LONG, b"\x11\x22\x33\x44\x55\x66\x77\x88")],
    );
    dump.subclass(103, 90, "java/lang/Thread", &[("name", OBJECT), ("tid", LONG)], &[]);
    dump.subclass(104, 90, "java/util/HashMap", &[("size", INT), ("table", OBJECT)], &[]);
    let fields = [("open", BOOLEAN), ("initial", CHAR), ("balance", LONG), ("owner", OBJECT)];
    dump.subclass(105, 90, "app/Account", &fields, &[]);
    let of_string = |array: u64, coder: u8| [dump.reference(array), vec![0x12, 0x34, 0x56, 0x78, coder]].concat();
    let (name, text) = (of_string(301, 0), of_string(302, 1));
    dump.instance(200, 100, &name);
    dump.instance(201, 100, &text);
    dump.instance(202, 102, &[0x0a, 0x0b, 0x0c, 0x0d]);
    let thread = [dump.reference(200), vec![0, 0, 0, 0, 0, 0, 0, 42]].concat();
    dump.instance(203, 103, &thread);
    let map = [vec![0, 0, 0, 9], dump.reference(300)].concat();
    dump.instance(204, 104, &map);
    let account = [vec![1, 0, b'B'], b"\x01\x02\x03\x04\x05\x06\x07\x08".to_vec(), dump.reference(201)].concat();
    dump.instance(205, 105, &account);
    dump.objects(300, 90, &[200, 0, 205]);
    dump.array(301, BYTE, 1, b"worker-of-alice@example.com");
    dump.array(302, BYTE, 1, &"päßword-1".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()[..18]);
    dump.array(303, CHAR, 2, &"secret-of-bob".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    dump.array(304, BOOLEAN, 1, &[1, 0, 1, 1, 1, 0, 1]);
    dump.array(305, INT, 4, &[9; 40]);
    dump.array(306, BYTE, 1, b"");
    dump.array(307, BYTE, 1, b"ab");
    dump.array_without_elements(308, BYTE, 7);
    dump.thread(203);
    dump
}
