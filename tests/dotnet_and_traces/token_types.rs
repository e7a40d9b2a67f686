//! Allocations of types that a trace describes by module and token only: the trace of a walk with such types, with
//! allocations of some of them appended.

use heaplake_oracle::dotnet::container::{block, description, head, varint};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The runtime's allocation event, and its metadata id.
const ALLOCATION: (u32, u8) = (20, 120);

/// Allocated objects: token of their type, count, and size of each.
const ORDERS: (u32, u64, u64) = (0x0200_0002, 700, 40);
/// The same for a type of another module.
const OTHERS: (u32, u64, u64) = (0x0200_0075, 30, 24);

/// The handle of a type described by a token without a name: type, module, token, flags, element, no name, no
/// parameters.
fn handle(trace: &[u8], token: u32) -> u64 {
    let told = |at: &usize| trace[*at..at + 4] == token.to_le_bytes() && trace[at + 9..at + 15] == [0; 6];
    let at = (16..trace.len() - 16).find(told).expect("the walk has the type");
    u64::from_le_bytes(trace[at - 16..at - 8].try_into().unwrap())
}

fn trace() -> Vec<u8> {
    let walk = fixtures::path("symbols/traces/walk.nettrace.zst");
    let mut trace = zstd::decode_all(fs::File::open(walk).unwrap()).unwrap();
    let of = [ORDERS, OTHERS].map(|(token, count, bytes)| (handle(&trace, token), count, bytes));
    assert_eq!(trace.pop(), Some(1), "the end of the trace");
    let (event, number) = ALLOCATION;
    let mut events = head(false);
    description(number.into(), event, 0).write_plain(&mut events);
    block(&mut trace, "MetadataBlock", &events);
    let mut events = head(true);
    let each = of.into_iter().flat_map(|(handle, count, bytes)| (0..count).map(move |_| (handle, bytes)));
    for ((handle, bytes), at) in each.zip(0_u64..) {
        // Metadata id, thread, a time after all others or one tick later, and the payload's size.
        events.extend([1 | 4 | 128, number]);
        [4242, if at == 0 { 1 << 60 } else { 1 }, 30].into_iter().for_each(|field| varint(&mut events, field));
        events.extend((0x7000_0000 + 64 * at).to_le_bytes());
        events.extend(handle.to_le_bytes());
        events.extend(1_u32.to_le_bytes());
        events.extend(bytes.to_le_bytes());
        events.extend([0; 2]);
    }
    block(&mut trace, "EventBlock", &events);
    trace.push(1);
    trace
}

fn types(run: &Path) -> BTreeMap<String, (u64, u64)> {
    let table = Table::read(run, "allocation_types.parquet");
    let sums = table.u64s("allocated_count").into_iter().zip(table.u64s("bytes"));
    let sums = sums.map(|(count, bytes)| (count.unwrap(), bytes.unwrap()));
    table.texts("type").into_iter().map(Option::unwrap).zip(sums).collect()
}

#[test]
fn types_of_allocations_have_the_names_of_assemblies() {
    let lake = Lake::new();
    let trace = lake.input("tokens.nettrace", &trace());
    let sum = |(_, count, bytes): (u32, u64, u64)| (count, count * bytes);
    let with = |file: Option<&str>| {
        let lake = Lake::new();
        let mut command = replay(&lake, &trace);
        if let Some(file) = file {
            command.arg("--symbols").arg(fixtures::path(&format!("symbols/{file}")));
        }
        command.assert().success();
        types(&lake.run())
    };
    let plain = with(None);
    assert_eq!(plain["[Shop.dll!0x02000002]"], sum(ORDERS), "{plain:?}");
    assert_eq!(plain.len(), 2, "{plain:?}");
    let named = with(Some("Shop.dll"));
    assert_eq!(named["Shop.Order"], sum(ORDERS), "{named:?}");
    // A type of a module not given keeps its token.
    let other = "[System.Private.CoreLib.dll!0x02000075]";
    assert_eq!((plain[other], named[other], named.len()), (sum(OTHERS), sum(OTHERS), 2), "{named:?}");
    // An assembly of another build is not used.
    assert_eq!(with(Some("other/Shop.dll")), plain);
}
