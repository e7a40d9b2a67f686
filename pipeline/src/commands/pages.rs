//! HTML pages in a folder, or beside the runs of an object store.

use crate::diagnostic::Diagnostic;
use crate::engine::workplace;
use heaplake_kit::{IoAt, storage};
use heaplake_lake::stored;
use std::path::Path;

/// Makes a page: `make` writes it to the path, or, for a URL, to a file that is then uploaded.
pub(super) fn put<E>(
    page: &Path,
    scratch: Option<&Path>,
    make: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), Diagnostic>
where
    Diagnostic: From<E>,
{
    let Some(url) = storage::url(page) else { return Ok(make(page)?) };
    let folder = workplace::passing(scratch)?;
    let file = folder.path().join("page.html");
    make(&file)?;
    let uploaded = storage::store().and_then(|store| store.upload(&[(file, url.to_owned())]));
    page.parent().into_iter().for_each(stored::changed);
    Ok(uploaded.at(page, "write")?)
}
