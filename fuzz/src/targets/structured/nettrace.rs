//! .NET traces with a valid container and events of arbitrary payload.

use arbitrary::{Result, Unstructured};
use heaplake_oracle::dotnet::container::{Event, begin, block, description, head};

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
    let mut file = begin(1000, if u.ratio(1, 4)? { 4 } else { 8 });
    let mut content = head(false);
    for (number, version) in EVENTS {
        description(number, number, version).write_plain(&mut content);
    }
    block(&mut file, "MetadataBlock", &content);
    let mut time = 10;
    while !u.is_empty() {
        let mut content = head(false);
        for _ in 0..u.int_in_range(1..=8)? {
            let (kind, _) = EVENTS[u.int_in_range(0..=EVENTS.len() - 1)?];
            time += u.int_in_range(0..=3)?;
            let thread = u.int_in_range(1..=2)?;
            let event = Event { kind, thread, time, payload: payload(u, kind)?, ..Event::default() };
            event.write_plain(&mut content);
        }
        block(&mut file, "EventBlock", &content);
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
