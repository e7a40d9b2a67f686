//! The container of a `.nettrace`: objects, blocks, events and their descriptions.

#[derive(Clone, Debug, Default)]
pub struct Event {
    pub kind: u32,
    /// Number among the events of its thread.
    pub sequence: u32,
    pub thread: u64,
    pub stack: u32,
    pub time: u64,
    pub payload: Vec<u8>,
}

impl Event {
    /// Adds the event with a full header.
    pub fn write_plain(&self, content: &mut Vec<u8>) {
        let size = 4 + 4 + 8 + 8 + 4 + 4 + 8 + 32 + 4 + self.payload.len();
        content.extend([size as u32, self.kind, self.sequence].map(u32::to_le_bytes).concat());
        content.extend([self.thread, self.thread].map(u64::to_le_bytes).concat());
        content.extend([0, self.stack].map(u32::to_le_bytes).concat());
        content.extend(self.time.to_le_bytes());
        content.extend([0; 32]);
        content.extend((self.payload.len() as u32).to_le_bytes());
        content.extend(&self.payload);
        pad(content);
    }
}

/// The beginning of a file: clock, and bytes of a pointer.
pub fn begin(start: u64, pointer: u32) -> Vec<u8> {
    let mut file = b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec();
    object(&mut file, "Trace", 4, |file| {
        file.extend([2026u16, 11, 6, 21, 19, 0, 0, 0].map(u16::to_le_bytes).concat());
        file.extend([start, 1_000_000_000].map(u64::to_le_bytes).concat());
        file.extend([pointer, 77, 2, 0].map(u32::to_le_bytes).concat());
    });
    file
}

fn object(file: &mut Vec<u8>, name: &str, version: u32, body: impl FnOnce(&mut Vec<u8>)) {
    file.extend([5, 5, 1]);
    file.extend([version, version, name.len() as u32].map(u32::to_le_bytes).concat());
    file.extend(name.as_bytes());
    file.push(6);
    body(file);
    file.push(6);
}

pub fn block(file: &mut Vec<u8>, name: &str, content: &[u8]) {
    object(file, name, 2, |file| {
        file.extend((content.len() as u32).to_le_bytes());
        pad(file);
        file.extend(content);
    });
}

/// The beginning of a block of events.
pub fn head(compressed: bool) -> Vec<u8> {
    [&[20, 0, u8::from(compressed), 0][..], &[0; 16]].concat()
}

/// Describes an event of the runtime; `kind` is its metadata id.
pub fn description(kind: u32, number: u32, version: u32) -> Event {
    let mut payload = kind.to_le_bytes().to_vec();
    text(&mut payload, "Microsoft-Windows-DotNETRuntime");
    payload.extend(number.to_le_bytes());
    text(&mut payload, "");
    payload.extend(0u64.to_le_bytes());
    payload.extend([version, 5, 0].map(u32::to_le_bytes).concat());
    Event { payload, ..Event::default() }
}

pub fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
}

/// Adds a number, seven bits per byte.
pub fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
