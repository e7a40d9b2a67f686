//! Build id of a module.

use std::fmt::{self, Display, Formatter};

/// GUID that a compiler gives an assembly and its PDB. The age beside it is always 1 in portable PDBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Build(pub [u8; 16]);

impl Build {
    /// Build id from a GUID in file order; `None` if it is all zeros, which means no PDB.
    pub fn new(guid: [u8; 16]) -> Option<Self> {
        guid.iter().any(|&byte| byte != 0).then_some(Self(guid))
    }
}

impl Display for Build {
    /// In the usual notation: the first three numbers are little-endian in files.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        for (number, at) in order.into_iter().enumerate() {
            if [4, 6, 8, 10].contains(&number) {
                f.write_str("-")?;
            }
            write!(f, "{:02x}", self.0[at])?;
        }
        Ok(())
    }
}
