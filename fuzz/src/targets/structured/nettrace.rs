//! .NET traces with a valid container and events of arbitrary payload.

use arbitrary::{Result, Unstructured};
use heaplake_oracle::dotnet::{Heap, Layout};

/// Events known to readers, and one unknown.
const EVENTS: [(u32, u32); 19] = [
    (1, 2),
    (2, 1),
    (10, 4),
    (15, 0),
    (16, 0),
    (17, 0),
    (18, 0),
    (19, 0),
    (20, 0),
    (21, 0),
    (22, 0),
    (23, 0),
    (32, 0),
    (38, 0),
    (143, 1),
    (144, 1),
    (152, 2),
    (153, 2),
    (99, 0),
];

pub(super) fn trace(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    // The header of a trace without walks, without its final byte.
    let mut file = Heap::default().to_nettrace(&Layout { wide: !u.ratio(1, 4)?, ..Layout::default() });
    file.pop();
    let mut content = head();
    for (number, version) in EVENTS {
        event(&mut content, 0, 1, 0, &description(number, version));
    }
    object(&mut file, "MetadataBlock", &content);
    let mut time = 10;
    while !u.is_empty() {
        let mut content = head();
        for _ in 0..u.int_in_range(1..=8)? {
            let (number, _) = EVENTS[u.int_in_range(0..=EVENTS.len() - 1)?];
            time += u.int_in_range(0..=3)?;
            event(&mut content, number, u.int_in_range(1..=2)?, time, &payload(u, number)?);
        }
        object(&mut file, "EventBlock", &content);
    }
    file.push(1);
    Ok(file)
}

/// Mostly entries with the right count and nearby addresses, sometimes arbitrary bytes.
fn payload(u: &mut Unstructured<'_>, number: u32) -> Result<Vec<u8>> {
    if u.ratio(1, 6)? {
        let length = u.int_in_range(0..=60)?.min(u.len());
        return Ok(u.bytes(length)?.to_vec());
    }
    let mut out = Vec::new();
    if matches!(number, 16..=19 | 21 | 22) {
        out.extend(u32::from(u.int_in_range(0..=3u8)?).to_le_bytes());
    }
    let count = u.int_in_range(0..=4u32)?;
    out.extend(count.to_le_bytes());
    out.extend([0, 0]);
    for _ in 0..count * 4 {
        let near = 0x1000 + 8 * u.int_in_range(0..=40u64)?;
        out.extend(near.to_le_bytes());
    }
    out.resize(out.len() + u.int_in_range(0..=24)?, 0);
    Ok(out)
}

fn description(number: u32, version: u32) -> Vec<u8> {
    let mut out = number.to_le_bytes().to_vec();
    out.extend("Microsoft-Windows-DotNETRuntime\0".encode_utf16().flat_map(u16::to_le_bytes));
    out.extend(number.to_le_bytes());
    out.extend([0, 0]);
    out.extend(0u64.to_le_bytes());
    out.extend([version, 5, 0].map(u32::to_le_bytes).concat());
    out
}

/// Header of a block.
fn head() -> Vec<u8> {
    [&[20, 0, 0, 0][..], &[0; 16]].concat()
}

fn event(content: &mut Vec<u8>, number: u32, thread: u64, time: u64, payload: &[u8]) {
    let size = 4 + 4 + 8 + 8 + 4 + 4 + 8 + 32 + 4 + payload.len();
    content.extend((size as u32).to_le_bytes());
    content.extend([number, 0].map(u32::to_le_bytes).concat());
    content.extend([thread, thread].map(u64::to_le_bytes).concat());
    content.extend([0; 8]);
    content.extend(time.to_le_bytes());
    content.extend([0; 32]);
    content.extend((payload.len() as u32).to_le_bytes());
    content.extend(payload);
    content.resize(content.len().next_multiple_of(4), 0);
}

fn object(file: &mut Vec<u8>, name: &str, content: &[u8]) {
    file.extend([5, 5, 1]);
    file.extend([4u32, 0, name.len() as u32].map(u32::to_le_bytes).concat());
    file.extend(name.as_bytes());
    file.push(6);
    file.extend((content.len() as u32).to_le_bytes());
    file.resize(file.len().next_multiple_of(4), 0);
    file.extend(content);
    file.push(6);
}
