//! Columns of the table of nodes for owners and packages.

use crate::located::spread;
use heaplake_kit::{ColumnMap, ColumnReader, Scratch, StageError, StringTable};
use heaplake_lake::source::{Source, read};
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::scratch::{
    CLASS_ORIGIN, NODE_CLASS, NODE_OWNER, ORIGIN, ORIGIN_NODE, ORIGIN_OF_NODE, OWNER_NAMES, OWNER_ROW_AT,
};

/// Names of owners; `None` if owners were not computed.
pub(crate) fn names(scratch: &Scratch) -> Result<Option<StringTable>, StageError> {
    let has_owners = scratch.has(NODE_OWNER);
    has_owners.then(|| StringTable::open(scratch, OWNER_NAMES)).transpose()
}

/// Column of the owner that each node counts for.
pub(crate) fn owner<'a>(scratch: &Scratch, names: Option<&'a StringTable>) -> Result<Source<'a>, StageError> {
    let Some(names) = names else { return Ok(Source::nothing()) };
    let rows = ColumnMap::uncounted(scratch, OWNER_ROW_AT)?;
    let mut places = ColumnReader::open(scratch, NODE_OWNER)?;
    Ok(Source::texts(Texts::Table(names), move |count| {
        Ok(read(&mut places, count)?.into_iter().map(|place: u32| rows[place as usize]).collect())
    }))
}

/// Column of the package of each node's own code.
pub(crate) fn package<'a>(scratch: &Scratch, strings: Texts<'a>) -> Result<Source<'a>, StageError> {
    if !scratch.has(ORIGIN) {
        return Ok(Source::nothing());
    }
    let origins = ColumnMap::uncounted(scratch, ORIGIN)?;
    let of_class = ColumnMap::if_any(scratch, CLASS_ORIGIN)?.unwrap_or_else(ColumnMap::empty);
    let mut of_node = spread(scratch, ORIGIN_NODE, ORIGIN_OF_NODE, |&origin| origin)?;
    let mut classes = ColumnReader::open(scratch, NODE_CLASS)?;
    Ok(Source::texts(strings, move |count| {
        let (own, classes) = (of_node(count)?, read(&mut classes, count)?);
        let package = |(own, class): (u32, ClassId)| {
            let of_class = || of_class.get(class.index()).copied().unwrap_or(NONE);
            let origin = if own == NONE { of_class() } else { own };
            origins.get(origin as usize).map_or(NONE, |origin| origin.package)
        };
        Ok(own.into_iter().zip(classes).map(package).collect())
    }))
}
