//! Heap dumps of more than 4 GiB in one record.

use super::check::check;
use super::dumps::{chain, heap};
use heaplake_oracle::jvm::model::{Dump, ObjectData, Primitive, PrimitiveValues, Root, RootKind};
use heaplake_oracle::jvm::write::{id, record_of_length, u4};
use heaplake_oracle::jvm::{Layout, Referents, truth};
use heaplake_support::lake::Lake;
use std::fs;
use std::io::{Seek, SeekFrom, Write};

/// A dump with three arrays of zero bytes, followed by an object that refers to them; its heap records, each with the
/// number of zeros that follow it.
fn huge(lengths: [u32; 3]) -> (Dump, Vec<(Vec<u8>, u64)>) {
    let mut dump = chain(5);
    let mut parts = Vec::new();
    // The oracle need not know the zeros.
    let array = |length| ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Unknown(length));
    let arrays = lengths.map(|length| dump.add(array(length)));
    for (address, length) in arrays.into_iter().zip(lengths) {
        parts.push(([vec![0x23], id(8, address), u4(1), u4(length), vec![8]].concat(), length.into()));
    }
    let holder = dump.add(ObjectData::ObjectArray(dump.classes[0].address, arrays.to_vec()));
    dump.roots.push(Root { kind: RootKind::Unknown, object: holder });
    let mut records = heap(&dump);
    parts.push((records.pop().unwrap(), 0));
    records.truncate(records.len() - lengths.len());
    parts.insert(0, (records.concat(), 0));
    (dump, parts)
}

/// The length in the record has the low 32 bits of the real one, which may be zero.
#[test]
#[ignore = "long"]
fn heap_dumps_of_more_than_four_gibibytes() {
    const LONG: u32 = 0x7fff_fff0;
    let bytes = |parts: &[(Vec<u8>, u64)]| parts.iter().map(|(bytes, zeros)| bytes.len() as u64 + zeros).sum::<u64>();
    let lake = Lake::new();
    for overflow in [0, 1 << 20] {
        let rest = (1 << 32) + overflow - bytes(&huge([LONG, LONG - 4096, 0]).1);
        let (dump, parts) = huge([LONG, LONG - 4096, rest as u32]);
        assert_eq!(bytes(&parts), (1 << 32) + overflow);
        let names = Dump { classes: Vec::new(), objects: Vec::new(), roots: Vec::new(), ..dump.clone() };
        let mut front = names.to_bytes(&Layout { end: false, ..Layout::default() });
        front.extend(record_of_length(0x0c, overflow as u32, &[]));
        let path = lake.folder().join("huge.hprof");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&front).unwrap();
        for (bytes, zeros) in parts {
            file.write_all(&bytes).unwrap();
            file.seek(SeekFrom::Current(zeros as i64)).unwrap();
        }
        drop(file);
        lake.analyze(&path).args(["--edges", "--force", "--snapshot", "huge"]).assert().success();
        check(&truth(&dump, Referents::Hold), &lake.run());
    }
}
